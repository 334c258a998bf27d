# SPDX-License-Identifier: Apache-2.0
"""The times of the same products by two builds of the library, in one loop on one GPU.

    python3 bench/compare_builds.py BASE/lib/libwarpwright.so HEAD/lib/libwarpwright.so --result out.json

Dense cases in three recipes and grouped cases with block scales; each by the base, by a copy of the base, whose ratio to
it is the noise, and by the head. D of the three must have equal bits. Operands are N(0,1) in rotating sets of at least
240 MB; a contender's calls are one CUDA graph. Small cases are interleaved, every round in another random order. Large
ones, which run at the power limit, run alone in random order, each contender twice for half a second, of which the first
0.2 s do not count (bench/alone.py). Where --seconds-total is too short for all cases, every time is cut by one factor,
and `counted_seconds` of a case says what was left. With --cases bench/cases/h200_power.json --recipes block
--alone-load 0.5 --alone-seconds 1.5 --seconds-total 600 that is the comparison at the power limit. A case that is more
than 3 % slower beyond its noise is measured again at the end. Kernels are compiled beforehand by many processes, into the
cache that this one reads. Exit status 1: a class is more than 1 % slower, a case more than 3 % beyond the noise, bits
differ, or cases are missing.

On an emulated device the same runs without graphs, to test this program: its times mean nothing.
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
from typing import Any, Dict, List

import torch

import alone
import build_ratios
import dense_torch
import grouped_torch
from library import Library, compile_ahead
from loop import Contender, add_racing_options, attempt, capture_all, race, race_emulated, record_of

CASES = pathlib.Path(__file__).with_name("cases")
BUILDS = ("base", "again", "head")
LOAD_SECONDS = 0.3     # before an interleaved case
SET_UP_SECONDS = 0.35  # of a case: operands, graphs, bits; only for the plan of the time


@dataclasses.dataclass
class Job:
    """One product in one recipe; the plans of the three builds, or the text of a refusal."""
    case: Any  # dense_torch.Case or grouped_torch.Case
    recipe: str
    kind: str  # its class
    config: str = ""  # part of a config
    plans: Dict[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.case.name} {self.recipe}" + (f" {self.config}" if self.config else "")

    @property
    def dense(self) -> bool:
        return isinstance(self.case, dense_torch.Case)

    def flops(self) -> float:
        return 2.0 * self.case.m * self.case.n * self.case.k

    def problem(self) -> Any:
        return self.case.problem(self.recipe) if self.dense else self.case.problem(self.recipe, False)


def jobs_of(options: argparse.Namespace) -> List[Job]:
    jobs = []
    for file in options.cases:
        for entry in json.loads(pathlib.Path(file).read_text())["cases"]:
            config = ",".join(part for part in (options.config, entry.get("config", "")) if part)
            if entry["op"] == "dense":
                case = dense_torch.Case(entry["m"], entry["n"], entry["k"], 0.0)
                jobs += [Job(case, r, f"dense {r}, m {'<=' if case.m <= 256 else '>'} 256", config)
                         for r in options.recipes]
            else:
                kind = "grouped " + (entry["regime"] if entry.get("regime") in ("prefill", "decode") else "short")
                jobs += [Job(grouped_torch.Case(entry), r, kind, config) for r in options.grouped_recipes]
    return [job for job in jobs if options.cases_matching in job.name]


def libraries(options: argparse.Namespace) -> Dict[str, Library]:
    """The base, a second copy of it, and the head. The copy lies beside the base, where its packs are. An emulated device
    takes no copy, because a kernel's module serves one library of a process."""
    base = pathlib.Path(options.base).resolve()
    with tempfile.NamedTemporaryFile(dir=base.parent, prefix="again_", suffix=".so") as copy:
        if options.device.startswith("cuda"):
            shutil.copyfile(base, copy.name)
        paths = {"base": str(base), "again": copy.name if options.device.startswith("cuda") else str(base),
                 "head": str(pathlib.Path(options.head).resolve())}
        return {name: Library.on(path, options.device) for name, path in paths.items()}


def compile_part(jobs: List[Job], options: argparse.Namespace) -> int:
    part, parts = map(int, options.part.split("/"))
    for path in (options.head, options.base):
        Library(path, options.device).compile([(job.problem(), job.config, 0) for job in jobs[part::parts]], 1)
    return 0


