// SPDX-License-Identifier: Apache-2.0
// stmatrix and ldmatrix of one warp; rows are at scattered places, lane l's at 16 * ((7 l + 3) % 32).
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/stmatrix.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::arch_test {

WW_DEVICE arch::SharedAddress row_of(u32 lane) { return arch::dynamic_shared() + 16 * ((7 * lane + 3) % 32); }

/// Registers: in[4 lane + i]. arg[0]: 1, 2 or 4 matrices; arg[1]: transposed. Output: the 32 rows.
WW_KERNEL(arch_stmatrix, 32, Params, p) {
  const u32 lane = arch::lane_index();
  const arch::Words<4> v = arch::global::load4(p.in + 4 * lane);
  arch::shared::store4(row_of(lane), {{0, 0, 0, 0}});
  arch::warp::sync();
  const arch::Words<1> one{{v.w[0]}};
  const arch::Words<2> two{{v.w[0], v.w[1]}};
  if (p.arg[1] == 0) {
    if (p.arg[0] == 1) arch::stmatrix(row_of(lane), one);
    if (p.arg[0] == 2) arch::stmatrix(row_of(lane), two);
    if (p.arg[0] == 4) arch::stmatrix(row_of(lane), v);
  } else {
    if (p.arg[0] == 1) arch::stmatrix_transposed(row_of(lane), one);
    if (p.arg[0] == 2) arch::stmatrix_transposed(row_of(lane), two);
    if (p.arg[0] == 4) arch::stmatrix_transposed(row_of(lane), v);
  }
  arch::warp::sync();
  copy_out(p, arch::dynamic_shared(), 128);
}

/// Rows: the input's 128 words. arg[1]: transposed. Output: out[4 lane + i].
WW_KERNEL(arch_ldmatrix, 32, Params, p) {
  copy_in(p.in, arch::dynamic_shared(), 128);
  arch::warp::sync();
  const arch::SharedAddress row = row_of(arch::lane_index());
  arch::global::store4(p.out + 4 * arch::lane_index(),
                       p.arg[1] == 0 ? arch::ldmatrix(row) : arch::ldmatrix_transposed(row));
}

}  // namespace ww::arch_test
