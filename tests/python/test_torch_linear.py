# SPDX-License-Identifier: Apache-2.0
"""linear and grouped_linear of warpwright.torch against FP64: to the bit where small integers and scales of powers of two
make the arithmetic exact, and with a bound per element for random data.

WARPWRIGHT_PYTHON_SEED    seed of the random shapes (default 1)"""
import copy
import gc
import os
import weakref

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

import warpwright  # noqa: E402
import warpwright.torch as wwt  # noqa: E402
import warpwright.torch._linear as inside  # noqa: E402
from torch_cases import DEVICE, FP8, by_blocks, integers, offsets  # noqa: E402

SEED = int(os.environ.get("WARPWRIGHT_PYTHON_SEED", "1"))
EXACT = {"power_of_two": True}
COMPILER = "inductor" if DEVICE == "cuda" else "aot_eager"


def leaf(shape, seed, dtype=torch.bfloat16):
    return integers(shape, seed, dtype).requires_grad_()


def ranges(rows, ends, alignment=1):
    """The rows of each group; ends None: one group of all rows."""
    begin, found = 0, []
    for end in [rows] if ends is None else ends:
        found.append(slice(begin, max(begin, end)))
        begin = -(-end // alignment) * alignment
    return found


def expected(x, weight, bias, dy, ends=None, alignment=1):
    """y and the gradients of x, weight and bias in float64."""
    x, w, dy = (t.detach().double() for t in (x, weight, dy))
    stack = w if ends is not None else w[None]
    y, dx = torch.zeros_like(dy), torch.zeros_like(x)
    dw = torch.zeros_like(stack)
    db = torch.zeros(stack.shape[:2], dtype=torch.float64, device=x.device)
    for g, rows in enumerate(ranges(x.shape[0], ends, alignment)):
        added = 0 if bias is None else bias.detach().double()[g] if bias.dim() == 2 else bias.detach().double()
        y[rows], dx[rows] = x[rows] @ stack[g].T + added, dy[rows] @ stack[g]
        dw[g], db[g] = dy[rows].T @ x[rows], dy[rows].sum(0)
    if bias is not None and bias.dim() == 1:
        db = db.sum(0)
    return y, dx, dw.view_as(w), db


def same(got, want):
    assert torch.equal(got.detach(), want.to(got.dtype)), (got.double() - want).abs().max()


@pytest.mark.parametrize("m,n,k", [(1, 136, 72), (70, 136, 272), (200, 64, 128)])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_linear_is_exact(m, n, k, dtype):
    x, w, b = leaf((m, k), 1, dtype), leaf((n, k), 2, dtype), leaf((n,), 3, dtype)
    y = wwt.linear(x, w, b, **EXACT)
    assert y.dtype == dtype
    dy = integers((m, n), 4, dtype)
    y.backward(dy)
    for got, want in zip((y, x.grad, w.grad, b.grad), expected(x, w, b, dy)):
        assert got.dtype == dtype
        same(got, want)


@pytest.mark.parametrize("rows,ends,alignment", [(100, (30, 30, 90), 1), (64, (0, 0, 0), 1), (70, (70, 70, 70), 1),
                                                 (300, (5, 130, 300), 128), (9, (1, 2, 3), 1)])
@pytest.mark.parametrize("dtype,bias", [(torch.bfloat16, "group"), (torch.float32, "group"), (torch.bfloat16, "one")])
def test_grouped_linear_is_exact(rows, ends, alignment, dtype, bias):
    x, w = leaf((rows, 144), 5, dtype), leaf((3, 72, 144), 6, dtype)
    b = leaf((3, 72) if bias == "group" else (72,), 7, dtype)
    y = wwt.grouped_linear(x, w, offsets(ends), b, alignment=alignment, **EXACT)
    dy = integers((rows, 72), 8, dtype)
    y.backward(dy)
    for got, want in zip((y, x.grad, w.grad, b.grad), expected(x, w, b, dy, ends, alignment)):
        assert got.dtype == dtype
        same(got, want)


@pytest.mark.parametrize("grouped", [False, True])
def test_no_rows(grouped):
    x, w, b = leaf((0, 64), 1), leaf((2, 48, 64) if grouped else (48, 64), 2), leaf((48,), 3)
    total = torch.ones(w.shape, device=DEVICE)
    for given in ({}, {"accumulate_into": total}):
        y = wwt.grouped_linear(x, w, offsets((0, 0)), b, **given) if grouped else wwt.linear(x, w, b, **given)
        assert y.shape == (0, 48)
        y.sum().backward()
    assert x.grad.shape == x.shape and torch.equal(total, torch.ones_like(total))
    assert not w.grad.any() and not b.grad.any()


@pytest.mark.parametrize("shape", [(64,), (3, 5, 64), (2, 0, 64), (1, 1, 1, 64)])
def test_leading_dimensions(shape):
    x, w = leaf(shape, 1), leaf((48, 64), 2)
    y = wwt.linear(x, w, **EXACT)
    same(y, x.double() @ w.double().T)
    y.sum().backward()
    assert x.grad.shape == x.shape
    same(x.grad, torch.ones(y.shape, dtype=torch.float64, device=DEVICE) @ w.double())


def test_strides():
    """Gradients that are expanded, transposed or parts of others; operands by columns, and with unaligned rows."""
    x, w, b = leaf((72, 40), 1), leaf((64, 72), 2), leaf((64,), 3)
    wide = integers((40, 67), 4)
    for dy in (torch.ones(1, device=DEVICE, dtype=x.dtype).expand(40, 64), integers((64, 40), 5).t(), wide[:, 3:],
               wide[:, 1:65], integers((80, 64), 6)[::2], integers((40, 128), 7)[:, ::2]):
        want = expected(x.t(), w, b, dy)
        for got, expect in zip(torch.autograd.grad(wwt.linear(x.t(), w, b, **EXACT), (x, w, b), dy), want[1:]):
            same(got.t() if got.shape == x.shape else got, expect)
        stack = w[None].mT.contiguous().mT
        y = wwt.grouped_linear(x.t(), stack, offsets((33, 0))[::2], b[None], **EXACT)
        want = expected(x.t(), stack, b[None], dy, (33,))
        same(y, want[0])
        for got, expect in zip(torch.autograd.grad(y, (x, w, b), dy), (want[1], want[2][0], want[3][0])):
            same(got.t() if got.shape == x.shape else got, expect)


class Counted:
    """Records the calls of a function of the module."""

    def __init__(self, monkeypatch, name):
        self.calls, function = [], getattr(inside, name)
        monkeypatch.setattr(inside, name, lambda *given, **named: self.calls.append(named) or function(*given, **named))


@pytest.mark.parametrize("needed", ["x", "weight", "bias", "x weight", ""])
def test_only_what_is_needed_is_computed(monkeypatch, needed):
    x, w, b = leaf((16, 64), 1), leaf((48, 64), 2), leaf((48,), 3)
    for name, tensor in (("x", x), ("weight", w), ("bias", b)):
        tensor.requires_grad_(name in needed.split())
    gemms, casts = Counted(monkeypatch, "gemm"), Counted(monkeypatch, "cast")
    y = wwt.linear(x, w, b, **EXACT)
    assert len(gemms.calls) == 1 and [one.get("transpose", False) for one in casts.calls] == [False, "weight" in needed]
    assert y.requires_grad == bool(needed)
    if not needed:
        return
    dy = integers((16, 48), 4)
    y.backward(dy)
    assert len(gemms.calls) == 1 + ("x" in needed.split()) + ("weight" in needed)
    assert len(casts.calls) == 2 + (needed != "bias") + ("x" in needed.split())
    for tensor, want in zip((x, w, b), expected(x, w, b, dy)[1:]):
        assert (tensor.grad is None) == (not tensor.requires_grad)
        if tensor.grad is not None:
            same(tensor.grad, want)


def test_without_gradients(monkeypatch):
    x, w = leaf((16, 64), 1), leaf((48, 64), 2)
    casts = Counted(monkeypatch, "cast")
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            y = wwt.linear(x, w, **EXACT)
        assert not y.requires_grad
        same(y, x.double() @ w.double().T)
    assert not any(one.get("transpose") for one in casts.calls)


@pytest.mark.parametrize("grouped", [False, True])
def test_what_is_kept_for_the_backward_pass(grouped):
    """x is kept in FP8, and the weight as it is."""
    x, w = leaf((130, 128), 1), leaf((2, 64, 128) if grouped else (64, 128), 2)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
        y = wwt.grouped_linear(x, w, offsets((40, 130))) if grouped else wwt.linear(x, w)
    assert y.requires_grad
    others = [t for t in kept if t.data_ptr() != w.data_ptr()]
    assert {t.dtype for t in others} <= {FP8, torch.float32, torch.int32} and len(others) == (3 if grouped else 2)
    assert sum(t.dtype == FP8 for t in others) == 1


@pytest.mark.parametrize("grouped", [False, True])
def test_accumulation_in_float32(grouped):
    shape, ends = ((2, 48, 64), (7, 40)) if grouped else ((48, 64), None)
    w = leaf(shape, 2)
    start = integers(shape, 9, torch.float32, 1000) + 0.25
    w.main_grad, want = start.clone(), start.double()
    total = start.clone()
    for seed in range(3):
        x, dy = leaf((40, 64), seed), integers((40, 48), seed + 4)
        for given in ({"accumulate_into": total}, {"fuse_wgrad_accumulation": True}):
            y = (wwt.grouped_linear(x, w, offsets(ends), **given, **EXACT) if grouped
                 else wwt.linear(x, w, **given, **EXACT))
            y.backward(dy)
            assert w.grad is None
        want = want + expected(x, w, None, dy, ends)[2]
        same(total, want)
        same(w.main_grad, want)
    w.grad_added_to_main_grad = False
    y = wwt.grouped_linear(x, w, offsets(ends), fuse_wgrad_accumulation=True) if grouped else wwt.linear(
        x, w, fuse_wgrad_accumulation=True)
    y.backward(dy)
    assert w.grad_added_to_main_grad is True and w.grad.shape == w.shape


@pytest.mark.parametrize("grouped", [False, True])
def test_weights_that_are_cast_once(grouped, monkeypatch):
    w = leaf((2, 136, 144) if grouped else (136, 144), 2)
    x, dy = leaf((40, 144), 1), integers((40, 136), 4)

    def call(weight, **given):
        return wwt.grouped_linear(x, weight, offsets((9, 40)), **given) if grouped else wwt.linear(x, weight, **given)

    plain = call(w)
    want = torch.autograd.grad(plain, (x, w), dy)
    for transpose in (True, False):
        fp8 = wwt.quantize_weight(w, transpose=transpose)
        assert (fp8.q_t is None) == (not transpose)
        casts = Counted(monkeypatch, "cast")
        y = call(w, quantized_weight=fp8)
        got = torch.autograd.grad(y, (x, w), dy)
        assert len(casts.calls) == 2  # x and dy
        frozen = call(fp8)
        (dx,) = torch.autograd.grad(frozen, (x,), dy)
        assert torch.equal(y, plain) and torch.equal(frozen, plain) and torch.equal(dx, want[0])
        assert all(torch.equal(one, other) for one, other in zip(got, want))


def test_types():
    """The result has the type of x, of autocast or of out_dtype; gradients have those of what they belong to."""
    for x_type, w_type in ((torch.bfloat16, torch.float32), (torch.float16, torch.bfloat16), (torch.float32, torch.float16)):
        x, w = leaf((24, 64), 1, x_type), leaf((48, 64), 2, w_type)
        for out in (None, torch.float32):
            y = wwt.linear(x, w, out_dtype=out, **EXACT)
            assert y.dtype == (out or x_type)
            dx, dw = torch.autograd.grad(y.sum(), (x, w))
            assert dx.dtype == x_type and dw.dtype == w_type
    x, w = leaf((24, 64), 1, torch.float32), leaf((48, 64), 2, torch.float32)
    with torch.autocast(DEVICE, dtype=torch.bfloat16):
        y = wwt.linear(x, w, **EXACT)
        assert y.dtype == torch.bfloat16 == F.linear(x, w).dtype
        assert wwt.linear(x, w, out_dtype=torch.float32).dtype == torch.float32
    y.backward(integers((24, 48), 3))
    assert x.grad.dtype == w.grad.dtype == torch.float32
    same(w.grad, expected(x, w, None, integers((24, 48), 3))[2])


def test_gradients_in_e5m2():
    x, w, dy = leaf((40, 144), 1), leaf((136, 144), 2), integers((40, 136), 4, most=2)
    y = wwt.linear(x, w, grad_dtype="e5m2", **EXACT)
    for got, want in zip(torch.autograd.grad(y, (x, w), dy), expected(x, w, None, dy)[1:]):
        same(got, want)


def second(name, y, x, w, b, dy, main_grad):
    """Second derivatives of every gradient by everything that it depends on: an error, and never left out."""
    wanted = [one for one in (x, w, b) if one is not None]
    firsts = torch.autograd.grad(y, wanted, dy, create_graph=True, allow_unused=main_grad)
    # dx depends on w and dy, dw on x and dy, db on dy. Without a main_grad dw is a result.
    by = {id(x): [w, dy], id(w): [x, dy], id(b): [dy]}
    for first, of in zip(firsts, wanted):
        if main_grad and of is w:
            assert first is None
            continue
        for other in by[id(of)]:
            if other is None or not other.requires_grad:
                continue
            total = first.double().square().sum() + other.double().sum()  # the path that is left out would not be missed
            with pytest.raises(NotImplementedError, match=f"warpwright.torch.{name}: second derivatives"):
                torch.autograd.grad(total, other, retain_graph=True)
            with pytest.raises(NotImplementedError, match=f"warpwright.torch.{name}: second derivatives"):
                total.backward(retain_graph=True)


@pytest.mark.parametrize("dy_needs", [False, True])
@pytest.mark.parametrize("cast_once", [False, True])
@pytest.mark.parametrize("main_grad", [False, True])
@pytest.mark.parametrize("leaves", [False, True])
def test_second_derivatives_are_refused(leaves, main_grad, cast_once, dy_needs):
    """A constant dy gives dx no path to x, but one to w, which torch.autograd.grad() must not leave out."""
    x, w, b, dy = leaf((16, 64), 1), leaf((48, 64), 2), leaf((48,), 3), integers((16, 48), 4).requires_grad_(dy_needs)
    for name in ("linear", "grouped_linear"):
        weight = w if name == "linear" else w[None].detach().requires_grad_()
        used = (x, weight, b) if leaves else (x * 1, weight * 1, b * 1)
        options = {"quantized_weight": wwt.quantize_weight(weight)} if cast_once else {}
        if main_grad:
            options["accumulate_into"] = torch.zeros_like(weight, dtype=torch.float32)
        groups = () if name == "linear" else (offsets((16,)),)
        y = getattr(wwt, name)(*used[:2], *groups, used[2], **options)
        second(name, y, x, weight, b, dy, main_grad)


def test_second_derivatives_of_a_frozen_half():
    """What a gradient does not depend on is no reason to refuse, and nothing is kept for it."""
    x, w = leaf((16, 64), 1), integers((48, 64), 2)
    (dx,) = torch.autograd.grad(wwt.linear(x, w).sum(), x, create_graph=True)
    assert not dx.requires_grad  # as torch.nn.functional.linear has it: w and dy are constants
    w.requires_grad_()
    (dx,) = torch.autograd.grad(wwt.linear(x, w).sum(), x, create_graph=True)
    (by_x,) = torch.autograd.grad(dx.double().sum() + x.double().square().sum(), x)
    same(by_x, 2 * x.detach().double())  # dx is that of a linear function of x
    (dx,) = torch.autograd.grad(wwt.linear(x, wwt.quantize_weight(w)).float().square().sum(), x, create_graph=True)
    with pytest.raises(NotImplementedError, match="linear: second derivatives"):
        dx.sum().backward()


def test_the_graph_keeps_no_copy_of_x():
    x, w = leaf((16, 64), 1), leaf((48, 64), 2)
    used = x * 1
    freed = weakref.ref(used.untyped_storage())
    y = wwt.linear(used, w, **EXACT)
    del used
    gc.collect()
    assert freed() is None
    y.sum().backward()
    assert x.grad is not None and w.grad is not None


def test_small_gradients_are_not_lost():
    """Blocks are scaled by their own largest element, however small it is."""
    x, w, dy = leaf((24, 64), 1), leaf((48, 64), 2), integers((24, 48), 3) * 2.0 ** -40
    for got, want in zip(torch.autograd.grad(wwt.linear(x, w, **EXACT), (x, w), dy), expected(x, w, None, dy)[1:]):
        same(got, want)


def test_checkpoint():
    x, w, dy = leaf((24, 64), 1), leaf((48, 64), 2), integers((24, 48), 3)
    y = checkpoint(lambda x: wwt.linear(x, w, **EXACT), x, use_reentrant=False)
    y.backward(dy)
    same(w.grad, expected(x, w, None, dy)[2])


def dequantised(q, scales, rows):
    return q.double() * by_blocks(scales, q.shape[0], q.shape[1], rows)


def close(got, a, b, exact_a, exact_b, added=0):
    """got is a b^T of FP8 values a and b to the accuracy of the sum, and exact_a exact_b^T to that of the casts."""
    magnitude, product = a.abs() @ b.abs().T, a @ b.T + added
    rounding = 2.0 ** -8 * product.abs() + 2.0 ** -10 * magnitude + 2.0 ** -60
    assert ((got.double() - product).abs() <= rounding).all()
    cast = (a - exact_a).abs() @ exact_b.abs().T + a.abs() @ (b - exact_b).abs().T
    assert ((got.double() - exact_a @ exact_b.T - added).abs() <= rounding + cast).all()


@pytest.mark.parametrize("case", range(8))
def test_random(case):
    generator = torch.Generator().manual_seed(1000 * SEED + case)

    def number(low, high):
        return int(torch.randint(low, high + 1, (1,), generator=generator))

    def normal(*shape):
        spread = torch.exp2(torch.randint(-6, 7, (*shape[:-1], 1), generator=generator).double())
        return (torch.randn(shape, generator=generator) * spread).to(DEVICE, torch.bfloat16)

    groups = number(1, 4) if case % 2 else 0
    m, n, k = number(1, 300), 8 * number(1, 40), 8 * number(1, 40)
    ends = sorted(number(0, m) for _ in range(groups))
    print(f"seed {SEED}, case {case}: M {m}, N {n}, K {k}, ends {ends}")
    x, w, b, dy = normal(m, k), normal(*([groups] if groups else []), n, k), normal(n), normal(m, n)
    leaves = [t.clone().requires_grad_() for t in (x, w, b)]
    y = wwt.grouped_linear(leaves[0], leaves[1], offsets(ends), leaves[2]) if groups else wwt.linear(*leaves)
    y.backward(dy)
    dx, dw, db = (t.grad for t in leaves)
    total = torch.zeros_like(db, dtype=torch.float64)
    for g, rows in enumerate(ranges(m, ends if groups else None)):
        xg, dyg, wg = x[rows], dy[rows], w[g] if groups else w
        total += dyg.double().sum(0)
        if xg.shape[0] == 0:
            assert not groups or not dw[g].any()
            continue
        casts = {name: warpwright.quantize_1x128(t, transpose=True, min_amax=0) for name, t in (("x", xg), ("dy", dyg))}
        (xq, xs, xt, xts), (dq, ds, dt, dts) = casts["x"], casts["dy"]
        wq, ws = warpwright.quantize_128x128(wg, min_amax=0)
        weight = dequantised(wq, ws, 128)
        close(y[rows], dequantised(xq, xs, 1), weight, xg.double(), wg.double(), b.double())
        close(dx[rows], dequantised(dq, ds, 1), weight.T, dyg.double(), wg.double().T)
        close(dw[g] if groups else dw, dequantised(dt, dts, 1), dequantised(xt, xts, 1), dyg.double().T, xg.double().T)
    if groups:
        assert not y[ends[-1]:].any() and not dx[ends[-1]:].any()
    assert ((db.double() - total).abs() <= 2.0 ** -8 * total.abs() + 2.0 ** -16 * dy.double().abs().sum(0)).all()


def test_opcheck():
    x, w = integers((40, 72), 1), integers((2, 136, 72), 2)
    usual = {"align": 128, "alignment": 1, "dtype": "e4m3", "power_of_two": False, "min_amax": 0.0}
    quantize = torch.ops.warpwright.quantize.default
    for source, given in ((x, {"square": False, "rows": True, "transpose": True, "offs": None, "mn_major": True}),
                          (x, {"square": False, "rows": False, "transpose": True, "offs": offsets((7, 40)),
                               "mn_major": True}),
                          (w, {"square": True, "rows": True, "transpose": False, "offs": None, "mn_major": False})):
        torch.library.opcheck(quantize, (source,), {**given, **usual})
    # test_schema compares inputs, which torch cannot in FP8 on the CPU.
    torch.library.opcheck(torch.ops.warpwright.transpose_fp8.default, wwt.quantize_128x128(w),
                          test_utils=("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"))
    out = torch.zeros(40, 136, device=DEVICE)
    torch.library.opcheck(torch.ops.warpwright.gemm_out.default, (out, x, w[0]), {"accumulate": True})


def gradients(function, leaves, dy):
    y = function(*leaves)
    return (y, *torch.autograd.grad(y, leaves, dy))


@pytest.mark.parametrize("grouped", [False, True])
def test_compile_with_symbolic_rows(grouped):
    """Compiled, forward and backward passes have the bits of eager ones."""
    def layer(x, w, b, offs):
        x = x * 2
        return (wwt.grouped_linear(x, w, offs, b) if grouped else wwt.linear(x, w, b)) + 1

    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=True, dynamic=True, backend=COMPILER)
    w, b = leaf((2, 48, 72) if grouped else (48, 72), 2), leaf((2, 48) if grouped else (48,), 3)
    for m in (24, 40, 130):
        x, dy, offs = leaf((m, 72), m), integers((m, 48), m + 1), offsets((m // 3, m - 2))
        got = gradients(lambda *given: compiled(*given, offs), (x, w, b), dy)
        want = gradients(lambda *given: layer(*given, offs), (x, w, b), dy)
        assert all(torch.equal(one, other) for one, other in zip(got, want))


@pytest.mark.parametrize("grouped", [False, True])
def test_compiled_module_that_accumulates(grouped):
    torch._dynamo.reset()
    module = (wwt.GroupedLinear(2, 64, 48, fuse_wgrad_accumulation=True, device=DEVICE, dtype=torch.bfloat16) if grouped
              else wwt.Linear(64, 48, fuse_wgrad_accumulation=True, device=DEVICE, dtype=torch.bfloat16))
    module.weight.main_grad = torch.zeros(module.weight.shape, device=DEVICE)
    eager = copy.deepcopy(module)
    eager.weight.main_grad = torch.zeros_like(module.weight.main_grad)
    compiled = torch.compile(module, fullgraph=True, backend=COMPILER)
    for seed in range(2):
        x, offs = integers((40, 64), seed), [offsets((13, 40))] if grouped else []
        compiled(x, *offs).sum().backward()
        eager(x, *offs).sum().backward()
        assert torch.equal(module.weight.main_grad, eager.weight.main_grad) and module.weight.grad is None
    assert module.weight.main_grad.any()


def test_compiled_backward_passes_cast_the_weight():
    """Neither eager nor compiled layers keep a copy of the weight in FP8 between the passes."""
    torch._dynamo.reset()
    x, w = leaf((8, 256), 1), leaf((256, 256), 2)
    compiled = torch.compile(lambda x, weight: wwt.linear(x, weight), fullgraph=True, backend="aot_eager_decomp_partition")
    for weight in (w, wwt.quantize_weight(w, transpose=False)):
        kept = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t) or t, lambda t: t):
            y = compiled(x, weight)
        places = {t.data_ptr() for t in (weight if isinstance(weight, tuple) else [weight]) if t is not None}
        assert sum(t.numel() for t in kept if t.data_ptr() not in places) < 3 * x.numel()
        (dx,) = torch.autograd.grad(y.sum(), x)
        assert torch.equal(dx, torch.autograd.grad(wwt.linear(x, weight).sum(), x)[0])


