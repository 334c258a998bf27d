// SPDX-License-Identifier: Apache-2.0
// Prints epilogue trees as text, and parses them by recursive descent into the same expressions that C++ builds.
//   sum := product (("+" | "-") product)*      product := factor ("*" factor)*      factor := "-" factor | primary
//   primary := number | name [":" type] | function "(" sum ("," argument)* ")" | "(" sum ")"
#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/host/epilogue.hpp"

namespace ww {
namespace {

using evt::Expression;

constexpr int kDeepest = 64;  // nested parentheses and signs
constexpr DType kTypes[] = {DType::bf16, DType::f16, DType::f32, DType::e4m3, DType::e5m2};

struct Function {
  std::string_view name;
  EpilogueOp op;
};
#define WW_EPILOGUE_NAME(name, formula) {#name, EpilogueOp::name},
constexpr Function kFunctions[] = {
    // clang-format off
    WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_NAME)
    WW_EPILOGUE_FUNCTIONS_OF_TWO(WW_EPILOGUE_NAME)
    // clang-format on
    {"convert", EpilogueOp::convert},
    {"clamp", EpilogueOp::clamp},
    {"fma", EpilogueOp::fma},
    {"store", EpilogueOp::store},
    {"row_amax", EpilogueOp::row_amax},
    {"row_sum", EpilogueOp::row_sum},
    {"column_amax", EpilogueOp::column_amax},
    {"column_sum", EpilogueOp::column_sum},
    {"swiglu", EpilogueOp::swiglu},
    {"swiglu_halves", EpilogueOp::swiglu_halves},
    {"quantise", EpilogueOp::quantise},
    {"quantise_block", EpilogueOp::quantise_block},
    {"quantise_block_pow2", EpilogueOp::quantise_block_pow2},
    {"quantise_mx", EpilogueOp::quantise_mx},
    {"quantise_nv", EpilogueOp::quantise_nv},
};
#undef WW_EPILOGUE_NAME

/// The name of a leaf. A name with a digit stands for one leaf per slot.
struct Name {
  std::string_view name;
  EpilogueOp op;
  int slot;  // -1: a digit follows
  DType type;
  bool typed;  // may be followed by ":type"
};
constexpr Name kNames[] = {
    {"acc", EpilogueOp::accumulator, 0, DType::f32, false},
    {"alpha", EpilogueOp::scalar, kScalarAlpha, DType::f32, false},
    {"beta", EpilogueOp::scalar, kScalarBeta, DType::f32, false},
    {"scalar", EpilogueOp::scalar, -1, DType::f32, false},
    {"c", EpilogueOp::c, 0, DType::bf16, true},
    {"bias", EpilogueOp::row_vector, 0, DType::f32, true},
    {"row", EpilogueOp::row_vector, -1, DType::f32, true},
    {"col", EpilogueOp::column_vector, -1, DType::f32, false},
    {"aux", EpilogueOp::auxiliary, -1, DType::bf16, true},
};
constexpr const char* kOperandNames = "acc, alpha, beta, scalar2, c, bias, row1, col0, aux0, a number, a function or (";

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<EpilogueTree> run() {
    WW_TRY(const Expression e, sum());
    if (peek() != '\0') return error("an operator or the end");
    const EpilogueTree tree = e;
    if (const char* expected = config::fault_of(tree))
      return failure(ErrorCode::invalid, "epilogue", expected, fmt::format("\"{}\"", text_));
    return tree;
  }

 private:
  Result<Expression> sum() {
    WW_TRY(Expression left, product());
    while (peek() == '+' || peek() == '-') {
      const bool minus = text_[at_++] == '-';
      WW_TRY(const Expression right, product());
      left = minus ? left - right : left + right;
    }
    return left;
  }

  Result<Expression> product() {
    WW_TRY(Expression left, factor());
    while (peek() == '*' || peek() == '/') {
      const bool divides = text_[at_++] == '/';
      WW_TRY(const Expression right, factor());
      left = divides ? left / right : left * right;
    }
    return left;
  }

  Result<Expression> factor() {
    if (++depth_ > kDeepest) return error(fmt::format("at most {} levels", kDeepest));
    Result<Expression> made = signed_primary();
    --depth_;
    return made;
  }
  Result<Expression> signed_primary() {
    if (peek() != '-') return primary();
    ++at_;
    if (is_digit(peek())) return number(-1.0f);
    WW_TRY(const Expression e, factor());
    return -e;
  }

  Result<Expression> primary() {
    const char next = peek();
    if (is_digit(next)) return number(1.0f);
    if (next == '(') {
      ++at_;
      WW_TRY(const Expression inside, sum());
      WW_CHECK(expect(')'));
      return inside;
    }
    const std::size_t start = at_;
    const std::string_view name = word();
    for (const Function& f : kFunctions)
      if (f.name == name) return call(f.op);
    for (const Name& n : kNames)
      if (const int slot = slot_of(name, n); slot >= 0) {
        WW_TRY(const DType type, type_suffix(n.type, n.typed));
        return Expression(EpilogueNode{n.op, static_cast<u8>(slot), type});
      }
    at_ = start;
    return error(kOperandNames);
  }

