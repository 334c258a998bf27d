// SPDX-License-Identifier: Apache-2.0
// Parser and functions of the layout language. One pass: an expression is evaluated while it is read.
//   expression := primary { "(" arguments ")" }            a second pair of brackets applies a layout to a coordinate
//   primary    := tuple [ ":" tuple ] | "_" | name "(" arguments ")"
//   tuple      := integer | "(" [ expression { "," expression } ] ")"        integers may be _8, as CuTe prints them
#include "layout/text.hpp"

#include <array>
#include <cctype>

#include <fmt/format.h>

#include "layout/value.hpp"

namespace ww {
namespace {

using namespace layout;
using i64 = std::int64_t;
using Kind = LayoutValue::Kind;
using Arguments = std::vector<LayoutValue>;

constexpr std::size_t kLongestExpression = 4096;
constexpr int kDeepestExpression = 48;

LayoutValue integer_value(i64 value) {
  LayoutValue result;
  result.integer = value;
  return result;
}
Result<LayoutValue> layout_value(Result<DynamicLayout> layout) {
  if (!layout) return failure(std::move(layout).error());
  WW_CHECK(check(*layout));
  LayoutValue result;
  result.kind = Kind::layout;
  result.layout = std::move(*layout);
  return result;
}

// --- functions of one layout -----------------------------------------------------------------------
Result<LayoutValue> run_coalesce(const Arguments& a) {
  WW_TRY(auto layout, as_plain_layout(a[0]));
  return layout_value(coalesce(layout));
}
Result<LayoutValue> run_right_inverse(const Arguments& a) {
  WW_TRY(auto layout, as_plain_layout(a[0]));
  return layout_value(right_inverse(layout));
}
Result<LayoutValue> run_left_inverse(const Arguments& a) {
  WW_TRY(auto layout, as_plain_layout(a[0]));
  return layout_value(left_inverse(layout));
}
Result<LayoutValue> run_complement(const Arguments& a) {
  WW_TRY(auto layout, as_plain_layout(a[0]));
  i64 target = cosize(layout);
  if (a.size() == 2) {
    WW_TRY(target, as_integer(a[1]));
  }
  return layout_value(complement(layout, target));
}
Result<LayoutValue> run_size(const Arguments& a) {
  WW_TRY(auto layout, as_layout(a[0]));
  return integer_value(size(layout.layout));
}
Result<LayoutValue> run_cosize(const Arguments& a) {
  WW_TRY(auto layout, as_plain_layout(a[0]));
  return integer_value(cosize(layout));
}
Result<LayoutValue> run_slice(const Arguments& a) {
  WW_TRY(auto layout, as_layout(a[1]));
  return slice_of(a[0], layout);
}
Result<LayoutValue> run_swizzle(const Arguments& a) {
  WW_TRY(auto layout, as_plain_layout(a[3]));
  WW_TRY(auto value, layout_value(std::move(layout)));
  for (std::size_t i = 0; i < 3; ++i) {
    WW_TRY(const i64 bits, as_integer(a[i]));
    if (bits < 0 || bits > 20) return refuse_at(a[i].position, "a number of bits from 0 to 20", describe(a[i]));
    value.swizzle[i] = static_cast<int>(bits);
  }
  if (value.swizzle[2] < value.swizzle[0]) return refuse_at(a[2].position, "a shift S of at least B", describe(a[2]));
  return value;
}

// --- functions of two layouts: the left one may be swizzled or offset, and stays so ----------------------
template <class F> Result<LayoutValue> keeping_swizzle(const Arguments& a, F operation) {
  WW_TRY(auto left, as_layout(a[0]));
  WW_TRY(auto result, layout_value(operation(left.layout)));
  left.layout = std::move(result.layout);
  return left;
}
Result<LayoutValue> run_composition(const Arguments& a) {
  WW_TRY(auto right, as_plain_layout(a[1]));
  return keeping_swizzle(a, [&](const DynamicLayout& left) { return composition(left, right); });
}
enum class Form { logical, zipped, tiled, flat };
template <Form kForm> Result<LayoutValue> run_divide(const Arguments& a) {
  WW_TRY(auto tiler, as_tiler(a[1]));
  return keeping_swizzle(a, [&](const DynamicLayout& left) -> Result<DynamicLayout> {
    if (kForm == Form::logical) return logical_divide(left, tiler);
    WW_TRY(auto zipped, zipped_divide(left, tiler));
    return kForm == Form::zipped ? zipped : unpack(zipped, kForm == Form::flat);
  });
}
template <Form kForm> Result<LayoutValue> run_product(const Arguments& a) {
  WW_TRY(auto block, as_plain_layout(a[0]));
  WW_TRY(auto tiler, as_tiler(a[1]));
  if (kForm == Form::logical) return layout_value(logical_product(block, tiler));
  WW_TRY(auto zipped, zipped_product(block, tiler));
  return layout_value(kForm == Form::zipped ? zipped : unpack(zipped, kForm == Form::flat));
}
template <bool kBlockFirst> Result<LayoutValue> run_paired_product(const Arguments& a) {
  WW_TRY(auto block, as_plain_layout(a[0]));
  WW_TRY(auto tiler, as_plain_layout(a[1]));
  return layout_value(paired_product(block, tiler, kBlockFirst));
}

struct Function {
  std::string_view name;
  std::size_t least, most;
  Result<LayoutValue> (*run)(const Arguments&);
};
constexpr std::array kFunctions = {
    Function{"coalesce", 1, 1, run_coalesce},
    Function{"complement", 1, 2, run_complement},
    Function{"compose", 2, 2, run_composition},
    Function{"composition", 2, 2, run_composition},
    Function{"right_inverse", 1, 1, run_right_inverse},
    Function{"left_inverse", 1, 1, run_left_inverse},
    Function{"logical_divide", 2, 2, run_divide<Form::logical>},
    Function{"zipped_divide", 2, 2, run_divide<Form::zipped>},
    Function{"tiled_divide", 2, 2, run_divide<Form::tiled>},
    Function{"flat_divide", 2, 2, run_divide<Form::flat>},
    Function{"logical_product", 2, 2, run_product<Form::logical>},
    Function{"zipped_product", 2, 2, run_product<Form::zipped>},
    Function{"tiled_product", 2, 2, run_product<Form::tiled>},
    Function{"blocked_product", 2, 2, run_paired_product<true>},
    Function{"raked_product", 2, 2, run_paired_product<false>},
    Function{"slice", 2, 2, run_slice},
    Function{"size", 1, 1, run_size},
    Function{"cosize", 1, 1, run_cosize},
    Function{"swizzle", 4, 4, run_swizzle},
};

// --- parser ------------------------------------------------------------------------------------------
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<LayoutValue> whole() {
    WW_TRY(auto value, expression());
    skip_spaces();
    if (at_ < text_.size()) return unexpected("the end of the expression");
    return value;
  }

