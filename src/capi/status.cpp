// SPDX-License-Identifier: Apache-2.0
// The record of each thread's last failure. When memory for its text is missing, fixed texts stand in.
#include "capi/status.hpp"

#include "host/messages.hpp"

namespace ww::capi {
namespace {

struct Record {
  ww_status status = WW_OK;
  const char* fixed = nullptr;  // the message, when there is no memory for another
  Error error;
};

Record& last() {
  static thread_local Record record;
  return record;
}

ww_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::wrong_result: return WW_WRONG_RESULT;
    case ErrorCode::invalid: return WW_INVALID;
    case ErrorCode::unsupported: return WW_UNSUPPORTED;
    case ErrorCode::could_not_finish: return WW_COULD_NOT_FINISH;
  }
  return WW_INTERNAL;
}

const char* message_of(const Record& record) {
  return record.fixed != nullptr ? record.fixed : record.error.message.c_str();
}
const char* part_of(const Record& record, std::string Error::*part) {
  return record.fixed != nullptr ? "" : (record.error.*part).c_str();
}

}  // namespace

ww_status record(ww_status status, const Error& error) noexcept {
  Record& record = last();
  record.status = status;
  try {
    record.error = error;
    record.fixed = nullptr;
  } catch (...) {
    record.fixed = "out of memory while reporting an error";
  }
  return status;
}

ww_status record(const Error& error) noexcept { return record(status_of(error.code), error); }

ww_status refuse(const char* argument, std::string expected, std::string actual) {
  return record(make_error(ErrorCode::invalid, argument, std::move(expected), std::move(actual)));
}

ww_status record_no_memory() noexcept {
  Record& record = last();
  record.status = WW_COULD_NOT_FINISH;
  record.fixed = "could not finish: out of host memory";
  return record.status;
}

ww_status record_exception(const char* what) noexcept {
  try {
    Error error;
    error.message = "internal: " + printable(what);
    return record(WW_INTERNAL, error);
  } catch (...) {
    return record_no_memory();
  }
}

}  // namespace ww::capi

using ww::Error;
using ww::capi::last;

extern "C" {

ww_status ww_error_status(void) { return last().status; }
const char* ww_error_message(void) { return message_of(last()); }
const char* ww_error_argument(void) { return part_of(last(), &Error::argument); }
const char* ww_error_expected(void) { return part_of(last(), &Error::expected); }
const char* ww_error_actual(void) { return part_of(last(), &Error::actual); }

const char* ww_status_name(ww_status status) {
  switch (status) {
    case WW_OK: return "ok";
    case WW_WRONG_RESULT: return "wrong result";
    case WW_INVALID: return "invalid";
    case WW_UNSUPPORTED: return "unsupported";
    case WW_COULD_NOT_FINISH: return "could not finish";
    case WW_UNDER_CAPTURE: return "under capture";
    case WW_FORKED: return "forked";
    case WW_INTERNAL: return "internal";
    default: return "unknown";
  }
}

}  // extern "C"
