// SPDX-License-Identifier: Apache-2.0
// Finds the operands that a text names, and writes their types into it. The library parses the result; a text that it
// would refuse passes here.
#include "epilogue_text.hpp"

#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "errors.hpp"

namespace wwpy {
namespace {

struct Name {
  std::string_view name;
  Argument argument;
  Role role;
};
constexpr Name kNames[] = {
    {"alpha", Argument::alpha, Role::scalar},
    {"beta", Argument::beta, Role::scalar},
    {"scalar0", Argument::alpha, Role::scalar},
    {"scalar1", Argument::beta, Role::scalar},
    {"scalar2", Argument::scalar2, Role::scalar},
    {"scalar3", Argument::scalar3, Role::scalar},
    {"c", Argument::c, Role::matrix},
    {"bias", Argument::bias, Role::row_vector},
    {"row0", Argument::bias, Role::row_vector},
    {"row1", Argument::row1, Role::row_vector},
    {"row2", Argument::row2, Role::row_vector},
    {"row3", Argument::row3, Role::row_vector},
    {"col0", Argument::col0, Role::column_vector},
    {"col1", Argument::col1, Role::column_vector},
    {"col2", Argument::col2, Role::column_vector},
    {"col3", Argument::col3, Role::column_vector},
    {"aux0", Argument::aux0, Role::matrix},
    {"aux1", Argument::aux1, Role::matrix},
    {"aux2", Argument::aux2, Role::matrix},
    {"aux3", Argument::aux3, Role::matrix},
    {"out0", Argument::out0, Role::store},
    {"out1", Argument::out1, Role::store},
    {"out2", Argument::out2, Role::store},
    {"out3", Argument::out3, Role::store},
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// Whether a text may name the type of operand number `i`; scalars and column vectors are FP32.
bool is_typed(int i) {
  const auto argument = static_cast<Argument>(i + kFirstOperand);
  return argument >= Argument::c && (argument < Argument::col0 || argument > Argument::col3);
}

Role role_of_output(std::string_view function) {
  if (function == "store") return Role::store;
  if (function == "row_amax" || function == "row_sum") return Role::row_reduction;
  if (function == "column_amax" || function == "column_sum") return Role::column_reduction;
  return Role::none;
}

/// Reads a text from left to right with the functions that enclose the current place.
class Reader {
 public:
  Reader(std::string_view text, const Type (&types)[kOperandCount], EpilogueText& to)
      : text_(text), types_(types), to_(to) {}

  bool run(std::string& typed) {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') number();
      else if (is_word(c)) {
        if (!word()) return false;
      } else {
        if (c == '(') functions_.push_back(last_);
        if (c == ')' && !functions_.empty()) functions_.pop_back();
        if (c != ' ') last_ = {}, typed_ += c;
        ++at_;
      }
    }
    typed = std::move(typed_);
    return true;
  }

 private:
  void number() {  // "1e-3": its sign belongs to it, its letters name nothing
    while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == '.' ||
                                  ((text_[at_] == '-' || text_[at_] == '+') && (text_[at_ - 1] | 32) == 'e')))
      typed_ += text_[at_++];
  }

