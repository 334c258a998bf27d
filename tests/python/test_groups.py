# SPDX-License-Identifier: Apache-2.0
"""warpwright.grouped_gemm and k_grouped_gemm on the emulated device: encodings, scales, epilogues, accumulation."""
import numpy as np
import pytest
import warpwright
from support import BF16, E4M3, group_ranges, integers, padded, powers, product, same, transposed, wide

ROWS, N, K = 90, 72, 256
ENCODINGS = {
    "offsets": {"offsets": [20, 20, 21, 90]},
    "offsets aligned": {"offsets": [20, 32, 50, 80]},
    "indptr": {"indptr": [5, 20, 20, 21, 88]},
    "starts": {"starts": [0, 30, 40, 60], "counts": [20, 0, 20, 30]},
    "row_ids": {"row_ids": [0] * 20 + [-1] * 10 + [2] * 20 + [3] * 40},
}


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def arrays_of(name):
    return {key: np.array(values, np.int32) for key, values in ENCODINGS[name].items()}


def ranges_of(name):
    if name == "row_ids":
        return [range(0, 20), range(0), range(30, 50), range(50, 90)]
    kind = name.split()[0]
    return group_ranges(kind, ROWS, list(ENCODINGS[name].values()), 32 if "aligned" in name else 1)


def expected(a, b, ranges, scaled=lambda g, rows: {}, fill=5.0):
    want = np.full((a.shape[0], b.shape[1]), fill)
    for g, rows in enumerate(ranges):
        want[list(rows)] = product(a[list(rows)], b[g], **scaled(g, list(rows)))
    return want


@pytest.mark.parametrize("sizes", [[20, 0, 20, 40], 20, "20,0,20,40", "64", np.array([1, 2, 3, 4]), (ROWS, 0, 0, 0)])
def test_expected_sizes_change_no_result(rng, sizes):
    a, b = integers(rng, (ROWS, K), BF16), integers(rng, (4, N, K), BF16)
    given = arrays_of("offsets")
    want = expected(a, b, ranges_of("offsets"), fill=0.0)
    for _ in range(2):
        same(warpwright.grouped_gemm(a, b, **given, zero_outside=True, out_dtype="f32", expected_sizes=sizes), want)
    plan = warpwright.grouped_gemm_plan(a, b, **given, zero_outside=True, out_dtype="f32", expected_sizes=sizes)
    same(plan.run(a, b, **given, out_dtype="f32"), want)


def test_expected_sizes_make_plans_of_their_own(rng):
    a, b = integers(rng, (ROWS, K), BF16), integers(rng, (4, N, K), BF16)
    warpwright.clear_plan_cache()
    for sizes in (None, 20, [20, 0, 20, 40], "20", [20, 0, 20, 40]):
        warpwright.grouped_gemm(a, b, **arrays_of("offsets"), expected_sizes=sizes)
    assert warpwright.plan_cache_size() == 3


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("name", ENCODINGS)
def test_encodings(rng, name, outside):
    a, b = integers(rng, (ROWS, K), BF16), integers(rng, (4, N, K), BF16)
    out = np.full((ROWS, N), 5, np.float32)
    status = np.zeros(1, np.int32)
    extra = {"alignment": 32} if "aligned" in name else {}
    assert warpwright.grouped_gemm(a, b, **arrays_of(name), **extra, zero_outside=outside, out=out, status=status) is out
    same(out, expected(a, b, ranges_of(name), fill=0.0 if outside else 5.0))
    assert status[0] == 0


def test_inconsistent_groups_are_reported(rng):
    a, b = integers(rng, (ROWS, K), BF16), integers(rng, (2, N, K), BF16)
    status = np.zeros(1, np.uint32)
    warpwright.grouped_gemm(a, b, offsets=np.array([50, 200], np.int32), status=status)
    assert status[0] == 1  # a group ends after the last row


