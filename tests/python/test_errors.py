# SPDX-License-Identifier: Apache-2.0
"""Bad input: an exception that names argument, expected and actual, before anything runs; never a crash."""
import inspect

import numpy as np
import pytest
import warpwright
from exchange import ExchangeTensor
from support import BF16, E4M3, integers, padded, powers


@pytest.fixture
def rng():
    return np.random.default_rng(4)


@pytest.fixture
def a(rng):
    return integers(rng, (24, 128), E4M3)


@pytest.fixture
def b(rng):
    return integers(rng, (16, 128), E4M3)


def refused(argument, function, *args, error=warpwright.InvalidError, **kwargs):
    with pytest.raises(error) as caught:
        function(*args, **kwargs)
    assert argument in caught.value.argument, str(caught.value)
    assert caught.value.expected and caught.value.actual
    assert caught.value.expected in str(caught.value)


def test_hierarchy():
    for name, builtin in (("InvalidError", ValueError), ("UnsupportedError", NotImplementedError),
                          ("CouldNotFinishError", RuntimeError), ("CaptureError", RuntimeError),
                          ("ForkedError", RuntimeError), ("WrongResultError", ArithmeticError)):
        error = getattr(warpwright, name)
        assert issubclass(error, warpwright.Error) and issubclass(error, builtin)
        assert error("text").argument == ""


def test_calls(a, b):
    for call in (lambda: warpwright.gemm(a, b, a), lambda: warpwright.gemm(a, b, colour=1),
                 lambda: warpwright.gemm(a, b, offsets=a), lambda: warpwright.gemm(a, b, b=b)):
        with pytest.raises(TypeError):
            call()
    refused("b", warpwright.gemm, a)
    refused("a", warpwright.gemm, None, b)


def test_shapes(a, b):
    refused("b", warpwright.gemm, a, b[:, :64])
    refused("a", warpwright.gemm, a[0], b)
    refused("a", warpwright.gemm, a[None, None], b)
    refused("b", warpwright.gemm, np.stack([a, a]), np.stack([b, b, b]))
    refused("n", warpwright.gemm, a, b[:13], error=warpwright.UnsupportedError)
    refused("out", warpwright.gemm, a, b, out=np.zeros((24, 8), np.float32))
    refused("out", warpwright.gemm, a, b, out=np.zeros((1, 24, 16), np.float32))


def test_strides(a, b):
    refused("a", warpwright.gemm, a[:, ::2], b[:, :64])
    refused("a", warpwright.gemm, a[::-1], b)
    refused("a", warpwright.gemm, np.broadcast_to(a[0], (24, 128)), b)
    refused("a", warpwright.gemm, padded(a, 3), b, error=warpwright.Error)
    refused("out", warpwright.gemm, a, b, out=np.broadcast_to(np.zeros((1, 1), np.float32), (24, 16)).copy()[:, ::1][::-1])
    out = np.lib.stride_tricks.as_strided(np.zeros((24, 16), np.float32), (24, 16), (0, 4))
    refused("out", warpwright.gemm, a, b, out=out)
    out = np.lib.stride_tricks.as_strided(np.zeros((24, 16), np.float32), (24, 16), (16, 4))
    refused("", warpwright.gemm, a, b, out=out)


def test_alignment(a, b):
    bytes_ = np.zeros(24 * 128 + 16, np.uint8)
    start = -bytes_.ctypes.data % 16 + 1
    refused("a", warpwright.gemm, bytes_[start : start + 8 * 128].reshape(8, 128), b, a_dtype="e4m3")
    sizes = np.zeros(8, np.int32).view(np.uint8)[1:9]
    odd = ExchangeTensor(None, (2,), (1,), "int32", data=sizes.ctypes.data)
    refused("sizes", warpwright.grouped_gemm, a, np.stack([b, b]), offsets=odd)


