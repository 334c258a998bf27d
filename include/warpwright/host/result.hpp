// SPDX-License-Identifier: Apache-2.0
// The return type of every host function: a value, or an error that names the argument, what was expected and what it
// got. Library code never prints, aborts or exits.
#pragma once

#include <string>
#include <tl/expected.hpp>

namespace ww {

/// The kind of an error.
enum class ErrorCode {
  wrong_result,      // a verification failed                                      (exit status 1)
  invalid,           // the call contradicts itself or its data                    (exit status 2)
  unsupported,       // a legal problem that no kernel here solves                 (exit status 3)
  could_not_finish,  // I/O, memory, compiler, driver, a kernel that stopped       (exit status 4)
};

/// What a function reports instead of a value.
struct Error {
  ErrorCode code = ErrorCode::invalid;
  std::string argument;  // "scale_b", "--a"; empty when no single argument is at fault
  std::string expected;  // what the argument may be
  std::string actual;    // what it was
  std::string message;   // the whole sentence, ready to show
};

/// A value of type `T`, or an Error. It converts to bool, `*result` is the value and `result.error()` the error.
template <class T> using Result = tl::expected<T, Error>;

/// Makes an error whose message is "invalid: argument k: expected a multiple of 16, got 17", of the parts `code`,
/// `argument`, `expected` and `actual`. `detail` is appended after "; " when present. Characters
/// that a terminal would act upon, which may come from files and command lines, are spelled out in hexadecimal.
Error make_error(ErrorCode code, std::string argument, std::string expected, std::string actual,
                 std::string detail = {});

/// Makes a failed Result of `error`, or of the parts that make_error() takes: `code`, `argument`, `expected`, `actual`
/// and `detail`.
inline tl::unexpected<Error> failure(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> failure(ErrorCode code, std::string argument, std::string expected, std::string actual,
                                     std::string detail = {}) {
  return failure(make_error(code, std::move(argument), std::move(expected), std::move(actual), std::move(detail)));
}

/// Returns "wrong result", "invalid", "unsupported" or "could not finish".
const char* name_of(ErrorCode code);
/// Returns the exit status with which the program reports `code`, 1 to 4.
int exit_status(ErrorCode code);

}  // namespace ww

#define WW_CONCAT_INNER(a, b) a##b
#define WW_CONCAT(a, b) WW_CONCAT_INNER(a, b)
#define WW_TRY_IMPL(temporary, variable, expression)                  \
  auto temporary = (expression);                                      \
  if (!temporary) return ::ww::failure(std::move(temporary).error()); \
  variable = std::move(*temporary)
/// Returns the error of `expression` from the enclosing function, or binds its value to `variable`.
#define WW_TRY(variable, expression) WW_TRY_IMPL(WW_CONCAT(ww_try_, __COUNTER__), variable, expression)
/// Returns the error of `expression`, a Result<void>, from the enclosing function.
#define WW_CHECK(expression)                                                                              \
  do {                                                                                                    \
    if (auto ww_checked = (expression); !ww_checked) return ::ww::failure(std::move(ww_checked).error()); \
  } while (false)
