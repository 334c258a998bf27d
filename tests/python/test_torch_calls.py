# SPDX-License-Identifier: Apache-2.0
"""How calls reach the extension from torch: past the dispatcher or through it, and what autograd learns of their writes."""
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.overrides import TorchFunctionMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import warpwright  # noqa: E402
import warpwright.torch as wwt  # noqa: E402
from torch_cases import DEVICE, FP8, integers, offsets, powers, product  # noqa: E402
from warpwright.compat import deep_gemm  # noqa: E402

A, B = integers((32, 128), 1), integers((64, 128), 2)
GROUPED = integers((2, 64, 128), 3)
OFFS = offsets((16, 32))


def empty(*shape, dtype=torch.bfloat16):
    return torch.zeros(shape, dtype=dtype, device=DEVICE)


def fp8(x):
    return x.to(FP8)


SA, SB = powers((32, 1), 4), powers((1, 1), 5)
CALLS = {
    "gemm": (lambda out: wwt.gemm(A, B, out=out), (32, 64)),
    "gemm with scales": (lambda out: wwt.gemm(fp8(A), fp8(B), SA, SB, out=out), (32, 64)),
    "gemm with keywords": (lambda out: wwt.gemm(A, B, out=out, alpha=2.0), (32, 64)),
    "gemm accumulating": (lambda out: wwt.gemm(A, B, out=out, accumulate=True), (32, 64)),
    "the operator": (lambda out: torch.ops.warpwright.gemm_out(out, A, B), (32, 64)),
    "grouped": (lambda out: wwt.grouped_gemm(A, GROUPED, OFFS, out=out), (32, 64)),
    "grouped by encoding": (lambda out: wwt.grouped_gemm(A, GROUPED, offsets((0, 16, 32)), out=out, encoding="indptr"),
                            (32, 64)),
    "k_grouped": (lambda out: wwt.k_grouped_gemm(A.t(), integers((32, 64), 6).t(), OFFS, out=out), (2, 128, 64)),
    "extension": (lambda out: warpwright.gemm(A, B, out=out), (32, 64)),
    "plan": (lambda out: warpwright.gemm_plan(A, B, out=out).run(A, B, out=out), (32, 64)),
    "out0": (lambda out: warpwright.gemm(A, B, out=empty(32, 64), epilogue="store(acc, out0)", out0=out), (32, 64)),
    "bf16 of DeepGEMM": (lambda out: deep_gemm.bf16_gemm_nt(A, B, out), (32, 64)),
    "bf16 of DeepGEMM added": (lambda out: deep_gemm.bf16_gemm_nt(A, B, out, out), (32, 64)),
    "FP8 of DeepGEMM": (lambda out: deep_gemm.fp8_gemm_nt((fp8(A), SA), (fp8(B), SB), out), (32, 64)),
    "masked of DeepGEMM": (lambda out: deep_gemm.m_grouped_bf16_gemm_nt_masked(
        integers((2, 16, 128), 7), GROUPED, out, offsets((3, 16)), 8), (2, 16, 64)),
    "nothing to sum": (lambda out: deep_gemm.bf16_gemm_nt(A[:, :0], B[:, :0], out), (32, 64)),
}
F32 = {"k_grouped"}


@pytest.mark.parametrize("name", CALLS)
def test_autograd_sees_that_out_changed(name):
    """Twice, because the second call is one that is remembered."""
    call, shape = CALLS[name]
    for _ in range(3):
        out = empty(*shape, dtype=torch.float32 if name in F32 else torch.bfloat16)
        weight = torch.ones_like(out).requires_grad_()
        y = out * weight  # keeps out for the gradient of weight
        before = out._version
        call(out)
        assert out._version == before + 1
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()


def test_casts_count_their_writes():
    x = integers((128, 256), 8)
    q, scales, q_t, scales_t = warpwright.quantize_1x128(x, transpose=True)
    ends, status = offsets((0, 0)), offsets((0,))
    outputs = [q, scales, q_t, scales_t]

    def versions(*tensors):
        return [one._version for one in tensors]

    before = versions(*outputs)
    warpwright.quantize_1x128(x, transpose=True, out=q, out_scales=scales, out_t=q_t, out_scales_t=scales_t)
    assert versions(*outputs) == [one + 1 for one in before]
    grouped = warpwright.quantize_1x128(x, rows=False, transpose=True, offs=offsets((64, 128)), padded_ends=ends,
                                        status=status)
    assert len(grouped) == 2 and versions(ends, status) == [1, 1]
    w_t, w_scales = warpwright.quantize_128x128(x)
    before = versions(w_t, w_scales)
    warpwright.quantize_128x128(x, out=w_t, out_scales=w_scales)
    assert versions(w_t, w_scales) == [one + 1 for one in before]
    turned = torch.empty(256, 128, dtype=FP8, device=DEVICE)
    warpwright.transpose_fp8(w_t, w_scales, out=turned)
    assert turned._version == 1


def test_inference_tensors_have_no_versions():
    with torch.inference_mode():
        out = empty(32, 64)
        assert torch.equal(wwt.gemm(A, B, out=out), product(A, B).bfloat16())
    other = empty(32, 64)
    for _ in range(2):
        assert wwt.gemm(A, B, out=out) is out  # outside of the mode, where torch refuses to count
        with torch.inference_mode():
            wwt.gemm(A, B, out=other)
    assert other._version == 2


