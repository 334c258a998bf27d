# SPDX-License-Identifier: Apache-2.0
"""deep_gemm.utils: layouts and casts that callers import from there."""
from . import layout, math
from .layout import (get_k_alignment_for_contiguous_layout, get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor,
                     get_m_alignment_for_contiguous_layout, get_mk_alignment_for_contiguous_layout,
                     get_mn_major_tma_aligned_packed_ue8m0_tensor, get_mn_major_tma_aligned_tensor,
                     get_theoretical_mk_alignment_for_contiguous_layout, get_tma_aligned_size,
                     set_mk_alignment_for_contiguous_layout, transform_sf_into_required_layout)
from .math import (align, ceil_div, ceil_to_ue8m0, pack_ue8m0_to_int, per_block_cast_to_fp8, per_channel_cast_to_fp8,
                   per_custom_dims_cast_to_fp8, per_token_cast_to_fp8, unpack_ue8m0_from_int)