def contenders_of(job: Job, built: Dict[str, Library], offs: Any) -> List[Contender]:
    made = []
    for build in BUILDS:
        if job.dense:
            made.append(dense_torch.ours(built[build], build, job.recipe, job.plans[build]))
        else:
            made.append(grouped_torch.our_contender(built[build], job.case, job.recipe,
                                                    grouped_torch.Variant(build, "", 0), offs, job.plans[build],
                                                    job.problem()))
    return made


def different_bits(contenders: List[Contender], operands: Any) -> int:
    """Elements of D in which a contender differs from the first, with NaN in D before each run."""
    results: List[torch.Tensor] = []

    def run(contender: Contender) -> None:
        operands.d.fill_(math.nan)
        contender.enqueue(operands)
        results.append(contender.result(operands).view(torch.int16).clone())

    for contender in contenders:
        attempt(contender, lambda: run(contender))  # pylint: disable=cell-var-from-loop
    return max((int((result != results[0]).sum()) for result in results), default=0)


def errors_of(contenders: List[Contender]) -> str:
    return "; ".join(f"{c.name}: {c.error}" for c in contenders if c.error is not None)


def time_gpu(job: Job, contenders: List[Contender], sets: List[Any], share: float, rng: random.Random,
             options: argparse.Namespace) -> List[str]:
    """Measures for `share` of the time that the options name."""
    racing = capture_all(contenders, sets)
    if len(racing) < len(contenders):
        return []
    if job.flops() < options.alone_flops:
        return race(contenders, share * options.seconds, 5, rng.randrange(1 << 30), LOAD_SECONDS, 400)
    return alone.race_alone(contenders, options.alone_rounds, share * options.alone_load, share * options.alone_seconds,
                            rng)


def run_job(job: Job, built: Dict[str, Library], sets: List[Any], share: float, rng: random.Random,
            options: argparse.Namespace) -> Dict[str, Any]:
    memory = built["base"].memory
    offs = None if job.dense else torch.tensor(job.case.counts, dtype=torch.int32).cumsum(0, dtype=torch.int32).to(memory)
    contenders = contenders_of(job, built, offs)
    row: Dict[str, Any] = {"name": job.name, "class": job.kind,
                           "alone": memory == "cuda" and job.flops() >= options.alone_flops,
                           "configs": {c.name.split()[0]: c.config for c in contenders}}
    differing = different_bits(contenders, sets[0])
    clocks: List[str] = []
    if not errors_of(contenders):
        if memory == "cuda":
            clocks = time_gpu(job, contenders, sets, share, rng, options)
        else:
            race_emulated(contenders, sets, rng)
    if errors_of(contenders):
        return {**row, "error": errors_of(contenders)}
    row.update(build_ratios.row_of(*(contender.us for contender in contenders)))
    for key in ("joules", "counted_seconds"):
        means = {build: alone.mean_of(c, key) for build, c in zip(BUILDS, contenders)}
        if None not in means.values():
            row[key] = means
    if differing:
        row["error"] = f"D has other bits in {differing} elements"
    if len(clocks) == 2:
        row.update(sm_mhz=float(clocks[0]), watts=float(clocks[1]))
    return row


class Clockwork:
    """How long each job is measured, so that all of them end in time."""

    def __init__(self, jobs: List[Job], options: argparse.Namespace, start: float) -> None:
        self.options, self.end = options, start + options.seconds_total
        self.wanted = sum(self.wish(job) for job in jobs)

    def wish(self, job: Job) -> float:
        o = self.options
        return SET_UP_SECONDS + (len(BUILDS) * o.alone_rounds * (o.alone_load + o.alone_seconds)
                                 if job.flops() >= o.alone_flops else LOAD_SECONDS + o.seconds)

    def over(self) -> bool:
        return time.monotonic() > self.end

    def share(self, job: Job) -> float:
        """The part of the time asked for that this job gets: less than 1 where time is short."""
        share = max(0.15, min(1.0, (self.end - time.monotonic()) / max(self.wanted, 1e-9)))
        self.wanted -= self.wish(job)
        return share