 private:
  Result<LayoutValue> expression() {
    if (++depth_ > kDeepestExpression)
      return refuse_at(at_, fmt::format("at most {} levels of brackets", kDeepestExpression), "more");
    WW_TRY(auto value, primary());
    while (next_is('(')) {
      const std::size_t opened = at_;
      WW_TRY(auto coord, tuple());
      if (coord.members.size() == 1) coord = LayoutValue(coord.members[0]);
      if (value.kind != Kind::layout && value.kind != Kind::tuple)
        return refuse_at(opened, "a layout before a coordinate", describe(value));
      WW_TRY(const auto layout, as_layout(value));
      WW_TRY(value, applied(layout, coord));
    }
    --depth_;
    return value;
  }

  static Result<LayoutValue> applied(const LayoutValue& layout, const LayoutValue& coord) {
    for (const auto& member : coord.members)
      if (member.kind == Kind::layout) return refuse_at(member.position, "a coordinate", describe(member));
    WW_TRY(auto rest, slice_of(coord, layout));
    if (rest.layout.rank() > 0) return rest;
    WW_TRY(const i64 offset, offset_of(layout, coord));
    return integer_value(offset);
  }

  Result<LayoutValue> primary() {
    skip_spaces();
    const std::size_t begin = at_;
    if (at_ < text_.size() && std::isalpha(static_cast<unsigned char>(text_[at_]))) return call();
    WW_TRY(auto value, next_is('(') ? tuple() : integer());
    if (!next_is(':')) return value;
    ++at_;
    skip_spaces();
    WW_TRY(auto strides, next_is('(') ? tuple() : integer());
    WW_TRY(auto layout, paired(value, strides));
    WW_TRY(auto result, layout_value(std::move(layout)).map_error([&](Error e) {
      return make_error(e.code, e.argument, e.expected, e.actual, fmt::format("at position {}", begin));
    }));
    result.position = begin;
    return result;
  }

