# SPDX-License-Identifier: Apache-2.0
"""Products that only Blackwell's tensor cores have, on emu:sm100: packed types, MX formats and NVFP4, from every source of
tensors. Values and scales are such that every sum is exact, so that results are compared bit for bit."""
import itertools

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import warpwright
from support import BF16, E4M3, E5M2, same
from support import wide as wide_of
from warpwright import GemmProblem, GroupedProblem, Options

PACKED = {"e2m1": (4, ml_dtypes.float4_e2m1fn), "e3m2": (6, ml_dtypes.float6_e3m2fn), "e2m3": (6, ml_dtypes.float6_e2m3fn)}
WHOLE = {"e4m3": E4M3, "e5m2": E5M2}
DEVICE = "emu:sm100"


def operand(seed, shape, name):
    """Storage of random elements, their values, and the keyword that names the type of bytes."""
    rng = np.random.default_rng(seed)
    if name in WHOLE:
        values = rng.integers(-3, 4, shape).astype(WHOLE[name])
        return values, values.astype(np.float64), None
    bits, kind = PACKED[name]
    codes = rng.integers(0, 1 << bits, shape).astype(np.uint8)
    values = codes.view(kind)
    return warpwright.pack_elements(values), values.astype(np.float64), name


def scales(seed, shape, recipe):
    """Powers of two: chunks as products read them, a value for each element, and the scales by rows."""
    exponent = np.random.default_rng(seed).integers(-1, 2, shape)
    own = ml_dtypes.float8_e8m0fnu if recipe == "mx" else E4M3
    plain = np.exp2(exponent).astype(own)
    return warpwright.swizzle_scales(plain), np.repeat(plain.astype(np.float64), 32 if recipe == "mx" else 16, -1), plain


def case(m, n, k, a, b, recipe, batch=()):
    """Tensors, keywords, and the product in FP64."""
    *given, x, y = case_of_factors(m, n, k, a, b, recipe, batch)
    return (*given, x @ y.swapaxes(-1, -2))


