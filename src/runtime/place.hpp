// SPDX-License-Identifier: Apache-2.0
// A device and this build's kernels, as a tuning file names them.
#pragma once

#include "runtime/source_hash.hpp"
#include "tuning/table.hpp"
#include "warpwright/host/device.hpp"

namespace ww::runtime {

inline tuning::Place place_of(const DeviceInfo& info) { return {source_hash(), info.product, info.sms, info.driver}; }

}  // namespace ww::runtime
