// SPDX-License-Identifier: Apache-2.0
// What the handles of the C interface stand for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>

#include "capi/handles.hpp"
#include "capi/plan_cache.hpp"
#include "capi/status.hpp"
#include "warpwright/host/device.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/microscale.hpp"
#include "warpwright/host/pack_scales.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww::capi {

/// What a device and its plans share. The counters are those of ww_counters.
struct DeviceState {
  struct Counts {
    std::atomic<std::uint64_t> launches{0}, plans{0}, plan_cache_hits{0}, kernels{0}, compiled{0};
  };
  std::optional<Device> device;
  std::shared_ptr<Counts> counts = std::make_shared<Counts>();
  std::uint64_t forks = 0;  // forks_of_process() when it was opened
};

struct DeviceObject {
  std::shared_ptr<const DeviceState> state;
  PlanCache cache;
  std::mutex mutex;  // of memory
  std::map<void*, Buffer> memory;
};

struct PlanObject {
  std::variant<GemmPlan, GroupedPlan, KGroupedPlan, QuantizePlan, TransposePlan, PackScalesPlan, MicroscalePlan> plan;
  std::shared_ptr<const DeviceState> device;
  std::string config = {};
  std::size_t workspace_bytes = 0;
  bool launches = true;  // false if the problem has no elements
  bool cached = false;   // it belongs to the cache of its device, which finds it by `key`
  PlanKey key = {};
};

struct ReportObject {
  std::string text;
};

using DeviceUse = HandleTable<DeviceObject>::Use;
using PlanUse = HandleTable<PlanObject>::Use;

HandleTable<DeviceObject>& devices();
HandleTable<PlanObject>& plans();
HandleTable<ReportObject>& reports();

/// How many times this process is the child of a fork, counted from the first call.
std::uint64_t forks_of_process();

ww_status refuse_handle(const char* argument, const char* expected, const void* handle);
ww_status refuse_forked(const char* argument);

inline ww_status use_device(ww_device handle, DeviceUse& use) {
  use = devices().find(handle);
  if (!use) [[unlikely]]
    return refuse_handle("device", "an open device", handle);
  if (use->state->forks != forks_of_process()) [[unlikely]]
    return refuse_forked("device");
  return WW_OK;
}

inline ww_status use_plan(ww_plan handle, PlanUse& use) {
  use = plans().find(handle);
  if (!use) [[unlikely]]
    return refuse_handle("plan", "a plan that was not freed", handle);
  if (use->device->forks != forks_of_process()) [[unlikely]]
    return refuse_forked("plan");
  return WW_OK;
}

/// Stores a new report.
ww_status make_report(std::string text, ww_report* report);

}  // namespace ww::capi
