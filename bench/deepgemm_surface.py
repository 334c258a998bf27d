# SPDX-License-Identifier: Apache-2.0
"""This library's DeepGEMM interface beside DeepGEMM itself, on one GPU:

    python3 bench/deepgemm_surface.py --result FILE [--seconds 240] [--only TEXT]

Runs the cases of DeepGEMM's own tests on SM90 and the shapes of bench/cases through `import deep_gemm`, which
warpwright.compat.install() serves, and through the DeepGEMM that is installed. For each case the record has calc_diff of
both against the product of the operands before their cast, the largest error of ours over its bound per element
(docs/numerics.md, section 7; at most 1), and the time of the one kernel that torch's profiler finds by the name that
DeepGEMM's tests look for. Exit 1 if a result of ours is out of its limit or a name is not found.
"""
import argparse
import concurrent.futures
import datetime
import json
import multiprocessing
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import torch

import deepgemm_bound
import deepgemm_cases as cases
import deepgemm_layouts

CUBLASLT_LIMIT = 6e-7
FLUSH_BYTES = 256 << 20


def modules() -> Tuple[Any, Any]:
    """deep_gemm as install() serves it, and the installed one or None."""
    try:
        import deep_gemm as theirs
    except Exception as why:  # its wheel or a library of it may be missing
        print(f"DeepGEMM is left out: {why}", flush=True)
        theirs = None
    import warpwright.compat
    warpwright.compat.install(vendored=False)
    import deep_gemm as ours
    import warpwright.compat.deep_gemm as direct
    assert ours.fp8_gemm_nt is direct.fp8_gemm_nt and ours is not theirs
    return ours, theirs


def _compile_some(share: List[cases.Case], deadline: float) -> List[str]:
    """Compiles the kernels of both for some cases, in a process of its own."""
    ours, theirs = modules()
    errors = []
    for case in share:
        if time.time() > deadline:
            errors.append(f"{case.label()}: not compiled in time")
            continue
        for module in (ours, theirs):
            try:
                built = cases.build(case, ours, "cuda", blank=True)
                ours.set_compile_mode(1)
                if module is not None:
                    built.call(module, built.fresh())
                    torch.cuda.synchronize()
            except Exception as why:
                errors.append(f"{case.label()}: {'ours' if module is ours else 'theirs'}: {str(why).splitlines()[:1]}")
    return errors


def compile_all(chosen: List[cases.Case], processes: int, seconds: float) -> List[str]:
    context = multiprocessing.get_context("spawn")  # a forked process may not use CUDA
    deadline = time.time() + seconds
    with concurrent.futures.ProcessPoolExecutor(processes, mp_context=context) as pool:
        waiting = [pool.submit(_compile_some, chosen[i::processes], deadline) for i in range(processes)]
        return [error for one in waiting for error in one.result()]


