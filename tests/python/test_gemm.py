# SPDX-License-Identifier: Apache-2.0
"""warpwright.gemm on the emulated device: types, layouts, scales, batches, outputs, epilogues."""
import numpy as np
import pytest
import warpwright
from exchange import ExchangeTensor
from support import BF16, E4M3, E5M2, TYPES, integers, padded, powers, product, same, transposed, wide


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.mark.parametrize("a_type, b_type", [("e4m3", "e4m3"), ("e4m3", "e5m2"), ("e5m2", "e4m3"), ("bf16", "bf16"),
                                            ("f16", "f16"), ("tf32", "tf32")])
def test_types(rng, a_type, b_type):
    a, b = integers(rng, (40, 128), TYPES[a_type]), integers(rng, (24, 128), TYPES[b_type])
    named = {"a_dtype": "tf32", "b_dtype": "tf32"} if a_type == "tf32" else {}
    out = warpwright.gemm(a, b, **named)
    assert out.dtype == {"f16": np.float16, "tf32": np.float32}.get(a_type, BF16)
    same(out, product(a, b))
    same(warpwright.gemm(a, b, out_dtype="f32", **named), product(a, b))


@pytest.mark.parametrize("name", ["e4m3", E4M3, np.dtype(E4M3), "float8_e4m3fn"])
def test_bits_with_a_named_type(rng, name):
    a, b = integers(rng, (16, 128), E4M3), integers(rng, (8, 128), E4M3)
    same(warpwright.gemm(a.view(np.uint8), b.view(np.int8), a_dtype=name, b_dtype=name, out_dtype="f32"), product(a, b))
    out = np.zeros((16, 8), np.uint16)
    warpwright.gemm(a, b, out=out, out_dtype="bf16")
    same(out.view(BF16), product(a, b))


@pytest.mark.parametrize("k", [8, 72, 136])
def test_strides_of_one_row_or_column_do_not_matter(rng, k):
    """A stride that steps over nothing need not be of whole 16 bytes. Frameworks differ in what it is."""
    a, b = padded(integers(rng, (1, k), E4M3), 16 - k % 16), padded(integers(rng, (24, k), E4M3), 16 - k % 16)
    same(warpwright.gemm(a, b, out_dtype="f32"), product(a, b))
    same(warpwright.gemm(np.ascontiguousarray(a), b, out_dtype="f32"), product(a, b))
    offsets = np.array([1], np.int32)
    same(warpwright.grouped_gemm(a, b[None], offsets=offsets, out_dtype="f32"), product(a, b))
    column, other = integers(rng, (13, 1), BF16), integers(rng, (24, 1), BF16)
    same(warpwright.gemm(column, other, out_dtype="f32"), product(column, other))


def longer(array):
    return padded(array, 8)


@pytest.mark.parametrize("a_layout, b_layout, d_layout", [
    (transposed, np.array, np.array), (np.array, transposed, np.array), (np.array, np.array, transposed),
    (longer, longer, longer)])
def test_layouts(rng, a_layout, b_layout, d_layout):
    a, b = a_layout(integers(rng, (32, 64), BF16)), b_layout(integers(rng, (40, 64), BF16))
    out = d_layout(np.full((32, 40), 7, np.float32))
    assert warpwright.gemm(a, b, out=out) is out
    same(out, product(a, b))


@pytest.mark.parametrize("m, n, k", [(1, 8, 128), (1, 256, 512), (3, 8, 16), (64, 8, 0), (0, 8, 128), (129, 136, 272)])
def test_sizes(rng, m, n, k):
    a, b = integers(rng, (m, k), E4M3), integers(rng, (n, k), E4M3)
    same(warpwright.gemm(a, b, out_dtype="f32"), product(a, b))


@pytest.mark.parametrize("batched_scales", [False, True])
@pytest.mark.parametrize("batch", [0, 2])
@pytest.mark.parametrize("scale", ["tensor", "row-column", "block", "block-1d"])
def test_scales(rng, scale, batch, batched_scales):
    m, n, k = 24, 136, 384
    shapes = {"tensor": ((1,), (1,)), "row-column": ((m,), (n,)), "block": ((m, 3), (2, 3)), "block-1d": ((m, 3), (n, 3))}
    outer = (batch,) if batch else ()
    a, b = integers(rng, (*outer, m, k), E4M3), integers(rng, (*outer, n, k), E4M3)
    front = outer if batched_scales else ()
    sa, sb = (powers(rng, (*front, *shape)) for shape in shapes[scale])
    same(warpwright.gemm(a, b, scale_a=sa, scale_b=sb, out_dtype="f32"), product(a, b, scale, sa, sb))
    same(warpwright.gemm(a, b, scale_a=sa, scale_b=sb, scale=scale, out_dtype="f32"), product(a, b, scale, sa, sb))


