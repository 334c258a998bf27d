#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the trees of src/select/correction_trees.inc: by how much recorded times differ from modelled ones.
   build/release/tests/select/fit_cost_model --features bench/results/*shapes*.json > times.csv
   tools/fit_correction.py times.csv            writes the trees
   tools/fit_correction.py times.csv --check    prints how choices would do on problems that a fit has not seen
   tools/fit_correction.py groups.csv --grouped [--check]    the same of grouped_correction_trees.inc, from what
                                                             fit_grouped_model --features prints
Needs LightGBM and pandas from PyPI. The target is log(recorded / modelled); a config that takes twice the time of the
problem's fastest has an eighth of the weight, because slow configs need to be told from fast ones, not from each other.
Fit again after a change of the model's constants or of the kernels."""
import argparse
import pathlib
import re
from typing import Dict, Iterator, List, Tuple

import lightgbm
import numpy
import pandas

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "src/select"
OTHERS = ["recorded", "best", "modelled"]  # and the columns of a problem before them; the features follow
TREES, FOLDS = 300, 10
HEADER = (FOLDER / "correction.hpp").read_text()
LEAST, LARGEST = (float(re.search(rf"k{name}Correction = ([-.0-9]+)", HEADER).group(1)) for name in ("Least", "Largest"))
OPTIONS = {"objective": "regression", "learning_rate": 0.1, "num_leaves": 63, "max_depth": 8, "min_data_in_leaf": 20,
           "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 3.0, "verbose": -1,
           "deterministic": True, "force_row_wise": True, "num_threads": 2, "seed": 1}


def problem_of(times: pandas.DataFrame) -> List[str]:
    return list(times.columns[:times.columns.get_loc("recorded")])


def features_of(times: pandas.DataFrame) -> pandas.DataFrame:
    return times.drop(columns=[*problem_of(times), *OTHERS])


def fit(times: pandas.DataFrame) -> lightgbm.Booster:
    target = numpy.log(times.recorded / times.modelled)
    data = lightgbm.Dataset(features_of(times), target, weight=(times.best / times.recorded)**3)
    return lightgbm.train(OPTIONS, data, TREES)


def nodes_of(tree: Dict) -> List[Tuple[int, int, float]]:
    """Feature, distance to the right subtree (0: a leaf) and threshold or value of each node, in preorder."""
    if "leaf_value" in tree:
        return [(0, 0, tree["leaf_value"])]
    left, right = nodes_of(tree["left_child"]), nodes_of(tree["right_child"])
    return [(tree["split_feature"], len(left) + 1, tree["threshold"]), *left, *right]


def text_of(booster: lightgbm.Booster) -> Iterator[str]:
    """A line for each tree."""
    yield "// SPDX-License-Identifier: Apache-2.0"
    yield "// Written by tools/fit_correction.py: a tree on each line, in preorder (trees.hpp)."
    for tree in booster.dump_model()["tree_info"]:
        nodes = nodes_of(tree["tree_structure"])
        yield "".join(f"{{{feature},{right},{value:.6g}}}," for feature, right, value in nodes)


def losses(times: pandas.DataFrame, seconds: numpy.ndarray) -> pandas.Series:
    """Of each problem: the time of the config with the least of `seconds` over the best one's."""
    taken = times.assign(expected=seconds).sort_values("expected", kind="stable")
    taken = taken.groupby(problem_of(times)).first()
    return taken.recorded / taken.best


def line_of(name: str, loss: pandas.Series) -> str:
    return (f"{name:<22} mean {numpy.exp(numpy.log(loss).mean()):.4f}, of {len(loss)} {100 * (loss <= 1.03).mean():.0f} % "
            f"within 3 %, {100 * (loss > 1.08).mean():.1f} % more than 8 % behind, worst {loss.max():.2f}")


def check(times: pandas.DataFrame) -> None:
    problems = times[problem_of(times)].drop_duplicates()
    fold_of = numpy.random.default_rng(1).permutation(len(problems)) % FOLDS
    fold = times[problem_of(times)].merge(problems.assign(fold=fold_of), how="left").fold.to_numpy()
    correction = numpy.zeros(len(times))
    for i in range(FOLDS):
        correction[fold == i] = fit(times[fold != i]).predict(features_of(times[fold == i]))
    corrected = times.modelled * numpy.exp(numpy.clip(correction, LEAST, LARGEST))
    if "kind" in times:
        kinds = [times.kind]
    else:
        kinds = [pandas.cut(times.m, [0, 32, 256, 1024, 1 << 40], labels=["<= 32", "<= 256", "<= 1024", "more"]), "recipe"]
    for kind, some in [("all", times), *times.groupby(kinds, observed=True)]:
        name = kind if isinstance(kind, str) else " ".join(kind)
        print(line_of(f"{name}, model", losses(some, times.modelled[some.index])))
        print(line_of(f"{name}, corrected", losses(some, corrected[some.index])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", help="what fit_cost_model or fit_grouped_model --features prints")
    parser.add_argument("--check", action="store_true", help=f"fit to {FOLDS - 1} tenths of the problems, judge by the rest")
    parser.add_argument("--grouped", action="store_true", help="the times are of groups of rows")
    parser.add_argument("--output", type=pathlib.Path, help="another file for the trees")
    options = parser.parse_args()
    times = pandas.read_csv(options.times)
    if options.grouped != ("kind" in times):
        parser.error(f"{options.times}: expected times of {'groups' if options.grouped else 'single products'}, got others")
    output = options.output or FOLDER / ("grouped_correction_trees.inc" if options.grouped else "correction_trees.inc")
    if options.check:
        check(times)
    else:
        output.write_text("\n".join(text_of(fit(times))) + "\n")


if __name__ == "__main__":
    main()
