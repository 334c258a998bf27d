// SPDX-License-Identifier: Apache-2.0
// The launch of a kernel without a config, a cast, a transpose or a packing of scales, whose CTAs share out tasks.
#pragma once

#include <cstdint>

#include "runtime/backend.hpp"

namespace ww::adapters {

/// Returns a launch of `kernel` for `tasks` tasks, with parameters of type Arguments. On the whole device each SM gets
/// `ctas` CTAs; a limit on SMs leaves one for each, because more would spread over more SMs than requested.
template <class Arguments>
runtime::Launch task_launch(const Device& device, const runtime::Kernel& kernel, const QuantizeOptions& options,
                            std::uint32_t threads, std::int64_t tasks, int ctas) {
  const int sms = options.sms > 0 ? min(options.sms, device.info().sms) : device.info().sms;
  const std::int64_t resident = std::int64_t{sms} * (sms < device.info().sms ? 1 : ctas);
  runtime::Launch launch;
  launch.kernel = &kernel;
  launch.threads = threads;
  launch.params_bytes = sizeof(Arguments);
  launch.pdl = options.pdl == Pdl::on;
  launch.grid = static_cast<std::uint32_t>(max<std::int64_t>(1, min(tasks, resident)));
  return launch;
}

}  // namespace ww::adapters
