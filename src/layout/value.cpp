// SPDX-License-Identifier: Apache-2.0
// Conversions between the values of the layout language, slicing, and the printed table.
#include "layout/value.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace ww::layout {
namespace {

using i64 = std::int64_t;
using Kind = LayoutValue::Kind;
constexpr i64 kMostRows = 64, kMostColumns = 32;

// Adds the position of the caller's argument to an error of the algebra, which has none.
template <class T> Result<T> located(Result<T> result, std::size_t position) {
  if (result) return result;
  return refuse_at(position, result.error().expected, result.error().actual);
}

i64 swizzled(const LayoutValue& value, i64 offset) {
  const auto [b, m, s] = value.swizzle;
  return offset ^ ((offset & (((i64{1} << b) - 1) << (m + s))) >> s);
}

bool has_underscore(const LayoutValue& value) {
  return value.kind == Kind::underscore || std::any_of(value.members.begin(), value.members.end(), has_underscore);
}

Result<i64> plain_offset(const DynamicLayout& layout, const LayoutValue& coord) {
  if (coord.kind == Kind::underscore) return 0;
  if (coord.kind == Kind::integer) {
    if (coord.integer < 0 || coord.integer >= size(layout))
      return refuse_at(coord.position, fmt::format("a coordinate from 0 to {}", size(layout) - 1), describe(coord));
    return offset(layout, coord.integer);
  }
  if (coord.kind != Kind::tuple || static_cast<int>(coord.members.size()) != layout.rank() ||
      (layout.leaf && coord.members.size() != 1))
    return refuse_at(coord.position, fmt::format("an integer or a coordinate of {} members", layout.rank()),
                     describe(coord));
  i64 sum = 0;
  for (int i = 0; i < layout.rank(); ++i) {
    WW_TRY(const i64 part, plain_offset(layout.mode(i), coord.members[static_cast<std::size_t>(i)]));
    sum += part;
  }
  return sum;
}

// Collects the modes that correspond to an underscore.
void kept_modes(const DynamicLayout& layout, const LayoutValue& coord, std::vector<DynamicLayout>& kept) {
  if (coord.kind == Kind::underscore) kept.push_back(layout);
  for (std::size_t i = 0; i < coord.members.size(); ++i)
    kept_modes(layout.mode(static_cast<int>(i)), coord.members[i], kept);
}

std::string table(const LayoutValue& value) {
  const auto& layout = value.layout;
  const bool matrix = layout.rank() == 2;
  const i64 rows = matrix ? size(layout.mode(0)) : 1, columns = matrix ? size(layout.mode(1)) : size(layout);
  const i64 shown_rows = std::min(rows, kMostRows), shown_columns = std::min(columns, kMostColumns);
  i64 largest = shown_columns - 1;
  for (i64 r = 0; r < shown_rows; ++r)
    for (i64 c = 0; c < shown_columns; ++c) largest = std::max(largest, value_at(value, r, c));
  const auto width = std::to_string(largest).size();
  const auto margin = std::to_string(shown_rows - 1).size();
  std::string out = fmt::format("{:{}} |", "", margin);
  for (i64 c = 0; c < shown_columns; ++c) out += fmt::format(" {:>{}}", c, width);
  out += fmt::format("\n{:-<{}}+{:-<{}}\n", "", margin + 1, "", static_cast<std::size_t>(shown_columns) * (width + 1));
  for (i64 r = 0; r < shown_rows; ++r) {
    out += fmt::format("{:>{}} |", r, margin);
    for (i64 c = 0; c < shown_columns; ++c) out += fmt::format(" {:>{}}", value_at(value, r, c), width);
    out += '\n';
  }
  if (rows > shown_rows || columns > shown_columns)
    out += fmt::format("(the first {} x {} of {} x {})\n", shown_rows, shown_columns, rows, columns);
  return out;
}

}  // namespace

tl::unexpected<Error> refuse_at(std::size_t position, std::string expected, std::string actual) {
  return failure(ErrorCode::invalid, "expression", std::move(expected), std::move(actual),
                 fmt::format("at position {}", position));
}

