# SPDX-License-Identifier: Apache-2.0
"""Dense products, each by what auto takes, by the configs that the model ranks next and by others of the list.

    warpwright bench gemm --random 90 --seed 1128 --dry-run --json > cases.json
    python3 bench/dense_choice.py --library BUILD/lib/libwarpwright.so --cases cases.json --result out.json

Candidates are the first `--best` configs by modelled time, `--others` drawn at random from those that follow up to place
`--among`, and with `--before LIBRARY` what auto of that build takes. For each case, in one of three recipes at random:
operands from N(0,1) in rotating sets of at least 240 MB; every candidate is checked against FP64 at sampled rows and then
takes turns with cuBLASLt, as torch calls it, in random order, in graphs; medians. Products at the power limit are left
out: bench/dense_torch.py measures them alone. `fit_cost_model` of the tests and
tools/fit_correction.py read the result, which names each config once (loop.compact).
"""
import argparse
import dataclasses
import json
import os
import pathlib
import random
import statistics
import sys
import time
from typing import Any, Dict, List, Tuple

import torch

import dense_torch
from library import HEADER, Library, compile_ahead
from loop import Contender, attempt, capture_all, entry_of, race, record_of, write_compact

RECIPES = ("block", "tensor", "bf16")
MOST_FLOPS = 1e11
LOAD_SECONDS, ROUNDS = 0.15, 9


@dataclasses.dataclass(frozen=True)
class Problem:
    recipe: str
    case: dense_torch.Case

    @property
    def kind(self) -> str:
        """Its class by rows of A."""
        return next(name for most, name in ((32, "<= 32"), (256, "<= 256"), (1024, "<= 1024"), (1 << 62, "more"))
                    if self.case.m <= most)

    def of_library(self) -> Any:
        return self.case.problem(self.recipe)

    @property
    def flops(self) -> float:
        return 2.0 * self.case.m * self.case.n * self.case.k


def problems_of(path: str, recipes: List[str], seed: int) -> List[Problem]:
    """The dense cases of a file below the power limit, each in a recipe drawn at random: cases come class by class, so
    that recipes in turns would give each class one of them."""
    draw = random.Random(seed)
    cases = [dense_torch.Case(e["m"], e["n"], e["k"], e.get("roof_us", 0.0))
             for e in json.loads(pathlib.Path(path).read_text())["cases"] if e.get("op", "dense") == "dense"]
    problems = [Problem(draw.choice(recipes), case) for case in cases]
    return [p for p in problems if p.flops < MOST_FLOPS]


def candidates(library: Library, before: Any, p: Problem, index: int,
               options: argparse.Namespace) -> Tuple[List[str], str]:
    """The configs that race, of which auto takes the first, and what auto of the earlier build takes."""
    def listed(by: Library) -> List[str]:
        return list(by.c.report("gemm_configs", by.device, p.of_library(), HEADER.make("ww_options"))["configs"])

    ranked = listed(library)
    rest = ranked[options.best:options.among]
    chosen = ranked[:options.best] + random.Random(options.seed + index).sample(rest, min(len(rest), options.others))
    earlier = [listed(before)[0]] if before is not None else []
    return list(dict.fromkeys(chosen + earlier)), "".join(earlier)


def run_problem(library: Library, before: Any, index: int, p: Problem, options: argparse.Namespace) -> Dict[str, Any]:
    configs, earlier = candidates(library, before, p, index, options)
    plans = library.compile([(p.of_library(), config, 0) for config in configs], 4)
    sets = dense_torch.make_sets(p.case, options.seed + index, library.memory)
    contenders = [dense_torch.ours(library, "warpwright", p.recipe, plan) for plan in plans]
    for contender, config in zip(contenders, configs):
        contender.config = config
    peers = dense_torch.peers(argparse.Namespace(no_torch=library.memory == "cpu", deepgemm=False, recipes=[p.recipe]))
    rows, expected = dense_torch.reference(p.case, sets[0])

    def check(contender: Contender) -> None:
        dense_torch.check(contender, sets[0], rows, expected[p.recipe], p.case.k)

    for contender in contenders + peers:
        attempt(contender, lambda: check(contender))  # pylint: disable=cell-var-from-loop
    if library.memory == "cuda":
        racing = capture_all(contenders + peers, sets)
        race(racing, options.seconds, 3, options.seed + index, LOAD_SECONDS, ROUNDS)
    entries = [entry_of(c, p.flops, None) for c in contenders + peers]
    return {"op": "dense", "class": p.kind, "recipe": p.recipe, "m": p.case.m, "n": p.case.n, "k": p.case.k,
            "chosen": configs[0], **({"before": earlier} if before is not None else {}), "contenders": entries}


