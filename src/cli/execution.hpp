// SPDX-License-Identifier: Apache-2.0
// Formats statistics and verdicts for the verbs that run an operation once.
#pragma once

#include <cstdint>
#include <string>

#include "cli/report.hpp"
#include "measure/timing.hpp"
#include "operations/host_operand.hpp"
#include "reference/verify.hpp"

namespace ww::cli {

using namespace io;
using namespace measure;
using namespace operations;
using namespace ref;

/// Returns 1234567 FLOP/s as "1.235 MFLOP/s".
std::string scaled(double value, const char* unit);
std::string duration(double seconds);

void report_stats(const EmuStats& stats, Outcome& outcome);
/// Sets the outcome's error if an element is wrong. `elements` is the number that was compared.
void report_verdict(const ref::Comparison& comparison, std::int64_t elements, Outcome& outcome,
                    const std::string& tensor = "D");

}  // namespace ww::cli
