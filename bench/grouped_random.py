# SPDX-License-Identifier: Apache-2.0
"""Random grouped products, each by every config of our list, in one process on one GPU.

    python3 bench/grouped_random.py --library BUILD/lib/libwarpwright.so --seed 1123 --result out.json

Shapes are drawn by class (decode, middle, large) from layers of MoE models and at random, with equal, uneven and partly
empty groups, in three recipes. Candidates are what `warpwright configs grouped` lists. For each problem: operands from
N(0,1) in rotating sets of at least 240 MB; every candidate is checked against FP64 at sampled rows; those within
`--slow` of the fastest then take turns in random order, in graphs; medians. The rest keep the time of four calls.
`fit_grouped_model` of the tests reads the result, which names each config once (loop.compact).
"""
import argparse
import dataclasses
import json
import math
import os
import pathlib
import random
import statistics
import sys
import threading
import time
from typing import Any, Dict, List, Optional, Tuple

import torch

from library import HEADER, SCALES, Launcher, Library, Plan, compile_ahead
from loop import (ROTATION_BYTES, Contender, call_seconds, capture, excess, record_of, race, round_up,
                  write_compact)

MODELS = pathlib.Path(__file__).with_name("cases") / "models.json"
RECIPES = ("block", "block", "tensor", "bf16", "block", "bf16")
CLASSES = ("decode", "middle", "large")
LOAD_SECONDS, REPLAY_SECONDS = 0.2, 1e-3
MOST_WEIGHTS, LEAST_WEIGHTS, MOST_FLOPS = 2.5e9, 4e6, 1.1e12
MOST_ERROR, COMPILE_THREADS = 0.1, 8
PROBLEM_SECONDS, STOPPED = 60.0, 3  # exit status


