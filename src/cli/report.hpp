// SPDX-License-Identifier: Apache-2.0
// What a verb hands back: lines for a reader and the same facts as one JSON object. Verbs never print; main does.
//   text mode:  the lines on stdout, an error on stderr        --json:  exactly one object on stdout, errors included
#pragma once

#include <cstdio>

#include <string>

#include "io/json.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/result.hpp"

namespace ww::cli {

using io::Fields, io::List, io::Outcome, io::Value, io::error_fields, io::to_json;

/// Prints `result` on `out` (and an error's sentence on stderr unless `json`) and returns the exit status.
int show(const Result<Outcome>& result, bool json, std::FILE* out = stdout);

/// Returns a sentence that asks for results from a GPU of an architecture on which this library has not run; empty for
/// other devices.
std::string request_for_results(const DeviceInfo& info);

}  // namespace ww::cli
