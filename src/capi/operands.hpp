// SPDX-License-Identifier: Apache-2.0
// Operands of a run as those of the library. Nothing here allocates, for it is a part of every run.
#pragma once

#include "capi/structs.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/microscale.hpp"
#include "warpwright/host/pack_scales.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww::capi {

ww_status to_epilogue(const ww_epilogue_operands* given, EpilogueOperands& to);

template <class From, class To> void read_common(const From& from, To& to) {
  to.a = from.a, to.b = from.b, to.d = from.d;
  to.scale_a = from.scale_a, to.scale_b = from.scale_b;
  to.global_scale = from.global_scale;
}

inline ww_status read_operands(const ww_gemm_operands* given, GemmOperands& to) {
  Given<ww_gemm_operands> from;
  WW_C_PASS(from.read("operands", given));
  read_common(*from, to);
  to.workspace = from->workspace, to.workspace_bytes = from->workspace_bytes;
  to.a_pointers = from->a_pointers, to.b_pointers = from->b_pointers;
  to.c_pointers = from->c_pointers, to.d_pointers = from->d_pointers;
  return from->epilogue == nullptr ? WW_OK : to_epilogue(from->epilogue, to.epilogue);
}

inline ww_status read_operands(const ww_grouped_operands* given, GroupedOperands& to) {
  Given<ww_grouped_operands> from;
  WW_C_PASS(from.read("operands", given));
  read_common(*from, to);
  to.workspace = from->workspace, to.workspace_bytes = from->workspace_bytes;
  to.sizes = from->sizes, to.sizes2 = from->sizes2, to.status = from->status;
  return from->epilogue == nullptr ? WW_OK : to_epilogue(from->epilogue, to.epilogue);
}

inline ww_status read_operands(const ww_k_grouped_operands* given, KGroupedOperands& to) {
  Given<ww_k_grouped_operands> from;
  WW_C_PASS(from.read("operands", given));
  read_common(*from, to);
  to.workspace = from->workspace, to.workspace_bytes = from->workspace_bytes;
  to.c = from->c;
  to.sizes = from->sizes, to.sizes2 = from->sizes2, to.status = from->status;
  return WW_OK;
}

inline ww_status read_operands(const ww_quantize_operands* given, QuantizeOperands& to) {
  Given<ww_quantize_operands> from;
  WW_C_PASS(from.read("operands", given));
  to = {from->x,     from->q,      from->scales,      from->transposed, from->transposed_scales,
        from->sizes, from->sizes2, from->padded_ends, from->status};
  return WW_OK;
}

inline ww_status read_operands(const ww_transpose_operands* given, TransposeOperands& to) {
  Given<ww_transpose_operands> from;
  WW_C_PASS(from.read("operands", given));
  to = {from->w, from->transposed, from->scales, from->transposed_scales};
  return WW_OK;
}

inline ww_status read_operands(const ww_pack_scales_operands* given, PackScalesOperands& to) {
  Given<ww_pack_scales_operands> from;
  WW_C_PASS(from.read("operands", given));
  to = {from->scales, from->packed, from->sizes};
  return WW_OK;
}

inline ww_status read_operands(const ww_microscale_operands* given, MicroscaleOperands& to) {
  Given<ww_microscale_operands> from;
  WW_C_PASS(from.read("operands", given));
  to = {from->x, from->q, from->scales, from->tensor_scale};
  return WW_OK;
}

}  // namespace ww::capi