class Logged(torch.Tensor):
    """A tensor around another that notes the operators it meets."""
    seen: list = []

    @staticmethod
    def __new__(cls, inner):
        made = torch.Tensor._make_wrapper_subclass(cls, inner.shape, strides=inner.stride(), dtype=inner.dtype,
                                                   device=inner.device)
        made.wrapped = inner
        return made

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        cls.seen.append(str(function))
        given = {name: getattr(one, "wrapped", one) for name, one in (kwargs or {}).items()}
        return function(*(getattr(one, "wrapped", one) for one in args), **given)


@pytest.mark.parametrize("which", ["a", "b", "scale_a", "scale_b", "bias"])
def test_any_argument_may_be_of_a_subclass(which):
    """An operand whose class the extension would look past, if it asked for that of a alone."""
    given = {"a": fp8(A), "b": fp8(B), "scale_a": SA, "scale_b": SB}
    if which == "bias":
        given["bias"] = integers((64,), 9)
    expected = wwt.gemm(**given)
    given[which] = Logged(given[which])
    Logged.seen.clear()
    got = wwt.gemm(**given)
    assert torch.equal(got, expected) and any("warpwright.gemm" in one for one in Logged.seen)


def test_fake_tensors_stay_fake():
    with FakeTensorMode() as mode:
        fake_b = mode.from_tensor(B)
        fake_a = mode.from_tensor(A)
    with mode:
        assert wwt.gemm(fake_a, fake_b).shape == (32, 64)
    mixed = FakeTensorMode(allow_non_fake_inputs=True)
    b = mixed.from_tensor(B)
    with mixed:
        assert type(wwt.gemm(A, b)) is type(b)
    made = wwt.gemm(A, b)  # no mode is on, and only b tells
    assert type(made) is type(b) and made.shape == (32, 64)
    meta = wwt.gemm(A.to("meta"), B.to("meta"))
    assert meta.is_meta and meta.shape == (32, 64)


@pytest.mark.parametrize("base", [TorchDispatchMode, TorchFunctionMode])
def test_modes_see_calls(base):
    seen = []

    class Mode(base):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

        __torch_function__ = __torch_dispatch__

    wwt.gemm(A, B)
    with Mode():
        got = wwt.gemm(A, B)
    assert torch.equal(got, product(A, B).bfloat16()) and any("warpwright.gemm" in one for one in seen)


def negated(x):
    """x as the imaginary part of a conjugate, whose memory holds -x."""
    made = torch.complex(torch.zeros_like(x), -x).conj().imag
    assert made.is_neg() and torch.equal(made, x)
    return made


def test_a_negation_that_is_still_to_come_is_refused():
    scales = powers((32, 1), 10), powers((1, 1), 11)
    for _ in range(2):  # the second call would be one that is remembered
        assert wwt.gemm(fp8(A), fp8(B), *scales) is not None
        with pytest.raises(warpwright.InvalidError, match="scale_a.*resolve_neg"):
            wwt.gemm(fp8(A), fp8(B), negated(scales[0]), scales[1])
        with pytest.raises(warpwright.InvalidError, match="scale_b.*resolve_neg"):
            wwt.gemm(fp8(A), fp8(B), scales[0], negated(scales[1]))
    out = empty(32, 64)
    column = torch.complex(torch.ones(32, 1), torch.ones(32, 1)).to(DEVICE).imag  # of no conjugate: the same strides
    assert not column.is_neg()
    for _ in range(3):
        wwt.gemm(fp8(A), fp8(B), column, scales[1], out=out)
    with pytest.raises(warpwright.InvalidError, match="scale_a.*resolve_neg"):
        wwt.gemm(fp8(A), fp8(B), negated(torch.ones(32, 1, device=DEVICE)), scales[1], out=out)
    with pytest.raises(warpwright.InvalidError, match="x.*resolve_neg"):
        warpwright.quantize_1x128(negated(integers((32, 1), 12, torch.float32)))


COMPILED = """
import sys
import torch
{first}
import warpwright.torch as wwt
assert ("torch._dynamo" in sys.modules) == {known}
a, b = torch.ones(16, 64, dtype=torch.bfloat16), torch.ones(32, 64, dtype=torch.bfloat16)
@torch.compile(fullgraph=True, backend="eager")
def layer(a, b):
    return wwt.gemm(a, b) + wwt.grouped_gemm(a, b[None], torch.tensor([16], dtype=torch.int32))
assert (layer(a, b) == 128).all()
"""


@pytest.mark.parametrize("first", ["", "import torch._dynamo"])
def test_importing_does_not_start_the_compiler_and_compiling_finds_the_operators(first):
    done = subprocess.run([sys.executable, "-B", "-c", COMPILED.format(first=first, known=bool(first))],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_functions_in_c_look_like_functions():
    import inspect

    for function in (wwt.gemm, wwt.grouped_gemm, wwt.k_grouped_gemm):
        names = list(inspect.signature(function).parameters)
        assert names[:2] == ["a", "b"] and names[-2:] == ["out", "given"]
        assert function.__doc__.startswith("Returns ") and function.__module__ == "warpwright.torch"
    with pytest.raises(TypeError, match="positional"):
        wwt.gemm(A, B, None, None, None)
    with pytest.raises(TypeError):
        wwt.gemm(A)
