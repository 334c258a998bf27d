// SPDX-License-Identifier: Apache-2.0
// Writes the value of one field, by its type: as text and back, and as C++ in the source of a kernel.
#pragma once

#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/result.hpp"

namespace ww::config {

inline std::string quoted(std::string_view text) { return fmt::format("\"{}\"", text); }

/// Returns "auto, shared or registers".
inline std::string listed(const EnumNames& names) {
  std::string text;
  int last = names.count() - 1;
  while (!names.lists(last)) --last;
  for (int i = 0; i <= last; ++i)
    if (names.lists(i)) text += fmt::format("{}{}", text.empty() ? "" : i == last ? " or " : ", ", names.value[i]);
  return text;
}

/// Parses the text of a value; `argument` is its name in errors.
template <NamedEnum E> Result<E> parse_enum(std::string_view text, std::string argument) {
  const EnumNames names = names_of(E{});
  for (int i = 0; i < names.count(); ++i)
    if (text == names.value[i]) return static_cast<E>(i);
  return failure(ErrorCode::invalid, std::move(argument), listed(names), quoted(text));
}

/// Parses "128x64" into `count` integers from 0 to `most`.
Result<std::vector<int>> parse_integers(std::string_view text, int count, int most, const std::string& argument);

// --- text ---------------------------------------------------------------------------------------------------------

template <NamedEnum E> std::string text_of(E value) { return name_of(value); }
inline std::string text_of(bool value) { return value ? "1" : "0"; }
inline std::string text_of(int value) { return fmt::format("{}", value); }
inline std::string text_of(const Tile& tile) { return fmt::format("{}x{}x{}", tile.m, tile.n, tile.k); }
inline std::string text_of(const Cluster& c) {
  return fmt::format("{}x{}{}", c.m, c.n, c.k != 0 ? fmt::format("x{}", c.k) : "");
}
inline std::string text_of(MatrixLayout layout) { return name_of(layout); }
inline std::string text_of(const EpilogueTree& tree) { return to_text(tree); }

// --- and back -----------------------------------------------------------------------------------------------------

template <NamedEnum E> Result<void> read(std::string_view text, int, const std::string& argument, E& value) {
  WW_TRY(value, parse_enum<E>(text, argument));
  return {};
}
Result<void> read(std::string_view text, int most, const std::string& argument, bool& value);
Result<void> read(std::string_view text, int most, const std::string& argument, int& value);
Result<void> read(std::string_view text, int most, const std::string& argument, Tile& value);
Result<void> read(std::string_view text, int most, const std::string& argument, Cluster& value);
Result<void> read(std::string_view text, int most, const std::string& argument, MatrixLayout& value);
Result<void> read(std::string_view text, int most, const std::string& argument, EpilogueTree& value);

// --- C++ ----------------------------------------------------------------------------------------------------------

template <NamedEnum E> std::string source_of(E value) {
  return fmt::format("ww::{}({})", names_of(value).type, static_cast<int>(value));
}
inline std::string source_of(bool value) { return value ? "true" : "false"; }
inline std::string source_of(int value) { return fmt::format("{}", value); }
inline std::string source_of(const Tile& tile) { return fmt::format("{{{}, {}, {}}}", tile.m, tile.n, tile.k); }
inline std::string source_of(const Cluster& c) { return fmt::format("{{{}, {}, {}}}", c.m, c.n, c.k); }
inline std::string source_of(MatrixLayout layout) {
  return fmt::format("{{ww::Major::{}, ww::Major::{}}}", name_of(layout.a), name_of(layout.b));
}
std::string source_of(const EpilogueTree& tree);

}  // namespace ww::config
