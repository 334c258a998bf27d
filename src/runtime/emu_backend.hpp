// SPDX-License-Identifier: Apache-2.0
// The emulated device as a Backend. Global memory is this process's memory, and a kernel is a shared object bound to
// the emulator's table. A launch runs at once on the calling thread (and the emulator's own) and leaves its statistics.
// The machine itself is src/emu/; this file only loads, checks and forwards.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/backend.hpp"

namespace ww::runtime {

/// Returns the names of the emulated devices: "emu:sm90". The first is the one that "auto" opens without a GPU.
std::vector<std::string> emulated_devices();
/// Opens one of emulated_devices(). It never fails on a machine that can run this program.
Result<std::shared_ptr<Backend>> open_emu_backend(std::string_view name, const DeviceOptions& options);

/// Has launches of this process end that would not: emu::watch_for_endless_loops(), emu::give_up_at().
void watch_launches();
void give_up_launches_at(double monotonic);

}  // namespace ww::runtime