def sets_of(together: List[Job], options: argparse.Namespace, memory: str) -> List[Any]:
    """Operands for jobs of one case."""
    case, wide = together[0].case, any(job.recipe == "bf16" for job in together)
    return (dense_torch.make_sets(case, options.seed, memory) if together[0].dense
            else grouped_torch.make_sets(case, False, [], options.seed, memory, wide))


def run_all(jobs: List[Job], built: Dict[str, Library], record: Dict[str, Any], options: argparse.Namespace,
            start: float) -> None:
    """Every job, in random order, those of one case one after the other, and the slower ones again; into `record`."""
    rng = random.Random(options.seed)
    by_case: Dict[int, List[Job]] = {}
    for job in jobs:
        by_case.setdefault(id(job.case), []).append(job)
    clockwork = Clockwork(jobs, options, start)
    rows: Dict[int, Any] = {}

    def measure(together: List[Job], again: bool) -> None:
        sets = sets_of(together, options, built["base"].memory)
        for job in together:
            row = run_job(job, built, sets, clockwork.share(job), rng, options)
            if again:
                rows[id(job)]["second"] = row if "ratio" in row else rows[id(job)]
            else:
                rows[id(job)] = row
                record["cases"].append(row)
            print(build_ratios.line_of(row) + ("  (again)" if again else ""), flush=True)
        del sets
        if built["base"].memory == "cuda":
            torch.cuda.empty_cache()

    order = list(by_case.values())
    rng.shuffle(order)
    skipped = 0
    for together in order:
        if clockwork.over():
            skipped += len(together)
        else:
            measure(together, False)
    for job in jobs:
        if not clockwork.over() and build_ratios.slower(rows.get(id(job), {})):
            measure([job], True)
    record.update(build_ratios.summary(record["cases"]), skipped=skipped)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", help="libwarpwright.so of the build to compare with")
    parser.add_argument("head", help="libwarpwright.so of the build under test")
    add_racing_options(parser)
    parser.set_defaults(seconds=0.5, seconds_total=450.0)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--cases", default=",".join(str(CASES / f"{name}.json") for name in
                                                    ("h200_shapes", "h200_grouped", "grouped_short")))
    parser.add_argument("--cases-matching", default="", help="only cases whose name contains this")
    parser.add_argument("--recipes", default=",".join(dense_torch.RECIPES), help="of dense products")
    parser.add_argument("--grouped-recipes", default="block", help=", ".join(grouped_torch.RECIPES))
    parser.add_argument("--config", default="", help="part of a config for every product, such as a_source=registers")
    alone.add_options(parser, seconds=0.3, load=0.2)
    parser.add_argument("--compile-processes", type=int, default=os.cpu_count())
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name in ("cases", "recipes"):
        setattr(options, name, [part for part in getattr(options, name).split(",") if part])
    options.grouped_recipes = grouped_torch.recipes_of(parser, options.grouped_recipes)
    return options


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    jobs = jobs_of(options)
    if options.part:
        return compile_part(jobs, options)
    if not jobs:
        print(f"no case matches {options.cases_matching!r}", file=sys.stderr)
        return 2
    if options.compile_processes > 1:
        compile_ahead(options.compile_processes)
    built = libraries(options)
    record = record_of(built["head"], " ".join((__doc__ or "").split("\n\n")[2:3]), options)
    record["base_source_hash"] = built["base"].c.text("source_hash")
    for build in BUILDS:
        plans = built[build].compile([(job.problem(), job.config, 0) for job in jobs], 4)
        for job, plan in zip(jobs, plans):
            job.plans[build] = plan
    record["compile_seconds"] = time.monotonic() - start
    print(f"{record['device']}, torch {torch.__version__}; {len(jobs)} cases, plans in {record['compile_seconds']:.0f} s")
    print(f"{'case':<46}{'base us':>10}{'again us':>10}{'head us':>10}{'ratio':>9}{'copy':>9}", flush=True)
    run_all(jobs, built, record, options, start)
    record["seconds"] = time.monotonic() - start
    record["faults"] = build_ratios.faults(record)
    if options.result:
        pathlib.Path(options.result).write_text(json.dumps(record, indent=1) + "\n")
    print(*build_ratios.table_of(record), sep="\n")
    print(f"{record['seconds']:.0f} s; slower once and not again: {', '.join(record['slower_once']) or 'none'}")
    print(*(record["faults"] or ["no case and no class is slower"]), sep="\n")
    return 1 if record["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
