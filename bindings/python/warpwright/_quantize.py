# SPDX-License-Identifier: Apache-2.0
"""Casts to FP8 with scales of blocks, and transposes of FP8 matrices (docs/numerics.md has the arithmetic)."""
from typing import Any, Optional, Tuple

from . import _native
from ._allocate import empty_like


def _framework(x: Any) -> str:
    module = type(x).__module__.split(".")[0]
    framework = {"jaxlib": "jax", "numpy": "numpy", "torch": "torch", "cupy": "cupy"}.get(module, module)
    if framework == "jax":
        raise _native.UnsupportedError("unsupported: argument x: expected a tensor that a kernel may write beside, because "
                                       "JAX arrays never change")
    return framework


def _matrix(like: Any, rows: int, columns: int, dtype: str) -> Any:
    """Rows of multiples of 16 bytes, as FP8 operands need them."""
    storage = empty_like(like, (*like.shape[:-2], rows, -(-columns // 16) * 16), dtype, _framework(like))
    return storage[..., :columns]


def _scales(like: Any, rows: int, columns: int, mn_major: bool) -> Any:
    outer = like.shape[:-2]
    if not mn_major:
        return empty_like(like, (*outer, rows, columns), "f32", _framework(like))
    storage = empty_like(like, (*outer, columns, -(-rows // 4) * 4), "f32", _framework(like))
    return storage.swapaxes(-1, -2)[..., :rows, :]


def _quantize(x: Any, block: int, transpose: bool, offs: Any, align: int, alignment: int, dtype: str, power_of_two: bool,
              min_amax: Optional[float], mn_major: bool, padded_ends: Any, status: Any, device: Any,
              stream: Any) -> Tuple[Any, ...]:
    if len(x.shape) not in (2, 3):
        raise _native.InvalidError(f"invalid: argument x: expected 2 or 3 dimensions, got shape {tuple(x.shape)}")
    m, k = x.shape[-2:]
    groups = 0 if offs is None else offs.shape[0]
    step = 128 if block else 1
    q, scales = _matrix(x, m, k, dtype), _scales(x, -(-m // step), -(-k // 128), mn_major)
    made: Tuple[Any, ...] = (q, scales)
    if transpose:
        columns = _native.quantize_columns(m, k, groups, alignment, align) if groups else m
        made += (_matrix(x, k, columns, dtype), _scales(x, -(-k // step), -(-columns // 128), mn_major))
    q_t, scales_t = made[2:] if transpose else (None, None)
    least = 0.0 if min_amax is None else min_amax if min_amax > 0 else -1.0
    _native.quantize(x, q, scales, q_t, scales_t, offs, padded_ends, status, dtype, block, power_of_two, least, alignment,
                     align, device, stream)
    return made


def quantize_1x128(x: Any, *, transpose: bool = False, offs: Any = None, align: int = 128, alignment: int = 1,
                   dtype: str = "e4m3", power_of_two: bool = False, min_amax: Optional[float] = None,
                   mn_major: bool = False, padded_ends: Any = None, status: Any = None, device: Any = None,
                   stream: Any = None) -> Tuple[Any, ...]:
    """Casts x (M, K) to FP8 with a float32 scale for each row and 128 of K; returns (q, scales).

    scale = max(amax, min_amax) / 448 (57344 if `dtype` is "e5m2"), and q = x / scale; `power_of_two` rounds scales up.
    docs/numerics.md has the roundings. min_amax is
    1e-4 by default; 0 sets no limit. With transpose=True it returns (q, scales, q_t, scales_t), where q_t (K, M) is
    quantised along M: the operand of products that sum over M. With offs, int32 ends of groups of rows (each starting at
    a multiple of `alignment`), every group begins a new block in q_t and is padded with zeros to a multiple of `align`
    columns; q_t then has as many columns as groups may need, and `padded_ends` (int32, one for each group) receives
    where each one ends, the offsets for k_grouped_gemm. mn_major stores scales with contiguous columns, rows of
    multiples of 16 bytes. `status` (one int32) receives bits about inconsistent groups, as in grouped_gemm(). Outputs are
    tensors of the framework of x; `device` and `stream` are those of gemm(). Raises InvalidError or UnsupportedError.
    """
    if offs is not None and not transpose:
        raise _native.InvalidError("invalid: argument offs: expected transpose=True, because groups only shape the transpose")
    return _quantize(x, 0, transpose, offs, align, alignment, dtype, power_of_two, min_amax, mn_major, padded_ends, status,
                     device, stream)


def quantize_128x128(w: Any, *, transpose: bool = False, dtype: str = "e4m3", power_of_two: bool = False,
                     min_amax: Optional[float] = None, device: Any = None, stream: Any = None) -> Tuple[Any, ...]:
    """Casts w (N, K), or (groups, N, K), to FP8 with a float32 scale for each 128 x 128; returns (q, scales), or with
    transpose=True (q, scales, q_t, scales_t), which are the same values transposed. The other arguments are those of
    quantize_1x128()."""
    return _quantize(w, 1, transpose, None, 128, 1, dtype, power_of_two, min_amax, False, None, None, device, stream)


def transpose_fp8(w: Any, scales: Any = None, *, dtype: Optional[str] = None, device: Any = None,
                  stream: Any = None) -> Tuple[Any, Any]:
    """Transposes FP8 matrices w (N, K), or (groups, N, K), and their scales of 128 x 128 blocks; returns (w_t, scales_t),
    where scales_t is None without scales. `dtype` names the type of uint8 storage, whose transpose has that type. `device`
    and `stream` are those of gemm()."""
    name = dtype if dtype is not None else "e5m2" if "e5m2" in str(w.dtype) else "e4m3"
    n, k = w.shape[-2:]
    made = _matrix(w, k, n, name)
    made_scales = None if scales is None else _scales(w, -(-k // 128), -(-n // 128), False)
    _native.transpose(w, scales, made, made_scales, dtype, device, stream)
    return made, made_scales
