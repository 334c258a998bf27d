// SPDX-License-Identifier: Apache-2.0
// Groups the records of warps that wait for the same condition.
#include "runtime/watchdog.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <set>
#include <utility>

namespace ww::runtime {
namespace {

/// "warps 4-7, 9"
std::string warps_text(const std::set<u32>& warps) {
  std::string text;
  for (auto at = warps.begin(); at != warps.end();) {
    const u32 first = *at;
    u32 last = first;
    for (++at; at != warps.end() && *at == last + 1; ++at) last = *at;
    text += fmt::format("{}{}", text.empty() ? "" : ", ", first);
    if (last != first) text += fmt::format("-{}", last);
  }
  return (warps.size() == 1 ? "warp " : "warps ") + text;
}

std::string waits_for(const arch::WatchdogRecord& r) {
  if (r.kind == arch::WatchdogRecord::global) return fmt::format("the word of global memory at {:#x}", r.address);
  return fmt::format("the mbarrier at offset 0x{:x} of dynamic shared memory, parity {}", r.offset, r.parity);
}

std::string role_of(const arch::WatchdogRecord& r) {
  if (r.role.block == 0) return fmt::format("warpgroup {}", r.thread / 128);
  char name[arch::WatchdogRole::kNameBytes + 1] = {};
  std::memcpy(name, r.role.name, arch::WatchdogRole::kNameBytes);
  return r.role.number < 0 ? name : fmt::format("{} {}", name, r.role.number);
}

struct Group {
  std::set<std::string> roles;
  std::set<u32> warps;
};

}  // namespace

std::string watchdog_text(const arch::WatchdogBuffer& buffer) {
  std::map<std::pair<u32, std::string>, Group> groups;
  std::set<std::pair<u32, u32>> warps;  // not records, because the lanes of a warp may give up separately
  u32 milliseconds = 0, count = 0;
  for (const arch::WatchdogRecord& record : buffer.records) {
    if (record.kind == arch::WatchdogRecord::none) continue;
    Group& group = groups[{record.cta, waits_for(record)}];
    group.roles.insert(role_of(record));
    group.warps.insert(record.thread / 32);
    warps.emplace(record.cta, record.thread / 32);
    milliseconds = record.milliseconds;
    ++count;
  }
  if (groups.empty()) return {};
  std::string text =
      fmt::format("watchdog: {} warp{} gave up waiting after {} ms{}", warps.size(), warps.size() == 1 ? "" : "s",
                  milliseconds, count == arch::kWatchdogRecords ? " (and perhaps more)" : "");
  for (const auto& [place, group] : groups)
    text += fmt::format("\n  CTA {}, {}, {}: {}", place.first, fmt::join(group.roles, " and "), warps_text(group.warps),
                        place.second);
  return text;
}

}  // namespace ww::runtime
