# SPDX-License-Identifier: Apache-2.0
"""A linear layer forwards and backwards: ours in FP8, torch's own FP8 recipes and bf16, in one loop on one GPU.

    PYTHONPATH=BUILD/python python3 bench/linear_torch.py --result out.json

For each case, x (M, K), a weight (N, K) and dy (M, N) in bf16 from N(0,1), in rotating sets of at least 240 MB; one
CUDA graph of many forward and backward passes per contender; a second of load; then rounds of replays in random order,
medians. Every element of y, dx and dw is compared with the FP64 product of the bf16 operands, also for tokens (rows of
x and dy) of magnitudes from 2^-16 to 1. Ours must also be within its bound per element: the errors of its casts, and of
FP32 sums.

ours           warpwright.torch.linear or grouped_linear; "cast once": with the weight of quantize_weight(); "main_grad":
               with the gradient of the weight added to a float32 tensor
torch block    the same recipe and our casts, products by torch.nn.functional.scaled_mm (cuBLASLt)
torch rowwise, torch tensorwise   a scale for each row and column, or tensor, of every operand, cast by torch.compile's
               kernels and multiplied by torch._scaled_mm; fast accumulation forwards only, as in torchao
torch bf16     torch.nn.functional.linear, or torch._grouped_mm; "main_grad": and an addition
"""
import argparse
import dataclasses
import datetime
import json
import math
import pathlib
import sys
import time
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.nn.functional as F

import warpwright
import warpwright.torch as wwt
from loop import ROTATION_BYTES, Contender, add_racing_options, attempt, entry_of, number, race_all, smi

FP8, BF16 = torch.float8_e4m3fn, torch.bfloat16
TYPE: Any = getattr(F, "ScalingType", None) or getattr(F, "_ScalingType", None)
CASES = [  # tokens, N, K, groups
    (2048, 4096, 4096, 0), (4096, 7168, 2048, 0), (8192, 14336, 4096, 0), (8192, 4096, 14336, 0), (8192, 8192, 8192, 0),
    (16384, 4096, 4096, 8), (8192, 4096, 7168, 32), (16384, 1536, 4096, 128),
]
Tensors = Tuple[torch.Tensor, ...]


@dataclasses.dataclass(frozen=True)
class Case:
    m: int
    n: int
    k: int
    groups: int

    @property
    def name(self) -> str:
        return f"{self.m}x{self.n}x{self.k}" + (f" in {self.groups} groups" if self.groups else "")


@dataclasses.dataclass
class Operands:
    x: torch.Tensor
    weight: torch.Tensor
    dy: torch.Tensor
    offs: Optional[torch.Tensor]
    total: torch.Tensor          # float32, as weight
    cast: wwt.QuantizedWeight

    def parts(self) -> List[slice]:
        ends = [self.x.shape[0]] if self.offs is None else self.offs.tolist()
        return [slice(begin, end) for begin, end in zip([0, *ends], ends)]


