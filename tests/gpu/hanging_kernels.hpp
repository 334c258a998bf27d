// SPDX-License-Identifier: Apache-2.0
// Kernels that never end, with launches for either executor, and the expected reports of the watchdog and the emulated
// device.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace ww::gpu_test {

enum class Hang { mbarrier, global, gemm_without_release };
const char* name_of(Hang hang);

/// A launch with all that it points to.
class Hanging {
 public:
  virtual ~Hanging() = default;
  const runtime::Launch& launch() const { return launch_; }
  /// What follows "watchdog: ".
  virtual std::string watchdog_words(const std::string& milliseconds) const = 0;
  /// Each is part of the finding's text.
  virtual std::vector<std::string> emulator_words() const = 0;

 protected:
  runtime::Launch launch_;
};

Result<std::unique_ptr<Hanging>> make_hanging(Hang hang, const Device& device);

}  // namespace ww::gpu_test
