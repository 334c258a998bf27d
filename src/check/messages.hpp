// SPDX-License-Identifier: Apache-2.0
// What campaign and workers say to each other. A worker answers SetUp with Ready and Run with one Ran for each schedule
// that it takes from the shared page, then Done. Each message is its length, its kind and its bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "warpwright/host/check.hpp"

namespace ww::campaign {

struct ScheduleRun {
  EmuSchedule kind = EmuSchedule::fifo;
  std::uint64_t seed = 0;
  bool traffic = false;  // counted
  int launches = 1;      // one after the other in one workspace
};
/// The random choices of launch `launch` of `run`, counted from 1; the first launch has the seed itself.
std::uint64_t seed_of_launch(const ScheduleRun& run, int launch);
/// "pct, seed 17".
std::string to_text(const ScheduleRun& run);

/// The schedules of a campaign, or `listed` ones. Not a vector of them all: there may be millions.
struct ScheduleList {
  std::uint64_t count = 0;
  std::uint64_t seed = 0;
  bool one_kind = false;
  EmuSchedule kind = EmuSchedule::fifo;  // the one kind
  std::vector<ScheduleRun> listed = {};
  bool traffic = false;  // of the first schedule
  int launches = 1;      // of every schedule; 0: drawn by the seed

  std::uint64_t size() const { return listed.empty() ? count : listed.size(); }
  /// Schedule i has seed + i; the first is fifo, the others take turns, so a longer campaign contains the shorter one.
  ScheduleRun operator[](std::uint64_t i) const;
};

struct SetUp {
  std::string fingerprint = {};
  CheckTarget target = {};
  EmuMath math = EmuMath::exact;
  int pct_depth = 3;
  std::string cache_dir = {};
  StrictRules strict_rules = default_strict_rules();
  bool verify = false;
};
struct Ready {
  bool failed = false;
  Error error = {};         // when it failed
  CheckTarget target = {};  // else the target with every choice made
  int sms = 0;              // of the device
};
struct Run {
  ScheduleList schedules = {};
  double deadline = 0;  // of the monotonic clock; only the first schedule may start later
};

/// What a schedule's launches report: findings in the order of the launches, the rest of the first launch.
struct SequenceReport {
  CheckReport report = {};
  std::vector<int> launch_of = {};  // the launch of each finding, counted from 1
  int launches = 0;                 // that began
};

enum class Message : std::uint64_t { set_up, ready, run, ran, done };

/// Memory that the campaign and its workers share.
inline constexpr int kMostProcesses = 256;
struct SharedPage {
  std::atomic<std::uint64_t> next;  // schedule that nobody has taken
  struct Worker {
    std::atomic<std::int64_t> current;  // number of the schedule that it runs, -1 for none
    std::atomic<double> start;
  } workers[kMostProcesses];
};
static_assert(std::atomic<double>::is_always_lock_free && std::atomic<std::uint64_t>::is_always_lock_free);

/// Descriptors of a worker.
inline constexpr int kSocket = 3, kPage = 4;

/// What both sides must have in common: the texts of the kernel headers, the code that compiles them, and the structs
/// of the messages.
std::string fingerprint();

/// Seconds of the monotonic clock, which all processes share.
double now();

std::string frame(Message kind, const std::string& bytes);

}  // namespace ww::campaign
