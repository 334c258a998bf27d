// SPDX-License-Identifier: Apache-2.0
// Layout expressions: what is printed reads back as the same value, its table and sizes are those of the printed
// layout, and on small shapes an operation agrees with its definition, index by index.
#include <algorithm>
#include <map>

#include "fuzz.hpp"
#include "layout/text.hpp"
#include "layout_tree.hpp"

namespace ww::fuzz {
namespace {

using i64 = std::int64_t;
constexpr i64 kSmall = 2048;  // values that are compared one by one

std::optional<Printed> value_of(std::string_view expression) {
  const Result<std::string> result = evaluate_layout(expression);
  if (!result) return std::nullopt;
  return Reader(std::string_view(*result).substr(0, result->find('\n'))).value();
}
std::optional<Tree> layout_of(std::string_view expression) {
  const std::optional<Printed> value = value_of(expression);
  if (!value || !value->plain() || value->layout.size() > kSmall) return std::nullopt;
  return value->layout;
}

std::string_view line(std::string_view& text) {
  const std::string_view first = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), first.size() + 1));
  return first;
}

/// The numbers of a row of a table, behind its "|".
std::vector<i64> numbers(std::string_view text) {
  std::vector<i64> all;
  for (std::size_t at = text.find('|') + 1; at < text.size();) {
    i64 value = 0;
    const std::size_t begin = at;
    for (; at < text.size() && std::isdigit(static_cast<unsigned char>(text[at])); ++at)
      value = value * 10 + (text[at] - '0');
    if (at > begin) all.push_back(value);
    else ++at;
  }
  return all;
}

void check_table(const Printed& value, std::string_view text, const std::string& shown) {
  const Tree& layout = value.layout;
  const bool matrix = layout.rank() == 2;
  const i64 rows = matrix ? layout.mode(0).size() : 1;
  line(text), line(text);  // the columns' numbers and a rule
  for (i64 row = 0; row < std::min<i64>(rows, 64); ++row) {
    const std::vector<i64> printed = numbers(line(text));
    require(!printed.empty(), "a table lacks a row: " + shown);
    for (std::size_t column = 0; column < printed.size(); ++column) {
      const i64 index = static_cast<i64>(column);
      const i64 plain = matrix ? layout.mode(0)(row) + layout.mode(1)(index) : layout(index);
      require(printed[column] == value.swizzled(value.offset + plain), "a table is wrong: " + shown);
    }
  }
}

/// The printed value by itself: it reads back, and its sizes and table are right.
void check_printed(const std::string& result) {
  std::string_view rest = result;
  const std::string first(line(rest));
  if (first == "_") return;
  const std::optional<Printed> value = Reader(first).value();
  require(value.has_value(), "a result that does not read back: " + first);
  if (!value->is_layout) return;
  require(line(rest) ==
              "size " + std::to_string(value->layout.size()) + ", cosize " + std::to_string(value->layout.last() + 1),
          "the sizes of " + first);
  if (value->layout.rank() == 1 || value->layout.rank() == 2) check_table(*value, rest, first);
  if (value->offset != 0) return;
  std::string again = first;
  if (const auto& s = value->swizzle; s[0] != 0)
    again = "swizzle(" + std::to_string(s[0]) + "," + std::to_string(s[1]) + "," + std::to_string(s[2]) + "," +
            first.substr(first.rfind(' ') + 1) + ")";
  const Result<std::string> repeated = evaluate_layout(again);
  require(repeated && *repeated == result, "a printed layout means another one: " + first);
}