def test_without_data():
    """Shapes and types alone: meta tensors, fake tensors, and the count of operations."""
    w, offs = torch.empty(2, 48, 64, device="meta", dtype=torch.bfloat16, requires_grad=True), offsets((3, 9)).to("meta")
    x = torch.empty(16, 64, device="meta", dtype=torch.bfloat16, requires_grad=True)
    for y in (wwt.linear(x, w[0]), wwt.grouped_linear(x, w, offs), wwt.linear(x, w[0], accumulate_into=w[0].detach().float())):
        assert wwt.gemm(x, w[0]).shape == (16, 48)
        assert y.is_meta and y.shape == (16, 48) and torch.autograd.grad(y.sum(), x)[0].shape == x.shape
    with FakeTensorMode():
        x = torch.empty(16, 64, requires_grad=True)
        assert torch.autograd.grad(wwt.linear(x, torch.empty(48, 64)).sum(), x)[0].shape == x.shape
    x, w = leaf((16, 64), 1), leaf((48, 64), 2)
    for given in ({}, {"accumulate_into": torch.zeros(48, 64, device=DEVICE)}):
        with FlopCounterMode(display=False) as counter:
            torch.autograd.grad(wwt.linear(x, w, **given).sum(), (x, w), allow_unused=True)
        assert counter.get_total_flops() == 3 * 2 * 16 * 48 * 64


