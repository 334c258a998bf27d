# SPDX-License-Identifier: Apache-2.0
"""DeepGEMM's interface for SM90 over this library: the same names, arguments, layouts and side effects.

    import warpwright.compat.deep_gemm as deep_gemm
    deep_gemm.fp8_gemm_nt((x, sx), (w, sw), d)

warpwright.compat.install() puts this module in place of deep_gemm for the whole process. Names that this library lacks
are absent, so that callers which probe for them find their other path; arguments that it does not support raise
NotImplementedError. call_counts() tells what ran here.
"""
from . import _state
from . import testing, utils
from ._layout import (get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor,
                      get_mn_major_tma_aligned_packed_ue8m0_tensor, get_mn_major_tma_aligned_tensor,
                      get_tma_aligned_size, transform_sf_into_required_layout)
from ._products import (bf16_gemm_nn, bf16_gemm_nt, bf16_gemm_tn, bf16_gemm_tt, cublaslt_gemm_nn, cublaslt_gemm_nt,
                        cublaslt_gemm_tn, cublaslt_gemm_tt, fp8_gemm_nn, fp8_gemm_nt, fp8_gemm_tn, fp8_gemm_tt,
                        k_grouped_bf16_gemm_tn_contiguous, k_grouped_fp8_gemm_nt_contiguous,
                        m_grouped_bf16_gemm_nn_contiguous, m_grouped_bf16_gemm_nt_contiguous,
                        m_grouped_bf16_gemm_nt_masked, m_grouped_fp8_gemm_nn_contiguous,
                        m_grouped_fp8_gemm_nt_contiguous, m_grouped_fp8_gemm_nt_masked)
from ._state import (call_counts, get_compile_mode, get_mk_alignment_for_contiguous_layout, get_num_sms, get_pdl,
                     get_tc_util, get_theoretical_mk_alignment_for_contiguous_layout, set_block_size_multiple_of,
                     set_compile_mode, set_ignore_compile_dims, set_mk_alignment_for_contiguous_layout, set_num_sms,
                     set_pdl, set_tc_util)

# The interface of DeepGEMM 2.8, which callers compare with.
__version__ = "2.8.1"

# Names that both FP8 and FP4 go by since 2.6, and older ones.
fp8_fp4_gemm_nt, fp8_fp4_gemm_nn, fp8_fp4_gemm_tn, fp8_fp4_gemm_tt = fp8_gemm_nt, fp8_gemm_nn, fp8_gemm_tn, fp8_gemm_tt
m_grouped_fp8_fp4_gemm_nt_contiguous = m_grouped_fp8_gemm_nt_contiguous
m_grouped_fp8_fp4_gemm_nn_contiguous = m_grouped_fp8_gemm_nn_contiguous
m_grouped_fp8_fp4_gemm_nt_masked = m_grouped_fp8_gemm_nt_masked
fp8_m_grouped_gemm_nt_masked = m_grouped_fp8_gemm_nt_masked
bf16_m_grouped_gemm_nt_masked = m_grouped_bf16_gemm_nt_masked

_state.read_environment()


def __getattr__(name: str) -> object:
    raise AttributeError(f"warpwright.compat.deep_gemm has no {name}: it has DeepGEMM's dense and grouped products for "
                         f"SM90 (install() keeps an installed deep_gemm for the rest)")
