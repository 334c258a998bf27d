// SPDX-License-Identifier: Apache-2.0
// Names of strict rules -> the set of them.
#include "warpwright/host/strict_rules.hpp"

#include "host/messages.hpp"

namespace ww {
namespace {

Result<StrictRules> bit_of(const std::string& name, const char* argument) {
  std::string choices;
  for (std::size_t i = 0; i < std::size(kStrictRules); ++i) {
    if (name == kStrictRules[i].name) return StrictRules{1} << i;
    choices += (i == 0 ? "" : i + 1 == std::size(kStrictRules) ? " or " : ", ") + std::string(kStrictRules[i].name);
  }
  return failure(ErrorCode::invalid, argument, std::move(choices), quoted(name));
}

}  // namespace

Result<StrictRules> strict_rules(const std::vector<std::string>& relaxed, const std::vector<std::string>& strict) {
  StrictRules rules = default_strict_rules();
  for (const std::string& name : relaxed) {
    WW_TRY(const StrictRules bit, bit_of(name, "relaxed"));
    rules &= ~bit;
  }
  for (const std::string& name : strict) {
    WW_TRY(const StrictRules bit, bit_of(name, "strict"));
    rules |= bit;
  }
  return rules;
}

}  // namespace ww