def test_compile_of_casts():
    torch._dynamo.reset()

    def layer(x, w):
        (q, scales), (wq, w_scales) = wwt.quantize_1x128(x), wwt.quantize_128x128(w)
        back, back_scales = wwt.transpose_fp8(*wwt.transpose_fp8(wq, w_scales))
        return wwt.gemm(q, back, scales, back_scales, scale="block")

    x, w = integers((40, 72), 1), integers((136, 72), 2)
    assert torch.equal(torch.compile(layer, fullgraph=True, backend=COMPILER)(x, w), layer(x, w))


def test_modules():
    plain = torch.nn.Linear(64, 48, device=DEVICE, dtype=torch.bfloat16)
    module = wwt.Linear.from_linear(plain, power_of_two=True)
    assert module.weight is plain.weight and module.bias is plain.bias
    other = wwt.Linear(64, 48, device=DEVICE, dtype=torch.bfloat16)
    other.load_state_dict(plain.state_dict())
    x = integers((40, 64), 1)
    assert torch.equal(other(x), wwt.linear(x, plain.weight, plain.bias))
    assert torch.equal(other(x, quantized_weight=wwt.quantize_weight(other.weight)), other(x))
    experts = wwt.GroupedLinear(3, 64, 48, bias=True, device=DEVICE, dtype=torch.bfloat16)
    y = experts(x, offsets((5, 5, 40)))
    assert torch.equal(y[:5], wwt.linear(x[:5], experts.weight[0], experts.bias[0]))
    y.sum().backward()
    assert experts.weight.grad[0].any() and not experts.weight.grad[1].any()
    assert "groups=3" in repr(experts)


