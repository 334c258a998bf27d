# SPDX-License-Identifier: Apache-2.0
"""quantize_1x128, quantize_128x128 and transpose_fp8 against their formulas in NumPy, bit for bit, and as operands."""
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import warpwright
from exchange import ExchangeTensor
from support import BF16, E4M3, E5M2, integers, padded, same, transposed

ONE = np.float32(1)


def reference(x, rows, power_of_two=False, min_amax=1e-4, dtype=E4M3):
    """q and scales for blocks of `rows` x 128."""
    m, k = x.shape
    mb, kb = -(-m // rows), -(-k // 128)
    largest = np.float32(448 if dtype is E4M3 else 57344)
    wide = np.zeros((mb * rows, kb * 128), np.float32)
    wide[:m, :k] = x.astype(np.float32)
    blocks = wide.reshape(mb, rows, kb, 128)
    amax = np.maximum(np.abs(blocks).max((1, 3)), np.float32(min_amax))
    scale = np.where(amax == 0, ONE, amax * (ONE / largest))
    if power_of_two:
        scale = np.exp2(np.ceil(np.log2(scale.astype(np.float64)))).astype(np.float32)
    q = blocks * (ONE / scale)[:, None, :, None]
    return np.clip(q, -largest, largest).reshape(wide.shape)[:m, :k].astype(dtype), scale


@pytest.mark.parametrize("x_type", [BF16, np.float16, np.float32])
@pytest.mark.parametrize("q_type, power_of_two", [(E4M3, False), (E5M2, False), (E4M3, True)])
def test_rows(x_type, q_type, power_of_two):
    x = np.random.default_rng(1).normal(size=(40, 200)).astype(x_type)
    name = "e4m3" if q_type is E4M3 else "e5m2"
    q, scales = warpwright.quantize_1x128(x, dtype=name, power_of_two=power_of_two)
    want_q, want_scales = reference(x, 1, power_of_two, dtype=q_type)
    same(scales, want_scales)
    assert q.dtype == q_type and (q.view(np.uint8) == want_q.view(np.uint8)).all()


def test_transposes():
    x = np.random.default_rng(2).normal(size=(200, 136)).astype(BF16)
    q, scales, q_t, scales_t = warpwright.quantize_1x128(x, transpose=True)
    for got, got_scales, source in ((q, scales, x), (q_t, scales_t, np.ascontiguousarray(x.T))):
        want, want_scales = reference(source, 1)
        same(got_scales, want_scales)
        assert (got.view(np.uint8) == want.view(np.uint8)).all()
    w, w_scales, w_t, w_scales_t = warpwright.quantize_128x128(x, transpose=True)
    want, want_scales = reference(x, 128)
    same(w_scales, want_scales)
    same(w_scales_t, want_scales.T)
    assert (w.view(np.uint8) == want.view(np.uint8)).all() and (w_t.view(np.uint8) == want.T.view(np.uint8)).all()
    again, again_scales = warpwright.transpose_fp8(w, w_scales)
    same(again_scales, want_scales.T)
    assert (again.view(np.uint8) == w_t.view(np.uint8)).all()
    bits, none = warpwright.transpose_fp8(np.ascontiguousarray(w).view(np.uint8), dtype="e4m3")
    assert none is None and (bits.view(np.uint8) == w_t.view(np.uint8)).all()


def test_weights_of_groups():
    w = np.random.default_rng(3).normal(size=(3, 136, 256)).astype(BF16)
    q, scales = warpwright.quantize_128x128(w)
    for g in range(3):
        want, want_scales = reference(w[g], 128)
        same(scales[g], want_scales)
        assert (q[g].view(np.uint8) == want.view(np.uint8)).all()


def test_a_product_takes_them():
    rng = np.random.default_rng(4)
    x, w = integers(rng, (24, 256), BF16), integers(rng, (136, 256), BF16)
    for mn_major in (False, True):
        q, scales = warpwright.quantize_1x128(x, power_of_two=True, mn_major=mn_major)
        if mn_major:
            assert scales.strides == (4, 96)
        wq, w_scales = warpwright.quantize_128x128(w, power_of_two=True)
        out = warpwright.gemm(q, wq, scale_a=scales, scale_b=w_scales, out_dtype="f32")
        same(out, x.astype(np.float64) @ w.astype(np.float64).T)


def test_groups_of_k_take_the_padded_transpose():
    rng = np.random.default_rng(5)
    dy, x = integers(rng, (90, 24), BF16), integers(rng, (90, 40), BF16)
    offs = np.array([20, 20, 90], np.int32)
    ends = np.zeros(3, np.int32)
    given = {"transpose": True, "offs": offs, "power_of_two": True, "padded_ends": ends}
    *_, dy_t, dy_scales = warpwright.quantize_1x128(dy, **given)
    *_, x_t, x_scales = warpwright.quantize_1x128(x, **given)
    assert ends.tolist() == [128, 128, 256] and dy_t.shape[0] == 24 and dy_t.shape[1] >= 256
    out = warpwright.k_grouped_gemm(dy_t, x_t, offsets=ends, scale_a=dy_scales, scale_b=x_scales, scale="block-1d")
    want = [dy[s:e].astype(np.float64).T @ x[s:e].astype(np.float64) for s, e in ((0, 20), (20, 20), (20, 90))]
    same(out, np.stack(want))


def test_outputs_of_the_caller():
    x = np.random.default_rng(6).normal(size=(200, 136)).astype(BF16)
    want = warpwright.quantize_1x128(x, transpose=True)
    out, out_t = padded(np.zeros((200, 136), E4M3), 24), np.zeros((136, 200), np.uint8)  # bits
    scales, scales_t = transposed(np.zeros((200, 2), np.float32)), padded(np.zeros((136, 2), np.float32), 2)
    outputs = out, scales, out_t, scales_t
    names = ("out", "out_scales", "out_t", "out_scales_t")
    got = warpwright.quantize_1x128(x, transpose=True, **dict(zip(names, outputs)))
    assert len(got) == 4 and all(one is other for one, other in zip(got, outputs))
    for one, other in zip(got, want):
        assert (one.view(np.uint8) == other.view(np.uint8)).all() if one.dtype.itemsize == 1 else (one == other).all()
    for given in ((0,), (1,), (2, 3), (0, 3)):  # the others are allocated
        for i in given:
            outputs[i][...] = 0
        again = warpwright.quantize_1x128(x, transpose=True, **{names[i]: outputs[i] for i in given})
        for i in range(4):
            assert (again[i] is outputs[i]) == (i in given)
            assert (np.asarray(again[i]).view(want[i].dtype) == want[i]).all()
    square = warpwright.quantize_128x128(x, transpose=True)
    w_t, w_scales_t = np.zeros((136, 200), E4M3), np.zeros((2, 2), np.float32)
    back = warpwright.transpose_fp8(square[0], square[1], out=w_t, out_scales=w_scales_t)
    assert back[0] is w_t and back[1] is w_scales_t
    same(w_t, square[2].astype(np.float64))
    same(w_scales_t, square[3])


def test_the_transpose_alone():
    x = np.random.default_rng(7).normal(size=(200, 136)).astype(np.float32)
    for cast in (warpwright.quantize_1x128, warpwright.quantize_128x128):
        *_, want, want_scales = cast(x, transpose=True)
        got, got_scales = cast(x, rows=False, transpose=True)
        same(got, want.astype(np.float64))
        same(got_scales, want_scales)
        with pytest.raises(warpwright.InvalidError) as caught:
            cast(x, rows=False)
        assert caught.value.argument == "rows"
        with pytest.raises(warpwright.InvalidError) as caught:
            cast(x, rows=False, transpose=True, out=np.zeros((200, 136), E4M3))
        assert caught.value.argument == "out"


def test_jax_arrays_and_bits():
    x = np.random.default_rng(8).normal(size=(40, 256)).astype(BF16)
    want = warpwright.quantize_1x128(x, transpose=True)
    for one, other in zip(warpwright.quantize_1x128(jnp.asarray(x), transpose=True), want):
        assert isinstance(one, jax.Array) and one.dtype == other.dtype
        same(one, other.astype(np.float64))
    w_t, none = warpwright.transpose_fp8(jnp.asarray(want[0]))
    assert none is None and isinstance(w_t, jax.Array)
    same(w_t, want[0].T.astype(np.float64))
    with pytest.raises(warpwright.InvalidError, match="JAX"):
        warpwright.quantize_1x128(x, out=jnp.zeros((40, 256), E4M3))
    for one, other in zip(warpwright.quantize_1x128(x.view(np.uint16), x_dtype="bf16", transpose=True), want):
        same(one, other.astype(np.float64))
    for one, other in zip(warpwright.quantize_128x128(x.view(np.int16), w_dtype="bf16"), warpwright.quantize_128x128(x)):
        same(one, other.astype(np.float64))
    for wrong in ({}, {"x_dtype": "f32"}, {"x_dtype": "e4m3"}):
        with pytest.raises(warpwright.InvalidError):
            warpwright.quantize_1x128(x.view(np.uint16), **wrong)
    half = ExchangeTensor(x.astype(np.float16))
    q, scales = np.zeros((40, 256), E4M3), np.zeros((40, 2), np.float32)
    with pytest.raises(warpwright.InvalidError, match="out"):
        warpwright.quantize_1x128(half)  # of no framework that allocates
    warpwright.quantize_1x128(half, out=q, out_scales=scales)
    same(q, reference(x.astype(np.float16), 1)[0].astype(np.float64))


def test_groups_in_every_encoding():
    rng = np.random.default_rng(9)
    x, dy = (integers(rng, (90, columns), BF16) for columns in (40, 24))
    ids = np.repeat(np.array([0, 2, -1], np.int32), (20, 62, 8))
    encodings = ({"offs": np.array([20, 20, 82], np.int32)}, {"indptr": np.array([0, 20, 20, 82], np.int32)},
                 {"starts": np.array([0, 20, 20], np.int32), "counts": np.array([20, 0, 62], np.int32)}, {"row_ids": ids})
    given = {"transpose": True, "power_of_two": True}
    want = [dy[s:e].astype(np.float64).T @ x[s:e].astype(np.float64) for s, e in ((0, 20), (20, 20), (20, 82))]
    for encoding in encodings:
        for packing in ("joint", "per-group"):
            ends, status = np.zeros(3, np.int32), np.zeros(1, np.int32)
            more = {"padded_ends": ends, "status": status, "packing": packing, **given, **encoding}
            *_, x_t, x_scales = warpwright.quantize_1x128(x, **more)
            *_, dy_t, dy_scales = warpwright.quantize_1x128(dy, **more)
            assert ends.tolist() == [128, 128, 256] and status[0] == 0
            if packing == "per-group":  # contiguous storage of all groups
                x_t, dy_t = (np.ascontiguousarray(t) for t in (x_t, dy_t))
            out = warpwright.k_grouped_gemm(dy_t, x_t, offsets=ends, scale_a=dy_scales, scale_b=x_scales, scale="block-1d",
                                            packing=packing)
            same(out, np.stack(want))
    for wrong, argument in (({"row_ids": ids}, "padded_ends"), ({**encodings[0], **encodings[1]}, "offs"),
                            ({"starts": encodings[2]["starts"]}, "counts"), ({"padded_ends": ends}, "padded_ends"),
                            ({**encodings[0], "packing": "none"}, "packing"), ({"packing": "per-group"}, "one_by_one")):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.quantize_1x128(x, **wrong, **given)
        assert caught.value.argument == argument


def test_names_of_arguments():
    for cast in (warpwright.quantize_1x128, warpwright.quantize_128x128, warpwright.transpose_fp8):
        x = np.zeros((16, 128), E4M3 if cast is warpwright.transpose_fp8 else BF16)
        for name in inspect.signature(cast).parameters:
            if name in ("x", "w"):
                continue
            try:
                cast(x, **{name: "other"})
            except warpwright.Error:
                pass
        for wrong in ({"colour": 1}, {"epilogue": "relu(acc)"}, {"a": x}):
            with pytest.raises(TypeError):
                cast(x, **wrong)
        with pytest.raises(TypeError):
            cast(x, x, x)
        with pytest.raises(warpwright.InvalidError, match="expected a tensor"):
            cast()


def test_refusals():
    x = np.zeros((8, 128), BF16)
    for wrong in (lambda: warpwright.quantize_1x128(x.astype(np.float64)), lambda: warpwright.quantize_1x128(x[0]),
                  lambda: warpwright.quantize_1x128(x[:, ::2]), lambda: warpwright.quantize_1x128(x, dtype="bf16"),
                  lambda: warpwright.quantize_1x128(x, offs=np.array([8], np.int32)),
                  lambda: warpwright.quantize_1x128(x, transpose=True, offs=np.array([8], np.int32), align=100),
                  lambda: warpwright.transpose_fp8(x), lambda: warpwright.quantize_1x128(np.broadcast_to(x[:1], (8, 128))),
                  lambda: warpwright.transpose_fp8(x.astype(E4M3), np.zeros((2, 1), np.float32))):
        with pytest.raises(warpwright.Error):
            wrong()