@pytest.mark.parametrize("scale", ["tensor", "group", "row-column", "shared columns", "block", "block by column"])
def test_scales_of_groups(rng, scale):
    a, b = integers(rng, (ROWS, K), E4M3), integers(rng, (4, N, K), E4M3)
    kind = "tensor" if scale == "group" else "row-column" if "columns" in scale else scale.split()[0]
    sa, sb = {
        "tensor": lambda: (powers(rng, 1), powers(rng, 1)),
        "group": lambda: (powers(rng, 4), powers(rng, 4)),
        "row-column": lambda: (powers(rng, ROWS), powers(rng, (4, N))),
        "shared columns": lambda: (powers(rng, ROWS), powers(rng, N)),
        "block": lambda: (powers(rng, (ROWS, 2)), powers(rng, (4, 1, 2))),
        "block by column": lambda: (transposed(powers(rng, (ROWS, 2))), transposed(powers(rng, (4, 1, 2)))),
    }[scale]()
    one_b = lambda g: sb[g] if scale not in ("tensor", "shared columns") else sb
    one_a = lambda g, rows: sa if scale == "tensor" else sa[g] if scale == "group" else sa[rows]
    out = np.full((ROWS, N), 5, np.float32)
    warpwright.grouped_gemm(a, b, **arrays_of("starts"), scale_a=sa, scale_b=sb, out=out)
    same(out, expected(a, b, ranges_of("starts"), lambda g, r: {"scale": kind, "sa": one_a(g, r), "sb": one_b(g)}))


@pytest.mark.parametrize("scaled", [False, True])
def test_masked_groups(rng, scaled):
    a, b = integers(rng, (3, 24, K), E4M3), integers(rng, (3, N, K), E4M3)
    masked = np.array([5, 0, 24], np.int32)
    sa, sb = powers(rng, (3, 24, 2)), powers(rng, (3, 1, 2))
    out = np.full((3, 24, N), 5, np.float32)
    warpwright.grouped_gemm(a, b, masked=masked, out=out, **({"scale_a": sa, "scale_b": sb} if scaled else {}))
    want = product(a, b, "block", sa, sb) if scaled else product(a, b)
    for g in range(3):
        want[g, masked[g] :] = 5
    same(out, want)


def test_epilogues_of_groups(rng):
    a, b = integers(rng, (ROWS, K), BF16), integers(rng, (4, N, K), BF16)
    bias, factor = integers(rng, (4, N), BF16), np.array([1, 2, 4, 8], np.float32)
    aux = integers(rng, (ROWS, N), np.float32)
    out = warpwright.grouped_gemm(a, b, **arrays_of("offsets"), epilogue="acc * alpha + bias + aux0", alpha=factor,
                                  bias=bias, aux0=aux, out_dtype="f32")
    want = np.zeros((ROWS, N))
    for g, rows in enumerate(ranges_of("offsets")):
        want[list(rows)] = product(a[list(rows)], b[g]) * factor[g] + wide(bias[g]) + aux[list(rows)]
    same(out, want)


def test_one_group_and_no_group(rng):
    a, b = integers(rng, (8, K), BF16), integers(rng, (1, N, K), BF16)
    same(warpwright.grouped_gemm(a, b, offsets=np.array([8], np.int32), out_dtype="f32"), product(a, b[0]))
    none = np.array([], np.int32)
    same(warpwright.grouped_gemm(a, b[:0], offsets=none, zero_outside=True), np.zeros((8, N)))


def k_expected(a, b, ranges, scale="none", sa=None, sb=None):
    a, b = wide(a), wide(b)
    if scale == "row-column":
        a, b = a * wide(sa)[:, None], b * wide(sb)[:, None]
    if scale == "block-1d":
        a, b = a * np.repeat(wide(sa), 128, 1), b * np.repeat(wide(sb), 128, 1)
    return np.stack([a[:, list(r)] @ b[:, list(r)].T for r in ranges])


@pytest.mark.parametrize("name", ENCODINGS)
@pytest.mark.parametrize("m", [8, 48])
def test_gradients_of_weights(rng, name, m):
    dy, x = integers(rng, (ROWS, m), BF16), integers(rng, (ROWS, 40), BF16)
    extra = {"alignment": 32} if "aligned" in name else {}
    if name == "row_ids":
        extra["out"] = np.zeros((4, m, 40), np.float32)
    out = warpwright.k_grouped_gemm(dy.T, x.T, **arrays_of(name), **extra)
    assert out.dtype == np.float32
    same(out, k_expected(dy.T, x.T, ranges_of(name)))


@pytest.mark.parametrize("scale", ["none", "row-column", "block-1d"])
def test_fp8_groups_of_k(rng, scale):
    a, b = integers(rng, (24, 512), E4M3), integers(rng, (40, 512), E4M3)
    sa, sb = {"none": (None, None), "row-column": (powers(rng, 24), powers(rng, 40)),
              "block-1d": (powers(rng, (24, 4)), powers(rng, (40, 4)))}[scale]
    out = warpwright.k_grouped_gemm(a, b, offsets=np.array([128, 128, 512], np.int32), scale_a=sa, scale_b=sb)
    same(out, k_expected(a, b, [range(128), range(0), range(128, 512)], scale, sa, sb))