def test_a_training_step_lowers_the_loss():
    torch.manual_seed(0)
    model = torch.nn.Sequential(wwt.Linear(64, 128, device=DEVICE), torch.nn.GELU(), wwt.Linear(128, 8, device=DEVICE))
    x, target = torch.randn(128, 64, device=DEVICE), torch.randn(128, 8, device=DEVICE)
    optimizer, losses = torch.optim.Adam(model.parameters(), 1e-2), []
    for _ in range(12):
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0], losses


@pytest.mark.skipif(DEVICE == "cpu", reason="graphs need a GPU")
@pytest.mark.parametrize("grouped", [False, True])
def test_cuda_graph_of_forward_and_backward(grouped):
    w, b = leaf((2, 256, 384) if grouped else (256, 384), 2), leaf((2, 256) if grouped else (256,), 3)
    x, dy, offs = leaf((320, 384), 1), integers((320, 256), 4), offsets((100, 300))
    w.main_grad = torch.zeros(w.shape, device=DEVICE)
    cases = [{}, {"fuse_wgrad_accumulation": True}]

    def call(given):
        return wwt.grouped_linear(x, w, offs, b, **given, **EXACT) if grouped else wwt.linear(x, w, b, **given, **EXACT)

    for given in cases:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                x.grad = w.grad = b.grad = None
                call(given).backward(dy)
        torch.cuda.current_stream().wait_stream(side)
        x.grad = w.grad = b.grad = None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = call(given)
            y.backward(dy)
        y = y.detach()  # a graph of autograd that lives on would keep nodes of this capture's stream
        for seed in range(3):
            ends = (seed * 60, 310 - seed)
            with torch.no_grad():
                x.copy_(integers((320, 384), seed + 20))
                w.copy_(integers(tuple(w.shape), seed + 30))
            dy.copy_(integers((320, 256), seed + 40))
            offs.copy_(offsets(ends))
            w.main_grad.zero_()
            for gradient in (x.grad, w.grad, b.grad):
                if gradient is not None:
                    gradient.zero_()
            graph.replay()
            want = expected(x, w, b, dy, ends if grouped else None)
            got = (y, x.grad, w.main_grad if given else w.grad, b.grad)
            for one, other in zip(got, want):
                same(one, other)


