# SPDX-License-Identifier: Apache-2.0
"""Casts to MX formats and NVFP4, whose scales the tensor core of sm_100 applies."""
import math
import sys
from typing import Any, Optional, Tuple

from . import _native
from ._errors import invalid
from ._native import Device

_CHUNK_ROWS, _CHUNK_SCALES = 128, 4
_BITS = {"e4m3": 8, "e5m2": 8, "e3m2": 6, "e2m3": 6, "e2m1": 4}
_MX_NAMES = {
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float6_e3m2fn": "e3m2",
    "float6_e2m3fn": "e2m3",
    "float4_e2m1fn": "e2m1",
    "float4_e2m1fn_x2": "e2m1",
}
_FRAMEWORK_NAMES = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e2m1": "float4_e2m1fn_x2", "e8m0": "float8_e8m0fnu"}


def _name_of(dtype: Any) -> str:
    text = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", None) or str(getattr(dtype, "name", dtype))
    text = text.rsplit(".", 1)[-1]
    name = _MX_NAMES.get(text, text)
    if name not in _BITS:
        raise invalid("dtype", f"{', '.join(_BITS)} or a framework's name of one", text)
    return name


def _bytes_like(like: Any, shape: Tuple[int, ...]) -> Any:
    if type(like).__module__.partition(".")[0] == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=torch.uint8, device=like.device)
    import numpy

    if not isinstance(like, numpy.ndarray):
        raise invalid("out", "tensors for out and out_scales, which this package makes for torch and NumPy alone",
                      type(like).__name__)
    # NumPy aligns to 16 bytes, and TMA widens types of 4 and 6 bits from multiples of 32.
    count = math.prod(shape)
    room = numpy.empty(count + 31, numpy.uint8)
    start = -room.ctypes.data % 32
    return room[start : start + count].reshape(shape)


def _typed(array: Any, name: str) -> Any:
    """Returns the bytes as the framework's own type, where it has one of that size."""
    wanted = _FRAMEWORK_NAMES.get(name, "")
    if type(array).__module__.partition(".")[0] == "torch":
        own = getattr(sys.modules["torch"], wanted, None) if wanted else None
        return array if own is None else array.view(own)
    try:
        import ml_dtypes
    except ImportError:
        return array
    # NumPy's float4_e2m1fn has a byte for each element, so that packed elements stay bytes.
    return array if name in ("e2m1", "e3m2", "e2m3") else array.view(getattr(ml_dtypes, wanted))


def _as_bytes(array: Any) -> Any:
    """Returns a tensor of the caller as bytes; the extension reads no type of 4 bits."""
    if type(array).__module__.partition(".")[0] == "torch":
        return array.view(sys.modules["torch"].uint8)
    import numpy

    return array.view(numpy.uint8) if isinstance(array, numpy.ndarray) else array


def _byte_elements(x: Any, argument: str, least: int) -> Any:
    """Returns an array of NumPy or torch with elements of one byte and at least so many dimensions as uint8."""
    if type(x).__module__.partition(".")[0] == "torch":
        bits, size = sys.modules["torch"].uint8, x.element_size()
    else:
        import numpy

        if not isinstance(x, numpy.ndarray):
            raise invalid(argument, "an array of NumPy or torch", type(x).__name__)
        bits, size = numpy.uint8, x.itemsize
    if size != 1 or x.ndim < least:
        raise invalid(argument, f"elements of one byte in {least} or more dimensions", f"{x.dtype} of shape {tuple(x.shape)}")
    return x.view(bits)