def test_overlap(rng, b):
    storage = np.zeros(1 << 14, np.float16)
    a = storage[: 24 * 128].reshape(24, 128)
    refused("d", warpwright.gemm, a, b.astype(np.float16), out=storage[64 : 64 + 24 * 16].reshape(24, 16))
    wide_rows = np.zeros((24, 256), np.float16)  # side by side, which is no overlap
    warpwright.gemm(wide_rows[:, :128], b.astype(np.float16), out=wide_rows[:, 128:144])
    a16, b16, c = a.copy(), b.astype(np.float16), np.zeros((24, 16), np.float32)
    shifted = np.zeros(24 * 16 + 2, np.float32)
    warpwright.gemm(a16, b16, c=c, out=c)  # in place
    shifted_c, out = shifted[2:].reshape(24, 16), shifted[: 24 * 16].reshape(24, 16)
    refused("d", warpwright.gemm, a16, b16, c=shifted_c, out=out)
    refused("d", warpwright.gemm, a16, b16, bias=out[3], out=out)
    refused("d", warpwright.grouped_gemm, a16, np.stack([b16, b16]), offsets=out.view(np.int32)[0, :2], out=out)


def test_messages_name_the_type_that_was_given(b):
    for name in ("float64", "complex64", "complex128", "bool"):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.gemm(np.zeros((24, 128), name), b)
        assert name in caught.value.actual


def test_devices_name_their_arguments():
    for argument, value in (("sms", -1), ("threads", -1), ("pct_depth", -1), ("schedule", "slow"), ("math", "fast")):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.Device("emu:sm90", **{argument: value})
        assert caught.value.argument == argument and f"argument {argument}:" in str(caught.value)


def test_types(a, b):
    refused("a_dtype", warpwright.gemm, a, b, a_dtype="bf16")
    refused("a_dtype", warpwright.gemm, a, b, a_dtype="float128")
    refused("a_dtype", warpwright.gemm, a, b, a_dtype=7)
    refused("out_dtype", warpwright.gemm, a, b, out_dtype="tf32")
    refused("out", warpwright.gemm, a, b, out=np.zeros((24, 16), np.int32))
    refused("", warpwright.gemm, a, b.astype(BF16), error=warpwright.Error)


def test_scales(rng, a, b):
    one = powers(rng, 1)
    refused("scale_b", warpwright.gemm, a, b, scale_a=one)
    refused("scale_a", warpwright.gemm, a, b, scale_a=one.astype(np.float64), scale_b=one)
    refused("scale_a", warpwright.gemm, a, b, scale_a=powers(rng, 23), scale_b=powers(rng, 16))
    refused("scale_a", warpwright.gemm, a, b, scale_a=powers(rng, 24), scale_b=powers(rng, 16), scale="block")
    refused("scale_a", warpwright.gemm, a, b, scale_a=np.broadcast_to(one, (24,)), scale_b=powers(rng, 16))
    refused("scale", warpwright.gemm, a, b, scale_a=one, scale_b=one, scale="blocky")
    refused("scale_a", warpwright.gemm, a, b, scale_a=one, scale_b=one, scale="none")
    refused("scale_a", warpwright.gemm, a, b, scale="tensor")
    as_bytes = dict(scale_a=one.view(np.uint8)[:1], scale_b=one.view(np.uint8)[:1])
    refused("scale_type", warpwright.gemm, a, b, **as_bytes, scale_type="e8m0", scale="tensor",
            error=warpwright.UnsupportedError)
    refused("scale_a", warpwright.gemm, a, b, **as_bytes, scale_type="e8m0")  # chunks of mx
    refused("scale_a", warpwright.gemm, a, b, **as_bytes)
    refused("global_scale", warpwright.gemm, a, b, global_scale=powers(rng, 2))


