// SPDX-License-Identifier: Apache-2.0
// Hopper's accumulator as a fragment: the registers of wgmma, 64 x kN over the four warps of a warpgroup, in the layout
// of MatrixLines.
// Swap-AB multiplies weights by tokens: its tile of (tokens, weights) is the fragment of Transposed<Sm90Accumulator>.
#pragma once

#include "warpwright/arch/sm90/wgmma.hpp"
#include "warpwright/atom/matrix_lines.hpp"

namespace ww::atom {

template <int kN> struct Sm90Accumulator : MatrixLines<kN> {
  using Storage = arch::Accumulator<kN>;
  template <int kColumns> using Resized = Sm90Accumulator<kColumns>;
  static_assert(MatrixLines<kN>::kLineExtent == Sm90().mma[0].m);
};

}  // namespace ww::atom
