// SPDX-License-Identifier: Apache-2.0
// The values of expressions of the layout language, and the conversions between them:
//   integer  7      all of a mode  _      tuple  (2,_)      layout  Sw<B,M,S> o offset o shape:stride
// A tuple of integers is a shape, a coordinate or a tile, depending on its position.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "layout/dynamic.hpp"

namespace ww::layout {

struct LayoutValue {
  enum class Kind { integer, underscore, tuple, layout };
  Kind kind = Kind::integer;
  std::size_t position = 0;  // where in the expression it began
  std::int64_t integer = 0;
  std::vector<LayoutValue> members;
  DynamicLayout layout;
  std::int64_t offset = 0;     // of a slice
  int swizzle[3] = {0, 0, 0};  // B, M, S; B = 0 is none
};

/// "invalid: argument expression: expected …, got …; at position 7".
tl::unexpected<Error> refuse_at(std::size_t position, std::string expected, std::string actual);

std::string describe(const LayoutValue& value);                   // for the "got" of an error
Result<LayoutValue> as_layout(const LayoutValue& value);          // a shape becomes its dense layout
Result<DynamicLayout> as_plain_layout(const LayoutValue& value);  // neither swizzle nor offset
Result<DynamicLayout> as_shape(const LayoutValue& value);         // extents in the leaves, strides 0
Result<std::int64_t> as_integer(const LayoutValue& value);
Result<Tiler> as_tiler(const LayoutValue& value);

/// The offset of a coordinate; with underscores in it, of the slice's first element.
Result<std::int64_t> offset_of(const LayoutValue& layout, const LayoutValue& coord);
Result<LayoutValue> slice_of(const LayoutValue& coord, const LayoutValue& layout);

std::int64_t value_at(const LayoutValue& layout, std::int64_t row, std::int64_t column);
/// Layout, size, cosize and table.
std::string render(const LayoutValue& value);

}  // namespace ww::layout