std::string describe(const LayoutValue& value) {
  switch (value.kind) {
    case Kind::integer: return std::to_string(value.integer);
    case Kind::underscore: return "_";
    case Kind::layout: {
      std::string text = to_text(value.layout);
      if (value.swizzle[0] == 0 && value.offset == 0) return text;
      text = fmt::format("{} o {}", value.offset, text);
      if (value.swizzle[0] == 0) return text;
      return fmt::format("Sw<{},{},{}> o {}", value.swizzle[0], value.swizzle[1], value.swizzle[2], text);
    }
    case Kind::tuple: break;
  }
  std::string text = "(";
  for (std::size_t i = 0; i < value.members.size(); ++i) text += (i > 0 ? "," : "") + describe(value.members[i]);
  return text + ")";
}

Result<DynamicLayout> as_shape(const LayoutValue& value) {
  if (value.kind == Kind::integer) return DynamicLayout::of(value.integer, 0);
  if (value.kind != Kind::tuple) return refuse_at(value.position, "an integer or a tuple of integers", describe(value));
  std::vector<DynamicLayout> modes;
  for (const auto& member : value.members) {
    WW_TRY(auto mode, as_shape(member));
    modes.push_back(std::move(mode));
  }
  return DynamicLayout::of(std::move(modes));
}

Result<LayoutValue> as_layout(const LayoutValue& value) {
  if (value.kind == Kind::layout) return value;
  WW_TRY(auto shape, as_shape(value));
  LayoutValue layout = value;
  layout.kind = Kind::layout;
  layout.members.clear();
  WW_TRY(layout.layout, located(compact(std::move(shape)), value.position));
  return layout;
}

Result<DynamicLayout> as_plain_layout(const LayoutValue& value) {
  WW_TRY(auto layout, as_layout(value));
  if (layout.swizzle[0] != 0 || layout.offset != 0)
    return refuse_at(value.position, "a layout without swizzle or offset", describe(value));
  return std::move(layout.layout);
}

Result<i64> as_integer(const LayoutValue& value) {
  if (value.kind != Kind::integer) return refuse_at(value.position, "an integer", describe(value));
  return value.integer;
}

Result<Tiler> as_tiler(const LayoutValue& value) {
  Tiler tiler;
  if (value.kind == Kind::tuple) {
    tiler.by_mode = true;
    for (const auto& member : value.members) {
      WW_TRY(auto mode, as_tiler(member));
      tiler.modes.push_back(std::move(mode));
    }
    return tiler;
  }
  if (value.kind == Kind::integer) {
    if (value.integer < 1) return refuse_at(value.position, "a tile of at least 1", describe(value));
    tiler.layout = DynamicLayout::of(value.integer, 1);
    WW_CHECK(located(check(tiler.layout).map([] { return 0; }), value.position));
    return tiler;
  }
  WW_TRY(tiler.layout, as_plain_layout(value));
  return tiler;
}

Result<i64> offset_of(const LayoutValue& layout, const LayoutValue& coord) {
  WW_TRY(const i64 offset, plain_offset(layout.layout, coord));
  return has_underscore(coord) ? offset + layout.offset : swizzled(layout, offset + layout.offset);
}

Result<LayoutValue> slice_of(const LayoutValue& coord, const LayoutValue& layout) {
  LayoutValue rest = layout;
  WW_TRY(const i64 moved, plain_offset(layout.layout, coord));
  rest.offset += moved;
  std::vector<DynamicLayout> kept;
  kept_modes(layout.layout, coord, kept);
  rest.layout = DynamicLayout::of(std::move(kept));
  return rest;
}

i64 value_at(const LayoutValue& value, i64 row, i64 column) {
  const auto& layout = value.layout;
  const i64 offset_here =
      layout.rank() == 2 ? offset(layout.mode(0), row) + offset(layout.mode(1), column) : offset(layout, column);
  return swizzled(value, value.offset + offset_here);
}

std::string render(const LayoutValue& value) {
  std::string out = describe(value) + "\n";
  if (value.kind != Kind::layout) return out;
  out += fmt::format("size {}, cosize {}\n", size(value.layout), cosize(value.layout));
  if (value.layout.rank() == 1 || value.layout.rank() == 2) out += table(value);
  return out;
}

}  // namespace ww::layout
