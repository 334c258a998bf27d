// SPDX-License-Identifier: Apache-2.0
// Layouts read back from what the layout language prints, and evaluated index by index: the brute force that its
// operations are compared with. It shares no code with the parser that it judges.
#pragma once

#include <cctype>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ww::fuzz {

struct Tree {
  bool leaf = true;
  std::int64_t extent = 1, stride = 0;
  std::vector<Tree> modes;  // when not a leaf

  std::int64_t size() const {
    std::int64_t product = extent;
    for (const Tree& mode : modes) product *= mode.size();
    return product;
  }
  /// The largest offset.
  std::int64_t last() const {
    std::int64_t sum = leaf ? (extent - 1) * stride : 0;
    for (const Tree& mode : modes) sum += mode.last();
    return sum;
  }
  std::size_t rank() const { return leaf ? 1 : modes.size(); }
  const Tree& mode(std::size_t i) const { return leaf ? *this : modes[i]; }
  /// Offset of index `i`, leftmost mode fastest; the last mode goes on beyond its extent.
  std::int64_t operator()(std::int64_t i) const {
    if (leaf) return i * stride;
    std::int64_t sum = 0;
    for (std::size_t m = 0; m < modes.size(); ++m) {
      const std::int64_t size = modes[m].size();
      sum += modes[m](m + 1 == modes.size() ? i : i % size);
      i /= size;
    }
    return sum;
  }
};

/// A value of the language: an integer, or a layout behind an offset and a swizzle.
struct Printed {
  bool is_layout = false;
  std::int64_t integer = 0, offset = 0;
  std::int64_t swizzle[3] = {0, 0, 0};
  Tree layout;

  std::int64_t swizzled(std::int64_t at) const {
    return at ^ ((at & (((std::int64_t{1} << swizzle[0]) - 1) << (swizzle[1] + swizzle[2]))) >> swizzle[2]);
  }
  bool plain() const { return is_layout && swizzle[0] == 0 && offset == 0; }
};

/// Reads "7", "(4,2):(1,4)" or "Sw<3,4,3> o 8 o (8,128):(128,1)".
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Printed> value() {
    Printed value;
    if (take("Sw<")) {
      for (std::size_t i = 0; i < 3; ++i)
        if (!number(value.swizzle[i]) || !take(i < 2 ? "," : "> o ")) return std::nullopt;
    }
    const std::string_view before = text_;
    if (number(value.integer)) {
      if (text_.empty()) return value;
      if (take(" o ")) value.offset = value.integer;
      else text_ = before;
    }
    value.is_layout = true;
    if (!shape(value.layout) || !take(":") || !strides(value.layout) || !text_.empty()) return std::nullopt;
    return value;
  }

 private:
  bool take(std::string_view word) {
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool number(std::int64_t& value) {
    std::size_t digits = 0;
    for (value = 0; digits < text_.size() && std::isdigit(static_cast<unsigned char>(text_[digits])); ++digits)
      value = value * 10 + (text_[digits] - '0');
    text_.remove_prefix(digits);
    return digits > 0 && digits < 18;
  }
  bool shape(Tree& tree) {
    if (!take("(")) return number(tree.extent);
    tree.leaf = false;
    while (!take(")")) {
      if (!tree.modes.empty() && !take(",")) return false;
      if (!shape(tree.modes.emplace_back())) return false;
    }
    return true;
  }
  bool strides(Tree& tree) {
    if (tree.leaf) return number(tree.stride);
    if (!take("(")) return false;
    for (std::size_t i = 0; i < tree.modes.size(); ++i)
      if ((i > 0 && !take(",")) || !strides(tree.modes[i])) return false;
    return take(")");
  }

  std::string_view text_;
};

}  // namespace ww::fuzz
