// SPDX-License-Identifier: Apache-2.0
// Devices of the C interface: opening, facts, memory, streams.
#include "capi/enumerations.hpp"
#include "capi/objects.hpp"
#include "capi/structs.hpp"
#include "host/messages.hpp"

namespace ww::capi {
namespace {

Result<DeviceOptions> to_device_options(const ww_device_options& from) {
  DeviceOptions to;
  to.cache_dir = text_or_empty(from.cache_dir);
  to.tuning = text_or_empty(from.tuning);
  to.emu.seed = from.emu_seed;
  WW_TRY(const std::optional<EmuSchedule> schedule, to_schedule("emu_schedule", from.emu_schedule));
  to.emu.schedule = schedule.value_or(EmuSchedule::random);
  WW_TRY(to.emu.math, to_math("emu_math", from.emu_math));
  const auto limited = [](const char* field, std::int32_t value) -> Result<void> {
    constexpr std::int32_t kMost = 1024;
    if (value >= 0 && value <= kMost) return {};
    return failure(ErrorCode::invalid, field, fmt::format("0 to {}", kMost), fmt::format("{}", value));
  };
  WW_CHECK(limited("emu_pct_depth", from.emu_pct_depth));
  WW_CHECK(limited("emu_threads", from.emu_threads));
  WW_CHECK(limited("emu_sms", from.emu_sms));
  if (from.emu_pct_depth > 0) to.emu.pct_depth = from.emu_pct_depth;
  to.emu.threads = from.emu_threads;
  to.emu.sms = from.emu_sms;
  if (from.emu_slow_cta < 0)
    return failure(ErrorCode::invalid, "emu_slow_cta", "at least 0", fmt::format("{}", from.emu_slow_cta));
  to.emu.slow_cta = from.emu_slow_cta - 1;
  return to;
}

ww_status open(const char* name, const ww_device_options* options, ww_device* device) {
  WW_C_PASS(check_output("device", device));
  *device = nullptr;
  if (name == nullptr) return refuse("name", accepted_devices(), "null");
  Given<ww_device_options> given;
  WW_C_PASS(given.read("options", options, true));
  WW_C_TRY(DeviceOptions how, to_device_options(*given));
  HandleTable<DeviceObject>& table = devices();  // before the fork count is read, because it starts counting
  auto state = std::make_shared<DeviceState>();
  state->forks = forks_of_process();
  how.on_kernel = [counts = state->counts, call = given->on_compile, context = given->context](const KernelEvent& e) {
    counts->kernels.fetch_add(1, std::memory_order_relaxed);
    if (e.compile_seconds <= 0) return;
    counts->compiled.fetch_add(1, std::memory_order_relaxed);
    if (call != nullptr) call(context, e.kernel.c_str(), e.compile_seconds);
  };
  WW_C_TRY(state->device, Device::open(name, how));
  auto object = std::make_unique<DeviceObject>();
  object->state = std::move(state);
  *device = static_cast<ww_device>(table.add(std::move(object)));
  return WW_OK;
}

/// Of a parent's device, a child forgets the handle and destroys nothing: the driver works only in the parent.
void leak(DeviceObject& object) {
  new std::shared_ptr<const DeviceState>(object.state);
  new std::map<void*, Buffer>(std::move(object.memory));
}

ww_status close(ww_device device) {
  if (device == nullptr) return WW_OK;
  DeviceUse use = devices().find(device);
  if (!use || !devices().remove(device, [](const DeviceObject&) { return true; }))
    return refuse_handle("device", "an open device", device);
  const bool ours = use->state->forks == forks_of_process();
  if (!ours) leak(*use);
  for (void* const plan : use->cache.clear()) {
    const PlanUse kept = plans().find(plan);
    if (kept && !ours) new auto(kept->plan);
    plans().remove(plan, [](const PlanObject& object) { return object.cached; });
  }
  return WW_OK;
}

ww_status get_info(ww_device device, ww_device_info* info) {
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  const DeviceInfo& from = use->state->device->info();
  ww_device_info to{};
  to.name = from.name.c_str(), to.description = from.description.c_str();
  to.emulated = from.emulated;
  to.arch = machine_of(from.arch).capability;
  to.sms = from.sms, to.shared_bytes_per_cta = from.shared_bytes_per_cta;
  to.memory_bytes = from.memory_bytes;
  return write_struct("info", to, info);
}

ww_status get_counters(ww_device device, ww_counters* counters) {
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  const DeviceState::Counts& from = *use->state->counts;
  ww_counters to{};
  to.launches = from.launches, to.plans = from.plans, to.plan_cache_hits = from.plan_cache_hits;
  to.kernels = from.kernels, to.compiled = from.compiled;
  return write_struct("counters", to, counters);
}

ww_status allocate(ww_device device, std::size_t bytes, void** memory) {
  WW_C_PASS(check_output("memory", memory));
  *memory = nullptr;
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  WW_C_TRY(Buffer buffer, use->state->device->allocate(bytes));
  void* const address = buffer.data();
  const std::lock_guard lock(use->mutex);
  use->memory.emplace(address, std::move(buffer));
  *memory = address;
  return WW_OK;
}

ww_status free_memory(ww_device device, void* memory) {
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  if (memory == nullptr) return WW_OK;
  const std::lock_guard lock(use->mutex);
  if (use->memory.erase(memory) == 1) return WW_OK;
  return refuse("memory", "memory of ww_device_allocate() of this device, not freed yet",
                fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(memory)));
}

/// Copies `bytes` one way or the other.
template <class Copy>
ww_status copy(ww_device device, const void* to, const void* from, std::size_t bytes, const Copy& how) {
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  if (bytes == 0) return WW_OK;
  if (to == nullptr || from == nullptr) return refuse(to == nullptr ? "destination" : "source", "an address", "null");
  WW_C_CHECK(how(*use->state->device));
  return WW_OK;
}

}  // namespace
}  // namespace ww::capi