/// name(argument, ...), whole; else nothing.
struct Call {
  std::string_view name;
  std::vector<std::string_view> arguments;
};
std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}
std::optional<Call> call_of(std::string_view text) {
  text = trimmed(text);
  Call call{text.substr(0, text.find('(')), {}};
  if (call.name.empty() || call.name.size() == text.size() || text.back() != ')') return std::nullopt;
  int depth = 0;
  std::size_t begin = call.name.size() + 1;
  for (std::size_t at = call.name.size(); at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0 && at + 1 < text.size()) return std::nullopt;  // a layout applied to a coordinate
    if ((depth == 1 && text[at] == ',') || depth == 0) {
      call.arguments.push_back(trimmed(text.substr(begin, at - begin)));
      begin = at + 1;
    }
  }
  return call;
}
/// A tuple in brackets, which as a tiler means one tiler for each mode.
bool is_tuple(std::string_view text) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    depth += (text[at] == '(') - (text[at] == ')');
    if (depth == 0) return text[0] == '(' && at + 1 == text.size();
  }
  return false;
}
bool is_integer(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

bool same_values(const Tree& a, const Tree& b) {
  if (a.size() != b.size()) return false;
  for (i64 i = 0; i < a.size(); ++i)
    if (a(i) != b(i)) return false;
  return true;
}
/// How often each offset occurs.
std::map<i64, i64> counts(const Tree& a) {
  std::map<i64, i64> all;
  for (i64 i = 0; i < a.size(); ++i) ++all[a(i)];
  return all;
}
bool injective(const Tree& a) { return static_cast<i64>(counts(a).size()) == a.size(); }

/// R = A o B: mode by mode of B, each leaf as a function.
bool composes(const Tree& r, const Tree& a, const Tree& b) {
  if (r.size() != b.size()) return false;
  if (b.leaf) {
    for (i64 i = 0; i < b.size(); ++i)
      if (r(i) != a(b(i))) return false;
    return true;
  }
  if (r.rank() != b.modes.size()) return false;
  for (std::size_t m = 0; m < b.modes.size(); ++m)
    if (!composes(r.mode(m), a, b.modes[m])) return false;
  return true;
}

/// The offsets of A and of R add up to different ones, and R goes upwards.
bool complements(const Tree& r, const Tree& a) {
  std::map<i64, i64> sums;
  const std::map<i64, i64> taken = counts(a);
  if (r.size() * static_cast<i64>(taken.size()) > 64 * kSmall) return true;
  for (i64 j = 0; j < r.size(); ++j) {
    if (j > 0 && r(j) <= r(j - 1)) return false;
    for (const auto& [offset, count] : taken)
      if (++sums[offset + r(j)] > 1) return false;
  }
  return true;
}

bool inverts(const Tree& first, const Tree& second, i64 count) {
  for (i64 i = 0; i < count; ++i)
    if (second(first(i)) != i) return false;
  return true;
}

/// One layout in, one layout out.
void check_unary(std::string_view name, const Tree& a, const Printed& result, const std::string& shown) {
  const Tree& r = result.layout;
  if (name == "size") require(result.integer == a.size(), "size: " + shown);
  else if (name == "cosize") require(result.integer == a.last() + 1, "cosize: " + shown);
  else if (name == "coalesce") require(same_values(r, a), "coalesce changes offsets: " + shown);
  else if (name == "complement") require(complements(r, a), "complement meets the layout: " + shown);
  else if (name == "right_inverse") require(inverts(r, a, r.size()), "right_inverse: " + shown);
  else if (name == "left_inverse") require(inverts(a, r, a.size()), "left_inverse: " + shown);
  else return;
  ++counters().compared;
}

/// Every way to arrange a division or a product has the values of the logical one. Blocked and raked products take a
/// layout where the others may take a tiler for each mode.
void check_arrangement(const Call& call, const Tree& r, const std::string& shown) {
  const std::string logical = call.name.ends_with("_divide") ? "logical_divide(" : "logical_product(";
  std::string second(call.arguments[1]);
  if (call.name == "blocked_product" || call.name == "raked_product") {
    const Result<std::string> printed = evaluate_layout(second);
    if (!printed) return;
    second = printed->substr(0, printed->find('\n'));
  }
  const std::optional<Tree> l = layout_of(logical + std::string(call.arguments[0]) + "," + second + ")");
  if (!l) return;
  require(l->size() == r.size() && counts(*l) == counts(r), "other values than " + logical + "...): " + shown);
  ++counters().compared;
}

/// A tiler that is a layout, or tiles that divide every mode they are for.
void check_divide(const Call& call, const Tree& a, const Tree& r, const std::string& shown) {
  const std::string_view tiler = call.arguments[1];
  if (!is_tuple(tiler)) {
    const std::optional<Tree> b = is_integer(tiler) ? layout_of(std::string(tiler) + ":1") : layout_of(tiler);
    if (!b) return;
    require(r.rank() == 2 && composes(r.mode(0), a, *b), "the tile of a division: " + shown);
    ++counters().compared;
    return;
  }
  const std::optional<Tree> tiles = layout_of(tiler);
  if (!tiles || tiles->leaf || tiles->rank() > a.rank()) return;
  for (std::size_t m = 0; m < tiles->rank(); ++m)
    if (!tiles->modes[m].leaf || a.mode(m).size() % tiles->modes[m].extent != 0) return;
  require(counts(a) == counts(r), "a division by tiles that fit loses offsets: " + shown);
  ++counters().compared;
}

void check_product(const Call& call, const Tree& a, const Tree& r, const std::string& shown) {
  if (is_tuple(call.arguments[1])) return;
  const std::string b_text(call.arguments[1]);
  const std::optional<Tree> b = layout_of(is_integer(b_text) ? b_text + ":1" : b_text);
  if (!b) return;
  require(r.rank() == 2 && same_values(r.mode(0), a), "the block of a product: " + shown);
  require(r.mode(1).size() == b->size(), "the copies of a product: " + shown);
  // Where strides do not divide one another the complement may have fewer places than there are copies.
  const std::string target = std::to_string(a.size() * (b->last() + 1));
  const std::optional<Tree> places = layout_of("complement(" + std::string(call.arguments[0]) + "," + target + ")");
  if (places && places->size() > b->last() && injective(a) && injective(*b))
    require(injective(r), "the copies of a product overlap: " + shown);
  ++counters().compared;
}

void check_call(const Call& call, const Printed& result, const std::string& shown) {
  const std::size_t count = call.arguments.size();
  const std::optional<Tree> a = count > 0 ? layout_of(call.arguments[0]) : std::nullopt;
  if (!a) return;
  if (count == 1 || call.name == "complement") return check_unary(call.name, *a, result, shown);
  if (count != 2 || !result.plain() || result.layout.size() > kSmall) return;
  const Tree& r = result.layout;
  if (call.name == "composition" || call.name == "compose") {
    const std::optional<Tree> b = layout_of(call.arguments[1]);
    if (!b) return;
    require(composes(r, *a, *b), "composition: " + shown);
    ++counters().compared;
  } else if (call.name == "logical_divide") {
    check_divide(call, *a, r, shown);
  } else if (call.name == "logical_product") {
    check_product(call, *a, r, shown);
  } else if (call.name.ends_with("_divide") || call.name.ends_with("_product")) {
    check_arrangement(call, r, shown);
  }
}

}  // namespace
}  // namespace ww::fuzz

void ww::fuzz::repair(std::string&) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace ww::fuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const ww::Result<std::string> result = ww::evaluate_layout(text);
  if (!result) return require_well_formed(result.error()), 0;
  ++counters().accepted;
  check_printed(*result);
  const std::optional<Printed> value = Reader(std::string_view(*result).substr(0, result->find('\n'))).value();
  const std::optional<Call> call = call_of(text);
  if (value && call) check_call(*call, *value, result->substr(0, result->find('\n')));
  return 0;
}