@pytest.mark.parametrize("scale", ["block", "block-1d"])
@pytest.mark.parametrize("outer", [(), (2,)])
def test_no_k_has_scales_without_elements(rng, scale, outer):
    a, b = integers(rng, (*outer, 24, 0), E4M3), integers(rng, (*outer, 136, 0), E4M3)
    none = np.ones((24, 0), np.float32), np.ones((2 if scale == "block" else 136, 0), np.float32)
    out = np.full((*outer, 24, 136), 7, np.float32)
    warpwright.gemm(a, b, out=out, scale=scale, scale_a=none[0], scale_b=none[1])
    assert (out == 0).all()


def test_no_k_in_a_batch_with_the_strides_that_torch_gives_empty_tensors():
    a, b = (ExchangeTensor(None, (2, rows, 0), (rows, 1, 1), "float8_e4m3fn") for rows in (24, 136))
    out = np.full((2, 24, 136), 7, np.float32)
    warpwright.gemm(a, b, out=out)
    assert (out == 0).all()


def test_a_batch_of_no_products(rng):
    assert warpwright.gemm(integers(rng, (0, 24, 64), BF16), integers(rng, (16, 64), BF16)).shape == (0, 24, 16)
    assert warpwright.gemm(integers(rng, (0, 24, 64), BF16), integers(rng, (0, 16, 64), BF16)).shape == (0, 24, 16)
    a, b = np.zeros((0, 24, 256), E4M3), np.zeros((0, 256, 256), E4M3)
    scale_a, scale_b = np.zeros((0, 24, 2), np.float32), np.zeros((0, 2, 2), np.float32)
    assert warpwright.gemm(a, b, scale="block", scale_a=scale_a, scale_b=scale_b).shape == (0, 24, 256)


def test_scales_by_any_strides(rng):
    a, b = integers(rng, (48, 256), E4M3), integers(rng, (256, 256), E4M3)
    sa, sb = powers(rng, (48, 2)), powers(rng, (2, 2))
    want = product(a, b, "block", sa, sb)
    for scale_a in (transposed(sa), padded(transposed(sa).T, 16).T):
        same(warpwright.gemm(a, b, scale_a=scale_a, scale_b=transposed(sb), out_dtype="f32"), want)


def test_rows_and_columns_as_torch_spells_them(rng):
    a, b = integers(rng, (16, 128), E4M3), integers(rng, (24, 128), E4M3)
    sa, sb = powers(rng, 16), powers(rng, 24)
    same(warpwright.gemm(a, b, scale_a=sa[:, None], scale_b=sb[None, :], out_dtype="f32"),
         product(a, b, "row-column", sa, sb))


@pytest.mark.parametrize("shared", ["none", "a", "b"])
def test_batches(rng, shared):
    a, b = integers(rng, (3, 24, 64), BF16), integers(rng, (3, 16, 64), BF16)
    if shared == "a":
        a = a[0]
    if shared == "b":
        b = b[1]
    same(warpwright.gemm(a, b, out_dtype="f32"), product(a, b))


def test_a_batch_expanded_by_a_stride_of_zero(rng):
    a, b = integers(rng, (3, 24, 64), BF16), integers(rng, (16, 64), BF16)
    same(warpwright.gemm(a, np.broadcast_to(b, (3, 16, 64)), out_dtype="f32"), product(a, b))


def test_operands_of_epilogues(rng):
    a, b = integers(rng, (24, 64), BF16), integers(rng, (16, 64), BF16)
    p = product(a, b)
    bias, c = integers(rng, 16, BF16), integers(rng, (24, 16), np.float16)
    column, aux = integers(rng, 24, np.float32), integers(rng, (24, 16), np.float32)
    run = lambda **given: warpwright.gemm(a, b, out_dtype="f32", **given)
    same(run(bias=bias), p + wide(bias))
    same(run(alpha=0.5, c=c, beta=2), p * 0.5 + wide(c) * 2)
    same(run(alpha=np.array([4], np.float32)), p * 4)
    same(run(epilogue="relu(acc + bias)", bias=bias), np.maximum(p + wide(bias), 0))
    same(run(epilogue="relu(acc + bias:bf16)", bias=bias), np.maximum(p + wide(bias), 0))
    same(run(epilogue="acc * 2 + row1 + col2 + aux3", row1=bias, col2=column, aux3=aux),
         p * 2 + wide(bias) + column[:, None] + aux)
    same(run(epilogue="max(acc, 1e1)"), np.maximum(p, 10))


