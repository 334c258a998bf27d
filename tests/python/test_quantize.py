# SPDX-License-Identifier: Apache-2.0
"""quantize_1x128, quantize_128x128 and transpose_fp8 against their formulas in NumPy, bit for bit, and as operands."""
import numpy as np
import pytest
import warpwright
from support import BF16, E4M3, E5M2, integers, same

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