def case_of_factors(m, n, k, a, b, recipe, batch):
    """Tensors, keywords, and both operands with their scales applied."""
    vector = 32 if recipe == "mx" else 16
    x, x_values, a_dtype = operand(1, (*batch, m, k), a)
    y, y_values, b_dtype = operand(2, (*batch, n, k), b)
    of_a, wide_a, _ = scales(3, (*batch, m, -(-k // vector)), recipe)
    of_b, wide_b, _ = scales(4, (*batch, n, -(-k // vector)), recipe)
    given = dict(scale_a=of_a, scale_b=of_b, a_dtype=a_dtype, b_dtype=b_dtype, out_dtype="f32")
    return (x, y), given, x_values * wide_a[..., :k], y_values * wide_b[..., :k]


def test_matrices_that_lie_anywhere_with_scales_of_mx():
    (x, y), given, want = case(48, 40, 256, "e4m3", "e4m3", "mx", (3,))
    out = np.zeros((3, 48, 40), np.float32)
    x_at, y_at, out_at = (np.array([matrix.ctypes.data for matrix in all_of], np.int64) for all_of in (x, y, out))
    order = [2, 0, 1]  # scales stay in the order of the products
    taken = warpwright.gemm_pointers(x_at, y_at, out_at[order], m=48, n=40, k=256, scale="mx", device=DEVICE,
                                     **{**given, "a_dtype": "e4m3", "b_dtype": "e4m3"})
    assert taken.shape == (3,)
    same(out[order], want)


@pytest.mark.parametrize("a,b", [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e3m2", "e2m3"), ("e4m3", "e2m1")])
def test_mx(a, b):
    tensors, given, want = case(150, 136, 256, a, b, "mx")
    same(warpwright.gemm(*tensors, **given), want)
    same(warpwright.gemm(*tensors, **given, device=DEVICE, alpha=0.5, bias=np.full(136, 2, np.float32)), want * 0.5 + 2)


@pytest.mark.parametrize("of_a,of_b", [(True, False), (False, True), (True, True)])
def test_mx_of_columns(of_a, of_b):
    """Transposed views of copies that were cast by columns; types of 4 and 6 bits have no such layout."""
    (x, y), given, want = case(144, 272, 224, "e4m3", "e5m2", "mx")
    views = [np.ascontiguousarray(v.T).T if by_columns else v for v, by_columns in ((x, of_a), (y, of_b))]
    same(warpwright.gemm(*views, **given, device=DEVICE), want)


def test_nv_and_its_global_scale():
    tensors, given, want = case(70, 72, 192, "e2m1", "e2m1", "nv")
    same(warpwright.gemm(*tensors, **given), want)
    factor = np.array([0.25], np.float32)
    same(warpwright.gemm(*tensors, **given, global_scale=factor), want * 0.25)
    names = {"a_dtype": ml_dtypes.float4_e2m1fn, "b_dtype": "float4_e2m1fn_x2", "scale": "nv"}
    as_bytes = {name: given[name].view(np.uint8) for name in ("scale_a", "scale_b")}
    same(warpwright.gemm(*tensors, **{**given, **names, **as_bytes}), want)
    with pytest.raises(warpwright.UnsupportedError, match="global_scale"):
        tensors, given, _ = case(64, 64, 128, "e2m1", "e2m1", "mx")
        warpwright.gemm(*tensors, **given, global_scale=factor)


def test_without_scales():
    """Packed types beside each other and FP8, with one scale for a tensor or none."""
    for a, b in (("e2m1", "e4m3"), ("e3m2", "e3m2")):
        x, x_values, a_dtype = operand(5, (40, 128), a)
        y, y_values, b_dtype = operand(6, (48, 128), b)
        named = dict(a_dtype=a_dtype, b_dtype=b_dtype, out_dtype="f32")
        same(warpwright.gemm(x, y, **named), x_values @ y_values.T)
        two, half = np.array([2], np.float32), np.array([0.5], np.float32)
        same(warpwright.gemm(x, y, **named, scale_a=two, scale_b=half), x_values @ y_values.T)


def test_batches_and_rows_that_are_apart():
    (x, y), given, x_values, y_values = case_of_factors(33, 40, 128, "e2m1", "e2m1", "mx", (3,))
    assert given["scale_a"].shape == (3, 512)
    want = x_values @ y_values.swapaxes(-1, -2)
    same(warpwright.gemm(x, y, **given), want)
    shared = dict(given, scale_b=given["scale_b"][1])  # one matrix and one set of scales for all products
    same(warpwright.gemm(x, y[1], **shared), x_values @ y_values[1].T)
    apart = np.zeros((3, 33, 128), np.uint8)  # rows 256 elements apart
    apart[..., :64] = x
    same(warpwright.gemm(apart[..., :64], y, **given), want)


@pytest.mark.parametrize("a,b,recipe", [("e4m3", "e4m3", "mx"), ("e2m1", "e2m1", "nv")])
def test_groups_of_rows(a, b, recipe):
    """Scales of a group are a matrix of their own. Those of A follow one another, or lie evenly for masked groups."""
    counts, n, k = [40, 0, 130, 7], 64, 256
    rows, groups = sum(counts), len(counts)
    x, x_values, a_dtype = operand(1, (rows, k), a)
    y, y_values, b_dtype = operand(2, (groups, n, k), b)
    vector = 32 if recipe == "mx" else 16
    of_b, wide_b, _ = scales(3, (groups, n, k // vector), recipe)
    _, wide_a, plain = scales(4, (rows, k // vector), recipe)
    ends = np.cumsum(counts)
    ranges = [slice(end - count, end) for end, count in zip(ends, counts)]
    of_a = np.concatenate([warpwright.swizzle_scales(plain[one]) for one in ranges])
    most = (rows + 127 * groups) // 128 * (k // vector // 4) * 512  # what only the device could make smaller
    of_a = np.concatenate([of_a, np.zeros(most - len(of_a), of_a.dtype)])
    want = np.zeros((rows, n))
    for g, one in enumerate(ranges):
        want[one] = (x_values * wide_a)[one] @ (y_values * wide_b)[g].T
    named = dict(a_dtype=a_dtype, b_dtype=b_dtype, scale_b=of_b, out_dtype="f32")
    sizes = np.asarray(ends, np.int32)
    same(warpwright.grouped_gemm(x, y, offsets=sizes, scale_a=of_a, **named), want)
    with pytest.raises(warpwright.InvalidError, match=f"at least {most} contiguous bytes"):
        warpwright.grouped_gemm(x, y, offsets=sizes, scale_a=of_a[:-512], **named)
    with pytest.raises(warpwright.InvalidError, match="scale_b.*for each matrix or group"):
        warpwright.grouped_gemm(x, y, offsets=sizes, scale_a=of_a, **{**named, "scale_b": of_b[0]})

    masked, masked_scales = np.zeros((groups, 136, x.shape[1]), x.dtype), np.zeros((groups, 136, k // vector), plain.dtype)
    for g, one in enumerate(ranges):
        masked[g, : counts[g]], masked_scales[g, : counts[g]] = x[one], plain[one]
    got = warpwright.grouped_gemm(masked, y, masked=np.asarray(counts, np.int32), **named,
                                  scale_a=warpwright.swizzle_scales(masked_scales))
    for g, one in enumerate(ranges):
        same(got[g, : counts[g]], want[one])


def test_groups_of_k():
    """Scales of each group of K are a matrix of its own, and these follow one another."""
    ends, m, n, k = [128, 128, 512], 40, 64, 512
    x, x_values, _ = operand(1, (m, k), "e4m3")
    y, y_values, _ = operand(2, (n, k), "e4m3")
    ranges = [slice(start // 32, end // 32) for start, end in zip([0, *ends], ends)]
    chunks, wide = [], []
    for seed, extent in ((3, m), (4, n)):
        _, values, plain = scales(seed, (extent, k // 32), "mx")
        parts = [warpwright.swizzle_scales(np.ascontiguousarray(plain[:, one])) for one in ranges if one.start < one.stop]
        chunks.append(np.concatenate(parts)), wide.append(values)
    got = warpwright.k_grouped_gemm(x, y, offsets=np.asarray(ends, np.int32), scale_a=chunks[0], scale_b=chunks[1])
    a, b = x_values * wide[0], y_values * wide[1]
    same(got, np.stack([a[:, s:e] @ b[:, s:e].T for s, e in zip([0, *ends], ends)]))


def rows_of_chunks(chunks, rows, count):
    """Scales in rows of a matrix in chunks, which swizzle_scales() makes."""
    blocks, along = -(-rows // 128), -(-count // 4)
    tiles = np.asarray(chunks).view(np.uint8).reshape(blocks, along, 32, 4, 4)
    return tiles.transpose(0, 3, 2, 1, 4).reshape(blocks * 128, along * 4)[:rows, :count]


QUANTISED = [("quantise_mx(acc)", "e4m3"), ("quantise_mx(silu(acc))", "e5m2"), ("quantise_mx(acc)", "e2m1"),
             ("quantise_nv(acc)", "e2m1")]


def cast_of(values, epilogue, name):
    """The cast of FP32 values by the kernel that does nothing else, with its scales in rows."""
    nv = "nv" in epilogue
    q, of_q = (warpwright.quantize_nv(values, swizzled=False) if nv
               else warpwright.quantize_mx(values, dtype=name, swizzled=False))
    return q.view(np.uint8), of_q.view(np.uint8)


@pytest.mark.parametrize("epilogue,name", QUANTISED)
@pytest.mark.parametrize("m,n,batch", [(150, 224, ()), (1, 64, ()), (130, 160, (2,)), (40, 64, (1,))])
def test_outputs_are_quantised(epilogue, name, m, n, batch):
    """D and its scales are those of a cast of the product in FP32, and operands of the next product."""
    rng = np.random.default_rng([m, n, len(batch)])
    x, y = rng.normal(size=(*batch, m, 96)).astype(BF16), rng.normal(size=(*batch, n, 96)).astype(BF16)
    plain = warpwright.gemm(x, y, out_dtype="f32", device=DEVICE, epilogue=epilogue[len("quantise_mx("):-1])
    vector = 16 if "nv" in epilogue else 32
    count = -(-n // vector)
    bytes_of_matrix = -(-m // 128) * -(-count // 4) * 512
    out_scales = np.full((*batch, bytes_of_matrix), 0x55, np.uint8)
    got = warpwright.gemm(x, y, epilogue=epilogue, out_dtype=name, out_scales=out_scales)
    want, want_scales = cast_of(plain, epilogue, name)
    assert got.shape == want.shape and (got.view(np.uint8) == want).all()
    for one, scales_of_one in zip(out_scales.reshape(-1, bytes_of_matrix), want_scales.reshape(-1, m, count)):
        assert (rows_of_chunks(one, m, count) == scales_of_one).all()
    if name == "e2m1" and not batch:
        own = np.full(want.shape, 7, np.uint8)
        assert warpwright.gemm(x, y, epilogue=epilogue, out=own, out_dtype=name, out_scales=out_scales) is own
        assert (own == want).all()


@pytest.mark.parametrize("masked", [False, True])
def test_outputs_of_groups_are_quantised(masked):
    """The scales of D lie where a product of groups takes those of A, so that two products of experts follow each other."""
    counts, n, k = [40, 0, 130, 7], 128, 128
    groups, rows = len(counts), sum(counts)
    (x, y), given, _ = case(rows, n * groups, k, "e4m3", "e4m3", "mx")
    y = np.ascontiguousarray(y.reshape(groups, n, k))
    of_b = warpwright.swizzle_scales(scales(5, (groups, n, k // 32), "mx")[2])
    plain = scales(6, (rows, k // 32), "mx")[2]
    ends = np.cumsum(counts)
    ranges = [slice(end - count, end) for end, count in zip(ends, counts)]
    if masked:
        most = 136
        a, of_a = np.zeros((groups, most, k), x.dtype), np.zeros((groups, most, k // 32), plain.dtype)
        for g, one in enumerate(ranges):
            a[g, : counts[g]], of_a[g, : counts[g]] = x[one], plain[one]
        of_a, sizes = warpwright.swizzle_scales(of_a), dict(masked=np.asarray(counts, np.int32))
        out_scales = np.full((groups, 2 * 512), 0x55, np.uint8)
    else:
        parts = [warpwright.swizzle_scales(plain[one]).reshape(-1) for one in ranges]
        room = (rows + 127 * groups) // 128 * 512
        of_a = np.concatenate([*parts, np.zeros(room - sum(map(len, parts)), plain.dtype)])
        a, sizes, out_scales = x, dict(offsets=np.asarray(ends, np.int32)), np.full(room, 0x55, np.uint8)
    named = dict(sizes, scale_a=of_a, scale_b=of_b)
    wide = warpwright.grouped_gemm(a, y, **named, out_dtype="f32")
    got = warpwright.grouped_gemm(a, y, **named, epilogue="quantise_mx(acc)", out_dtype="e4m3", out_scales=out_scales)
    first = 0
    for g, one in enumerate(ranges):
        here = (g, slice(counts[g])) if masked else one
        want, want_scales = cast_of(np.ascontiguousarray(wide[here]), "mx", "e4m3")
        assert (got[here].view(np.uint8) == want).all(), g
        blocks = -(-counts[g] // 128)
        chunks = out_scales[g, : blocks * 512] if masked else out_scales[first : first + blocks * 512]
        assert (rows_of_chunks(chunks, counts[g], 4) == want_scales).all(), g
        first += blocks * 512
    again = warpwright.grouped_gemm(got, y, **dict(named, scale_a=out_scales), scale="mx", out_dtype="f32")
    y_wide = wide_of(y) * np.repeat(wide_of(scales(5, (groups, n, k // 32), "mx")[2]), 32, -1)
    for g, one in enumerate(ranges):
        here = (g, slice(counts[g])) if masked else one
        q, of_q = cast_of(np.ascontiguousarray(wide[here]), "mx", "e4m3")
        values = wide_of(q.view(E4M3)) * np.repeat(wide_of(of_q.view(ml_dtypes.float8_e8m0fnu)), 32, -1)
        want = values @ y_wide[g].T
        assert np.allclose(again[here], want, rtol=2.0**-20, atol=2.0**-20 * np.abs(want).max(initial=0)), g


def test_plans_repeat():
    tensors, given, want = case(64, 64, 256, "e2m1", "e2m1", "nv")
    factor = np.array([2], np.float32)
    plan = warpwright.gemm_plan(*tensors, **given, global_scale=factor)
    assert plan.device.name == DEVICE and "arch=sm100" in plan.config and "scale=nv" in plan.config
    named = {name: given[name] for name in ("scale_a", "scale_b", "a_dtype", "b_dtype")}
    out = np.zeros((64, 64), np.float32)
    for number in range(3):
        out[:] = 0
        assert plan.run(*tensors, **named, out=out, global_scale=factor) is out
        same(out, want * 2)
    same(plan.run(*tensors, **named, out=out), want)  # without the factor


def test_other_sources():
    tensors, given, want = case(32, 64, 128, "e2m1", "e2m1", "mx")
    as_jax = [jnp.asarray(one) for one in tensors]
    of_jax = {name: jnp.asarray(given[name].view(np.uint8)) for name in ("scale_a", "scale_b")}
    same(warpwright.gemm(*as_jax, **{**given, **of_jax}, scale="mx"), want)


def test_the_device_follows_from_the_types():
    ones = np.ones((64, 128), E4M3)
    plan = warpwright.gemm_plan(ones, ones)
    assert plan.device.name == "emu:sm90" and "arch=sm90" in plan.config
    plan = warpwright.gemm_plan(ones, ones, device=DEVICE)
    assert plan.device.name == DEVICE and "arch=sm100" in plan.config
    tensors, given, _ = case(64, 64, 128, "e4m3", "e4m3", "mx")
    assert warpwright.gemm_plan(*tensors, **given, device="auto").device.name == DEVICE
    for hopper in ("emu:sm90", warpwright.Device("emu:sm90")):
        with pytest.raises(warpwright.UnsupportedError, match="scale"):
            warpwright.gemm(*tensors, **given, device=hopper)
    x, _, name = operand(1, (64, 128), "e2m1")
    with pytest.raises(warpwright.UnsupportedError, match="e2m1"):
        warpwright.gemm(x, x, a_dtype=name, b_dtype=name, device="emu:sm90")


def test_what_is_asked_without_tensors():
    options = Options(config="arch=sm100")
    for problem in (GemmProblem(256, 512, 1024, scale="mx"), GemmProblem(256, 512, 1024, a="e2m1", b="e2m1", scale="nv"),
                    GemmProblem(256, 512, 1024, a="e3m2", b="e4m3", scale="mx", scale_type="e8m0")):
        assert warpwright.can_implement(problem, arch="sm100") is None
        assert "Hopper" in warpwright.can_implement(problem)
        for given in ({"device": DEVICE}, {"options": options}):
            assert all("arch=sm100" in one for one in warpwright.configs(problem, **given))
            explained = warpwright.explain(problem, **given)
            assert not explained["measured"] and "arch=sm100" in explained["chosen"]["config"]
    report = warpwright.check(GemmProblem(128, 64, 256, a="e2m1", b="e2m1", scale="nv"), Options(config="arch=sm100"),
                              schedules=2, seconds=30, processes=1, launches=1)
    assert report["verdict"] == "clean", report


def test_prepared_kernels_are_those_that_run(tmp_path):
    device = warpwright.Device(DEVICE, cache_dir=str(tmp_path))
    tensors, given, want = case(64, 64, 256, "e4m3", "e4m3", "mx")
    problem = GemmProblem(64, 64, 256, d="f32", scale="mx")
    report = warpwright.prepare([problem, "cast=mx,x=f32,q=e4m3"], device)
    assert report["failed"] == 0 and len(report["kernels"]) == 2
    before = device.counters()["compiled"]
    same(warpwright.gemm(*tensors, **given, device=device), want)
    warpwright.quantize_mx(np.ones((64, 256), np.float32), device=device)
    assert device.counters()["compiled"] == before


def test_scales_of_rows_are_swizzled_and_elements_packed():
    plain = np.arange(2 * 130 * 5, dtype=np.uint8).reshape(2, 130, 5)
    made = warpwright.swizzle_scales(plain)
    assert made.shape == (2, 2 * 2 * 512) and made.dtype == np.uint8
    for outer, row, scale in itertools.product((0, 1), (0, 31, 32, 127, 128, 129), range(5)):
        chunk = row // 128 * 2 + scale // 4
        place = chunk * 512 + 16 * (row % 32) + 4 * (row % 128 // 32) + scale % 4
        assert made[outer, place] == plain[outer, row, scale]
    assert np.count_nonzero(made) == np.count_nonzero(plain)
    x = np.random.default_rng(0).normal(size=(130, 160)).astype(BF16)
    assert (warpwright.quantize_mx(x)[1] == warpwright.swizzle_scales(warpwright.quantize_mx(x, swizzled=False)[1])).all()
    for name, (bits, kind) in PACKED.items():
        codes = np.random.default_rng(1).integers(0, 1 << bits, (3, 16)).astype(np.uint8)
        as_bits = (codes[..., None] >> np.arange(bits, dtype=np.uint8)) & 1
        want = np.packbits(as_bits.reshape(3, -1), axis=-1, bitorder="little")
        assert (warpwright.pack_elements(codes, name) == want).all()
        assert (warpwright.pack_elements(codes.view(kind)) == want).all()


def test_refusals():
    (x, y), given, _ = case(64, 64, 128, "e2m1", "e2m1", "mx")
    sixes, _, _ = operand(7, (64, 128), "e3m2")
    one_byte = np.zeros((64, 128), ml_dtypes.float4_e2m1fn)
    plain = scales(3, (64, 4), "mx")[2]
    nv = scales(3, (64, 8), "nv")[0]
    moved = warpwright.quantize_mx(np.ones((65, 128), np.float32), dtype="e3m2")[0].reshape(-1)
    halfway = moved[16 : 16 + sixes.size].reshape(sixes.shape)  # 16 bytes are enough for other types
    # Matrices 16 bytes off a multiple of 32, which two operands of e2m1 alone may be.
    apart = np.lib.stride_tricks.as_strided(np.zeros(2 * 4112, np.uint8), (2, 64, 64), (4112, 64, 1))
    beside = np.ones((64, 128), E4M3)

    def call(a=x, b=y, **other):
        return lambda: warpwright.gemm(a, b, **{**given, **other})

    for argument, refused in (
            ("a", call(a=one_byte)), ("a_dtype", call(a=x.astype(np.float32))), ("a_dtype", call(a_dtype="bf16")),
            ("a_dtype", call(a=np.zeros((64, 64), E4M3), a_dtype="e2m1")), ("a_dtype", call(a_dtype="e8m0")),
            ("a", call(a=np.zeros((128, 64), np.uint8).T)), ("a", call(a=np.zeros((64, 65), np.uint8), a_dtype="e3m2")),
            ("a", call(a=np.zeros((64, 97), np.uint8)[:, :96], a_dtype="e3m2")), ("b", call(b=y[:, :32])),
            ("a", call(a=halfway, b=sixes, a_dtype="e3m2", b_dtype="e3m2")),
            ("batch_a", lambda: warpwright.gemm(apart, beside, a_dtype="e2m1")),
            ("stride_b_group", lambda: warpwright.grouped_gemm(
                beside, apart, b_dtype="e2m1", offsets=np.array([8, 64], np.int32), scale="mx",
                scale_a=np.zeros(1024, np.uint8), scale_b=np.zeros((2, 512), np.uint8))),
            ("scale_a", call(scale_a=plain)), ("scale_a", call(scale_a=given["scale_a"][:-1])),
            ("scale_a", call(scale_a=given["scale_a"].view(np.uint8))), ("scale_b", call(scale_b=nv)),
            ("scale_a", call(scale_a=np.ones((64, 1), np.float32), scale_b=np.ones((64, 1), np.float32), scale="mx")),
            ("scale", call(scale="mx32")), ("scale_b", call(scale_b=None)),
            ("scale_type", call(scale="mx", scale_type="e4m3", **{name: given[name].view(np.uint8)
                                                                  for name in ("scale_a", "scale_b")})),
            ("global_scale", call(global_scale=np.ones(2, np.float32))),
            ("out_dtype", call(out_dtype="e2m1")),
            ("scales", lambda: warpwright.swizzle_scales(plain.reshape(-1))),
            ("scales", lambda: warpwright.swizzle_scales(plain.astype(np.float32))),
            ("dtype", lambda: warpwright.pack_elements(plain.view(np.uint8))),
            ("codes", lambda: warpwright.pack_elements(np.zeros((2, 3), np.uint8), "e2m1"))):
        with pytest.raises((warpwright.InvalidError, warpwright.UnsupportedError)) as caught:
            refused()
        assert caught.value.argument == argument, caught.value
    assert "swizzle_scales" in str(pytest.raises(warpwright.InvalidError, call(scale_a=plain)).value)
    assert "pack_elements" in str(pytest.raises(warpwright.InvalidError, call(a=one_byte)).value)
    reason = warpwright.can_implement(GroupedProblem(4, 256, 256, 256, scale="mx"), arch="sm100")
    assert reason is None or "scale" in reason