@dataclasses.dataclass(frozen=True)
class Problem:
    kind: str     # one of CLASSES
    recipe: str   # one of RECIPES
    masked: bool
    counts: Tuple[int, ...]
    n: int
    k: int

    @property
    def rows(self) -> int:
        return sum(self.counts)

    @property
    def element(self) -> int:
        return 2 if self.recipe == "bf16" else 1

    @property
    def rows_of_a(self) -> int:
        return len(self.counts) * max(self.counts) if self.masked else self.rows

    def set_bytes(self) -> int:
        return self.element * self.k * (self.rows + len(self.counts) * self.n) + 2 * self.rows * self.n

    def of_library(self) -> Any:
        kind = "WW_BF16" if self.recipe == "bf16" else "WW_E4M3"
        p = HEADER.make("ww_grouped_problem", groups=len(self.counts), n=self.n, k=self.k, a_type=kind, b_type=kind,
                        rows=max(self.counts) if self.masked else self.rows, d_type="WW_BF16",
                        scale=SCALES["none" if self.recipe == "bf16" else self.recipe],
                        encoding="WW_MASKED" if self.masked else "WW_OFFSETS")
        if self.recipe == "block":  # A's scales M-major, B's packed
            blocks_k, blocks_n = -(-self.k // 128), -(-self.n // 128)
            p.scale_a_row, p.scale_a_k = 1, round_up(self.rows_of_a, 4)
            p.scale_b_n, p.scale_b_k, p.scale_b_group = blocks_k, 1, blocks_n * blocks_k
        return p

    def record(self) -> Dict[str, Any]:
        return {"op": "grouped", "class": self.kind, "recipe": self.recipe, "masked": self.masked, "n": self.n,
                "k": self.k, "groups": len(self.counts), "rows": self.rows, "tokens_per_group": list(self.counts)}


def layers() -> List[Tuple[int, int, int]]:
    """(experts, N, K) of MoE layers, whole and cut for tensor parallelism."""
    found = []
    for model in json.loads(MODELS.read_text())["models"]:
        if "experts" in model:
            for cut in (1, 2, 4, 8):
                ffn = model["expert_ffn"] // cut
                if ffn % 128 == 0:
                    found += [(model["experts"], 2 * ffn, model["hidden"]), (model["experts"], model["hidden"], ffn)]
    return found


def spread(rng: random.Random, groups: int, mean: float) -> Tuple[int, ...]:
    """Rows of every group: equal, uneven by up to a third, of routed tokens, very uneven, or partly empty."""
    kind = rng.choice(("equal", "third", "routed", "uneven", "empty"))
    weights = [{"equal": 1.0, "third": rng.uniform(0.67, 1.33), "routed": rng.lognormvariate(0, 0.5),
                "uneven": rng.lognormvariate(0, 1.2), "empty": rng.choice((0.0, rng.uniform(0.5, 1.5)))}[kind]
               for _ in range(groups)]
    if sum(weights) == 0:
        weights[rng.randrange(groups)] = 1.0
    return tuple(max(0, round(w * mean * groups / sum(weights))) for w in weights)


def draw(seed: int, count: int, tiny: bool) -> List[Problem]:
    """Problems in an order in which every prefix has all classes and recipes."""
    rng, known = random.Random(seed), layers()
    found: List[Problem] = []
    while len(found) < count:
        kind, recipe = CLASSES[len(found) % 3], RECIPES[len(found) // 3 % len(RECIPES)]
        if rng.random() < 0.65:
            experts, n, k = rng.choice(known)
            groups = max(2, experts // rng.choice((1, 2, 4, 8, 16, 32)))
            if groups > 128 and recipe != "block":  # of more groups' kernels one recipe is enough
                groups //= 4
        else:
            groups = rng.choice((2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128))
            n, k = 16 * round(2 ** rng.uniform(5, 9)), 64 * round(2 ** rng.uniform(3, 7))
        mean = {"decode": 2 ** rng.uniform(0, 5), "middle": 2 ** rng.uniform(5.05, 9),
                "large": 2 ** rng.uniform(9.5, 13)}[kind]
        if tiny:
            groups, n, k, mean = rng.choice((2, 3, 5)), rng.choice((64, 144, 256)), rng.choice((128, 192)), min(mean, 150)
        masked = kind == "decode" and rng.random() < 0.2
        p = Problem(kind, recipe, masked, spread(rng, groups, mean), n, k)
        weights = groups * n * k * p.element
        if p.rows == 0 or (masked and p.rows_of_a > 6 * p.rows):
            continue
        if not tiny and (not LEAST_WEIGHTS <= weights <= MOST_WEIGHTS or
                         2.0 * p.rows * n * k * p.element > MOST_FLOPS):
            continue
        found.append(p)
    return found


@dataclasses.dataclass
class Operands:
    a: torch.Tensor
    b: torch.Tensor
    d: torch.Tensor
    scale_a: Optional[torch.Tensor] = None
    scale_b: Optional[torch.Tensor] = None


class Pool:
    """Random elements, made once; operands are cut from it."""

    def __init__(self, device: str, elements: int) -> None:
        generator = torch.Generator(device=device).manual_seed(1)
        values = torch.randn(elements, device=device, generator=generator)
        self.kinds = {1: values.to(torch.float8_e4m3fn), 2: values.to(torch.bfloat16)}
        self.scale = torch.rand(1 << 20, device=device, generator=generator) * 0.5 + 0.75
        self.at = 0

    def cut(self, element: int, shape: Tuple[int, ...]) -> torch.Tensor:
        return self._fill(self.kinds[element], shape)

    def scales(self, *shape: int) -> torch.Tensor:
        return self._fill(self.scale, shape)

    def _fill(self, pool: torch.Tensor, shape: Tuple[int, ...]) -> torch.Tensor:
        out = torch.empty(math.prod(shape), dtype=pool.dtype, device=pool.device)
        for at in range(0, out.numel(), pool.numel() // 2):
            piece = out[at:at + pool.numel() // 2]
            self.at = (self.at + 1_000_003) % (pool.numel() // 2)
            piece.copy_(pool[self.at:self.at + piece.numel()])
        return out.view(shape)


def make_sets(p: Problem, pool: Pool) -> List[Operands]:
    blocks_k, blocks_n, groups = -(-p.k // 128), -(-p.n // 128), len(p.counts)
    sets = []
    device = pool.scale.device
    count = 1 if device.type == "cpu" else min(64, max(2, math.ceil(ROTATION_BYTES / p.set_bytes())))
    for _ in range(count):
        o = Operands(pool.cut(p.element, (p.rows_of_a, p.k)), pool.cut(p.element, (groups, p.n, p.k)),
                     torch.empty((p.rows_of_a, p.n), dtype=torch.bfloat16, device=device))
        if p.recipe == "block":
            o.scale_a = pool.scales(blocks_k, round_up(p.rows_of_a, 4))
            o.scale_b = pool.scales(groups, blocks_n, blocks_k)
        elif p.recipe == "tensor":
            o.scale_a, o.scale_b = pool.scales(1), pool.scales(1)
        sets.append(o)
    return sets


def sampled(p: Problem, o: Operands) -> Tuple[torch.Tensor, torch.Tensor]:
    """Numbers of a few rows of D, and those rows in FP64."""
    used = [g for g, count in enumerate(p.counts) if count > 0]
    numbers, rows = [], []
    for g in sorted({used[0], max(used, key=lambda g: p.counts[g]), used[-1]}):
        start = g * max(p.counts) if p.masked else sum(p.counts[:g])
        of_group = sorted({i for i in (0, 7, 63, 64, 128, p.counts[g] // 2, p.counts[g] - 1) if i < p.counts[g]})
        at = torch.tensor([start + i for i in of_group], device=o.a.device)
        a = o.a.view(torch.int8 if p.element == 1 else torch.int16)[at].view(o.a.dtype).double()
        b = o.b[g].double()
        if p.recipe == "block":
            assert o.scale_a is not None and o.scale_b is not None
            a = a * o.scale_a.t()[at].double().repeat_interleave(128, 1)[:, :p.k]
            b = b * o.scale_b[g].double().repeat_interleave(128, 0)[:p.n].repeat_interleave(128, 1)[:, :p.k]
        d = a @ b.t()
        if p.recipe == "tensor":
            assert o.scale_a is not None and o.scale_b is not None
            d = d * o.scale_a.double() * o.scale_b.double()
        numbers.append(at)
        rows.append(d)
    return torch.cat(numbers), torch.cat(rows)


def candidates(library: Library, p: Problem, index: int, options: argparse.Namespace) -> Tuple[str, List[str]]:
    """What auto takes, and the list; every fifth decode problem has variant descriptors as well."""
    report = library.c.report("grouped_configs", library.device, p.of_library(), HEADER.make("ww_options"))
    listed = list(report["configs"])
    if p.kind == "decode" and index // 3 % 5 == 0:
        asked = HEADER.make("ww_options")
        asked.config = b"variant=descriptors,tile_scheduler=vertical"
        listed += library.c.report("grouped_configs", library.device, p.of_library(), asked)["configs"]
    listed = list(dict.fromkeys([report["chosen"], *listed]))
    if options.most:
        listed = random.Random(index).sample(listed, min(len(listed), options.most))
    return report["chosen"], listed


def contender_of(library: Library, config: str, plan: Plan, sizes: torch.Tensor) -> Contender:
    launcher = Launcher(library, plan)

    def enqueue(o: Operands) -> None:
        launcher(o.a, o.b, o.d, o.scale_a, o.scale_b, sizes)

    return Contender(config, "", enqueue, lambda o: o.d, config=config, keep=[launcher])


def check(contender: Contender, p: Problem, o: Operands, rows: torch.Tensor, expected: torch.Tensor) -> None:
    o.d.fill_(math.nan)
    contender.enqueue(o)
    contender.max_error = excess(o.d[rows], expected, p.k)
    if not contender.max_error < MOST_ERROR:
        raise RuntimeError(f"wrong result: error {contender.max_error:.3g}, at most {MOST_ERROR}")


def tried(contender: Contender, action: Any) -> Any:
    try:
        return action() if contender.error is None else None
    except Exception as error:  # pylint: disable=broad-except
        contender.error = f"{type(error).__name__}: {error}".splitlines()[0][:300]
        return None


def measure(contenders: List[Contender], sets: List[Operands], p: Problem, seed: int,
            options: argparse.Namespace) -> Tuple[Dict[str, float], List[str]]:
    """Fills `us` of the first, which is what auto takes, and of those near the fastest; returns the rough time of every
    config, and clock and power."""
    rows, expected = sampled(p, sets[0])
    for contender in contenders:
        tried(contender, lambda: check(contender, p, sets[0], rows, expected))  # pylint: disable=cell-var-from-loop
    rough = {}
    for contender in contenders[:1] + contenders:  # the first call of all finds a cold device
        seconds = tried(contender, lambda: timed_calls(contender, sets))  # pylint: disable=cell-var-from-loop
        if seconds:
            rough[contender.config] = seconds * 1e6
    if sets[0].a.device.type == "cpu":
        return rough, []
    fastest = min(rough.values(), default=0)
    racing = [c for c in contenders
              if c.config in rough and (c is contenders[0] or rough[c.config] <= options.slow * fastest)]
    calls = round_up(max(2, math.ceil(REPLAY_SECONDS * 1e6 / max(fastest, 1))), len(sets))
    for contender in racing:
        tried(contender, lambda: capture(contender, sets, calls))  # pylint: disable=cell-var-from-loop
    racing = [c for c in racing if c.error is None]
    clocks = race(racing, options.seconds, 4, seed, LOAD_SECONDS, 12) if racing else []
    return rough, clocks


def timed_calls(contender: Contender, sets: List[Operands]) -> float:
    if sets[0].a.device.type != "cpu":
        return call_seconds(contender, sets)
    begin = time.perf_counter()
    contender.enqueue(sets[0])
    return time.perf_counter() - begin


def run_problem(library: Library, pool: Pool, index: int, p: Problem, options: argparse.Namespace) -> Dict[str, Any]:
    chosen, listed = candidates(library, p, index, options)
    sizes = torch.tensor(p.counts, dtype=torch.int32)
    sizes = (sizes if p.masked else sizes.cumsum(0, dtype=torch.int32)).to(pool.scale.device)
    contenders, errors = [], {}
    plans = library.compile([(p.of_library(), config, 0) for config in listed], COMPILE_THREADS)
    for config, plan in zip(listed, plans):
        if isinstance(plan, str):
            errors[config] = plan
        else:
            contenders.append(contender_of(library, config, plan, sizes))
    rough, clocks = measure(contenders, make_sets(p, pool), p, options.seed + index, options)
    errors.update({c.config: c.error for c in contenders if c.error is not None})
    entries = []
    for c in contenders:
        if c.us:
            entries.append({"name": "warpwright", "config": c.config, "us": round(statistics.median(c.us), 3),
                            "us_low": round(min(c.us), 3), "us_high": round(max(c.us), 3), "replays": len(c.us)})
        elif c.config in rough and c.error is None:
            entries.append({"name": "warpwright", "config": c.config, "us": round(rough[c.config], 2), "rough": True})
    for c in contenders:  # they hold memory of the device
        c.keep.clear()
        c.graph = None
    if pool.scale.device.type != "cpu":
        torch.cuda.empty_cache()
    result = {**p.record(), "chosen": chosen, "contenders": entries, "errors": errors}
    if len(clocks) == 2:
        result.update(sm_mhz=float(clocks[0]), watts=float(clocks[1]))
    return result


def line_of(result: Dict[str, Any]) -> str:
    times = {e["config"]: e["us"] for e in result["contenders"]}
    best = min(times, key=lambda config: times[config], default="")
    auto = auto_loss(result) or math.nan
    short = ",".join(item for item in best.split(",") if item.startswith(("tile", "cluster", "variant", "occ", "split")))
    return (f"{result['class']:<7}{result['recipe']:<7}{'masked ' if result['masked'] else ''}G={result['groups']} "
            f"M={result['rows']} N={result['n']} K={result['k']}: auto {auto:.3f} of {times.get(best, math.nan):.1f} us, "
            f"{len(times)} ran, {len(result['errors'])} did not; {short}")


def auto_loss(result: Dict[str, Any]) -> Optional[float]:
    """The time of what auto takes over the best one's."""
    times = {e["config"]: e["us"] for e in result["contenders"]}
    return times[result["chosen"]] / min(times.values()) if result["chosen"] in times else None


def class_means(results: List[Dict[str, Any]]) -> List[str]:
    """What auto loses against the best listed config, for each class and recipe."""
    kinds: Dict[str, List[float]] = {}
    for result in results:
        loss = auto_loss(result)
        masked = " masked" if result["masked"] else ""
        for kind in ("all", result["class"], f"{result['class']} {result['recipe']}{masked}"):
            if loss is not None:
                kinds.setdefault(kind, []).append(loss)
    lines = []
    for kind, losses in sorted(kinds.items()):
        near, far = sum(x <= 1.03 for x in losses), sum(x > 1.08 for x in losses)
        lines.append(f"{kind:<21} auto over best: mean {statistics.geometric_mean(losses):.3f}, worst {max(losses):.3f}, of "
                     f"{len(losses)} {100 * near / len(losses):.0f} % within 3 %, {far} more than 8 % behind")
    return lines


def compile_part(library: Library, problems: List[Problem], options: argparse.Namespace) -> None:
    part, parts = map(int, options.part.split("/"))
    jobs: Dict[str, Problem] = {}
    for index, p in enumerate(problems):
        for config in candidates(library, p, index, options)[1]:
            jobs.setdefault(config, p)
    library.compile([(p.of_library(), config, 0) for config, p in list(jobs.items())[part::parts]], 1)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True, help="libwarpwright.so of a build")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--result", default="", help="write the result as JSON, after every eighth problem")
    parser.add_argument("--count", type=int, default=150, help="problems drawn")
    parser.add_argument("--first", type=int, default=0, help="skip so many of them")
    parser.add_argument("--seed", type=int, default=1123)
    parser.add_argument("--seconds", type=float, default=0.45, help="of counted replays for a problem")
    parser.add_argument("--seconds-total", type=float, default=280.0, help="no problem starts later")
    parser.add_argument("--slow", type=float, default=1.8, help="candidates slower than so many times the fastest do not race")
    parser.add_argument("--most", type=int, default=0, help="so many candidates of each problem, drawn at random; 0: all")
    parser.add_argument("--tiny", action="store_true", help="small shapes, for an emulated device")
    parser.add_argument("--compile-processes", type=int, default=os.cpu_count())
    parser.add_argument("--compile-seconds", type=float, default=150.0)
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


class Stopped(threading.Timer):
    """Ends the process, with what was measured, if a problem has not ended after `seconds`: its kernel may hang."""

    def __init__(self, seconds: float, record: Dict[str, Any], index: int, path: str) -> None:
        super().__init__(seconds, stop, (record, index, path))
        self.daemon = True


def stop(record: Dict[str, Any], index: int, path: str) -> None:
    record["stopped_at"] = index
    write_compact(record, path)
    print(f"stopped at problem {index}; go on with --first {index + 1}", flush=True)
    os._exit(STOPPED)


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    library = Library.on(options.library, options.device)
    problems = draw(options.seed, options.count, options.tiny)
    if options.part:
        compile_part(library, problems, options)
        return 0
    if options.compile_processes > 1:
        compile_ahead(options.compile_processes, options.compile_seconds)
    record = record_of(library, (__doc__ or "").split("\n\n")[2], options)
    record["compile_seconds"] = time.monotonic() - start
    print(f"{record['device']}; kernels in {record['compile_seconds']:.0f} s", flush=True)
    pool = Pool(library.memory, 1 << (20 if options.tiny else 29))
    for index, p in list(enumerate(problems))[options.first:]:
        if time.monotonic() - start > options.seconds_total:
            break
        watch = Stopped(PROBLEM_SECONDS if library.memory == "cuda" else 3600, record, index, options.result)
        try:
            watch.start()
            result = run_problem(library, pool, index, p, options)
            watch.cancel()
            if not result["contenders"]:  # an error of a kernel leaves a context without use
                print(next(iter(result["errors"].items()), ""), flush=True)
                stop(record, index, options.result)
            record["cases"].append(result)
            print(line_of(record["cases"][-1]), flush=True)
            for config, error in list(record["cases"][-1]["errors"].items())[:2]:
                print(f"    {config}: {error}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            watch.cancel()
            print(f"{p.kind} {p.recipe}: {type(error).__name__}: {error}"[:400], flush=True)
            if "CUDA error" in str(error):
                stop(record, index, options.result)
        if len(record["cases"]) % 8 == 0:
            write_compact(record, options.result)
    record["skipped"] = len(problems) - len(record["cases"]) - options.first
    write_compact(record, options.result)
    print(f"{len(record['cases'])} of {len(problems)} problems in {time.monotonic() - start:.0f} s", flush=True)
    print("\n".join(class_means(record["cases"])), flush=True)
    return 0 if record["cases"] else 1


if __name__ == "__main__":
    sys.exit(main())