def test_outputs_of_epilogues(rng):
    a, b = integers(rng, (24, 64), BF16), integers(rng, (16, 64), BF16)
    p = product(a, b)
    raw, largest, total = np.zeros((24, 16), np.float16), np.zeros(24, np.float32), np.zeros(16, np.float32)
    out = warpwright.gemm(a, b, epilogue="column_sum(row_amax(store(acc, out1), out0), out2) * 2", out_dtype="f32",
                          out0=largest, out1=raw, out2=total)
    same(out, p * 2)
    same(raw, p)
    same(largest, np.abs(p).max(1))
    same(total, p.sum(0))


def test_matrices_of_epilogues_by_column(rng):
    a, b = integers(rng, (24, 64), BF16), integers(rng, (16, 64), BF16)
    c = transposed(integers(rng, (24, 16), np.float32))
    same(warpwright.gemm(a, b, c=c, out=transposed(np.zeros((24, 16), np.float32))), product(a, b) + c)


def test_swiglu_halves_the_columns(rng):
    a, b = integers(rng, (8, 64), BF16, 1), integers(rng, (32, 64), BF16, 1)
    out = warpwright.gemm(a, b, epilogue="swiglu(acc)", out_dtype="f32")
    gate, up = product(a, b)[:, ::2], product(a, b)[:, 1::2]
    assert out.shape == (8, 16)
    assert np.allclose(out, gate / (1 + np.exp(-gate)) * up, rtol=1e-5, atol=1e-5)


def test_quantised_output_with_its_scales(rng):
    a, b = integers(rng, (16, 64), BF16), integers(rng, (256, 64), BF16)
    scales = np.zeros((16, 2), np.float32)
    out = warpwright.gemm(a, b, epilogue="quantise_block_pow2(acc)", out_dtype="e4m3", out_scales=scales)
    p = product(a, b)
    blocks = np.abs(p.reshape(16, 2, 128)).max(2)
    same(scales, 2.0 ** np.ceil(np.log2(blocks / 448)))
    same(out, p / np.repeat(scales, 128, 1))


# zeros, both sides of ties, subnormal values and their smallest, the largest, what saturates, Inf, NaN
EDGES = [0, -0.0, 1, 1.125, 1.375, -1.625, 2**-16, 2**-17, 1.0001 * 2**-17, -3 * 2**-17, 2**-14, 0.875 * 2**-14, 448, 480,
         57344, 57345, -61439, 61440, -61441, 65536, 3e38, -3e38, np.inf, -np.inf, np.nan, 5e-39]


@pytest.mark.parametrize("name, kind, largest", [("e4m3", E4M3, 448), ("e5m2", E5M2, 57344)])
def test_quantised_values_round_to_nearest_even_and_saturate(rng, name, kind, largest):
    a, b = np.zeros((16, 64), BF16), np.zeros((32, 64), BF16)
    drawn = rng.standard_normal(16 * 32 - len(EDGES))
    c = np.concatenate([EDGES, drawn * 2.0 ** rng.integers(-20, 20, drawn.size)]).astype(np.float32).reshape(16, 32)
    amax = np.zeros(1, np.float32)
    out = warpwright.gemm(a, b, c=c, epilogue="quantise(fma(acc, 0, c:f32))", out_dtype=name, amax=amax)
    expected = np.clip(c + np.float32(0), -largest, largest).astype(kind)  # 0 * acc + -0 is 0
    nan = np.isnan(c)
    assert out.dtype == kind and np.isnan(amax[0])
    assert (out.view(np.uint8)[~nan] == expected.view(np.uint8)[~nan]).all()
    assert (out.view(np.uint8)[nan] == 0x7F).all()


@pytest.mark.parametrize("factor", [0.5, np.array([0.5], np.float32)])
def test_the_factor_of_quantise_is_scalar2(rng, factor):
    a, b = integers(rng, (16, 64), BF16), integers(rng, (32, 64), BF16)
    amax = np.zeros(1, np.float32)
    out = warpwright.gemm(a, b, epilogue="quantise(acc)", scalar2=factor, out_dtype="e5m2", amax=amax)
    same(out, (product(a, b) / 2).astype(E5M2))


