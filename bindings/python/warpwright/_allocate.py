# SPDX-License-Identifier: Apache-2.0
"""Outputs that a caller leaves to us are allocated by the caller's own framework, and are its ordinary tensors."""
import sys
from typing import Any, Tuple

from ._native import InvalidError, UnsupportedError

_NAMES = {
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "bf16": "bfloat16",
    "f16": "float16",
    "f32": "float32",
}


def _numpy_empty(shape: Tuple[int, ...], name: str) -> Any:
    import numpy

    if name in ("f16", "f32"):
        return numpy.empty(shape, _NAMES[name])
    try:
        import ml_dtypes
    except ImportError:
        raise UnsupportedError(
            f"unsupported: argument out: expected a tensor, because NumPy has no {name} without the package ml_dtypes"
        ) from None
    return numpy.empty(shape, getattr(ml_dtypes, _NAMES[name]))


def empty_like(like: Any, shape: Tuple[int, ...], name: str, framework: str) -> Any:
    """Returns an uninitialised tensor of this shape and element type where `like` lies."""
    if name == "e2m1" and framework in ("torch", "numpy"):  # bytes, which the next product may take as they are
        from ._microscale import _bytes_like, _typed

        return _typed(_bytes_like(like, shape), name)
    if framework == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, _NAMES[name]), device=like.device)
    if framework == "numpy":
        return _numpy_empty(shape, name)
    if framework == "jax":
        if next(iter(like.devices())).platform != "cpu":
            raise UnsupportedError(
                "unsupported: argument out: JAX arrays on a GPU never change; use warpwright.jax, which also runs under jit"
            )
        return _numpy_empty(shape, name)
    if framework == "cupy":
        cupy = sys.modules["cupy"]
        if name not in ("f16", "f32"):
            raise UnsupportedError(f"unsupported: argument out: expected a tensor, because CuPy cannot make one of {name}")
        with cupy.cuda.Device(like.device.id):
            return cupy.empty(shape, _NAMES[name])
    raise InvalidError(f"invalid: argument out: expected a tensor, because {type(like).__name__} is of no framework that "
                       "this package allocates with")


def matrix_like(like: Any, shape: Tuple[int, ...], name: str, framework: str) -> Any:
    """Returns such a tensor of FP8 matrices, whose rows are multiples of 16 bytes apart, as products need them."""
    return empty_like(like, (*shape[:-1], -(-shape[-1] // 16) * 16), name, framework)[..., : shape[-1]]


def scales_like(like: Any, shape: Tuple[int, ...], major: str, framework: str) -> Any:
    """Returns such a float32 tensor of scales; with `major` "mn" its columns are contiguous, multiples of 16 bytes."""
    if major != "mn":
        return empty_like(like, shape, "f32", framework)
    *outer, rows, columns = shape
    return empty_like(like, (*outer, columns, -(-rows // 4) * 4), "f32", framework).swapaxes(-1, -2)[..., :rows, :]


def to_jax(array: Any) -> Any:
    """Returns a JAX array of what a product wrote to a NumPy array."""
    import jax.numpy

    return jax.numpy.asarray(array)
