# SPDX-License-Identifier: Apache-2.0
"""Host time of one product, in one loop with its peers: python3 bench/host/host_cost.py [--json FILE] [--rounds 30]

Enqueues without waiting and reports the median over rounds, in random order, of microseconds a call:
  bare       cuLaunchKernelEx of our kernel with the same parameters and attributes, in C
  ww_run     ww_gemm_run(plan); ww_cached: ww_gemm() with the plan found in the cache, in C
  exchange   what torch takes to describe the five tensors and to name its stream, which no binding does without
  gemm       warpwright.gemm(a, b, out=, scale_a=, scale_b=) from Python; layers: with 24 weights in turn
  plan       warpwright.Plan.run of the same
  torch      warpwright.torch.gemm, the traceable form
  scaled_mm  torch._scaled_mm (per tensor); deep_gemm: DeepGEMM's fp8_gemm_nt, if it is installed
instructions.py beside it counts what this library adds, without a GPU.
Needs torch, a GPU, g++, and the C interface: --include and --library name its folders (default: those of this checkout).
"""
import argparse
import ctypes
import itertools
import json
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Callable, Dict, Sequence

import torch

import warpwright
import warpwright.torch as wwt

ROOT = pathlib.Path(__file__).resolve().parents[2]
CALLS = 400  # in flight at most; the driver's queue holds 1,024


def build(include: str, library: str) -> ctypes.CDLL:
    out = pathlib.Path(tempfile.mkdtemp()) / "host_cost.so"
    subprocess.run(["g++", "-std=c++20", "-O2", "-shared", "-fPIC", f"-I{include}", f"-I{ROOT / 'third_party'}",
                    "-I/usr/local/cuda/include", str(pathlib.Path(__file__).with_name("host_cost.cpp")), library, f"-Wl,-rpath,{pathlib.Path(library).parent}",
                    "-L/usr/local/cuda/lib64/stubs", "-lcuda", "-o", str(out)], check=True)
    made = ctypes.PyDLL(str(out))  # keeps the interpreter's lock, as an extension does
    for name in ("bare", "run", "cached"):
        function = getattr(made, "host_cost_" + name)
        function.restype, function.argtypes = ctypes.c_double, [ctypes.c_int, ctypes.c_void_p]
    return made


def exchange(native: ctypes.CDLL, tensors: Sequence[torch.Tensor]) -> Callable[[], float]:
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    api = pointer(torch.Tensor.__dlpack_c_exchange_api__, b"dlpack_exchange_api")
    objects = (ctypes.py_object * len(tensors))(*tensors)
    function = native.host_cost_exchange
    function.restype = ctypes.c_double
    function.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]
    return lambda: function(CALLS, api, objects, len(tensors))


def timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - begin) / CALLS


def contenders(native: ctypes.CDLL, m: int, n: int, k: int) -> Dict[str, Callable[[], float]]:
    a = torch.randn(m, k, device="cuda").to(torch.float8_e4m3fn)
    b = torch.randn(n, k, device="cuda").to(torch.float8_e4m3fn)
    sa = torch.ones(m, k // 128, device="cuda")
    sb = torch.ones(n // 128, k // 128, device="cuda")
    d = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    one = torch.ones((), device="cuda")
    stream = torch.cuda.current_stream().cuda_stream
    wanted = [x.data_ptr() for x in (a, b, d, sa, sb)]
    native.host_cost_open.argtypes = [ctypes.c_char_p] + [ctypes.c_long] * 3 + [ctypes.c_void_p] * 5
    if native.host_cost_open(b"cuda:0", m, n, k, *wanted) != 0:
        sys.exit("host_cost_open failed")
    b_t = b.t()
    plan = warpwright.gemm_plan(a, b, out=d, scale_a=sa, scale_b=sb)
    layers = itertools.cycle([b.clone() for _ in range(24)])
    made = {
        "bare": lambda: native.host_cost_bare(CALLS, stream),
        "ww_run": lambda: native.host_cost_run(CALLS, stream),
        "ww_cached": lambda: native.host_cost_cached(CALLS, stream),
        "exchange": exchange(native, (a, b, d, sa, sb)),
        "gemm": lambda: timed(lambda: warpwright.gemm(a, b, out=d, scale_a=sa, scale_b=sb)),
        "layers": lambda: timed(lambda: warpwright.gemm(a, next(layers), out=d, scale_a=sa, scale_b=sb)),
        "plan": lambda: timed(lambda: plan.run(a, b, out=d, scale_a=sa, scale_b=sb)),
        "torch": lambda: timed(lambda: wwt.gemm(a, b, sa, sb, out=d)),
        "scaled_mm": lambda: timed(lambda: torch._scaled_mm(a, b_t, one, one, out_dtype=torch.bfloat16)),
        "empty loop": lambda: timed(lambda: None),
    }
    try:
        import deep_gemm
        sa_dg = deep_gemm.get_mn_major_tma_aligned_tensor(sa)
        made["deep_gemm"] = lambda: timed(lambda: deep_gemm.fp8_gemm_nt((a, sa_dg), (b, sb), d))
    except Exception as why:  # its wheel, tvm-ffi or a compiler may be missing
        print(f"deep_gemm is left out: {why}", file=sys.stderr)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--shape", default="16x128x128", help="M x N x K; small, so that the GPU never falls behind")
    parser.add_argument("--include", default=str(ROOT / "include"))
    parser.add_argument("--library", default=str(pathlib.Path(warpwright.__file__).parent / "libwarpwright.so.0"))
    parser.add_argument("--json", default="")
    options = parser.parse_args()
    m, n, k = (int(x) for x in options.shape.split("x"))
    calls = contenders(build(options.include, options.library), m, n, k)
    times: Dict[str, list] = {name: [] for name in calls}
    for call in calls.values():
        call()
    torch.cuda.synchronize()
    for _ in range(options.rounds):
        for name in random.sample(list(calls), len(calls)):
            times[name].append(calls[name]())
            torch.cuda.synchronize()
    medians = {name: statistics.median(values) * 1e6 for name, values in times.items()}
    for name, median in medians.items():
        launches = name not in ("exchange", "empty loop")
        above = f"   {median - medians['bare']:+7.3f} above the bare launch" if launches else ""
        print(f"{name:12s} {median:7.3f} us{above}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({
            "command": " ".join(sys.argv), "device": torch.cuda.get_device_name(), "torch": torch.__version__,
            "shape": options.shape, "microseconds": medians, "rounds": options.rounds}, indent=1) + "\n")


if __name__ == "__main__":
    main()