@pytest.mark.parametrize("epilogue", ["quantise_block(acc)", "quantise_block_pow2(acc)"])
def test_scales_of_e5m2_are_shares_of_its_largest(rng, epilogue):
    a, b = integers(rng, (16, 64), BF16), integers(rng, (256, 64), BF16)
    scales = np.zeros((16, 2), np.float32)
    out = warpwright.gemm(a, b, epilogue=epilogue, out_dtype="e5m2", out_scales=scales)
    p = product(a, b).astype(np.float32)
    expected = np.abs(p.reshape(16, 2, 128)).max(2) * np.float32(1 / 57344)
    if "pow2" in epilogue:
        expected = (2.0 ** np.ceil(np.log2(expected))).astype(np.float32)
        same(out, np.clip(p / np.repeat(expected, 128, 1), -57344, 57344).astype(E5M2))
    same(scales, expected)


def test_config_decides_the_kernel(rng):
    a, b = integers(rng, (128, 128), BF16), integers(rng, (128, 128), BF16)
    plan = warpwright.gemm_plan(a, b, config="tile=64x64x64,stages=3")
    assert "tile=64x64x64" in plan.config and "stages=3" in plan.config
    same(warpwright.gemm(a, b, config="tile=64x64x64,stages=3", out_dtype="f32"), product(a, b))


def test_batch_invariance(rng):
    a, b = integers(rng, (100, 128), E5M2), integers(rng, (64, 128), E4M3)
    whole = warpwright.gemm(a, b, batch_invariant=True)
    for row in (0, 57):
        assert (warpwright.gemm(a[row : row + 1], b, batch_invariant=True) == whole[row]).all()


def addresses(matrices):
    return np.array([m.ctypes.data for m in matrices], np.int64)


@pytest.mark.parametrize("dtype, name", [(E4M3, "e4m3"), (BF16, "bf16")])
def test_matrices_that_lie_anywhere(dtype, name):
    rng = np.random.default_rng(60)
    storage = np.zeros(1 << 18, np.uint8)
    at = -storage.ctypes.data % 256

    def place(values):
        nonlocal at
        view = storage[at : at + values.nbytes].view(values.dtype).reshape(values.shape)
        view[...] = values
        at += (values.nbytes + 4096) // 256 * 256
        return view

    a = [place(integers(rng, (24, 256), dtype)) for _ in range(3)]
    b = [place(integers(rng, (16, 256), dtype)) for _ in range(2)]
    b.append(b[0])  # two products read one matrix
    out = [place(np.zeros((24, 16), np.float32)) for _ in range(3)]
    given = {"m": 24, "n": 16, "k": 256, "a_dtype": name, "out_dtype": "f32"}
    pointers = addresses(out)
    assert warpwright.gemm_pointers(addresses(a), addresses(b).view(np.uint64), pointers, **given) is pointers
    for x, y, d in zip(a, b, out):
        same(d, product(x, y))
    warpwright.gemm_pointers(addresses([x[:, 128:] for x in a]), addresses([y[:, :128] for y in b]), addresses(out),
                             **{**given, "k": 128, "lda": 256, "ldb": 256})
    for x, y, d in zip(a, b, out):
        same(d, product(x[:, 128:], y[:, :128]))
    if dtype is E4M3:
        sa, sb = powers(rng, (3, 24, 2)), powers(rng, (3, 1, 2))
        warpwright.gemm_pointers(addresses(a), addresses(b), addresses(out), scale_a=sa, scale_b=sb, **given)
        for i in range(3):
            same(out[i], product(a[i], b[i], "block", sa[i], sb[i]))
    else:
        turned = [place(np.ascontiguousarray(x.T)) for x in a]
        warpwright.gemm_pointers(addresses(turned), addresses(b), addresses(out), a_major="mn", **given)
        for x, y, d in zip(a, b, out):
            same(d, product(x, y))
    for wrong, argument in (({"m": None}, "m"), ({"a_dtype": "int8"}, "a_dtype"), ({"a_major": "n"}, "a_major"),
                            ({"k": -1}, "k"), ({"lda": 8}, "lda"), ({"b": addresses(b)[:2]}, "b"),
                            ({"out": addresses(out).astype(np.int32)}, "out"), ({"a": np.zeros((3, 2), np.int64)}, "a")):
        call = {"a": addresses(a), "b": addresses(b), "out": addresses(out), **given, **wrong}
        with pytest.raises(warpwright.Error) as caught:
            warpwright.gemm_pointers(**call)
        assert caught.value.argument == argument, str(caught.value)