  /// Parses a call; the function's name has been consumed.
  Result<Expression> call(EpilogueOp op) {
    WW_CHECK(expect('('));
    WW_TRY(const Expression x, sum());
    EpilogueNode node{op, 0, DType::f32};
    if (op == EpilogueOp::convert) {
      WW_CHECK(expect(','));
      WW_TRY(node.type, type());
    } else if (config::is_output(op)) {
      WW_CHECK(expect(','));
      WW_CHECK(output(node));
    } else if (operands_of(op) == 2) {
      WW_CHECK(expect(','));
      WW_TRY(const Expression y, sum());
      WW_CHECK(expect(')'));
      return Expression(node, x, y);
    } else if (operands_of(op) == 3) {
      WW_CHECK(expect(','));
      WW_TRY(const Expression y, sum());
      WW_CHECK(expect(','));
      WW_TRY(const Expression z, sum());
      WW_CHECK(expect(')'));
      return Expression(node, x, y, z);
    }
    WW_CHECK(expect(')'));
    return Expression(node, x);
  }

  Result<void> output(EpilogueNode& node) {
    peek();
    const std::size_t start = at_;
    const int slot = slot_of(word(), {"out", node.op, -1, DType::f32, true});
    if (slot < 0) return at_ = start, error("an output, out0 to out3");
    node.slot = static_cast<u8>(slot);
    WW_TRY(node.type,
           type_suffix(node.op == EpilogueOp::store ? DType::bf16 : DType::f32, node.op == EpilogueOp::store));
    return {};
  }

  /// Returns the slot of `n` that the word names, or -1 if it names none.
  static int slot_of(std::string_view name, const Name& n) {
    if (n.slot >= 0) return name == n.name ? n.slot : -1;
    if (name.size() != n.name.size() + 1 || !name.starts_with(n.name)) return -1;
    const int slot = name.back() - '0';
    return slot >= 0 && slot < kEpilogueSlots ? slot : -1;
  }

  Result<DType> type_suffix(DType otherwise, bool typed) {
    if (peek() != ':') return otherwise;
    if (!typed) return error("no type: this one is always f32");
    ++at_;
    return type();
  }
  Result<DType> type() {
    peek();
    const std::size_t start = at_;
    const std::string_view name = word();
    for (DType type : kTypes)
      if (name == name_of(type)) return type;
    at_ = start;
    return error("a type: bf16, f16, f32, e4m3 or e5m2");
  }

  Result<Expression> number(float sign) {
    float value = 0;
    const auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (status != std::errc{} || !std::isfinite(value)) return error("a number that FP32 can hold");
    at_ = static_cast<std::size_t>(end - text_.data());
    return Expression(sign * value);
  }

  static bool is_digit(char c) { return (c >= '0' && c <= '9') || c == '.'; }
  std::string_view word() {
    const std::size_t start = at_;
    while (at_ < text_.size() &&
           ((text_[at_] >= 'a' && text_[at_] <= 'z') || text_[at_] == '_' || (text_[at_] >= '0' && text_[at_] <= '9')))
      ++at_;
    return text_.substr(start, at_ - start);
  }

  /// Returns the next non-blank character, or NUL at the end.
  char peek() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  Result<void> expect(char c) {
    if (peek() != c) return error(fmt::format("\"{}\"", c));
    ++at_;
    return {};
  }
  tl::unexpected<Error> error(const std::string& expected) {
    const bool end = peek() == '\0';
    return failure(ErrorCode::invalid, fmt::format("epilogue, position {}", at_ + 1), expected,
                   end ? "the end" : fmt::format("\"{}\"", text_.substr(at_, 16)));
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

std::string leaf_text(const EpilogueTree& tree, const EpilogueNode& node) {
  if (node.op == EpilogueOp::constant) return fmt::format("{}", std::bit_cast<float>(tree.constant[node.slot]));
  for (const Name& n : kNames) {
    if (n.op != node.op || (n.slot >= 0 && n.slot != node.slot)) continue;
    return fmt::format("{}{}{}", n.name, n.slot >= 0 ? "" : fmt::format("{}", node.slot),
                       node.type == n.type ? "" : fmt::format(":{}", name_of(node.type)));
  }
  return "?";
}

std::string text_of(const EpilogueTree& tree, int last) {
  const EpilogueNode node = tree.node(last);
  const auto operand = [&](int i) { return text_of(tree, config::operand_node(tree, last, i)); };
  const auto is = [&](int i, EpilogueOp op) { return tree.node(config::operand_node(tree, last, i)).op == op; };
  const auto wrapped = [&](int i, bool wrap) { return wrap ? "(" + operand(i) + ")" : operand(i); };
  if (operands_of(node.op) == 0) return leaf_text(tree, node);
  if (node.op == EpilogueOp::add) return operand(0) + "+" + wrapped(1, is(1, EpilogueOp::add));
  if (node.op == EpilogueOp::multiply || node.op == EpilogueOp::divide)
    return wrapped(0, is(0, EpilogueOp::add)) + (node.op == EpilogueOp::multiply ? "*" : "/") +
           wrapped(1, is(1, EpilogueOp::add) || is(1, EpilogueOp::multiply) || is(1, EpilogueOp::divide));
  std::string text;
  for (const Function& f : kFunctions)
    if (f.op == node.op) text = std::string(f.name) + "(";
  for (int i = 0; i < operands_of(node.op); ++i) text += (i ? "," : "") + operand(i);
  if (node.op == EpilogueOp::convert) text += fmt::format(",{}", name_of(node.type));
  if (config::is_output(node.op))
    text += fmt::format(
        ",out{}{}", node.slot,
        node.op == EpilogueOp::store && node.type != DType::bf16 ? fmt::format(":{}", name_of(node.type)) : "");
  return text + ")";
}

}  // namespace

std::string to_text(const EpilogueTree& tree) {
  if (tree.empty() || config::fault_of(tree)) return "";
  return text_of(tree, tree.size() - 1);
}

Result<EpilogueTree> parse_epilogue(std::string_view text) { return Parser(text).run(); }

}  // namespace ww
