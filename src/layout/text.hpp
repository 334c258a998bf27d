// SPDX-License-Identifier: Apache-2.0
// The language of `warpwright layout <expression>`: layouts in CuTe notation and the operations of the algebra.
//   (4,(2,2)):(2,(1,8))        a layout; without ":strides" it is dense, leftmost mode fastest
//   zipped_divide((8,6), (2,3))    L(3,1)    slice((_,2), L)    swizzle(3,4,3, (8,128):(128,1))
// The grammar and the table of functions are in text.cpp; the operations are those of dynamic.hpp.
#pragma once

#include <string>
#include <string_view>

#include "warpwright/host/result.hpp"

namespace ww {

/// Returns the value of `expression` as text: the layout, its size and cosize and, when it has one or two modes, a
/// table of its offsets (at most 64 x 32). An error gives the position in the expression, what was expected and what
/// was found.
Result<std::string> evaluate_layout(std::string_view expression);

}  // namespace ww