using namespace ww::capi;

extern "C" {

ww_status ww_device_open(const char* name, const ww_device_options* options, ww_device* device) {
  return guarded([&] { return open(name, options, device); });
}
ww_status ww_device_close(ww_device device) {
  return guarded([&] { return close(device); });
}
ww_status ww_device_get_info(ww_device device, ww_device_info* info) {
  return guarded([&] { return get_info(device, info); });
}
ww_status ww_device_get_counters(ww_device device, ww_counters* counters) {
  return guarded([&] { return get_counters(device, counters); });
}
ww_status ww_device_allocate(ww_device device, size_t bytes, void** memory) {
  return guarded([&] { return allocate(device, bytes, memory); });
}
ww_status ww_device_free(ww_device device, void* memory) {
  return guarded([&] { return free_memory(device, memory); });
}
ww_status ww_device_upload(ww_device device, void* to, const void* from, size_t bytes) {
  return guarded(
      [&] { return copy(device, to, from, bytes, [&](const ww::Device& d) { return d.upload(to, from, bytes); }); });
}
ww_status ww_device_download(ww_device device, void* to, const void* from, size_t bytes) {
  return guarded(
      [&] { return copy(device, to, from, bytes, [&](const ww::Device& d) { return d.download(to, from, bytes); }); });
}
ww_status ww_device_synchronize(ww_device device, void* stream) {
  return guarded([&]() -> ww_status {
    DeviceUse use;
    WW_C_PASS(use_device(device, use));
    WW_C_CHECK(use->state->device->synchronize({stream}));
    return WW_OK;
  });
}
ww_status ww_device_is_capturing(ww_device device, void* stream, int32_t* capturing) {
  return guarded([&]() -> ww_status {
    WW_C_PASS(check_output("capturing", capturing));
    DeviceUse use;
    WW_C_PASS(use_device(device, use));
    WW_C_TRY(*capturing, use->state->device->is_capturing({stream}));
    return WW_OK;
  });
}

}  // extern "C"
