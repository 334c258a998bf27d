# SPDX-License-Identifier: Apache-2.0
"""quantize_mx and quantize_nv against their formulas with ml_dtypes' own conversions, bit for bit."""
import ml_dtypes
import numpy as np
import pytest
import warpwright
from support import BF16

ONE_BYTE = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "e3m2": ml_dtypes.float6_e3m2fn,
            "e2m3": ml_dtypes.float6_e2m3fn, "e2m1": ml_dtypes.float4_e2m1fn}
BITS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}
DEVICES = ["emu:sm90", "emu:sm100"]


def packed(codes, bits):
    """Codes of one byte each, as bits one after the other in each row."""
    as_bits = (codes[..., None] >> np.arange(bits, dtype=np.uint8)) & 1
    return np.packbits(as_bits.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little")


def blocks_of(x, vector):
    *outer, m, k = x.shape
    wide = np.zeros((*outer, m, -(-k // vector) * vector), np.float32)
    wide[..., :k] = x.astype(np.float32)
    return wide.reshape(*outer, m, -1, vector)


def chunked(scales):
    """(M, scales) in chunks of 128 rows x 4 scales."""
    m, count = scales.shape
    rows, columns = -(-m // 128), -(-count // 4)
    padded = np.zeros((rows * 128, columns * 4), np.uint8)
    padded[:m, :count] = scales
    return padded.reshape(rows, 4, 32, columns, 4).transpose(0, 3, 2, 1, 4).reshape(-1)


def cast(values, name):
    largest = float(ml_dtypes.finfo(ONE_BYTE[name]).max)
    return np.clip(values, -largest, largest).astype(ONE_BYTE[name]).view(np.uint8)


def mx(x, name):
    largest = float(ml_dtypes.finfo(ONE_BYTE[name]).max)
    blocks = blocks_of(x, 32)
    amax = np.abs(blocks).max(-1).astype(np.float64)
    with np.errstate(divide="ignore"):
        exponent = np.clip(np.ceil(np.log2(amax / largest)), -127, 127)
    q = cast(blocks * np.exp2(-exponent)[..., None], name)
    return q.reshape(*x.shape[:-1], -1)[..., : x.shape[-1]], (exponent + 127).astype(np.uint8)


def nv(x, tensor_scale):
    blocks = blocks_of(x, 16)
    inverse = np.float32(1) / np.float32(tensor_scale)
    wanted = np.abs(blocks).max(-1) / np.float32(6) * inverse
    scales = np.minimum(wanted, np.float32(448)).astype(ml_dtypes.float8_e4m3fn)
    wide = scales.astype(np.float32)
    factor = np.where(wide == 0, np.float32(0), inverse / np.where(wide == 0, np.float32(1), wide))
    q = cast(blocks * factor[..., None], "e2m1")
    return q.reshape(*x.shape[:-1], -1)[..., : x.shape[-1]], scales.view(np.uint8)


@pytest.mark.parametrize("name", list(BITS))
def test_mx(name):
    for number, (shape, dtype) in enumerate((((3, 256), BF16), ((130, 100), np.float32), ((2, 40, 64), np.float16))):
        x = np.random.default_rng(number).normal(size=shape).astype(dtype)
        want, want_scales = mx(x, name)
        q, scales = warpwright.quantize_mx(x, dtype=name, swizzled=False)
        assert scales.dtype == ml_dtypes.float8_e8m0fnu and (scales.view(np.uint8) == want_scales).all()
        assert (q.view(np.uint8) == packed(want, BITS[name])).all()
        assert BITS[name] < 8 or q.dtype == ONE_BYTE[name]
        q2, swizzled = warpwright.quantize_mx(x, dtype=ONE_BYTE[name])
        assert (q2.view(np.uint8) == q.view(np.uint8)).all()
        for one, plain in zip(swizzled.view(np.uint8).reshape(-1, swizzled.shape[-1]),
                              want_scales.reshape(-1, *want_scales.shape[-2:])):
            assert (one == chunked(plain)).all()


@pytest.mark.parametrize("tensor_scale", [None, 0.013])
def test_nv(tensor_scale):
    x = np.random.default_rng(4).normal(size=(70, 144)).astype(BF16)
    given = None if tensor_scale is None else np.array([tensor_scale], np.float32)
    want, want_scales = nv(x, 1 if given is None else given[0])
    q, scales = warpwright.quantize_nv(x, tensor_scale=given)
    assert scales.dtype == ml_dtypes.float8_e4m3fn and (scales.view(np.uint8) == chunked(want_scales)).all()
    assert (q == packed(want, 4)).all()


def test_devices_agree_and_write_in_place():
    x = np.random.default_rng(5).normal(size=(33, 128)).astype(BF16)
    want = warpwright.quantize_mx(x, dtype="e2m1")
    for device in DEVICES:
        out, out_scales = np.full((33, 64), 7, np.uint8), np.full(512, 7, np.uint8)
        q, scales = warpwright.quantize_mx(x, dtype="e2m1", out=out, out_scales=out_scales, device=device)
        assert q is out and scales is out_scales
        assert (out == want[0]).all() and (out_scales == want[1].view(np.uint8)).all()


def test_refusals():
    x = np.ones((8, 64), BF16)
    factor = np.ones(1, np.float32)
    for argument, call in (("dtype", lambda: warpwright.quantize_mx(x, dtype="bf16")),
                           ("x", lambda: warpwright.quantize_mx(x[0])),
                           ("x", lambda: warpwright.quantize_mx(x.astype(np.float64))),
                           ("x", lambda: warpwright.quantize_mx(x[:, ::2])),
                           ("x", lambda: warpwright.quantize_mx(x[:, :63], dtype="e2m1")),
                           ("out", lambda: warpwright.quantize_mx(x, out=np.zeros((8, 32), np.uint8))),
                           ("out_scales", lambda: warpwright.quantize_mx(x, out_scales=np.zeros(511, np.uint8))),
                           ("tensor_scale", lambda: warpwright.quantize_nv(x, tensor_scale=factor.astype(np.float64))),
                           ("tensor_scale", lambda: warpwright.quantize_nv(x, tensor_scale=np.ones(2, np.float32)))):
        with pytest.raises((warpwright.InvalidError, warpwright.UnsupportedError), match=f"argument {argument}:"):
            call()


@pytest.mark.parametrize("swizzled", [True, False])
@pytest.mark.parametrize("shape", [(0, 128), (3, 0), (2, 0, 64), (0, 3, 64), (2, 3, 0)])
def test_nothing_is_cast_to_nothing(shape, swizzled):
    for function, vector in ((warpwright.quantize_mx, 32), (warpwright.quantize_nv, 16)):
        q, scales = function(np.zeros(shape, np.float32), swizzled=swizzled)
        *outer, m, k = shape
        blocks = -(-k // vector)
        assert q.shape == (*outer, m, k if function is warpwright.quantize_mx else k // 2)
        assert scales.shape == ((*outer, -(-m // 128) * -(-blocks // 4) * 512) if swizzled else (*outer, m, blocks))