def times_of(result: Dict[str, Any]) -> Dict[str, float]:
    return {e["config"]: e["us"] for e in result["contenders"] if "us" in e and e["config"].startswith("arch=")}


def losses(result: Dict[str, Any]) -> Dict[str, float]:
    """Of what auto takes: its time over the best one's, over the peer's and over that of the build before."""
    times = times_of(result)
    own = times.get(result["chosen"])
    if own is None:
        return {}
    peer = [e["us"] for e in result["contenders"] if "us" in e and not e["config"].startswith("arch=")]
    found = {"best": own / min(times.values())}
    if peer:
        found["torch"] = own / min(peer)
    if result.get("before") in times:
        found["before"] = own / times[result["before"]]
    return found


def line_of(result: Dict[str, Any]) -> str:
    times = times_of(result)
    errors = [e["error"] for e in result["contenders"] if "error" in e]
    ratios = ", ".join(f"{value:.3f} of {name}" for name, value in losses(result).items())
    return (f"{result['class']:<7}{result['recipe']:<7}{result['m']}x{result['n']}x{result['k']}: "
            f"{times.get(result['chosen'], 0):.2f} us, {ratios}; {len(times)} ran" +
            (f", {len(errors)} did not: {errors[0][:200]}" if errors else ""))


def class_means(results: List[Dict[str, Any]]) -> List[str]:
    found: Dict[Tuple[str, str], List[float]] = {}
    for result in results:
        for name, value in losses(result).items():
            for kind in ("all", result["class"], f"{result['class']} {result['recipe']}"):
                found.setdefault((kind, name), []).append(value)
    return [f"{kind:<14} auto over {name:<7} mean {statistics.geometric_mean(values):.3f}, worst {max(values):.3f}, of "
            f"{len(values)} {100 * sum(x <= 1.03 for x in values) / len(values):.0f} % within 3 %, "
            f"{sum(x > 1.08 for x in values)} more than 8 % behind" for (kind, name), values in sorted(found.items())]


def compile_part(library: Library, before: Any, problems: List[Problem], options: argparse.Namespace) -> None:
    part, parts = map(int, options.part.split("/"))
    jobs = {(p.recipe, config): p for index, p in enumerate(problems)
            for config in candidates(library, before, p, index, options)[0]}
    library.compile([(p.of_library(), config, 0) for (_, config), p in list(jobs.items())[part::parts]], 1)


def add_options(parser: argparse.ArgumentParser) -> None:
    """What bench/launch_order.py takes too."""
    parser.add_argument("--library", required=True, help="libwarpwright.so of a build")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--result", default="", help="write the result as JSON")
    parser.add_argument("--cases", required=True, help="case file, such as `warpwright bench gemm --dry-run --json` prints")
    parser.add_argument("--recipes", default=",".join(RECIPES))
    parser.add_argument("--seed", type=int, default=1128, help="of the candidates and operands")
    parser.add_argument("--seconds", type=float, default=0.25, help="of counted replays for a problem")
    parser.add_argument("--seconds-total", type=float, default=280.0, help="no problem starts later")
    parser.add_argument("--compile-processes", type=int, default=os.cpu_count())
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--before", default="", help="libwarpwright.so of an earlier build, whose choice races too")
    parser.add_argument("--best", type=int, default=10, help="candidates that the model ranks first")
    parser.add_argument("--others", type=int, default=10, help="candidates drawn from the rest")
    parser.add_argument("--among", type=int, default=150, help="the last place in the list from which some are drawn")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    library = Library.on(options.library, options.device)
    before = Library(options.before, options.device) if options.before else None
    problems = problems_of(options.cases, options.recipes.split(","), options.seed)
    if options.part:
        compile_part(library, before, problems, options)
        return 0
    if options.compile_processes > 1:
        compile_ahead(options.compile_processes)
    record = record_of(library, (__doc__ or "").split("\n\n")[2], options)
    record["compile_seconds"] = time.monotonic() - start
    print(f"{record['device']}; kernels in {record['compile_seconds']:.0f} s", flush=True)
    for index, p in enumerate(problems):
        if time.monotonic() - start > options.seconds_total:
            break
        record["cases"].append(run_problem(library, before, index, p, options))
        print(line_of(record["cases"][-1]), flush=True)
        if index % 8 == 7 or index + 1 == len(problems):
            write_compact(record, options.result)
        if library.memory == "cuda":
            torch.cuda.empty_cache()
    record["skipped"] = len(problems) - len(record["cases"])
    write_compact(record, options.result)
    print("\n".join(class_means(record["cases"])), flush=True)
    return 0 if record["cases"] else 1


if __name__ == "__main__":
    sys.exit(main())
