// SPDX-License-Identifier: Apache-2.0
// The texts of findings.
#include "emu/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "emu/check/source_lines.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"

namespace ww::emu {
namespace {

std::string place(arch::Site site) {
  if (!site.file) return "(no line)";
  if (site.line >= 0) return fmt::format("{}:{}", site.file, site.line);
  const SourceLines lines = source_lines(site.file);  // an address in the module
  if (lines.frames.empty()) return "(no line)";
  return fmt::format("{}:{}", lines.first().file, lines.first().line);
}

std::string replay(const LaunchContext& context) {
  return fmt::format("kernel {}, seed {}, schedule {}", context.entry.name, context.options.seed,
                     name_of(context.options.schedule));
}

std::string mbarrier_state(const Thread& thread) {
  const std::string head =
      fmt::format("mbarrier at offset 0x{:x}, waiting for parity {}", thread.wait_a, thread.wait_b);
  for (const MBarrier& barrier : thread.cta->barriers)
    if (barrier.live && barrier.offset == thread.wait_a)
      return fmt::format("{}: phase {} (parity {}) is open, {} of {} arrivals and {} bytes missing", head,
                         barrier.phase, barrier.phase & 1, barrier.pending, barrier.count, barrier.bytes);
  return head;
}

const char* words_of_poll(const Thread& thread) {
  const bool moves = thread.looking && thread.loads > kLooksAtOnce && !thread.looking->idle;
  return moves ? "again and again" : "whose value does not change";
}

std::string global_word(const Thread& thread) {
  const u64 address = u64{thread.wait_b} << 32 | thread.wait_a;
  const int range = range_of(*thread.machine, address, 1);
  if (range < 0) return "global memory";
  const runtime::MemoryRange& memory = thread.machine->context().launch.memory[static_cast<std::size_t>(range)];
  return fmt::format("global memory, byte {} of operand {}, {}", address - reinterpret_cast<u64>(memory.base),
                     memory.name, words_of_poll(thread));
}

/// "warps 4-11 (256 threads)", "warp 0 (1 thread)".
std::string name_threads(const std::vector<u32>& threads) {
  std::string warps;
  for (std::size_t i = 0; i < threads.size();) {
    const u32 first = threads[i] / kWarpSize;
    u32 last = first;
    while (i < threads.size() && threads[i] / kWarpSize <= last + 1) last = threads[i++] / kWarpSize;
    warps += fmt::format("{}{}", warps.empty() ? "" : ", ", first);
    if (last != first) warps += fmt::format("-{}", last);
  }
  const bool several = threads.front() / kWarpSize != threads.back() / kWarpSize;
  return fmt::format("{} {} ({} thread{})", several ? "warps" : "warp", warps, threads.size(),
                     threads.size() == 1 ? "" : "s");
}

/// Returns the lanes of its warp for which a thread waits.
u32 lanes_waited_for(const Thread& thread) {
  switch (thread.wait) {
    case Wait::warp: return thread.wait_a;
    case Wait::named_barrier:
    case Wait::cluster_barrier:
    case Wait::warpgroup_engine: return ~0u;  // in an .aligned instruction, to which all lanes must come
    default: return 0;
  }
}

/// Returns the places at which lanes of the warp wait for each other, or nothing if all can come together.
std::string parted_lanes(const Cta& cta, u32 warp) {
  struct Part {
    Wait wait;
    std::string place;
    u32 lanes = 0, waited_for = 0;
  };
  std::vector<Part> parts;
  for (u32 lane = 0; lane < kWarpSize; ++lane) {
    const Thread& thread = cta.threads[warp * kWarpSize + lane];
    const u32 waited_for = lanes_waited_for(thread);
    if (waited_for == 0) continue;
    const std::string at = place(thread.site);
    const auto same = [&](const Part& part) { return part.wait == thread.wait && part.place == at; };
    auto part = std::find_if(parts.begin(), parts.end(), same);
    if (part == parts.end()) part = parts.insert(part, {thread.wait, at});
    part->lanes |= 1u << lane;
    part->waited_for |= waited_for;
  }
  std::string text;
  for (const Part& one : parts)
    for (const Part& other : parts)
      if (&one != &other && (one.waited_for & other.lanes) != 0 && (other.waited_for & one.lanes) != 0) {
        text += fmt::format("{}lanes 0x{:08x} at {}", text.empty() ? "" : ", ", one.lanes, one.place);
        break;
      }
  return text;
}

}  // namespace

std::string waits_on(const Thread& thread) {
  const Cta& cta = *thread.cta;
  switch (thread.wait) {
    case Wait::mbarrier: return mbarrier_state(thread);
    case Wait::named_barrier:
      return fmt::format("named barrier {}: {} of {} threads have arrived", thread.wait_a,
                         cta.named[thread.wait_a].arrived, cta.named[thread.wait_a].threads);
    case Wait::cluster_barrier:
      return fmt::format("cluster barrier: {} of {} threads have arrived", cta.cluster->arrived,
                         cta.cluster->live_threads);
    case Wait::warpgroup_engine: return thread.warpgroup->waits_on(thread);
    case Wait::cta_engine: return cta.engine->waits_on(thread);
    case Wait::bulk: return fmt::format("bulk wait for all but {} groups", thread.wait_a);
    case Wait::warp:
      return thread.wait_a == ~0u ? "the other lanes of its warp"
                                  : fmt::format("lanes 0x{:08x} of its warp", thread.wait_a);
    case Wait::registers:
      return fmt::format("setmaxnreg to {}: register pool, {} more for each thread, the CTA's pool holds {}",
                         thread.wait_a, thread.wait_b, cta.registers.free);
    case Wait::polling: return global_word(thread);
    case Wait::polling_shared: {
      const u32 offset = thread.wait_a & arch::kSharedOffsetMask, rank = thread.wait_a >> arch::kSharedRankShift;
      return fmt::format("shared memory, offset 0x{:x} of cluster rank {}, {}", offset, rank, words_of_poll(thread));
    }
    case Wait::looping: return "nothing: it runs without waiting";
    case Wait::none: return "nothing: runnable";
    case Wait::exited: return "exited";
  }
  return "";
}

std::string words_of(const RoleName& role, u32 warpgroup) {
  if (!role.name) return fmt::format("warpgroup {}", warpgroup);
  return role.number < 0 ? role.name : fmt::format("{} {}", role.name, role.number);
}

std::string failure_report(const LaunchContext& context, Origin origin, const std::string& what) {
  std::string who;
  if (origin.thread)
    who = fmt::format("CTA {}, {}, warp {}, lane {}; ", origin.thread->cta->index,
                      words_of(origin.thread->role, origin.thread->index / kWarpgroupSize),
                      origin.thread->index / kWarpSize, origin.thread->lane());
  return fmt::format("{}: {} ({}{})", place(origin.site), what, who, replay(context));
}

std::string parted_warps_report(const std::vector<std::unique_ptr<Cluster>>& clusters) {
  constexpr int kMostLines = 8;
  std::string text;
  int lines = 0;
  for (const auto& cluster : clusters)
    for (const auto& cta : cluster->ctas)
      for (u32 warp = 0; warp < cta->warps.size() && lines < kMostLines; ++warp) {
        const std::string places = parted_lanes(*cta, warp);
        if (places.empty()) continue;
        ++lines;
        text += fmt::format("  CTA {}, warp {}: its lanes wait for each other at different places, {}\n", cta->index,
                            warp, places);
      }
  return text;
}

std::string waiting_report(const LaunchContext& context, const std::vector<std::unique_ptr<Cluster>>& clusters,
                           u32 not_started) {
  std::map<std::tuple<u32, std::string, std::string, std::string>, std::vector<u32>> groups;
  for (const auto& cluster : clusters)
    for (const auto& cta : cluster->ctas)
      for (const Thread& thread : cta->threads)
        if (thread.wait != Wait::exited && thread.wait != Wait::none)
          groups[{cta->index, words_of(thread.role, thread.index / kWarpgroupSize), place(thread.site),
                  waits_on(thread)}]
              .push_back(thread.index);
  std::string text;
  for (const auto& [key, threads] : groups)
    text += fmt::format("  CTA {}, {}, {} at {}: {}\n", std::get<0>(key), std::get<1>(key), name_threads(threads),
                        std::get<2>(key), std::get<3>(key));
  text += parted_warps_report(clusters);
  if (not_started != 0)
    text += fmt::format(
        "  {} of {} clusters have not started, because the device's SMs hold {} at a time; --sms gives it more\n",
        not_started, context.launch.grid / context.launch.cluster, context.resident);
  return text;
}

std::string deadlock_report(const LaunchContext& context, const std::string& waiting) {
  return fmt::format("deadlock: no thread can run and nothing is in flight ({})\n{}", replay(context), waiting);
}

}  // namespace ww::emu