def make(case: Case, generator: torch.Generator, spread: bool) -> Operands:
    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(shape, device="cuda", generator=generator).to(BF16)

    x, dy = normal(case.m, case.k), normal(case.m, case.n)
    if spread:
        for rows in (x, dy):
            rows.mul_(torch.exp2(torch.randint(-16, 1, (case.m, 1), device="cuda", generator=generator)))
    weight = normal(*([case.groups] if case.groups else []), case.n, case.k)
    offs = None
    if case.groups:  # uneven sizes that are multiples of 16, which torch's FP8 products need
        share = torch.rand(case.groups, device="cuda", generator=generator) + 0.25
        ends = (share.cumsum(0) / share.sum() * (case.m // 16)).round() * 16
        ends[-1] = case.m
        offs = ends.to(torch.int32)
    return Operands(x.requires_grad_(), weight.requires_grad_(), dy, offs,
                    torch.zeros(weight.shape, device="cuda"), wwt.quantize_weight(weight))


def gradients(y: torch.Tensor, o: Operands) -> Tensors:
    return (y, *torch.autograd.grad(y, (o.x, o.weight), o.dy))


def ours(o: Operands, **given: Any) -> torch.Tensor:
    return wwt.linear(o.x, o.weight, **given) if o.offs is None else wwt.grouped_linear(o.x, o.weight, o.offs, **given)


def ours_accumulated(o: Operands) -> Tensors:
    """The gradient of the weight goes to o.total."""
    y = ours(o, accumulate_into=o.total)
    dx, _ = torch.autograd.grad(y, (o.x, o.weight), o.dy, allow_unused=True)
    return y, dx


def torch_bf16_accumulated(o: Operands) -> Tensors:
    y, dx, dw = torch_bf16(o)
    o.total.add_(dw)
    return y, dx


def torch_bf16(o: Operands) -> Tensors:
    if o.offs is None:
        return gradients(F.linear(o.x, o.weight), o)
    return gradients(torch._grouped_mm(o.x, o.weight.mT, offs=o.offs), o)  # pylint: disable=protected-access


@torch.no_grad()
def torch_block(o: Operands) -> Tensors:
    """Our casts with torch's products, whose scales have the strides that cuBLASLt asks for."""
    def square(scales: torch.Tensor) -> torch.Tensor:
        padded = -(-scales.shape[1] // 4) * 4
        return F.pad(scales, (0, padded - scales.shape[1])).t()

    def product(a: Any, b: Any, recipe_b: Any) -> torch.Tensor:
        scale_b = square(b[1]) if recipe_b is TYPE.BlockWise128x128 else b[1]
        return F.scaled_mm(a[0], b[0].t(), a[1], TYPE.BlockWise1x128, scale_b, recipe_b, output_dtype=BF16)

    xq, xs, xt, xts = wwt.quantize_1x128(o.x, transpose=True, mn_major=True, min_amax=0)
    dq, ds, dt, dts = wwt.quantize_1x128(o.dy, transpose=True, mn_major=True, min_amax=0)
    w, ws = wwt.quantize_128x128(o.weight, min_amax=0)
    wt, wts = wwt.transpose_fp8(w, ws)
    return (product((xq, xs), (w, ws), TYPE.BlockWise128x128), product((dq, ds), (wt, wts), TYPE.BlockWise128x128),
            product((dt, dts), (xt, xts), TYPE.BlockWise1x128))


def cast(x: torch.Tensor, dim: Optional[int]) -> Tuple[torch.Tensor, torch.Tensor]:
    """x in FP8 with one scale, or one for each row (dim=1) or column (dim=0), and contiguous along dim."""
    wide = x.float()
    amax = wide.abs().amax() if dim is None else wide.abs().amax(dim, keepdim=True)
    scale = amax.clamp(min=1e-12) / 448
    q = (wide / scale).clamp(-448, 448).to(FP8)
    return (q.t().contiguous().t() if dim == 0 else q), scale


def cast_both(x: torch.Tensor) -> Tensors:
    """x in FP8 with one scale, by rows and by columns."""
    q, scale = cast(x, None)
    return q, q.t().contiguous().t(), scale


COMPILED: Dict[str, Callable[..., Any]] = {}


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compiled for the shapes of one case, after which run_case() forgets it."""
    if function.__name__ not in COMPILED:
        COMPILED[function.__name__] = torch.compile(function, dynamic=False)
    return lambda x, *given: COMPILED[function.__name__](x.detach(), *given)


def multiply(a: torch.Tensor, b: torch.Tensor, sa: torch.Tensor, sb: torch.Tensor, fast: bool) -> torch.Tensor:
    return torch._scaled_mm(a, b, sa, sb, out_dtype=BF16, use_fast_accum=fast)  # pylint: disable=protected-access


@torch.no_grad()
def torch_rowwise(o: Operands) -> Tensors:
    c = compiled(cast)
    (xr, sxr), (xc, sxc) = c(o.x, 1), c(o.x, 0)
    (wr, swr), (wc, swc) = c(o.weight, 1), c(o.weight, 0)
    (dr, sdr), (dc, sdc) = c(o.dy, 1), c(o.dy, 0)
    return (multiply(xr, wr.t(), sxr, swr.t(), True), multiply(dr, wc, sdr, swc, False),
            multiply(dc.t(), xc, sdc.t(), sxc, False))


@torch.no_grad()
def torch_tensorwise(o: Operands) -> Tensors:
    c = compiled(cast_both)
    (x, xc, sx), (w, wc, sw), (dy, dc, sd) = c(o.x), c(o.weight), c(o.dy)
    return multiply(x, w.t(), sx, sw, True), multiply(dy, wc, sd, sw, False), multiply(dc.t(), xc, sd, sx, False)


def contenders(case: Case) -> List[Contender]:
    calls: List[Tuple[str, str, Callable[[Operands], Any]]] = [
        ("ours", "block", lambda o: gradients(ours(o), o)),
        ("ours, cast once", "block", lambda o: gradients(ours(o, quantized_weight=o.cast), o)),
        ("ours, main_grad", "block", ours_accumulated)]
    if case.groups == 0:
        calls += [("torch block", "block", torch_block), ("torch rowwise", "row-column", torch_rowwise),
                  ("torch tensorwise", "tensor", torch_tensorwise)]
    calls += [("torch bf16", "bf16", torch_bf16), ("torch bf16, main_grad", "bf16", torch_bf16_accumulated)]
    return [Contender(name, recipe, call, lambda o: o.dy, config="ours" if name.startswith("ours") else "torch")
            for name, recipe, call in calls]


def exact(o: Operands) -> Tensors:
    """y, dx and dw in FP64."""
    x, dy = o.x.detach().double(), o.dy.double()
    stack = o.weight.detach() if o.offs is not None else o.weight.detach()[None]
    y, dx = torch.zeros_like(dy), torch.zeros_like(x)
    dw = torch.zeros(stack.shape, dtype=torch.float64, device="cuda")
    for g, rows in enumerate(o.parts()):
        w = stack[g].double()
        y[rows], dx[rows], dw[g] = x[rows] @ w.t(), dy[rows] @ w, dy[rows].t() @ x[rows]
    return y, dx, dw.view(o.weight.shape)


def errors(got: Tensors, want: Tensors) -> Dict[str, Dict[str, float]]:
    """Of each result: the root mean square error over that of the result, in all, and in its worst row; and the largest
    error over the root mean square of its row."""
    found = {}
    for name, one, other in zip(("y", "dx", "dw"), got, want):
        wrong, size = one.detach().double() - other, other.square().mean(-1, keepdim=True)
        by_row = wrong.square().mean(-1, keepdim=True) / size.clamp(min=1e-300)
        found[name] = {"relative_rms": float((wrong.square().mean() / other.square().mean()).sqrt()),
                       "relative_rms_of_worst_row": float(by_row.max().sqrt()),
                       "largest_over_rms": float((wrong.square() / size.clamp(min=1e-300)).max().sqrt()),
                       "finite": bool(torch.isfinite(one).all())}
    return found


def wide(q: torch.Tensor, scales: torch.Tensor, rows: int) -> torch.Tensor:
    by_columns = scales.double().repeat_interleave(128, 1)[:, :q.shape[1]]
    return q.double() * by_columns.repeat_interleave(rows, 0)[:q.shape[0]]


def beyond_bound(o: Operands, got: Tensors, want: Tensors) -> int:
    """Counts elements of ours that are farther from FP64 than casts, sums of the tensor cores and bf16 may take them."""
    count = 0
    stack = o.weight.detach() if o.offs is not None else o.weight.detach()[None]
    y, dx, dw = (t.detach() for t in got)
    dw, exact_dw = dw.view(stack.shape), want[2].view(stack.shape)
    for g, rows in enumerate(o.parts()):
        x, dy, w = o.x.detach()[rows], o.dy[rows], stack[g]
        if x.shape[0] == 0:
            count += int((dw[g] != 0).sum())
            continue
        (xq, xs, xt, xts), (dq, ds, dt, dts) = (wwt.quantize_1x128(t, transpose=True, min_amax=0) for t in (x, dy))
        weight = wide(*wwt.quantize_128x128(w, min_amax=0), 128)
        for result, reference, a, b, exact_a, exact_b in (
                (y[rows], want[0][rows], wide(xq, xs, 1), weight, x, w),
                (dx[rows], want[1][rows], wide(dq, ds, 1), weight.t(), dy, w.t()),
                (dw[g], exact_dw[g], wide(dt, dts, 1), wide(xt, xts, 1), dy.t(), x.t())):
            exact_a, exact_b = exact_a.double(), exact_b.double()
            bound = (a - exact_a).abs() @ exact_b.abs().t() + a.abs() @ (b - exact_b).abs().t()
            bound += 2.0 ** -8 * reference.abs() + 2.0 ** -10 * (a.abs() @ b.abs().t())
            count += int(((result.double() - reference).abs() > bound * 1.01).sum())
    return count


def accuracy(case: Case, racers: List[Contender], seed: int, spread: bool) -> Dict[str, Any]:
    o = make(case, torch.Generator(device="cuda").manual_seed(seed), spread)
    want, found = exact(o), {}
    for contender in racers:
        if contender.error is not None or contender.name in ("ours, cast once", "torch bf16, main_grad"):
            continue
        o.total.zero_()
        got = attempt(contender, lambda: contender.enqueue(o))  # pylint: disable=cell-var-from-loop
        if got is None:
            continue
        if len(got) == 2:
            got = (*got, o.total)
        found[contender.name] = errors(got, want)
        if contender.name == "ours":
            found[contender.name]["elements_beyond_bound"] = beyond_bound(o, got, want)
            if found[contender.name]["elements_beyond_bound"]:
                contender.error = f"{found[contender.name]['elements_beyond_bound']} elements beyond their bound"
        if not all(found[contender.name][one]["finite"] for one in ("y", "dx", "dw")):
            contender.error = "a result is not finite"
    return found


def kernels(o: Operands) -> List[List[Any]]:
    """The kernels of one pass of ours with their microseconds, as torch's profiler sees them."""
    from torch.profiler import ProfilerActivity, profile

    try:
        with profile(activities=[ProfilerActivity.CUDA]) as seen:
            for _ in range(5):
                gradients(ours(o), o)
            torch.cuda.synchronize()
        times = [[e.key[:100], round(e.device_time_total / 5, 1)] for e in seen.key_averages()]
        return [one for one in times if one[1] > 0]
    except Exception as error:  # pylint: disable=broad-except
        return [[f"{type(error).__name__}: {error}"[:200], 0]]


def run_case(case: Case, options: argparse.Namespace) -> Dict[str, Any]:
    torch.compiler.reset()
    COMPILED.clear()
    racers = contenders(case)
    result: Dict[str, Any] = {"m": case.m, "n": case.n, "k": case.k, "groups": case.groups}
    result["errors"] = accuracy(case, racers, options.seed, False)
    result["errors_of_spread_tokens"] = accuracy(case, racers, options.seed + 1, True)
    torch.cuda.empty_cache()
    generator = torch.Generator(device="cuda").manual_seed(options.seed + 2)
    count = 2 * (case.m * case.k + max(1, case.groups) * case.n * case.k + case.m * case.n)
    sets = [make(case, generator, False) for _ in range(min(16, max(2, math.ceil(ROTATION_BYTES / count))))]
    if options.profile:
        result["kernels_us"] = kernels(sets[0])
    clocks = race_all(racers, sets, options)
    result["buffer_sets"] = len(sets)
    result["contenders"] = [entry_of(c, 6.0 * case.m * case.n * case.k, None) for c in racers]
    for entry in result["contenders"]:
        entry.pop("max_error", None)
    if len(clocks) == 2:
        result.update(sm_mhz=float(clocks[0]), watts=float(clocks[1]))
    times = {e["name"]: e["us"] for e in result["contenders"] if "us" in e}
    result["torch_over_ours"] = {
        name: round(us / times[same], 3) for name, us in times.items() if not name.startswith("ours")
        for same in ["ours, main_grad" if name.endswith("main_grad") else "ours"] if same in times}
    return result


def lines(case: Case, result: Dict[str, Any]) -> List[str]:
    found = [f"{case.name:<28}" + "   ".join(f"{e['name']} {number(e.get('us'))}" for e in result["contenders"])]
    for key in ("errors", "errors_of_spread_tokens"):
        found.append(f"    {key:<24} (rms of the worst rows of y, dx, dw) " + "   ".join(
            f"{name} " + " ".join(f"{of[one]['relative_rms_of_worst_row']:.4f}" for one in ("y", "dx", "dw"))
            for name, of in result[key].items()))
    return found + [f"    {e['name']}: {e['error']}" for e in result["contenders"] if "error" in e]


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_racing_options(parser)
    parser.add_argument("--cases", default="", help="M,N,K,groups;...; groups 0 is linear()")
    parser.add_argument("--profile", action="store_true", help="record the kernels of ours, too")
    return parser.parse_args()


def main() -> int:
    options = parse_options()
    start = time.monotonic()
    wanted = [tuple(int(n) for n in one.split(",")) for one in options.cases.split(";") if one] or CASES
    driver = smi("driver_version,power.limit,name") or ["", "", ""]
    record: Dict[str, Any] = {
        "device": warpwright.Device("cuda:0").description, "gpu": driver[2], "driver": driver[0],
        "power_limit_watts": driver[1], "torch": torch.__version__, "cuda_of_torch": torch.version.cuda,
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "command": " ".join(["python3", *sys.argv]), "source_hash": warpwright.source_hash(), "seed": options.seed,
        "method": " ".join((__doc__ or "").split("\n\n")[2].split()), "cases": []}
    failed = 0
    for case in (Case(*one) for one in wanted):
        if time.monotonic() - start > options.seconds_total:
            record["skipped"] = record.get("skipped", 0) + 1
            continue
        try:
            result = run_case(case, options)
            failed += sum("error" in e for e in result["contenders"] if e["name"].startswith("ours"))
            print("\n".join(lines(case, result)), flush=True)
        except Exception as error:  # pylint: disable=broad-except
            result = {"name": case.name, "error": f"{type(error).__name__}: {error}"[:400]}
            failed += 1
            print(case.name, result["error"], flush=True)
        record["cases"].append(result)
        if options.result:
            pathlib.Path(options.result).write_text(json.dumps(record, indent=1) + "\n")
        torch.cuda.empty_cache()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
