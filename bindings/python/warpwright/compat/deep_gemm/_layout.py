# SPDX-License-Identifier: Apache-2.0
"""Layouts of scales as DeepGEMM has them on SM90. Our kernels read scales with any strides, so that none of these is
needed before a product; they exist for callers that prepare scales once. Packing is one kernel of this library."""
from typing import Optional, Sequence, Tuple

import torch

from ... import _native
from . import _state


def ceil_div(x: int, y: int) -> int:
    return -(-x // y)


def align(x: int, y: int) -> int:
    return ceil_div(x, y) * y


def get_tma_aligned_size(mn: int, element_size: int) -> int:
    """`mn` rounded up so that as many elements of this size are a multiple of 16 bytes."""
    return align(mn, 16 // element_size)


def _mn_major(like: torch.Tensor, mn: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    """An uninitialised tensor (..., mn, columns) whose `mn` is contiguous and padded to 16 bytes."""
    aligned = get_tma_aligned_size(mn, dtype.itemsize)
    if like.dim() == 3:
        return torch.empty_strided((like.shape[0], mn, columns), (aligned * columns, 1, aligned), dtype=dtype,
                                   device=like.device)
    return torch.empty_strided((mn, columns), (1, aligned), dtype=dtype, device=like.device)


def _check_scales(sf: torch.Tensor, dtype: torch.dtype = torch.float32) -> None:
    if sf.dtype != dtype or sf.dim() not in (2, 3):
        raise ValueError(f"sf: expected {dtype} of two or three dimensions, got {sf.dtype} of {sf.dim()}")


def get_mn_major_tma_aligned_tensor(sf: torch.Tensor) -> torch.Tensor:
    """(mn, k) or (groups, mn, k) in float32 with strides (..., 1, mn rounded up to 4); `sf` itself if it has them."""
    _check_scales(sf)
    mn, k = sf.shape[-2:]
    aligned = get_tma_aligned_size(mn, 4)
    if sf.stride()[-2:] == (1, aligned) and (sf.dim() == 2 or sf.stride(0) == aligned * k):
        return sf  # callers compare the strides, also of extents of 1
    return _mn_major(sf, mn, k, torch.float32).copy_(sf)


def _check_ends(name: str, ends: torch.Tensor, device: torch.device) -> None:
    if ends.dtype != torch.int32 or ends.dim() != 1 or ends.numel() == 0 or not ends.is_contiguous() or \
            ends.device != device:
        raise ValueError(f"{name}: expected contiguous int32 of one dimension on {device}, the end of each group, got "
                         f"{ends.dtype} {tuple(ends.shape)} on {ends.device}")


def _starts(ends: torch.Tensor, alignment: int) -> torch.Tensor:
    """The starts of groups in a psum layout: each is the previous end, rounded up."""
    starts = (ends + (alignment - 1)).div(alignment, rounding_mode="floor").mul_(alignment).roll(1)
    starts[0] = 0
    return starts


def get_mn_major_tma_aligned_packed_ue8m0_tensor(sf: torch.Tensor, psum_layout: Optional[torch.Tensor] = None
                                                 ) -> torch.Tensor:
    """Exponents of float32 scales, four to an int32: (..., mn, ceil(k / 4)), strides (..., 1, mn rounded up to 4).
    psum_layout (int32) has the ends of groups of rows of a contiguous `sf` (mn, k); other rows become 0."""
    _check_scales(sf)
    mn, k = sf.shape[-2:]
    packed = _mn_major(sf, mn, ceil_div(k, 4), torch.int32)
    if psum_layout is not None:
        _check_ends("psum_layout", psum_layout, sf.device)
        if (sf.dim() == 3 and sf.shape[0] != 1) or not sf.is_contiguous():
            raise ValueError(f"sf: expected a contiguous matrix with psum_layout, got {tuple(sf.shape)} with strides "
                             f"{sf.stride()}")
    _native.pack_scales(sf, packed, None, 128, None, None)
    if psum_layout is not None:  # rows between groups may be uninitialised, and 255 would be read as NaN
        starts = _starts(psum_layout, _state.get_mk_alignment_for_contiguous_layout())
        rows = torch.arange(mn, dtype=torch.int32, device=sf.device).unsqueeze(1)
        used = ((rows >= starts) & (rows < psum_layout)).any(1)
        packed.mul_(used.unsqueeze(1))
    return packed


def get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        sf: torch.Tensor, grouped_layout: torch.Tensor, ks: Optional[Sequence[int]], gran_k: int = 128,
        k_alignment: Optional[int] = None, use_psum_layout: bool = False) -> torch.Tensor:
    """Exponents of scales (sum of ceil(K_g / gran_k), mn) of groups along K, four of a column to an int32: (sum of
    ceil(K_g / (4 * gran_k)), mn), contiguous. Each group begins a new row; mn is a multiple of 4.

    grouped_layout (int32) has the K_g. With use_psum_layout it has the ends of groups that start at multiples of
    k_alignment (default: the alignment in effect), and ks may be None or empty: the result then has (rows + 3 groups) //
    4 rows, of which those behind the last group are 0."""
    _check_scales(sf)
    _check_ends("grouped_layout", grouped_layout, sf.device)
    rows, mn = sf.shape
    if mn % 4 != 0:
        raise ValueError(f"sf: expected columns in multiples of 4, got {mn}")
    if ks is not None and len(ks) > 0:
        blocks = [ceil_div(int(k), gran_k) for k in ks]
        if len(blocks) != grouped_layout.shape[0] or sum(blocks) != rows:
            raise ValueError(f"ks: expected {grouped_layout.shape[0]} groups with {rows} blocks of {gran_k} in all, "
                             f"got {len(blocks)} with {sum(blocks)}")
        words = sum(ceil_div(count, 4) for count in blocks)
    elif use_psum_layout:
        words = (rows + 3 * grouped_layout.shape[0]) // 4
    else:
        raise ValueError("ks: expected the K of each group without use_psum_layout, got none")
    packed = torch.empty((words, mn), dtype=torch.int32, device=sf.device)
    if packed.numel() > 0:
        if use_psum_layout:
            alignment = _state.get_mk_alignment_for_contiguous_layout() if k_alignment is None else int(k_alignment)
            if alignment < 1:
                raise ValueError(f"k_alignment: expected at least 1, got {alignment}")
            grouped_layout = grouped_layout - _starts(grouped_layout, alignment)
        _native.pack_scales(sf.t(), packed.t(), grouped_layout, gran_k, None, None)
    return packed


def transform_sf_into_required_layout(sf: torch.Tensor, mn: int, k: int, recipe: Tuple[int, ...],
                                      num_groups: Optional[int] = None, is_sfa: Optional[bool] = None,
                                      disable_ue8m0_cast: bool = False, psum_layout: Optional[torch.Tensor] = None
                                      ) -> torch.Tensor:
    """Scales as DeepGEMM's SM90 kernels want them: of 1 x 128, MN-major and padded; of 128 x 128, `sf` itself. A recipe
    of three numbers (m, n, k) needs is_sfa, one of two (mn, k) must not have it. psum_layout changes nothing, because
    only packed scales have rows to be cleared."""
    del disable_ue8m0_cast, psum_layout  # scales stay float32 on SM90
    if (len(recipe) == 3) != (is_sfa is not None) or len(recipe) not in (2, 3):
        raise ValueError(f"recipe: expected (m, n, k) with is_sfa or (mn, k) without, got {tuple(recipe)}")
    gran_mn = recipe[0 if len(recipe) == 2 or is_sfa else 1]
    gran_k = recipe[-1]
    if gran_mn not in (1, 128) or gran_k != 128:
        raise NotImplementedError(f"recipe: expected granularities (1, 128) or (128, 128), got ({gran_mn}, {gran_k})")
    _check_scales(sf)
    blocks = (ceil_div(mn, gran_mn), ceil_div(k, gran_k))
    expected = blocks if num_groups is None else (num_groups, *blocks)
    if tuple(sf.shape) != expected:
        raise ValueError(f"sf: expected shape {expected}, got {tuple(sf.shape)}")
    return get_mn_major_tma_aligned_tensor(sf) if gran_mn == 1 else sf


get_m_alignment_for_contiguous_layout = _state.get_mk_alignment_for_contiguous_layout
get_k_alignment_for_contiguous_layout = _state.get_mk_alignment_for_contiguous_layout
