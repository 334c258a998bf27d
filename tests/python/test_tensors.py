# SPDX-License-Identifier: Apache-2.0
"""Which objects are tensors: NumPy, JAX, DLPack by exchange API, capsule and attributes."""
import sys
import types

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import warpwright
from exchange import ExchangeTensor
from support import BF16, E4M3, integers, product, same, wide


@pytest.fixture
def operands():
    rng = np.random.default_rng(3)
    return integers(rng, (24, 64), BF16), integers(rng, (16, 64), BF16)


def test_jax_arrays_in_and_out(operands):
    a, b = map(jnp.asarray, operands)
    out = warpwright.gemm(a, b)
    assert isinstance(out, jax.Array) and out.dtype == jnp.bfloat16
    same(out, product(*operands))
    eights = [jnp.asarray(x.astype(E4M3)) for x in operands]
    same(warpwright.gemm(*eights, out_dtype=jnp.float32), product(*operands))


def test_jax_arrays_are_never_written(operands):
    a, b = map(jnp.asarray, operands)
    with pytest.raises(warpwright.InvalidError, match="JAX array, which never changes") as caught:
        warpwright.gemm(a, b, out=jnp.zeros((24, 16), jnp.float32))
    assert caught.value.argument == "out"
    out = np.zeros((24, 16), np.float32)
    assert warpwright.gemm(a, b, out=out) is out
    same(out, product(*operands))


def test_jax_under_jit_is_refused_by_jax(operands):
    with pytest.raises(Exception, match="[Tt]racer|concrete|abstract"):
        jax.jit(warpwright.gemm)(*map(jnp.asarray, operands))


def test_read_only_arrays_are_inputs_alone(operands):
    a, b = operands
    a.setflags(write=False)
    same(warpwright.gemm(a, b), product(a, b))
    out = np.zeros((24, 16), np.float32)
    out.setflags(write=False)
    with pytest.raises(warpwright.InvalidError, match="read-only"):
        warpwright.gemm(a, b, out=out)


def test_exchange_api(operands):
    a, b = map(ExchangeTensor, operands)
    out = np.zeros((24, 16), np.float32)
    warpwright.gemm(a, b, out=ExchangeTensor(out))
    same(out, product(*operands))
    ExchangeTensor.fail = True
    try:
        with pytest.raises(warpwright.InvalidError, match="does not hand out"):
            warpwright.gemm(a, b, out=out)
    finally:
        ExchangeTensor.fail = False


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_capsules(operands, versioned):
    class Tensor:
        def __init__(self, array):
            self.array, self.asked = array, []

        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **given):
            self.asked.append(given)
            if not versioned and "max_version" in given:
                raise TypeError("an older producer")
            return self.array.__dlpack__(**({"max_version": (1, 0)} if versioned else {}))

    a, b = (Tensor(x.astype(np.float16)) for x in operands)
    out = Tensor(np.zeros((24, 16), np.float32))
    assert warpwright.gemm(a, b, out=out) is out
    same(out.array, product(*operands))
    assert a.asked[0]["max_version"] == (1, 3) and len(a.asked) == (1 if versioned else 2)


def test_attributes_of_older_torch(operands):
    """torch before the exchange API: its __dlpack__ refuses FP8."""

    class Tensor:
        is_cuda, is_cpu = False, True

        def __init__(self, array):
            self.array, self.shape = array, array.shape
            self.dtype = types.SimpleNamespace(__str__=None)
            self.dtype = type("dtype", (), {"__str__": lambda _: "torch." + array.dtype.name})()

        def data_ptr(self):
            return self.array.ctypes.data

        def stride(self):
            return tuple(step // self.array.itemsize for step in self.array.strides)

        def __dlpack__(self):
            raise BufferError("float8 types are not supported by dlpack")

    Tensor.__module__ = "torch"
    out = np.zeros((24, 16), np.float32)
    warpwright.gemm(*(Tensor(x.astype(E4M3)) for x in operands), out=Tensor(out))
    same(out, product(*operands))


def test_other_objects_are_refused(operands):
    a, b = operands
    for other in (3, "text", [1, 2], object(), {}, b"bytes", np):
        with pytest.raises(warpwright.InvalidError, match="expected a tensor") as caught:
            warpwright.gemm(a, other)
        assert caught.value.argument == "b"


def test_types_that_nobody_multiplies(operands):
    a, b = operands
    for dtype in (np.float64, np.int32, np.uint8, np.bool_, np.complex64, ml_dtypes.float8_e4m3, ml_dtypes.int4):
        with pytest.raises(warpwright.InvalidError) as caught:
            warpwright.gemm(a.astype(np.float32).astype(dtype), b)
        assert caught.value.argument == "a"
    with pytest.raises(warpwright.InvalidError, match="tf32"):
        warpwright.gemm(wide(a).astype(np.float32), b)


def test_byte_order_and_partial_strides(operands):
    a, b = operands
    with pytest.raises(warpwright.InvalidError, match="byte order"):
        warpwright.gemm(a.astype(np.float16).astype(">f2"), b)
    packed = np.zeros(24, [("x", "i1"), ("y", np.float16, 64)])["y"]
    with pytest.raises(warpwright.InvalidError, match="whole elements"):
        warpwright.gemm(packed, b.astype(np.float16))


@pytest.mark.parametrize("device", [(3, 0), (10, 0), (8, 2), (12, 0)])
def test_devices_that_nobody_computes_on(operands, device):
    with pytest.raises(warpwright.InvalidError, match="CPU or on a CUDA device"):
        warpwright.gemm(ExchangeTensor(None, (8, 64), (64, 1), "bfloat16", device), operands[1])


def test_tensors_on_several_devices_are_refused(operands):
    cuda = ExchangeTensor(None, (16, 64), (64, 1), "bfloat16", (2, 0), 1 << 40)
    with pytest.raises(warpwright.InvalidError, match="on the CPU, as a is, got one on cuda:0"):
        warpwright.gemm(operands[0], cuda)
    with pytest.raises(warpwright.InvalidError, match="cuda:1"):
        warpwright.gemm(cuda, ExchangeTensor(None, (16, 64), (64, 1), "bfloat16", (2, 1), 1 << 40))


def test_a_gpu_that_is_not_there(operands):
    cuda = ExchangeTensor(None, (16, 64), (64, 1), "bfloat16", (2, 77), 1 << 40)
    out = ExchangeTensor(None, (16, 16), (16, 1), "bfloat16", (2, 77), 1 << 41)
    with pytest.raises(warpwright.Error):
        warpwright.gemm(cuda, cuda, out=out)


def test_no_framework_is_imported_for_numpy():
    assert "torch" not in sys.modules and "cupy" not in sys.modules
