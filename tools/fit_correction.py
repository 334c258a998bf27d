#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the trees of src/select/correction_trees.inc: by how much recorded times differ from modelled ones.
   build/release/tests/select/fit_cost_model --features bench/results/*shapes*.json > times.csv
   tools/fit_correction.py times.csv            writes the trees
   tools/fit_correction.py times.csv --check    prints how choices would do on problems that a fit has not seen
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

OUTPUT = pathlib.Path(__file__).resolve().parent.parent / "src/select/correction_trees.inc"
PROBLEM = ["m", "n", "k", "recipe"]
OTHERS = [*PROBLEM, "recorded", "best", "modelled"]
TREES, FOLDS = 300, 10
HEADER = (OUTPUT.parent / "correction.hpp").read_text()
LEAST, LARGEST = (float(re.search(rf"k{name}Correction = ([-.0-9]+)", HEADER).group(1)) for name in ("Least", "Largest"))
OPTIONS = {"objective": "regression", "learning_rate": 0.1, "num_leaves": 63, "max_depth": 8, "min_data_in_leaf": 20,
           "feature_fraction": 0.5, "bagging_fraction": 0.8, "bagging_freq": 1, "lambda_l2": 3.0, "verbose": -1,
           "deterministic": True, "force_row_wise": True, "num_threads": 2, "seed": 1}


def fit(times: pandas.DataFrame) -> lightgbm.Booster:
    target = numpy.log(times.recorded / times.modelled)
    data = lightgbm.Dataset(times.drop(columns=OTHERS), target, weight=(times.best / times.recorded)**3)
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
    yield "// Written by tools/fit_correction.py: a tree on each line, in preorder (correction.cpp)."
    for tree in booster.dump_model()["tree_info"]:
        nodes = nodes_of(tree["tree_structure"])
        yield "".join(f"{{{feature},{right},{value:.6g}}}," for feature, right, value in nodes)


def losses(times: pandas.DataFrame, seconds: numpy.ndarray) -> pandas.Series:
    """Of each problem: the time of the config with the least of `seconds` over the best one's."""
    taken = times.assign(expected=seconds).sort_values("expected", kind="stable").groupby(PROBLEM).first()
    return taken.recorded / taken.best


def line_of(name: str, loss: pandas.Series) -> str:
    return (f"{name:<22} mean {numpy.exp(numpy.log(loss).mean()):.4f}, of {len(loss)} {100 * (loss <= 1.03).mean():.0f} % "
            f"within 3 %, {100 * (loss > 1.08).mean():.1f} % more than 8 % behind, worst {loss.max():.2f}")


def check(times: pandas.DataFrame) -> None:
    problems = times[PROBLEM].drop_duplicates()
    problems["fold"] = numpy.random.default_rng(1).permutation(len(problems)) % FOLDS
    fold = times.merge(problems, on=PROBLEM, how="left").fold.to_numpy()
    correction = numpy.zeros(len(times))
    for i in range(FOLDS):
        correction[fold == i] = fit(times[fold != i]).predict(times[fold == i].drop(columns=OTHERS))
    corrected = times.modelled * numpy.exp(numpy.clip(correction, LEAST, LARGEST))
    rows = pandas.cut(times.m, [0, 32, 256, 1024, 1 << 40], labels=["<= 32", "<= 256", "<= 1024", "more"])
    for kind, some in [("all", times), *times.groupby([rows, "recipe"], observed=True)]:
        name = kind if isinstance(kind, str) else " ".join(kind)
        print(line_of(f"{name}, model", losses(some, times.modelled[some.index])))
        print(line_of(f"{name}, corrected", losses(some, corrected[some.index])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("times", help="what fit_cost_model --features prints")
    parser.add_argument("--check", action="store_true", help=f"fit to {FOLDS - 1} tenths of the problems, judge by the rest")
    parser.add_argument("--output", default=str(OUTPUT))
    options = parser.parse_args()
    times = pandas.read_csv(options.times)
    if options.check:
        check(times)
    else:
        pathlib.Path(options.output).write_text("\n".join(text_of(fit(times))) + "\n")


if __name__ == "__main__":
    main()