def kernels(calls: Dict[str, Callable[[], Any]], runs: int) -> Dict[str, Dict[str, List[float]]]:
    """Microseconds of each launch of each kernel, by name, for each of `calls`, which take turns."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    found: Dict[str, Dict[str, List[float]]] = {}
    for name, call in calls.items():  # a profile each, because the kernels of both have the same parts in their names
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities, acc_events=True) as profiler:
            for _ in range(runs):
                flush.zero_()
                call()
            torch.cuda.synchronize()
        times: Dict[str, List[float]] = {}
        for event in profiler.events():
            if event.device_type == torch.autograd.DeviceType.CUDA:
                times.setdefault(event.name, []).append(event.device_time)
        found[name] = times
    return found


def time_of(found: Dict[str, List[float]], wanted: str) -> Dict[str, Any]:
    """The one kernel with `wanted` in the first 100 characters of its name."""
    names = [name for name in found if wanted in name[:100]]
    if len(names) != 1:
        return {"kernels": [name[:100] for name in (names or found)]}
    return {"kernel": names[0][:100], "us": statistics.median(found[names[0]])}


def check(side: Dict[str, Any], module: Any, built: cases.Built, case: cases.Case, samples: int) -> None:
    """Adds calc_diff of one call, and the error over the bound, to `side`, each the largest so far."""
    for by_name in (False, True):
        if by_name and case.function(True) == case.function(False):
            continue
        d = built.fresh()
        built.call(module, d, by_name)
        valid = slice(None) if built.valid is None else built.valid
        assert built.reference is not None
        diff = float(calc_diff(d[valid], built.reference[valid]))
        side["calc_diff"] = max(side.get("calc_diff", 0.0), diff)
        if samples:
            over = max([deepgemm_bound.excess(d[rows.at], rows) for rows in built.samples(samples)], default=0.0)
            side["of_bound"] = max(side.get("of_bound", 0.0), over)


def calc_diff(x: torch.Tensor, y: torch.Tensor) -> float:
    """1 - 2 sum(x y) / sum(x^2 + y^2), in pieces because FP64 of all would not fit."""
    norm = dot = 0.0
    for at in range(0, x.shape[0], 4096):
        p, q = x[at:at + 4096].double(), y[at:at + 4096].double()
        norm += float((p * p + q * q).sum())
        dot += float((p * q).sum())
    return 1 - 2 * dot / norm if norm else 0.0


def run_case(case: cases.Case, ours: Any, theirs: Any, draws: int, samples: int, runs: int) -> Dict[str, Any]:
    built = cases.build(case, ours, "cuda", seed=1)
    result: Dict[str, Any] = {"case": case.label(), "limit": cases.LIMITS[case.dtype]}
    for name, module in (("ours", ours), ("theirs", theirs)):
        side: Dict[str, Any] = {}
        if module is None:
            continue
        try:
            check(side, module, built, case, samples if name == "ours" else 0)
            for seed in range(1, draws if built.redraw is not None and name == "ours" else 1):
                assert built.redraw is not None
                check(side, module, built.redraw(seed), case, 0)
        except Exception as why:
            side["error"] = f"{type(why).__name__}: {why}".splitlines()[0][:300]
        result[name] = side
    calls = {name: (lambda module=module, d=built.fresh(): built.call(module, d))
             for name, module in (("ours", ours), ("theirs", theirs)) if "error" not in result.get(name, {"error": 0})}
    for name, found in kernels(calls, runs).items():
        result[name].update(time_of(found, case.kernel_name()))
    side = result["ours"]
    result["passed"] = ("error" not in side and side["calc_diff"] < result["limit"] and side["of_bound"] <= 1
                        and "us" in side)
    if "us" in side and "us" in result.get("theirs", {}):
        result["theirs_over_ours"] = result["theirs"]["us"] / side["us"]
    return result


def run_cublaslt(case: cases.Case, ours: Any, theirs: Any) -> Dict[str, Any]:
    """cublaslt_gemm_nt, which must run cuBLAS: kernels named nvjet, or others of it for one row."""
    built = cases.build(case, ours, "cuda", seed=1)
    rows = built.samples(2)[0]
    result: Dict[str, Any] = {"case": f"cublaslt {case.label()}", "limit": CUBLASLT_LIMIT, "passed": True}
    x = rows.b  # (N, K)
    a = torch.randn((case.m, case.k), device="cuda", dtype=torch.bfloat16)
    c = built.fresh() if case.accumulate else None
    limit = 1e-5 if case.accumulate and case.out == torch.bfloat16 else CUBLASLT_LIMIT
    reference = torch.mm(a, x.t(), out_dtype=torch.float32)
    reference = (reference if c is None else reference + c.float()).to(case.out)
    for name, module in (("ours", ours), ("theirs", theirs)):
        if module is None:
            continue
        d = torch.empty((case.m, case.n), dtype=case.out, device="cuda") if c is None else c.clone()
        try:
            module.cublaslt_gemm_nt(a, x, d, c=None if c is None else d)
            result[name] = {"calc_diff": calc_diff(d, reference)}
        except Exception as why:
            result[name] = {"error": str(why).splitlines()[0][:300]}
    result["limit"] = limit
    result["passed"] = result["ours"].get("calc_diff", 1.0) < limit
    return result


LAZY = """
import os, sys
import warpwright.compat
warpwright.compat.install()
import deep_gemm, torch
assert not torch.cuda.is_initialized(), "the import started CUDA"
pids = []
for i in range(8):
    pid = os.fork()
    if pid == 0:
        torch.cuda.set_device(i % torch.cuda.device_count())
        a = torch.ones((128, 256), dtype=torch.bfloat16, device="cuda")
        d = torch.empty((128, 128), dtype=torch.bfloat16, device="cuda")
        deep_gemm.bf16_gemm_nt(a, a, d)
        os._exit(0 if bool((d == 256).all()) else 1)
    pids.append(pid)
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids))
"""


def run_lazy() -> Dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, timeout=200, check=False)
    return {"case": "lazy initialisation, eight forks", "passed": done.returncode == 0, "stderr": done.stderr[-500:]}


def profile_by_their_bench(ours: Any, theirs: Any, chosen: List[cases.Case]) -> List[Dict[str, Any]]:
    """Their bench_kineto on a case of each function of ours: it finds exactly one kernel, or fails."""
    bench = getattr(getattr(theirs, "testing", None), "bench_kineto", None)
    results, seen = [], set()
    for case in chosen:
        if bench is None or case.function() in seen or case.m > 4096 or case.most > 1024 or case.source == "tests":
            continue
        seen.add(case.function())
        built = cases.build(case, ours, "cuda", blank=True)
        d = built.fresh()
        result: Dict[str, Any] = {"case": f"bench_kineto {case.function()}", "passed": True}
        try:
            result["us"] = 1e6 * float(bench(lambda: built.call(ours, d), case.kernel_name(), num_tests=3,
                                             suppress_kineto_output=True))
            result["passed"] = result["us"] > 0
        except Exception as why:
            result.update(passed=False, error=f"{type(why).__name__}: {why}"[:300])
        results.append(result)
    return results


def smallest_of_each(chosen: List[cases.Case]) -> List[cases.Case]:
    best: Dict[str, cases.Case] = {}
    for case in chosen:
        size = max(case.m, 1) * case.n * max(case.k, sum(case.rows))
        other = best.get(case.function())
        if other is None or size < other.m * other.n * max(other.k, sum(other.rows)):
            best[case.function()] = case
    return list(best.values())


def geometric_mean(values: List[float]) -> Optional[float]:
    return statistics.geometric_mean(values) if values else None


def summary(results: List[Dict[str, Any]]) -> Dict[str, Any]:
    ratios = [one["theirs_over_ours"] for one in results if "theirs_over_ours" in one]
    sides = [one["ours"] for one in results if "ours" in one]
    return {"cases": len(results), "failed": [one["case"] for one in results if not one["passed"]],
            "beside_theirs": len(ratios), "theirs_over_ours": geometric_mean(ratios),
            "largest_of_bound": max([side.get("of_bound", 0.0) for side in sides], default=None)}


def show(result: Dict[str, Any]) -> None:
    parts = []
    for name in ("ours", "theirs"):
        side = result.get(name)
        if side is not None:
            words = [f"{key} {side[key]:.3g}" for key in ("calc_diff", "of_bound", "us") if key in side]
            words += [str(side[key]) for key in ("error", "kernels") if key in side]
            parts.append(f"{name}: {', '.join(words)}")
    print(f"{'ok  ' if result['passed'] else 'FAIL'} {result['case']}  {'  '.join(parts)}", flush=True)


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--result", type=pathlib.Path)
    parser.add_argument("--only", default="", help="cases whose label contains this")
    parser.add_argument("--left-by", type=pathlib.Path, metavar="RESULT",
                        help="only the cases that this earlier result lists as not run")
    parser.add_argument("--seconds", type=float, default=240, help="of all, compiling included; cases left over are listed")
    parser.add_argument("--compile-seconds", type=float, default=110)
    parser.add_argument("--processes", type=int, default=15, help="that compile before the clock starts")
    parser.add_argument("--draws", type=int, default=8, help="of the counts of a masked case; theirs runs the first")
    parser.add_argument("--samples", type=int, default=64, help="rows that are compared with their bounds")
    parser.add_argument("--runs", type=int, default=3, help="launches under the profiler")
    return parser.parse_args()


def main() -> int:
    given = options()
    deadline = time.time() + given.seconds
    os.environ.setdefault("DG_JIT_CACHE_DIR", tempfile.mkdtemp(prefix="deep_gemm_"))
    chosen = [case for case in cases.all_cases() if given.only in case.label()]
    if given.left_by is not None:
        left = set(json.loads(given.left_by.read_text())["not_run"])
        chosen = [case for case in chosen if case.label() in left]
    everything = not given.only and given.left_by is None
    record: Dict[str, Any] = {"command": " ".join(sys.argv), "date": datetime.datetime.now().isoformat("T", "minutes"),
                              "torch": torch.__version__, "cases": []}
    record["not_compiled"] = compile_all(chosen, given.processes, given.compile_seconds)
    for line in record["not_compiled"]:
        print(line, flush=True)
    ours, theirs = modules()
    record["device"] = torch.cuda.get_device_name()
    record["deep_gemm"] = getattr(theirs, "__version__", None)
    record["compile_seconds"] = given.seconds - (deadline - time.time())
    results: List[Dict[str, Any]] = record["cases"]

    def save() -> None:
        record["summary"] = summary(results)
        record["counts"] = ours.call_counts()
        if given.result is not None:
            given.result.write_text(json.dumps(record, indent=1) + "\n")

    def add(result: Dict[str, Any]) -> None:
        results.append(result)
        show(result)

    for result in deepgemm_layouts.run(ours, theirs, "cuda", kernels if everything else None):
        add(result)
    if everything:
        add(run_lazy())
        for result in profile_by_their_bench(ours, theirs, smallest_of_each([c for c in chosen if c.source != "tests"])):
            add(result)
    record["not_run"] = []
    for case in chosen:
        if time.time() > deadline:
            record["not_run"].append(case.label())
            continue
        try:
            add(run_case(case, ours, theirs, given.draws, given.samples, given.runs))
            if case.kind == "dense" and case.dtype == torch.bfloat16 and case.source == "tests":
                add(run_cublaslt(case, ours, theirs))
        except torch.OutOfMemoryError as why:
            record["not_run"].append(f"{case.label()}: {str(why)[:100]}")
        torch.cuda.empty_cache() if len(results) % 16 == 0 else None
        if len(results) % 32 == 0:
            save()
    save()
    print(json.dumps(record["summary"], indent=1))
    print(f"{len(record['not_run'])} cases not run, {given.seconds - (deadline - time.time()):.0f} s")
    return 1 if record["summary"]["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
