# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks in Python share: operands, contenders, and the loop that races them (bench/README.md)."""
import argparse
import dataclasses
import datetime
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

import alone

ROTATION_BYTES = 240_000_000
LOAD_SECONDS = 1.0
GRAPH_SECONDS = 1.5e-3
MIN_CALLS, MAX_CALLS = 24, 240


@dataclasses.dataclass
class Contender:
    """One way to compute a case: `enqueue` and `result` take one of the rotating sets of operands."""
    name: str
    recipe: str
    enqueue: Callable[[Any], Any]
    result: Callable[[Any], torch.Tensor]  # (M, N) after a run
    config: str = ""
    variant: str = ""
    error: Optional[str] = None
    max_error: float = 0.0
    us: List[float] = dataclasses.field(default_factory=list)
    turns: List[Dict[str, float]] = dataclasses.field(default_factory=list)  # of alone.turn(), where it ran alone
    graph: Any = None
    calls: int = 0
    widths: str = ""
    keep: List[Any] = dataclasses.field(default_factory=list)


def round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def normal(shape: Tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    """N(0,1) in e4m3. In pieces: FP32 of the largest operands would not fit beside them."""
    out = torch.empty(math.prod(shape), dtype=torch.float8_e4m3fn, device=generator.device)
    piece = 1 << 27
    for at in range(0, out.numel(), piece):
        part = out[at:at + piece]
        part.copy_(torch.randn(part.numel(), device=generator.device, generator=generator).to(torch.float8_e4m3fn))
    return out.view(shape)


def scales(shape: Tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.rand(shape, device=generator.device, generator=generator) * 0.5 + 0.75


def excess(got: torch.Tensor, expected: torch.Tensor, k: int) -> float:
    """Largest error beyond the rounding of D (8 bits), over the root of K, which is a product's spread."""
    got, expected = got.double(), expected.double()
    error = ((got - expected).abs() - expected.abs() * 2 ** -8).clamp(min=0) / math.sqrt(k)
    return math.inf if not bool(torch.isfinite(got).all()) else float(error.max())


def call_seconds(contender: Contender, sets: List[Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for i in range(4):
        contender.enqueue(sets[i % len(sets)])
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3 / 4


def capture(contender: Contender, sets: List[Any], calls: int) -> None:
    contender.graph, contender.calls = torch.cuda.CUDAGraph(), calls
    outputs: List[Any] = []
    with torch.cuda.graph(contender.graph):
        for i in range(calls):
            outputs.append(contender.enqueue(sets[i % len(sets)]))
            if len(outputs) > len(sets):  # as many outputs in rotation as ours has
                outputs.pop(0)
    contender.keep.append(outputs)


def smi(fields: str) -> List[str]:
    try:
        out = subprocess.run(["nvidia-smi", "--query-gpu=" + fields, "--format=csv,noheader,nounits", "-i", "0"],
                             capture_output=True, text=True, timeout=10, check=True).stdout
        return [field.strip() for field in out.strip().split(",")]
    except (OSError, subprocess.SubprocessError):
        return []


def race(contenders: List[Contender], seconds: float, replays: int, seed: int, load: float = LOAD_SECONDS,
         most: int = 31) -> List[str]:
    """Appends a time of every contender to its `us` for each counted round: `seconds` of them after `load` seconds, at
    least `replays` and at most `most`."""
    # Random, because at the power limit a replay's clock depends on the preceding replay. In a fixed order a contender
    # that followed torch, which takes less power, was up to 7 % faster than the same kernel two places later.
    rng = random.Random(seed)

    def rounds(count: int) -> List[Tuple[List[int], List[Any]]]:
        marks = []
        for _ in range(count):
            order = rng.sample(range(len(contenders)), len(contenders))
            events = [torch.cuda.Event(enable_timing=True) for _ in range(len(order) + 1)]
            events[0].record()
            for i, event in zip(order, events[1:]):
                contenders[i].graph.replay()
                event.record()
            marks.append((order, events))
        return marks

    first = rounds(2)
    torch.cuda.synchronize()
    one = first[1][1][0].elapsed_time(first[1][1][-1]) * 1e-3
    rounds(max(1, math.ceil(load / one)))  # no wait after it: the load goes on into what counts
    counted = rounds(max(replays, min(most, int(seconds / one))))
    clocks = smi("clocks.sm,power.draw")  # while the queue is worked off
    torch.cuda.synchronize()
    for order, events in counted:
        for n, i in enumerate(order):
            contenders[i].us.append(events[n].elapsed_time(events[n + 1]) * 1e3 / contenders[i].calls)
    return clocks


def attempt(contender: Contender, action: Callable[[], Any]) -> Any:
    """One contender's failure is an entry of the result."""
    if contender.error is not None:
        return None
    try:
        return action()
    except Exception as error:  # pylint: disable=broad-except
        contender.error = f"{type(error).__name__}: {error}".splitlines()[0][:400]
        return None


def capture_all(contenders: List[Contender], sets: List[Any]) -> List[Contender]:
    """Returns those that have no error, each with a graph of as many calls as the fastest needs for a replay."""
    times = [attempt(c, lambda: call_seconds(c, sets)) for c in contenders]  # pylint: disable=cell-var-from-loop
    fastest = min((t for t in times if t), default=1e-3)
    calls = round_up(int(min(MAX_CALLS, max(MIN_CALLS, GRAPH_SECONDS / fastest))), len(sets))
    for contender in contenders:
        attempt(contender, lambda: capture(contender, sets, calls))  # pylint: disable=cell-var-from-loop
    return [c for c in contenders if c.error is None]


def race_all(contenders: List[Contender], sets: List[Any], options: argparse.Namespace,
             flops: float = 0.0, memory: str = "cuda") -> List[str]:
    """Times of all that have no error yet, into Contender.us: among each other or, from options.alone_flops on, alone.
    Returns clock in MHz and power in W while they ran. On an emulated device calls are timed without graphs."""
    if memory == "cpu":
        race_emulated([c for c in contenders if c.error is None], sets, random.Random(options.seed))
        return []
    racing = capture_all(contenders, sets)
    if racing and flops and flops >= options.alone_flops:
        return alone.race_alone(racing, options.alone_rounds, options.alone_load, options.alone_seconds,
                                random.Random(options.seed))
    return race(racing, options.seconds, options.replays, options.seed) if racing else []


def race_emulated(contenders: List[Contender], sets: List[Any], rng: random.Random) -> None:
    """Three calls of each, to test the programs without a GPU."""
    for i in range(3):
        for contender in rng.sample(contenders, len(contenders)):
            begin = time.perf_counter()
            contender.enqueue(sets[i % len(sets)])
            contender.us.append((time.perf_counter() - begin) * 1e6)


def synchronize(memory: str) -> None:
    """Waits for a GPU; an emulated device has finished when a call returns."""
    if memory == "cuda":
        torch.cuda.synchronize()


def entry_of(contender: Contender, flops: float, roof_us: Optional[float]) -> Dict[str, Any]:
    entry: Dict[str, Any] = {"name": contender.name, "recipe": contender.recipe, "config": contender.config}
    if contender.us:
        us = statistics.median(contender.us)
        entry.update(us=us, us_low=min(contender.us), us_high=max(contender.us), replays=len(contender.us),
                     calls_per_graph=contender.calls, tflops=flops / us * 1e-6, max_error=contender.max_error)
        if roof_us:
            entry["of_roof"] = roof_us / us
    if contender.turns:
        entry["turns"] = contender.turns
        entry.update({key: value for key in ("joules", "watts", "sm_mhz")
                      for value in [alone.mean_of(contender, key)] if value is not None})
        if "joules" in entry:
            entry["tflop_per_joule"] = flops / entry["joules"] * 1e-12
    if contender.widths:
        entry["widths"] = contender.widths
    if contender.error is not None:
        entry["error"] = contender.error
    return entry


def record_of(library: Any, method: str, options: argparse.Namespace) -> Dict[str, Any]:
    """What a result file says before its cases."""
    driver = smi("driver_version,power.limit,name") or ["", "", ""]
    return {"device": library.description(), "gpu": driver[2], "driver": driver[0],
            "power_limit_watts": driver[1], "torch": torch.__version__, "cuda_of_torch": torch.version.cuda,
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "command": " ".join(["python3", *sys.argv]), "source_hash": library.c.text("source_hash"),
            "overlaps_by_rule": True, "kernels_since": "2026-11-28", "seed": options.seed,
            "method": " ".join(method.split()), "cases": []}


def compact(record: Dict[str, Any]) -> Dict[str, Any]:
    """The record with each of our configs written once: `times` and `rough` of a case are pairs of a place in `configs`
    and microseconds, `chosen` is such a place; peers, and what did not run, remain in `contenders`."""
    places: Dict[str, int] = {}

    def has_place(entry: Dict[str, Any]) -> bool:
        return entry.get("us", 0) > 0 and entry["config"].startswith("arch=")

    def pairs(case: Dict[str, Any], rough: bool) -> List[Tuple[int, float]]:
        # The first config of a problem finds a cold device: four calls of it say nothing.
        return [(places[e["config"]], round(e["us"], 4)) for i, e in enumerate(case["contenders"])
                if has_place(e) and bool(e.get("rough")) == rough and not (rough and i == 0)]

    cases = []
    for case in record["cases"]:
        for config in [case["chosen"], *(e["config"] for e in case["contenders"] if has_place(e))]:
            places.setdefault(config, len(places))
        cases.append({**case, "chosen": places[case["chosen"]], "times": pairs(case, False), "rough": pairs(case, True),
                      "contenders": [e for e in case["contenders"] if not has_place(e)]})
    return {**record, "configs": list(places), "cases": cases}


def write_compact(record: Dict[str, Any], path: str) -> None:
    if path:
        pathlib.Path(path).write_text(json.dumps(compact(record), separators=(",", ":")) + "\n")


def run_cases(cases: List[Any], record: Dict[str, Any], options: argparse.Namespace, start: float,
              run: Callable[[int, Any], Dict[str, Any]], lines: Callable[[Any, Dict[str, Any]], List[str]]) -> int:
    """Every case until the time is over, into `record` and the result file; prints `lines` of each. The number of cases
    without a time of ours."""
    failed = 0
    for index, case in enumerate(cases):
        if time.monotonic() - start > options.seconds_total:
            record["skipped"] = len(cases) - index
            print(f"{len(cases) - index} cases skipped: {options.seconds_total:.0f} s are over", flush=True)
            break
        try:
            result = run(index, case)
        except Exception as error:  # pylint: disable=broad-except
            result = {"name": case.name, "error": f"{type(error).__name__}: {error}"[:400], "contenders": []}
        failed += not any("us" in e and e["config"].startswith("arch=") for e in result["contenders"])
        record["cases"].append(result)
        errors = [f"    {e['name']}: {e['error']}" for e in result["contenders"] if "error" in e]
        print("\n".join([*lines(case, result), *([result["error"]] if "error" in result else []), *errors]), flush=True)
        if options.result:
            pathlib.Path(options.result).write_text(json.dumps(record, indent=1) + "\n")
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    return failed


def variant_of(name: str) -> Tuple[str, int]:
    """What is before "+pdl" or "-pdl", and whether launches overlap: 0, as the library chooses, 1 never, 2 always."""
    for suffix, pdl in (("-pdl", 1), ("+pdl", 2)):
        if name.endswith(suffix):
            return name[:-len(suffix)], pdl
    return name, 0


def add_racing_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--result", default="", help="write the result as JSON, after every case")
    parser.add_argument("--seconds", type=float, default=2.0, help="of counted replays for a case")
    parser.add_argument("--seconds-total", type=float, default=330.0, help="no case starts later")
    parser.add_argument("--replays", type=int, default=5, help="of every contender, at least")
    parser.add_argument("--seed", type=int, default=0)


def add_options(parser: argparse.ArgumentParser) -> None:
    add_racing_options(parser)
    alone.add_options(parser, seconds=1.5, load=0.5)
    parser.add_argument("--library", required=True, help="libwarpwright.so of a build")
    parser.add_argument("--cases-matching", default="", help="only cases whose line in the table contains this")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--compile-threads", type=int, default=12)
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("--deepgemm", action="store_true", help="DeepGEMM as well (bench/deepgemm.py)")


def number(value: Optional[float], digits: int = 1) -> str:
    return f"{value:.{digits}f}" if value else "-"


