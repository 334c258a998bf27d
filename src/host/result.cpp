// SPDX-License-Identifier: Apache-2.0
// Builds the sentence of an error and maps its code to an exit status.
#include "warpwright/host/result.hpp"

#include <fmt/format.h>

#include "host/messages.hpp"

namespace ww {

Error make_error(ErrorCode code, std::string argument, std::string expected, std::string actual, std::string detail) {
  // Compilers and devices report in lines; what a caller got wrong is said in one.
  const bool in_lines = code == ErrorCode::could_not_finish || code == ErrorCode::wrong_result;
  for (std::string* text : {&argument, &expected, &actual, &detail})
    *text = in_lines ? printable_lines(*text) : printable(*text);
  std::string message = name_of(code);
  if (!argument.empty()) message += fmt::format(": argument {}", argument);
  if (!expected.empty()) message += fmt::format(": expected {}", expected);
  if (!actual.empty()) message += fmt::format("{} got {}", expected.empty() ? ":" : ",", actual);
  if (!detail.empty()) message += fmt::format("; {}", detail);
  return {code, std::move(argument), std::move(expected), std::move(actual), std::move(message)};
}

const char* name_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::wrong_result: return "wrong result";
    case ErrorCode::invalid: return "invalid";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::could_not_finish: return "could not finish";
  }
  return "unknown";
}

int exit_status(ErrorCode code) { return static_cast<int>(code) + 1; }

}  // namespace ww
