// SPDX-License-Identifier: Apache-2.0
// The shipped GEMM kernel in several shapes, compiled into the program, with a problem and its exact answer for each.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "emu/emulator.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::check_test {

class GemmCase {
 public:
  virtual ~GemmCase() = default;
  std::string name;
  virtual Result<EmuStats> run(const EmuOptions& options) = 0;
  virtual CheckReport check(const EmuOptions& options) = 0;
  /// Empty when D is the reference's, bit for bit.
  virtual std::string difference() const = 0;
};

std::vector<std::unique_ptr<GemmCase>> gemm_cases();

}  // namespace ww::check_test