  bool word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    last_ = text_.substr(begin, at_ - begin);
    typed_ += last_;
    if (last_ == "swiglu" || last_ == "swiglu_halves") to_.halved = true;
    if (last_ == "quantise") to_.quantises = true;
    if (last_ == "quantise_mx") to_.chunks = WW_SCALE_MX;
    if (last_ == "quantise_nv") to_.chunks = WW_SCALE_NV;
    if (last_ == "quantise" || last_ == "quantise_nv")
      to_.role[static_cast<int>(Argument::scalar2) - kFirstOperand] = Role::scalar;  // its factor
    if (last_ == "quantise_block" || last_ == "quantise_block_pow2") to_.quantises_blocks = true;
    for (const Name& name : kNames)
      if (name.name == last_) return operand(name);
    return true;
  }

  bool operand(const Name& name) {
    const int index = static_cast<int>(name.argument) - kFirstOperand;
    const bool output = name.argument >= Argument::out0;
    Role role = output ? role_of_output(functions_.empty() ? std::string_view{} : functions_.back()) : name.role;
    if (role == Role::none) return true;  // the library says what is wrong
    to_.role[index] = role;
    const bool typed = role == Role::matrix || role == Role::row_vector || role == Role::store;
    Type type = Type::f32;
    if (typed && at_ < text_.size() && text_[at_] == ':') {
      std::size_t end = at_ + 1;
      while (end < text_.size() && is_word(text_[end])) ++end;
      type = type_named(std::string(text_.substr(at_ + 1, end - at_ - 1)));
      typed_ += text_.substr(at_, end - at_);
      at_ = end;
    } else if (typed && types_[index] != Type::other) {
      type = types_[index];
      typed_ += std::string(":") + name_of(type);
    } else if (typed) {
      type = role == Role::row_vector ? Type::f32 : Type::bf16;  // as the library reads it
    }
    last_ = {};
    if (to_.type[index] != Type::other && to_.type[index] != type)
      return invalid("epilogue", std::string("one type of ") + std::string(name.name),
                     std::string(name_of(to_.type[index])) + " and " + name_of(type));
    to_.type[index] = type;
    return true;
  }

  std::string_view text_, last_;
  const Type (&types_)[kOperandCount];
  EpilogueText& to_;
  std::size_t at_ = 0;
  std::string typed_;
  std::vector<std::string_view> functions_;
};

struct Known {
  std::uint64_t types;
  EpilogueText text;
};
std::vector<Known> known;  // few: a program has a handful of epilogues
constexpr std::size_t kMostKnown = 256;

void forget_known() {
  for (const Known& entry : known) Py_DECREF(entry.text.text), Py_DECREF(entry.text.given);
  known.clear();
}

}  // namespace

const EpilogueText* analyse_epilogue(PyObject* given, const Type (&types)[kOperandCount]) {
  std::uint64_t key = 0;  // 4 bits for each of the 13 operands whose type a text may name
  for (int i = 0; i < kOperandCount; ++i)
    if (is_typed(i)) key = key << 4 | static_cast<std::uint64_t>(types[i]);
  for (const Known& entry : known)
    if (entry.text.given == given && entry.types == key) return &entry.text;
  Known made{key, {}};
  for (Type& type : made.text.type) type = Type::other;
  Py_ssize_t length = 0;
  const char* const bytes = PyUnicode_AsUTF8AndSize(given, &length);
  if (bytes == nullptr) return nullptr;
  std::string typed;
  if (!Reader(std::string_view(bytes, static_cast<std::size_t>(length)), types, made.text).run(typed)) return nullptr;
  made.text.text = PyUnicode_InternFromString(typed.c_str());
  made.text.bytes = made.text.text != nullptr ? PyUnicode_AsUTF8AndSize(made.text.text, nullptr) : nullptr;
  if (made.text.bytes == nullptr) return nullptr;
  Py_INCREF(given);
  made.text.given = given;
  // Plans keep the texts that they use, so that forgetting them here costs one analysis.
  if (known.size() >= kMostKnown) forget_known();
  known.reserve(kMostKnown);  // entries do not move, because a call that is not finished points to its own
  known.push_back(made);
  return &known.back().text;
}

PyObject* implied_epilogue(bool alpha, bool beta, bool c, bool bias) {
  static PyObject* made[16] = {};
  PyObject*& text = made[alpha | beta << 1 | c << 2 | bias << 3];
  if (text == nullptr) {
    std::string words = "acc";
    if (alpha) words += " * alpha";
    if (c) words += beta ? " + c * beta" : " + c";
    if (bias) words += " + bias";
    text = PyUnicode_InternFromString(words.c_str());
  }
  return text;
}

}  // namespace wwpy
