// SPDX-License-Identifier: Apache-2.0
// An epilogue's text and what it names. A caller may leave out the types of operands ("acc + bias"): they are those of
// the tensors, and the text that the library gets has them ("acc+bias:bf16"). Texts are analysed once.
#pragma once

#include <cstdint>

#include "arguments.hpp"
#include "dtype.hpp"
#include "warpwright/warpwright.h"

namespace wwpy {

/// What a kind of operand is to the kernel.
enum class Role : std::uint8_t {
  none,
  scalar,
  matrix,
  row_vector,
  column_vector,
  store,
  row_reduction,
  column_reduction
};

inline constexpr int kFirstOperand = static_cast<int>(Argument::alpha);
inline constexpr int kOperandCount = static_cast<int>(Argument::out3) - kFirstOperand + 1;

struct EpilogueText {
  PyObject* text = nullptr;       // interned and owned; with types
  PyObject* given = nullptr;      // interned and owned; as the caller wrote it, or made of the operands given
  const char* bytes = "";         // of `text`
  Role role[kOperandCount] = {};  // of alpha ... out3, in the order of Argument
  Type type[kOperandCount] = {};
  bool halved = false;              // SwiGLU: D has half the columns
  bool quantises = false;           // amax may be given
  bool quantises_blocks = false;    // out_scales must be given
  ww_scale chunks = WW_SCALE_NONE;  // mx or nv: out_scales must be given, in chunks
};

/// Returns the analysis of the text `given` (interned) for operands of these types (Type::other: not given), or null
/// with an exception.
const EpilogueText* analyse_epilogue(PyObject* given, const Type (&types)[kOperandCount]);

/// Returns the text that the operands alone imply, interned: "acc * alpha + c * beta + bias"; null: an exception.
PyObject* implied_epilogue(bool alpha, bool beta, bool c, bool bias);

}  // namespace wwpy