def test_epilogues(rng, a, b):
    bias = integers(rng, 16, np.float32)
    refused("bias", warpwright.gemm, a, b, epilogue="acc + bias")
    refused("bias", warpwright.gemm, a, b, epilogue="acc * 2", bias=bias)
    refused("bias", warpwright.gemm, a, b, bias=bias[:8])
    refused("bias", warpwright.gemm, a, b, epilogue="acc + bias:bf16", bias=bias)
    refused("bias", warpwright.gemm, a, b, bias=np.zeros(32, np.float32)[::2])
    refused("c", warpwright.gemm, a, b, beta=1)
    refused("c", warpwright.gemm, a, b, c=np.zeros((24, 8), np.float32))
    refused("epilogue", warpwright.gemm, a, b, epilogue="relu(acc")
    refused("epilogue", warpwright.gemm, a, b, epilogue="acc + bias:f32 + bias:bf16", bias=bias)
    refused("epilogue", warpwright.gemm, a, b, epilogue=3)
    refused("epilogue", warpwright.gemm, a, b, epilogue="acc + \ud800")
    refused("out0", warpwright.gemm, a, b, out0=np.zeros((24, 16), np.float32))
    refused("out_scales", warpwright.gemm, a, b, epilogue="quantise_block(acc)", out_dtype="e4m3")
    refused("amax", warpwright.gemm, a, b, amax=np.zeros(1, np.float32))
    refused("alpha", warpwright.gemm, a, b, alpha=10**400)
    refused("alpha", warpwright.gemm, a, b, alpha=np.zeros(2, np.float32))


def test_options(a, b):
    refused("config", warpwright.gemm, a, b, config="tile=7")
    refused("config", warpwright.gemm, a, b, config=b"tile")
    refused("sms", warpwright.gemm, a, b, sms=-1)
    refused("sms", warpwright.gemm, a, b, sms="4")
    refused("workspace_limit", warpwright.gemm, a, b, workspace_limit=1 << 70)
    for flag in ("pdl", "batch_invariant"):  # a text is true, "off" as well
        refused(flag, warpwright.gemm, a, b, **{flag: "off"})
    refused("no_shrink", warpwright.check, warpwright.GemmProblem(m=8, n=8, k=128), no_shrink="off")
    refused("device", warpwright.gemm, a, b, device="cuda:0")
    refused("device", warpwright.gemm, a, b, device=4)
    refused("min_amax", warpwright.quantize_1x128, a.astype(np.float32), min_amax=-1)
    refused("", warpwright.Device, "emu:sm10000")
    refused("schedule", warpwright.Device, "emu:sm90", schedule="later")


@pytest.mark.parametrize("argument, text", [("config", "tile=64x64x128"), ("epilogue", "acc"), ("scale", "none"),
                                            ("device", "emu:sm90")])
def test_texts_end_where_they_end(a, b, argument, text):
    """What follows a null character must not be ignored."""
    warpwright.gemm(a, b, **{argument: text})
    refused(argument, warpwright.gemm, a, b, **{argument: text + "\0and more"})


def test_types_and_fields_of_problems_end_where_they_end(a, b):
    refused("out_dtype", warpwright.gemm, a, b, out_dtype="f32\0and more")
    warpwright.can_implement(warpwright.GemmProblem(m=8, n=8, k=128, epilogue="acc"))
    refused("epilogue", warpwright.can_implement, warpwright.GemmProblem(m=8, n=8, k=128, epilogue="acc\0and more"))