def test_refusals():
    x, w, b = leaf((16, 64), 1), leaf((48, 64), 2), leaf((48,), 3)
    fp8, experts = wwt.quantize_weight(w), leaf((2, 48, 64), 4)
    wrong = [
        ("x", lambda: wwt.linear(x[:, :32], w)), ("x", lambda: wwt.linear(x.double(), w)),
        ("x", lambda: wwt.linear(x[0, 0], w)), ("weight", lambda: wwt.linear(x, w[0])),
        ("weight", lambda: wwt.linear(x, w.double())), ("weight", lambda: wwt.linear(x, w[:13])),
        ("weight", lambda: wwt.linear(x[:, :60], w[:, :60])), ("weight", lambda: wwt.linear(x, fp8.q)),
        ("bias", lambda: wwt.linear(x, w, b[:8])), ("out_dtype", lambda: wwt.linear(x, w, out_dtype=torch.int8)),
        ("grad_dtype", lambda: wwt.linear(x, w, grad_dtype="bf16")),
        ("quantized_weight", lambda: wwt.linear(x, fp8, quantized_weight=fp8)),
        ("quantized_weight", lambda: wwt.linear(x[:, :32], w[:, :32], quantized_weight=fp8)),
        ("accumulate_into", lambda: wwt.linear(x, w, accumulate_into=torch.zeros(48, 64, device=DEVICE).bfloat16())),
        ("accumulate_into", lambda: wwt.linear(x, w, accumulate_into=torch.zeros(64, 48, device=DEVICE).t())),
        ("weight.main_grad", lambda: wwt.linear(x, w, fuse_wgrad_accumulation=True)),
        ("offs", lambda: wwt.grouped_linear(x, experts, offsets((3, 9, 16)))),
        ("offs", lambda: wwt.grouped_linear(x, experts, offsets((3, 16)).long())),
        ("offs", lambda: wwt.grouped_linear(x, experts[:0], offsets(()))),
        ("x", lambda: wwt.grouped_linear(x[None], experts, offsets((3, 16)))),
        ("weight", lambda: wwt.grouped_linear(x, w, offsets((3,) * 48))),
        ("x", lambda: wwt.quantize_1x128(x[0])), ("offs", lambda: wwt.quantize_1x128(x, offs=offsets((16,)))),
        ("dtype", lambda: wwt.quantize_128x128(w, dtype="bf16")),
        ("align", lambda: wwt.quantize_1x128(x, transpose=True, offs=offsets((16,)), align=0)),
    ]
    for argument, call in wrong:
        with pytest.raises(warpwright.Error) as caught:
            call()
        assert caught.value.argument == argument, (argument, caught.value)
