// SPDX-License-Identifier: Apache-2.0
// The tables of handles, which live as long as the process, and what happens to them when it forks.
#include "capi/objects.hpp"

#include <pthread.h>

#include <fmt/format.h>

#include "capi/structs.hpp"

namespace ww::capi {
namespace {

/// Never destroyed, because threads may still call while the process exits.
struct Tables {
  HandleTable<DeviceObject> devices{0xd1};
  HandleTable<PlanObject> plans{0x97};
  HandleTable<ReportObject> reports{0x4e};
};
std::atomic<std::uint64_t> forks{0};

Tables& tables();

void before_fork() { tables().devices.lock(), tables().plans.lock(), tables().reports.lock(); }
void after_fork() { tables().reports.unlock(), tables().plans.unlock(), tables().devices.unlock(); }
void in_child() {
  forks.fetch_add(1, std::memory_order_relaxed);
  after_fork();
}

Tables& tables() {
  static Tables* const made = [] {
    auto* const tables = new Tables;
    pthread_atfork(before_fork, after_fork, in_child);
    return tables;
  }();
  return *made;
}

}  // namespace

HandleTable<DeviceObject>& devices() { return tables().devices; }
HandleTable<PlanObject>& plans() { return tables().plans; }
HandleTable<ReportObject>& reports() { return tables().reports; }

std::uint64_t forks_of_process() { return forks.load(std::memory_order_relaxed); }

ww_status refuse_handle(const char* argument, const char* expected, const void* handle) {
  return refuse(argument, expected,
                handle == nullptr ? "null" : fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(handle)));
}

ww_status refuse_forked(const char* argument) {
  return record(WW_FORKED, make_error(ErrorCode::invalid, argument, "one that this process opened",
                                      "one of the process that forked it",
                                      "a child opens its own device, and its parent must not have opened a GPU"));
}

ww_status make_report(std::string text, ww_report* report) {
  WW_C_PASS(check_output("report", report));
  *report = static_cast<ww_report>(reports().add(std::make_unique<ReportObject>(ReportObject{std::move(text)})));
  return WW_OK;
}

}  // namespace ww::capi

using namespace ww::capi;

extern "C" {

const char* ww_report_text(ww_report report, size_t* length) {
  if (length != nullptr) *length = 0;
  const char* text = nullptr;
  const ww_status status = guarded([&]() -> ww_status {
    const HandleTable<ReportObject>::Use use = reports().find(report);
    if (!use) return refuse_handle("report", "a report that was not freed", report);
    if (length != nullptr) *length = use->text.size();
    text = use->text.c_str();
    return WW_OK;
  });
  return status == WW_OK ? text : nullptr;
}

ww_status ww_report_free(ww_report report) {
  return guarded([&]() -> ww_status {
    if (report == nullptr || reports().remove(report, [](const ReportObject&) { return true; })) return WW_OK;
    return refuse_handle("report", "a report that was not freed", report);
  });
}

}  // extern "C"
