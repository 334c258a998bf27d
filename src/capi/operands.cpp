// SPDX-License-Identifier: Apache-2.0
// The operands of an epilogue, field by field.
#include "capi/operands.hpp"

namespace ww::capi {

ww_status to_epilogue(const ww_epilogue_operands* given, EpilogueOperands& to) {
  Given<ww_epilogue_operands> from;
  WW_C_PASS(from.read("operands->epilogue", given));
  if (from->reserved != 0 || from->scalars_given >> WW_EPILOGUE_SLOTS != 0)
    return refuse("operands->epilogue", "scalars_given below 16 and reserved = 0",
                  fmt::format("scalars_given = {} and reserved = {}", from->scalars_given, from->reserved));
  for (int i = 0; i < WW_EPILOGUE_SLOTS; ++i) {
    if (from->scalars_given >> i & 1) to.scalar[i] = from->scalar[i];
    to.scalar_pointer[i] = from->scalar_pointer[i];
    to.row_vector[i] = from->row_vector[i];
    to.column_vector[i] = from->column_vector[i];
    to.auxiliary[i] = from->auxiliary[i], to.ld_auxiliary[i] = from->ld_auxiliary[i];
    to.out[i] = from->out[i], to.ld_out[i] = from->ld_out[i];
    to.batch_scalar[i] = from->batch_scalar[i];
    to.batch_row_vector[i] = from->batch_row_vector[i];
    to.batch_column_vector[i] = from->batch_column_vector[i];
    to.batch_auxiliary[i] = from->batch_auxiliary[i];
    to.batch_out[i] = from->batch_out[i];
  }
  to.c = from->c, to.ldc = from->ldc, to.batch_c = from->batch_c;
  to.out_scales = from->out_scales, to.batch_out_scales = from->batch_out_scales;
  to.out_scales_row = from->out_scales_row, to.out_scales_block = from->out_scales_block;
  to.out_scale_chunks = from->out_scale_chunks, to.batch_out_scale_chunks = from->batch_out_scale_chunks;
  to.amax = from->amax, to.batch_amax = from->batch_amax;
  return WW_OK;
}

}  // namespace ww::capi
