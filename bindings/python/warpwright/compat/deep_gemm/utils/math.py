# SPDX-License-Identifier: Apache-2.0
"""deep_gemm.utils.math: casts to FP8 with float32 scales, as the tests of callers make their operands. They are written
with torch's operators; warpwright.quantize_1x128 and quantize_128x128 are the fast ones."""
from typing import Sequence, Tuple

import torch

from .._layout import align, ceil_div

__all__ = ["align", "ceil_div", "ceil_to_ue8m0", "pack_ue8m0_to_int", "unpack_ue8m0_from_int",
           "per_token_cast_to_fp8", "per_channel_cast_to_fp8", "per_block_cast_to_fp8", "per_custom_dims_cast_to_fp8"]

_LARGEST = 448.0
_LEAST_AMAX = 1e-4


def ceil_to_ue8m0(x: torch.Tensor) -> torch.Tensor:
    """The least power of two that is not below |x|, in float32."""
    mantissa, exponent = torch.frexp(x.abs().float())
    exponent = torch.where(mantissa == 0.5, exponent - 1, exponent)
    return torch.ldexp(torch.ones_like(mantissa), exponent.clamp(-126, 127))


def pack_ue8m0_to_int(x: torch.Tensor) -> torch.Tensor:
    """Exponents of powers of two (..., 4 n) in float32 as int32 (..., n)."""
    if x.dtype != torch.float32 or x.shape[-1] % 4 != 0:
        raise ValueError(f"x: expected float32 with a last extent of a multiple of 4, got {x.dtype} {tuple(x.shape)}")
    return (x.contiguous().view(torch.int32) >> 23).to(torch.uint8).view(torch.int32)


def unpack_ue8m0_from_int(packed: torch.Tensor) -> torch.Tensor:
    """The inverse of pack_ue8m0_to_int."""
    return (packed.contiguous().view(torch.uint8).to(torch.int32) << 23).view(torch.float32)


def _scales(amax: torch.Tensor, use_ue8m0: bool) -> torch.Tensor:
    scales = amax.float().clamp(min=_LEAST_AMAX) / _LARGEST
    return ceil_to_ue8m0(scales) if use_ue8m0 else scales


def _cast(x: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return (x * (1.0 / scales)).to(torch.float8_e4m3fn)


def per_token_cast_to_fp8(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128, use_packed_ue8m0: bool = False
                          ) -> Tuple[torch.Tensor, torch.Tensor]:
    """x (M, N) as e4m3, and scales (M, ceil(N / gran_k))."""
    m, n = x.shape
    blocks = torch.nn.functional.pad(x, (0, align(n, gran_k) - n)).unflatten(1, (-1, gran_k))
    scales = _scales(blocks.abs().amax(2), use_ue8m0)
    data = _cast(blocks, scales.unsqueeze(2)).flatten(1)[:, :n].contiguous()
    return data, pack_ue8m0_to_int(scales) if use_packed_ue8m0 else scales


def per_channel_cast_to_fp8(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128) -> Tuple[torch.Tensor, torch.Tensor]:
    """x (M, N) as e4m3, and scales (M / gran_k, N)."""
    if x.shape[0] % gran_k != 0:
        raise ValueError(f"x: expected rows in multiples of {gran_k}, got {x.shape[0]}")
    blocks = x.unflatten(0, (-1, gran_k))
    scales = _scales(blocks.abs().amax(1), use_ue8m0)
    return _cast(blocks, scales.unsqueeze(1)).flatten(0, 1), scales


def per_block_cast_to_fp8(x: torch.Tensor, use_ue8m0: bool, gran_k: int = 128) -> Tuple[torch.Tensor, torch.Tensor]:
    """x (M, N) as e4m3, and scales (ceil(M / gran_k), ceil(N / gran_k))."""
    m, n = x.shape
    padded = torch.nn.functional.pad(x, (0, align(n, gran_k) - n, 0, align(m, gran_k) - m))
    blocks = padded.unflatten(0, (-1, gran_k)).unflatten(2, (-1, gran_k))
    scales = _scales(blocks.abs().amax((1, 3)), use_ue8m0)
    data = _cast(blocks, scales[:, None, :, None]).flatten(2, 3).flatten(0, 1)
    return data[:m, :n].contiguous(), scales


def per_custom_dims_cast_to_fp8(x: torch.Tensor, dims: Sequence[int], use_ue8m0: bool
                                ) -> Tuple[torch.Tensor, torch.Tensor]:
    """x as e4m3 with one scale for each index of `dims`."""
    others = tuple(i for i in range(x.dim()) if i not in set(dims))
    scales = _scales(x.abs().amax(others, keepdim=True), use_ue8m0)
    return _cast(x, scales), scales.squeeze()