def test_accumulation(rng):
    dy, x = integers(rng, (64, 16), BF16), integers(rng, (64, 24), BF16)
    offsets = np.array([10, 64], np.int32)
    want = k_expected(dy.T, x.T, [range(10), range(10, 64)])
    out = np.full((2, 16, 24), 3, np.float32)
    warpwright.k_grouped_gemm(dy.T, x.T, offsets=offsets, out=out, accumulate=True)
    same(out, want + 3)
    c = integers(rng, (2, 16, 24), np.float32)
    same(warpwright.k_grouped_gemm(dy.T, x.T, offsets=offsets, c=c), want + c)
    with pytest.raises(warpwright.InvalidError) as caught:
        warpwright.k_grouped_gemm(dy.T, x.T, offsets=offsets, c=padded(c, 8))
    assert caught.value.argument == "c"


def test_masked_groups_of_k(rng):
    dy, x = integers(rng, (2, 32, 16), BF16), integers(rng, (2, 32, 24), BF16)
    out = warpwright.k_grouped_gemm(dy.reshape(64, 16).T, x.reshape(64, 24).T, masked=np.array([7, 32], np.int32))
    want = np.stack([wide(dy[g, :c]).T @ wide(x[g, :c]) for g, c in enumerate((7, 32))])
    same(out, want)


@pytest.mark.parametrize("variant", ["variant=masked", "variant=descriptors", "variant=ragged"])
@pytest.mark.parametrize("layout,scale", [("rows last", "block"), ("groups apart", "block"), ("groups inside", "block"),
                                          ("groups apart", "row-column")])
def test_masked_groups_whose_scales_are_apart(rng, variant, layout, scale):
    groups, most = 3, 24
    a, b = integers(rng, (groups, most, K), E4M3), integers(rng, (groups, N, K), E4M3)
    columns = 2 if scale == "block" else 1
    sa = powers(rng, (groups, most, columns))
    storage = np.full((groups + 1, columns + 1, most + 5), np.nan, np.float32)
    if layout == "rows last":  # as DeepGEMM lays them out: rows are contiguous within a group
        given = storage[:groups, :columns, :most].swapaxes(1, 2)
    elif layout == "groups apart":
        given = storage.reshape(groups + 1, -1)[:groups, : most * columns].reshape(groups, most, columns)
        given = np.lib.stride_tricks.as_strided(given, given.shape, (storage.strides[0], 4 * columns, 4))
    else:  # (Mmax, G, columns)
        given = np.full((most, groups + 1, columns), np.nan, np.float32)[:, :groups].swapaxes(0, 1)
    given[...] = sa
    sb = powers(rng, (groups, 1, columns) if scale == "block" else (groups, N))
    masked = np.array([24, 0, 7], np.int32)
    out = np.full((groups, most, N), 5, np.float32)
    warpwright.grouped_gemm(a, b, masked=masked, out=out, scale=scale, config=variant,
                            scale_a=given if scale == "block" else given[..., 0], scale_b=sb)
    want = np.full((groups, most, N), 5.0)
    for g, count in enumerate(masked):
        want[g, :count] = product(a[g, :count], b[g], scale, sa[g, :count] if scale == "block" else sa[g, :count, 0], sb[g])
    same(out, want)


def test_no_groups(rng):
    """Whatever the strides of operands that have no elements."""
    none = np.zeros(0, np.int32)
    assert warpwright.grouped_gemm(np.zeros((0, 24, 64), BF16), np.zeros((0, 16, 64), BF16), masked=none).shape == (0, 24, 16)
    a, b = transposed(integers(rng, (24, 64), BF16)), transposed(integers(rng, (16, 64), BF16))
    assert warpwright.k_grouped_gemm(a, b, offsets=none).shape == (0, 24, 16)
    scales = np.zeros((0, 24, 2), np.float32), np.zeros((0, 2, 2), np.float32)
    assert warpwright.grouped_gemm(np.zeros((0, 24, 256), E4M3), np.zeros((0, 256, 256), E4M3), masked=none, scale="block",
                                   scale_a=scales[0], scale_b=scales[1]).shape == (0, 24, 256)


def test_groups_without_k_have_scales_without_elements(rng):
    a, b = np.zeros((24, 0), E4M3), np.zeros((2, 136, 0), E4M3)
    out = np.full((24, 136), 7, np.float32)
    warpwright.grouped_gemm(a, b, offsets=np.array([5, 24], np.int32), out=out, scale="block",
                            scale_a=np.ones((24, 0), np.float32), scale_b=np.ones((2, 2, 0), np.float32))
    assert (out == 0).all()