def swizzle_scales(scales: Any) -> Any:
    """Returns scales of rows in the order in which products read them: chunks of 128 rows x 4 scales.

    scales      (..., M, S) of one byte each: e8m0 of MX formats with S = ceil(K/32), e4m3 of NVFP4 with S = ceil(K/16);
                torch or NumPy
    Result: (..., ceil(M/128) * ceil(S/4) * 512) of the same type. Scale j of row r of a chunk is its byte
    16 * (r % 32) + 4 * (r // 32) + j, and padding is 0. The framework copies; quantize_mx() and quantize_nv() store this
    order themselves.
    Errors: InvalidError for another type or one dimension.
    """
    given = _byte_elements(scales, "scales", 2)
    *outer, m, count = given.shape
    rows, columns = -(-m // _CHUNK_ROWS), -(-count // _CHUNK_SCALES)
    padded = _bytes_like(given, (*outer, rows * _CHUNK_ROWS, columns * _CHUNK_SCALES))
    padded[...] = 0
    padded[..., :m, :count] = given
    # (row block, row // 32, row % 32, chunk along K, scale) to (row block, chunk along K, row % 32, row // 32, scale)
    tiles = padded.reshape(*outer, rows, 4, 32, columns, _CHUNK_SCALES).swapaxes(-4, -2)
    return tiles.reshape(*outer, rows * columns * 512).view(scales.dtype)


def pack_elements(codes: Any, dtype: Any = None) -> Any:
    """Returns elements of 4 or 6 bits as packed bytes, as products read them.

    codes       (..., K), a byte for each element, whose low bits count: uint8 of torch or NumPy, or NumPy's arrays of
                ml_dtypes.float4_e2m1fn, float6_e3m2fn and float6_e2m3fn
    dtype       "e2m1", "e3m2" or "e2m3", or a framework's name of one; None: that of the array
    Result: uint8 (..., K * bits / 8), the first element in the lowest bits of the first byte. K fills whole bytes.
    Errors: InvalidError, which names the argument.
    """
    given = _byte_elements(codes, "codes", 1)
    name = _name_of(codes.dtype if dtype is None else dtype)
    bits = _BITS[name]
    if bits == 8:
        raise invalid("dtype", "e2m1, e3m2 or e2m3", name)
    given = given & ((1 << bits) - 1)
    unit = 2 if bits == 4 else 4  # elements that fill whole bytes
    if given.shape[-1] % unit != 0:
        raise invalid("codes", f"rows of a multiple of {unit} elements", tuple(given.shape))
    parts = given.reshape(*given.shape[:-1], given.shape[-1] // unit, unit)
    packed = _bytes_like(given, (*parts.shape[:-1], unit * bits // 8))
    if bits == 4:
        packed[..., 0] = parts[..., 0] | parts[..., 1] << 4
    else:
        packed[..., 0] = parts[..., 0] | parts[..., 1] << 6
        packed[..., 1] = parts[..., 1] >> 2 | parts[..., 2] << 4
        packed[..., 2] = parts[..., 2] >> 4 | parts[..., 3] << 2
    return packed.reshape(*given.shape[:-1], given.shape[-1] * bits // 8)


def _cast(
    x: Any, name: str, scale: str, out: Any, out_scales: Any, swizzled: bool, tensor_scale: Any, device: Any, stream: Any
) -> Tuple[Any, Any]:
    shape = tuple(getattr(x, "shape", None) or ())
    if len(shape) not in (2, 3):
        raise invalid("x", "2 or 3 dimensions", len(shape))
    *outer, m, k = shape
    blocks = -(-k // (16 if scale == "nv" else 32))
    of_matrix = -(-m // 128) * -(-blocks // 4) * 512 if swizzled else m * blocks
    given_out, given_scales = out, out_scales
    if out is None:
        out = _bytes_like(x, (*outer, m, k * _BITS[name] // 8))
    if out_scales is None:
        out_scales = _bytes_like(x, (*outer, of_matrix) if swizzled else (*outer, m, blocks))
    _native.microscale(
        x, _as_bytes(out), _as_bytes(out_scales), tensor_scale, name, scale, not swizzled, device, stream
    )
    return (
        _typed(out, name) if given_out is None else given_out,
        _typed(out_scales, "e8m0" if scale == "mx" else "e4m3") if given_scales is None else given_scales,
    )


def quantize_mx(
    x: Any,
    *,
    dtype: Any = "e4m3",
    out: Any = None,
    out_scales: Any = None,
    swizzled: bool = True,
    device: Optional["Device | str"] = None,
    stream: Any = None,
) -> Tuple[Any, Any]:
    """Casts x to an MX format: (q, scales), with x = q * 2**(scale - 127) for each 32 elements of a row.

    x           (M, K) or (L, M, K) in bf16, f16 or f32, rows contiguous
    dtype       "e4m3" (MXFP8), "e5m2", "e3m2", "e2m3" (MXFP6) or "e2m1" (MXFP4), or a framework's name of one
    q           (..., M, K) of 8-bit types; else bytes (..., M, K * bits / 8), the first element in the lowest bits.
                torch: float8_e4m3fn, float8_e5m2, float4_e2m1fn_x2, uint8 of 6-bit types
    scales      e8m0 bytes, the least power of two with which the largest element does not saturate. `swizzled`:
                ceil(M/128) * ceil(K/128) * 512 bytes of each matrix, as cuBLAS, torch.nn.functional.scaled_mm
                (SWIZZLE_32_4_4) and products here read them, padding 0; else (..., M, ceil(K/32))
    out, out_scales
                where the results go: tensors of one byte an element and of these shapes
    device, stream
                as in gemm()
    Errors: InvalidError and UnsupportedError, which name the argument.
    """
    return _cast(x, _name_of(dtype), "mx", out, out_scales, swizzled, None, device, stream)


def quantize_nv(
    x: Any,
    *,
    tensor_scale: Any = None,
    out: Any = None,
    out_scales: Any = None,
    swizzled: bool = True,
    device: Optional["Device | str"] = None,
    stream: Any = None,
) -> Tuple[Any, Any]:
    """Casts x to NVFP4: (q, scales), with x = q * scale * tensor_scale for each 16 elements of a row.

    x           as in quantize_mx()
    tensor_scale
                one positive float32 beside x, usually amax(x) / (448 * 6); None: 1. A product takes the two operands'
                product as its global_scale
    q           bytes (..., M, K / 2) of e2m1, the first element in the low nibble; torch: float4_e2m1fn_x2
    scales      e4m3, amax / 6 / tensor_scale to the nearest; `swizzled`: ceil(M/128) * ceil(K/64) * 512 bytes of each
                matrix; else (..., M, ceil(K/16))
    out, out_scales, device, stream
                as in quantize_mx()
    """
    return _cast(x, "e2m1", "nv", out, out_scales, swizzled, tensor_scale, device, stream)
