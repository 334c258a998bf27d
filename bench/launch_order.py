# SPDX-License-Identifier: Apache-2.0
"""Dense products under every order of their tiles, and with launches that overlap.

    warpwright bench gemm --random 60 --seed 1128 --dry-run --json > cases.json
    python3 bench/launch_order.py --library BUILD/lib/libwarpwright.so --cases cases.json --result out.json

Each case has a recipe drawn at random. For each case the `--best` configs that the model ranks first run under bands of each
width along M and along N that give another order, launches apart, and then with overlapping launches in the order that
auto takes. Results are checked, and all take turns with cuBLASLt as in bench/dense_choice.py. `fit_cost_model` of the
tests reads the times of launches apart.
"""
import argparse
import json
import pathlib
import sys
import time
from typing import Any, Dict, List, Tuple

import torch

import dense_choice
import dense_torch
from library import HEADER, Job, Library, compile_ahead
from loop import Contender, attempt, capture_all, entry_of, race, record_of

WIDTHS = (1, 2, 3, 4, 6, 8, 16)
APART, OVERLAPPING = 1, 2  # ww_pdl


def fields_of(config: str) -> Dict[str, str]:
    return dict(item.split("=", 1) for item in config.split(","))


def grid_of(config: str, m: int, n: int) -> Tuple[int, int]:
    """Cluster tiles along M and N of the instruction."""
    fields = fields_of(config)
    rows, columns = (n, m) if fields["swap_ab"] == "on" else (m, n)
    tile, cluster = (list(map(int, fields[key].split("x"))) for key in ("tile", "cluster"))
    return -(-rows // (tile[0] * cluster[0])), -(-columns // (tile[1] * cluster[1]))


def order(grid: Tuple[int, int], width: int, band: str) -> List[Tuple[int, int]]:
    """The cluster tiles in the order of include/warpwright/scheduler/tile_grid.hpp."""
    across, along = grid if band == "m" else grid[::-1]
    found = [(i, j) for first in range(0, across, width) for j in range(along)
             for i in range(first, min(first + width, across))]
    return found if band == "m" else [(j, i) for i, j in found]


def orders_of(config: str, m: int, n: int) -> List[str]:
    """`config` once for each order that differs."""
    grid, fields, found = grid_of(config, m, n), fields_of(config), {}
    for band, across in zip("mn", grid):
        for width in sorted({min(width, across) for width in WIDTHS}):
            fields.update(raster=str(width), band=band)
            found.setdefault(tuple(order(grid, width, band)), ",".join("=".join(item) for item in fields.items()))
    return list(found.values())


def jobs_of(library: Library, p: dense_choice.Problem, best: int) -> List[Job]:
    ranked = list(library.c.report("gemm_configs", library.device, p.of_library(), HEADER.make("ww_options"))["configs"])
    return [job for config in ranked[:best]
            for job in [*((p.of_library(), other, APART) for other in orders_of(config, p.case.m, p.case.n)),
                        (p.of_library(), config, APART), (p.of_library(), config, OVERLAPPING)]]


def run_problem(library: Library, index: int, p: dense_choice.Problem, options: argparse.Namespace) -> Dict[str, Any]:
    jobs = jobs_of(library, p, options.best)
    names = {APART: "warpwright", OVERLAPPING: "overlapping launches of warpwright"}
    contenders = [dense_torch.ours(library, names[pdl], p.recipe, plan)
                  for (_, _, pdl), plan in zip(jobs, library.compile(jobs, 4))]
    contenders += dense_torch.peers(argparse.Namespace(no_torch=library.memory == "cpu", deepgemm=False,
                                                       recipes=[p.recipe]))
    sets = dense_torch.make_sets(p.case, options.seed + index, library.memory)
    rows, expected = dense_torch.reference(p.case, sets[0])

    def check(contender: Contender) -> None:
        dense_torch.check(contender, sets[0], rows, expected[p.recipe], p.case.k)

    for contender in contenders:
        attempt(contender, lambda: check(contender))  # pylint: disable=cell-var-from-loop
    if library.memory == "cuda":
        race(capture_all(contenders, sets), options.seconds, 3, options.seed + index, 0.1, 7)
    return {"op": "dense", "recipe": p.recipe, "m": p.case.m, "n": p.case.n, "k": p.case.k,
            "contenders": [entry_of(contender, p.flops, None) for contender in contenders]}


def line_of(result: Dict[str, Any]) -> str:
    """Of the config that auto takes: the time of each order, then that of overlapping launches."""
    timed = [entry for entry in result["contenders"] if "us" in entry and entry["config"].startswith("arch=")]
    line = f"{result['recipe']:<7}{result['m']}x{result['n']}x{result['k']}:"
    for entry in timed:
        fields = fields_of(entry["config"])
        name = fields["raster"] + fields["band"] if entry["name"] == "warpwright" else "overlapping"
        line += f" {name} {entry['us']:.2f}"
        if name == "overlapping":
            break
    return line


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    dense_choice.add_options(parser)
    parser.add_argument("--best", type=int, default=2, help="configs of each case")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    library = Library.on(options.library, options.device)
    problems = dense_choice.problems_of(options.cases, options.recipes.split(","), options.seed)
    if options.part:
        part, parts = map(int, options.part.split("/"))
        kernels = [job for p in problems for job in jobs_of(library, p, options.best) if job[2] == OVERLAPPING]
        library.compile(kernels[part::parts], 1)
        return 0
    if options.compile_processes > 1:
        compile_ahead(options.compile_processes)
    record = record_of(library, (__doc__ or "").split("\n\n")[2], options)
    record["overlaps_by_rule"] = False
    for index, p in enumerate(problems):
        if time.monotonic() - start > options.seconds_total:
            break
        record["cases"].append(run_problem(library, index, p, options))
        print(line_of(record["cases"][-1]), flush=True)
        if library.memory == "cuda":
            torch.cuda.empty_cache()
    record["skipped"] = len(problems) - len(record["cases"])
    if options.result:
        pathlib.Path(options.result).write_text(json.dumps(record, indent=1) + "\n")
    return 0 if record["cases"] else 1


if __name__ == "__main__":
    sys.exit(main())