def test_groups(rng, a, b):
    stack, ends = np.stack([b, b]), np.array([10, 24], np.int32)
    run = warpwright.grouped_gemm
    refused("offsets", run, a, stack)
    refused("indptr", run, a, stack, offsets=ends, indptr=ends)
    refused("offsets", run, a, stack, offsets=ends.astype(np.int64))
    refused("offsets", run, a, stack, offsets=ends[:1])
    refused("offsets", run, a, stack, offsets=np.array([10, 0, 24, 0], np.int32)[::2])
    refused("indptr", run, a, stack, indptr=ends)
    refused("counts", run, a, stack, starts=ends)
    refused("counts", run, a, stack, offsets=ends, counts=ends)
    refused("row_ids", run, a, stack, row_ids=ends)
    refused("a", run, a, stack, masked=ends)
    refused("b", run, a, b, offsets=ends)
    refused("b", run, a, np.broadcast_to(b, (2, 16, 128)), offsets=ends)
    refused("alignment", run, a, stack, offsets=ends, alignment=0)
    refused("status", run, a, stack, offsets=ends, status=np.zeros(2, np.int32))
    for sizes in ("1,", "x", [1, "x"], 1.5, {}, [[1]], [2**70], object()):
        refused("expected_sizes", run, a, stack, offsets=ends, expected_sizes=sizes)
    refused("expected_sizes", run, a, stack, offsets=ends, expected_sizes=[1, 2, 3])
    refused("expected_sizes[0]", run, a, stack, offsets=ends, expected_sizes=25)
    refused("expected_sizes[1]", run, a, stack, offsets=ends, expected_sizes=[20, 5])
    refused("out", warpwright.k_grouped_gemm, a, b, offsets=ends, accumulate=True)
    refused("out", warpwright.k_grouped_gemm, a, b, row_ids=np.zeros(128, np.int32))
    refused("c", warpwright.k_grouped_gemm, a, b, offsets=np.array([128], np.int32), accumulate=False,
            c=np.zeros((1, 24, 16), np.float32))


def test_huge_sizes(b):
    for shape, strides in (((1 << 40, 128), (128, 1)), ((1 << 62, 128), (128, 1)), ((24, 128), (1 << 62, 1)),
                           ((1 << 20, 1 << 20, 128), (1 << 27, 128, 1))):
        huge = ExchangeTensor(None, shape, strides, "float8_e4m3fn", data=1 << 45)
        out = ExchangeTensor(None, (*shape[:-1], 16), (*[s // 8 for s in strides[:-1]], 1), "bfloat16", data=1 << 46)
        with pytest.raises(warpwright.Error):
            warpwright.gemm(huge, b, out=out)
    with pytest.raises(warpwright.InvalidError, match="dimensions"):
        warpwright.gemm(ExchangeTensor(None, (1,) * 9, (1,) * 9, "float16"), b)


def test_null_addresses(b):
    out = np.zeros((24, 16), np.float32)
    refused("a", warpwright.gemm, ExchangeTensor(None, (24, 128), (128, 1), "float8_e4m3fn"), b, out=out)


def test_scales_that_are_no_numbers(a, b):
    out = warpwright.gemm(a, b, scale_a=np.array([np.nan], np.float32), scale_b=np.ones(1, np.float32))
    assert np.isnan(out.astype(np.float32)).all()


def test_signatures_name_every_argument():
    for function in (warpwright.gemm, warpwright.grouped_gemm, warpwright.k_grouped_gemm):
        parameters = inspect.signature(function).parameters
        assert list(parameters)[:2] == ["a", "b"] and "stream" in parameters and "scale_type" in parameters


def test_a_tuning_file_that_is_none_is_refused_when_the_device_is_opened(tmp_path):
    bad = tmp_path / "tuning.jsonl"
    bad.write_text("\n{}\n")
    refused("tuning", warpwright.Device, "emu:sm90", tuning=str(bad))
    with pytest.raises(warpwright.InvalidError, match=f"a text as op in {bad}, line 2"):
        warpwright.Device("emu:sm90", tuning=str(bad))
    refused("tuning", warpwright.Device, "emu:sm90", tuning=str(tmp_path / "missing"))
    assert warpwright.Device("emu:sm90", tuning="none").name == "emu:sm90"


def test_the_environment_names_a_tuning_file(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPWRIGHT_TUNING", str(tmp_path / "missing"))
    refused("WARPWRIGHT_TUNING", warpwright.Device, "emu:sm90")
    assert warpwright.Device("emu:sm90", tuning="none").name == "emu:sm90"
