// SPDX-License-Identifier: Apache-2.0
// The boundary of the C interface: every function is the body of guarded(), which turns what the library throws or
// returns into a number and this thread's record of the last failure. A call that succeeds touches no record.
#pragma once

#include <new>
#include <string>

#include "warpwright/host/result.hpp"
#include "warpwright/warpwright.h"

namespace ww::capi {

/// Records `error` as this thread's last failure and returns its status.
ww_status record(const Error& error) noexcept;
/// The same for statuses that no ErrorCode has.
ww_status record(ww_status status, const Error& error) noexcept;
ww_status refuse(const char* argument, std::string expected, std::string actual);
ww_status record_no_memory() noexcept;
ww_status record_exception(const char* what) noexcept;

/// Runs `body`, which returns a ww_status. Nothing that it throws leaves.
template <class Body> ww_status guarded(const Body& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return record_no_memory();
  } catch (const std::exception& defect) {
    return record_exception(defect.what());
  } catch (...) {
    return record_exception("an exception of unknown type");
  }
}

}  // namespace ww::capi

// Returns the status of a failed Result from the enclosing function, or binds its value to `variable`.
#define WW_C_TRY_IMPL(temporary, variable, expression) \
  auto temporary = (expression);                       \
  if (!temporary) [[unlikely]]                         \
    return ::ww::capi::record(temporary.error());      \
  variable = std::move(*temporary)
#define WW_C_TRY(variable, expression) WW_C_TRY_IMPL(WW_CONCAT(ww_try_, __COUNTER__), variable, expression)
#define WW_C_CHECK(expression)                                    \
  do {                                                            \
    if (auto ww_checked = (expression); !ww_checked) [[unlikely]] \
      return ::ww::capi::record(ww_checked.error());              \
  } while (false)
// Returns a status other than WW_OK from the enclosing function.
#define WW_C_PASS(expression)                                                      \
  do {                                                                             \
    if (const ww_status ww_passed = (expression); ww_passed != WW_OK) [[unlikely]] \
      return ww_passed;                                                            \
  } while (false)
