# SPDX-License-Identifier: Apache-2.0
"""The casts of warpwright.quantize_1x128 and its siblings on torch tensors, as operators that torch.compile traces.

torch.ops.warpwright.quantize and .transpose_fp8 allocate their outputs, whose strides their fakes repeat: rows of FP8 are
padded to multiples of 16 bytes, and columns of MN-major scales to multiples of 4.
"""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch

from .. import _native
from .._errors import invalid
from ._ops import _LIBRARY, _direct

_TYPES = {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


class Cast(NamedTuple):
    """What a cast wrote; None is what it was not asked for."""
    q: Optional[torch.Tensor] = None         # (..., M, K) in FP8
    scales: Optional[torch.Tensor] = None    # float32, (..., M, ceil(K/128)), or of 128 x 128 blocks
    q_t: Optional[torch.Tensor] = None       # (..., K, M), in groups (K, padded M)
    scales_t: Optional[torch.Tensor] = None  # float32, (..., K, ceil(M/128)), or of 128 x 128 blocks
    ends: Optional[torch.Tensor] = None      # int32, (G): where each padded group ends in the columns of q_t


def _blocks(extent: Any) -> Any:
    return (extent + 127) // 128


def _matrix(like: torch.Tensor, rows: Any, columns: Any, dtype: str) -> torch.Tensor:
    storage = like.new_empty((*like.shape[:-2], rows, (columns + 15) // 16 * 16), dtype=_TYPES[dtype])
    return storage[..., :columns]


def _scales(like: torch.Tensor, rows: Any, columns: Any, mn_major: bool) -> torch.Tensor:
    outer = like.shape[:-2]
    if not mn_major:
        return like.new_empty((*outer, rows, columns), dtype=torch.float32)
    storage = like.new_empty((*outer, columns, (rows + 3) // 4 * 4), dtype=torch.float32)
    return storage.transpose(-1, -2)[..., :rows, :]


def _padded_columns(m: Any, groups: int, align: int) -> Any:
    """ww::transposed_columns(), which is an upper bound; M may be symbolic."""
    return (m + torch.sym_min(groups, m) * (align - 1)) // align * align


def _outputs(x: torch.Tensor, square: bool, rows: bool, transpose: bool, offs: Optional[torch.Tensor], align: int,
             dtype: str, mn_major: bool) -> List[torch.Tensor]:
    if dtype not in _TYPES:
        raise invalid("dtype", "e4m3 or e5m2", repr(dtype))
    if x.dim() not in (2, 3):
        raise invalid("x", "2 or 3 dimensions", f"shape {tuple(x.shape)}")
    if offs is not None and not (transpose and not square and offs.dim() == 1):
        raise invalid("offs", "the ends of groups in one dimension, with transpose=True and blocks of 1 x 128",
                      f"shape {tuple(offs.shape)}")
    if offs is not None and (align <= 0 or align % 128 != 0):
        raise invalid("align", "a multiple of 128", align)
    m, k = x.shape[-2:]
    made = []
    if rows:
        made += [_matrix(x, m, k, dtype), _scales(x, _blocks(m) if square else m, _blocks(k), mn_major)]
    if transpose:
        columns = m if offs is None else _padded_columns(m, offs.shape[0], align)
        made += [_matrix(x, k, columns, dtype), _scales(x, _blocks(k) if square else k, _blocks(columns), mn_major)]
    return made if offs is None else made + [x.new_empty((offs.shape[0],), dtype=torch.int32)]


def _run(x: torch.Tensor, *, square: bool, rows: bool, transpose: bool, offs: Optional[torch.Tensor], align: int,
         alignment: int, dtype: str, power_of_two: bool, min_amax: Optional[float], mn_major: bool,
         after: Optional[torch.Tensor] = None) -> List[torch.Tensor]:
    del after
    made = _outputs(x, square, rows, transpose, offs, align, dtype, mn_major)
    cast = _named(made, rows, transpose)
    given: Dict[str, Any] = {
        "out": cast.q, "out_scales": cast.scales, "out_t": cast.q_t, "out_scales_t": cast.scales_t, "rows": rows,
        "transpose": transpose, "dtype": dtype, "power_of_two": power_of_two, "min_amax": min_amax}
    if square:
        _native.quantize_128x128(x, **given)
    else:
        _native.quantize_1x128(x, offs=offs, padded_ends=cast.ends, alignment=alignment, align=align, **given)
    return made


def _named(made: List[torch.Tensor], rows: bool, transpose: bool) -> Cast:
    q, scales = made[:2] if rows else (None, None)
    at = 2 if rows else 0
    q_t, scales_t = made[at:at + 2] if transpose else (None, None)
    at += 2 if transpose else 0
    return Cast(q, scales, q_t, scales_t, made[at] if len(made) > at else None)


def _fake(x: torch.Tensor, *, square: bool, rows: bool, transpose: bool, offs: Optional[torch.Tensor], align: int,
          alignment: int, dtype: str, power_of_two: bool, min_amax: Optional[float], mn_major: bool,
          after: Optional[torch.Tensor] = None) -> List[torch.Tensor]:
    return _outputs(x, square, rows, transpose, offs, align, dtype, mn_major)


def _transposed(w: torch.Tensor, scales: torch.Tensor,
                after: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    del after
    n, k = w.shape[-2:]
    name = "e5m2" if w.dtype == torch.float8_e5m2 else "e4m3"
    return _matrix(w, k, n, name), _scales(w, _blocks(k), _blocks(n), False)


def _run_transpose(w: torch.Tensor, scales: torch.Tensor,
                   after: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    del after
    made, made_scales = _transposed(w, scales)
    _native.transpose_fp8(w, scales, out=made, out_scales=made_scales)
    return made, made_scales


# `after` is not read. A cast of a weight for a backward pass names the gradient there, because torch.compile would otherwise
# move it into the forward pass and keep its result until then.
_LIBRARY.define("quantize(Tensor x, *, bool square, bool rows, bool transpose, Tensor? offs, int align, int alignment, "
                "str dtype, bool power_of_two, float? min_amax, bool mn_major, Tensor? after=None) -> Tensor[]")
_LIBRARY.define("transpose_fp8(Tensor w, Tensor scales, *, Tensor? after=None) -> (Tensor, Tensor)")
for _key in ("CUDA", "CPU"):
    _LIBRARY.impl("quantize", _run, _key)
    _LIBRARY.impl("transpose_fp8", _run_transpose, _key)
torch.library.register_fake("warpwright::quantize", _fake, lib=_LIBRARY)
torch.library.register_fake("warpwright::transpose_fp8", _transposed, lib=_LIBRARY)


def cast(x: torch.Tensor, *, square: bool = False, rows: bool = True, transpose: bool = False,
         offs: Optional[torch.Tensor] = None, align: int = 128, alignment: int = 1, dtype: str = "e4m3",
         power_of_two: bool = False, min_amax: Optional[float] = 0.0, mn_major: bool = False,
         after: Optional[torch.Tensor] = None) -> Cast:
    """Casts x in one pass: `rows` writes q, `transpose` q_t; `square` blocks are 128 x 128. No limit of amax unless
    min_amax gives one, because gradients are small. The cast stays behind what computes `after`."""
    run = _run if _direct(x, offs) and not x.is_meta else torch.ops.warpwright.quantize
    made = run(x, square=square, rows=rows, transpose=transpose, offs=offs, align=align, alignment=alignment, dtype=dtype,
               power_of_two=power_of_two, min_amax=min_amax, mn_major=mn_major, after=after)
    return _named(made, rows, transpose)


def quantize_1x128(x: torch.Tensor, *, transpose: bool = False, offs: Optional[torch.Tensor] = None, align: int = 128,
                   alignment: int = 1, dtype: str = "e4m3", power_of_two: bool = False,
                   min_amax: Optional[float] = None, mn_major: bool = False) -> Tuple[torch.Tensor, ...]:
    """As warpwright.quantize_1x128, traceable by torch.compile: x (M, K) in bf16, f16 or f32 becomes q (M, K) and float32
    scales (M, ceil(K/128)); transpose=True adds q_t (K, M) and scales_t (K, ceil(M/128)), quantised along M. With offs,
    int32 ends of groups, the padded ends of the groups in q_t follow, as one more int32 tensor. The other arguments are those
    of warpwright.quantize_1x128()."""
    made = cast(x, transpose=transpose, offs=offs, align=align, alignment=alignment, dtype=dtype,
                power_of_two=power_of_two, min_amax=min_amax, mn_major=mn_major)
    return tuple(one for one in made if one is not None)


def quantize_128x128(w: torch.Tensor, *, transpose: bool = False, dtype: str = "e4m3", power_of_two: bool = False,
                     min_amax: Optional[float] = None) -> Tuple[torch.Tensor, ...]:
    """As warpwright.quantize_128x128, traceable by torch.compile: w (N, K) or (groups, N, K) becomes q and scales of
    128 x 128 blocks; transpose=True adds both transposed. The other arguments are those of warpwright.quantize_128x128()."""
    made = cast(w, square=True, transpose=transpose, dtype=dtype, power_of_two=power_of_two, min_amax=min_amax)
    return tuple(one for one in made if one is not None)


def transpose_fp8(w: torch.Tensor, scales: torch.Tensor, *,
                  after: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
    """As warpwright.transpose_fp8, traceable by torch.compile: w (N, K) or (groups, N, K) in FP8 and its scales of
    128 x 128 blocks, both transposed. Under torch.compile the transpose stays behind what computes `after`."""
    if _direct(w, scales) and not w.is_meta:
        return _run_transpose(w, scales)
    made: Tuple[torch.Tensor, torch.Tensor] = torch.ops.warpwright.transpose_fp8(w, scales, after=after)
    return made