  static Result<DynamicLayout> paired(const LayoutValue& shape, const LayoutValue& stride) {
    if (shape.kind == Kind::integer && stride.kind == Kind::integer)
      return DynamicLayout::of(shape.integer, stride.integer);
    if (shape.kind == Kind::tuple && stride.kind == Kind::tuple && shape.members.size() == stride.members.size()) {
      std::vector<DynamicLayout> modes;
      for (std::size_t i = 0; i < shape.members.size(); ++i) {
        WW_TRY(auto mode, paired(shape.members[i], stride.members[i]));
        modes.push_back(std::move(mode));
      }
      return DynamicLayout::of(std::move(modes));
    }
    return refuse_at(stride.position, fmt::format("strides that match the shape {}", describe(shape)),
                     describe(stride));
  }

  Result<LayoutValue> call() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    const auto name = text_.substr(begin, at_ - begin);
    for (const auto& function : kFunctions) {
      if (function.name != name) continue;
      WW_TRY(auto arguments, tuple());
      const auto count = arguments.members.size();
      if (count < function.least || count > function.most)
        return refuse_at(begin, fmt::format("{} with {} arguments", name, function.least), std::to_string(count));
      auto result = function.run(arguments.members);
      if (!result) return failure(with_position(std::move(result).error(), begin));
      result->position = begin;
      return result;
    }
    std::string names;
    for (const auto& function : kFunctions) names += (names.empty() ? "" : ", ") + std::string(function.name);
    return refuse_at(begin, "one of " + names, std::string(name.substr(0, 64)));
  }

  static Error with_position(Error error, std::size_t position) {
    if (error.message.find("at position") != std::string::npos) return error;
    return make_error(error.code, error.argument, error.expected, error.actual,
                      fmt::format("at position {}", position));
  }

  Result<LayoutValue> tuple() {
    skip_spaces();
    LayoutValue value;
    value.kind = Kind::tuple;
    value.position = at_;
    if (!next_is('(')) return unexpected("'('");
    ++at_;
    if (next_is(')')) {
      ++at_;
      return value;
    }
    while (true) {
      if (value.members.size() == static_cast<std::size_t>(kMostLeaves))
        return refuse_at(at_, fmt::format("at most {} members", kMostLeaves), "more");
      WW_TRY(auto member, expression());
      value.members.push_back(std::move(member));
      if (next_is(')')) {
        ++at_;
        return value;
      }
      if (!next_is(',')) return unexpected("',' or ')'");
      ++at_;
    }
  }

  Result<LayoutValue> integer() {
    skip_spaces();
    LayoutValue value;
    value.position = at_;
    const bool marked = at_ < text_.size() && text_[at_] == '_';
    if (marked) ++at_;
    std::size_t digits = 0;
    for (; at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])); ++at_, ++digits) {
      value.integer = value.integer * 10 + (text_[at_] - '0');
      if (value.integer > kLargestSize)
        return refuse_at(value.position, fmt::format("an integer of at most {}", kLargestSize), "more");
    }
    if (digits == 0 && !marked) return unexpected("a layout, a tuple, an integer, '_' or a function");
    if (digits == 0) value.kind = Kind::underscore;
    return value;
  }

  bool next_is(char c) {
    skip_spaces();
    return at_ < text_.size() && text_[at_] == c;
  }
  void skip_spaces() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  tl::unexpected<Error> unexpected(std::string expected) {
    skip_spaces();
    if (at_ >= text_.size()) return refuse_at(at_, std::move(expected), "the end of the expression");
    const auto c = static_cast<unsigned char>(text_[at_]);
    return refuse_at(at_, std::move(expected),
                     std::isprint(c) ? fmt::format("'{}'", text_[at_]) : fmt::format("byte 0x{:02x}", c));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::string> evaluate_layout(std::string_view expression) {
  if (expression.size() > kLongestExpression)
    return failure(ErrorCode::invalid, "expression", fmt::format("at most {} characters", kLongestExpression),
                   std::to_string(expression.size()));
  WW_TRY(auto value, Parser(expression).whole());
  if (value.kind == Kind::tuple) {
    WW_TRY(value, as_layout(value));
  }
  return render(value);
}

}  // namespace ww
