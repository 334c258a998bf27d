// SPDX-License-Identifier: Apache-2.0
// ww::check as a library user sees it, from the public headers alone: reports as data, refusals before anything runs,
// and a caller who keeps threads, descriptors and signals whatever the kernel does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "warpwright/host/check.hpp"

namespace {

/// Lane t writes what lane t + 1 of the next warp reads; `sync` is the barrier between the two, in line 11.
std::string exchange(const std::string& sync) {
  return R"(
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
struct Params { const ww::u32* in; ww::u32* out; int count; };
WW_KERNEL(exchange, 64, Params, p) {
  using namespace ww;
  const u32 t = arch::thread_index();
  const arch::SharedAddress box = arch::dynamic_shared();
  arch::shared::store(box + 4 * t, arch::global::load(p.in + t));
  )" + sync +
         R"(
  arch::global::store(p.out + 64 * arch::block_index() + t, arch::shared::load(box + 4 * (t ^ 32)));
}
)";
}

ww::KernelCheck kernel(const std::string& sync) {
  using P = ww::CheckParameter;
  return {.source = "exchange.hpp",
          .text = exchange(sync),
          .entry = "exchange",
          .launch = {.grid = 2,
                     .threads = 64,
                     .shared_bytes = 1024,
                     .parameters = {P::buffer(256), P::buffer(512), P::int32(64)}}};
}

constexpr const char* kSync = "arch::named_barrier::sync_cta();";
constexpr const char* kCrash = "*reinterpret_cast<volatile int*>(16) = 1;";
constexpr const char* kHang = "for (volatile int i = 0;;) i = i + 1;";

std::string texts_of(const ww::CheckCampaign& campaign) {
  std::string text = campaign.why_incomplete + "\n";
  for (const ww::CheckFinding& found : campaign.findings)
    text += found.finding.text + std::to_string(found.schedules) + found.replay.command + "\n";
  return text;
}

TEST(Check, ARaceIsDataWithBothPartiesAndAReplay) {
  const auto campaign = ww::check(kernel(""), {.schedules = 12, .traffic = true});
  ASSERT_TRUE(campaign) << campaign.error().message;
  EXPECT_EQ(campaign->verdict(), ww::Verdict::findings);
  EXPECT_EQ(campaign->schedules_ran, 12u);
  EXPECT_GT(campaign->stats.ctas, 0u);
  EXPECT_FALSE(campaign->traffic.empty());
  ASSERT_FALSE(campaign->findings.empty());
  const auto is_race = [](const ww::CheckFinding& found) { return found.finding.rule == ww::Rule::data_race; };
  const auto race = std::find_if(campaign->findings.begin(), campaign->findings.end(), is_race);
  ASSERT_NE(race, campaign->findings.end()) << texts_of(*campaign);
  const ww::CheckFinding& found = *race;
  EXPECT_EQ((std::set<int>{found.finding.first.line, found.finding.second.line}), (std::set<int>{11, 13}));
  EXPECT_EQ(found.finding.first.file, "exchange.hpp");
  EXPECT_EQ(found.replay.command, "") << "no command line has the text of a kernel";
  ASSERT_TRUE(found.smallest);
  EXPECT_EQ(found.smallest->schedule.kind, ww::EmuSchedule::fifo);
  const auto& smallest = std::get<ww::KernelCheck>(found.smallest->target);
  EXPECT_EQ(smallest.launch.grid, 1u);
  for (const ww::CheckReplay* replay : {&found.replay, &*found.smallest}) {
    const auto again = ww::check(replay->target, ww::replay_options(*replay, {.shrink = false}));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->schedules_ran, 1u);
    EXPECT_TRUE(std::any_of(again->findings.begin(), again->findings.end(), is_race)) << texts_of(*again);
  }
}

TEST(Check, ABarrierMakesItCleanOnAnyNumberOfProcesses) {
  for (const int processes : {1, 2}) {
    const auto campaign = ww::check(kernel(kSync), {.schedules = 20, .seed = 7, .processes = processes});
    ASSERT_TRUE(campaign) << campaign.error().message;
    EXPECT_EQ(campaign->verdict(), ww::Verdict::clean) << texts_of(*campaign);
    EXPECT_EQ(campaign->schedules_ran, 20u);
  }
}

TEST(Check, TheReportDoesNotDependOnTheProcesses) {
  std::set<std::string> texts;
  for (const int processes : {1, 2, 3}) {
    const auto campaign = ww::check(kernel(""), {.schedules = 15, .seed = 3, .processes = processes, .shrink = false});
    ASSERT_TRUE(campaign) << campaign.error().message;
    texts.insert(texts_of(*campaign));
  }
  EXPECT_EQ(texts.size(), 1u) << *texts.begin() << *texts.rbegin();
}

TEST(Check, TheLibrarysOwnProductsAreClean) {
  const ww::CheckOptions options{.schedules = 4, .math = ww::EmuMath::off};
  const ww::GemmCheck gemm{.problem = {.m = 128, .n = 128, .k = 256, .a = ww::bf16, .b = ww::bf16}};
  const ww::GroupedCheck grouped{
      .problem = {.n = 128, .k = 128, .a = ww::bf16, .b = ww::bf16},
      .groups = {.counts = {40, 0, 70}},
  };
  const ww::KGroupedCheck k_grouped{.problem = {.m = 128, .n = 128}, .groups = {.counts = {64, 0, 100}}};
  for (const ww::CheckTarget& target : {ww::CheckTarget(gemm), ww::CheckTarget(grouped), ww::CheckTarget(k_grouped)}) {
    const auto campaign = ww::check(target, options);
    ASSERT_TRUE(campaign) << campaign.error().message;
    EXPECT_EQ(campaign->verdict(), ww::Verdict::clean) << texts_of(*campaign);
    EXPECT_EQ(campaign->schedules_ran, 4u);
  }
}

TEST(Check, ASecondLaunchFindsWhatTheFirstLeavesBehind) {
  const auto ticket = [](bool kept) {
    using P = ww::CheckParameter;
    return ww::KernelCheck{.source = "ticket.hpp",
                           .text = R"(#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/special.hpp"
struct Params { ww::u32* ticket; ww::u32* out; };
WW_KERNEL(ticket, 32, Params, p) {
  using namespace ww;
  if (arch::thread_index() == 0 && arch::global::atomic_add(p.ticket, 1) == 0) arch::global::store(p.out, 7);
}
)",
                           .entry = "ticket",
                           .launch = {.threads = 32, .parameters = {kept ? P::kept(4) : P::zeros(4), P::buffer(4)}}};
  };
  for (const bool kept : {false, true}) {
    const auto campaign = ww::check(ticket(kept), {.schedules = 2, .launches = 3});
    ASSERT_TRUE(campaign) << campaign.error().message;
    ASSERT_EQ(campaign->findings.size(), kept ? 1u : 0u) << texts_of(*campaign);
    if (!kept) continue;
    const ww::CheckFinding& found = campaign->findings.front();
    EXPECT_EQ(found.finding.rule, ww::Rule::wrong_value);
    EXPECT_EQ(found.launch, 2);
    EXPECT_EQ(found.replay.schedule.launches, 2);
    const auto again = ww::check(found.replay.target, ww::replay_options(found.replay, {.shrink = false}));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->launches_ran, 2u);
    ASSERT_EQ(again->findings.size(), 1u);
    EXPECT_EQ(again->findings[0].finding.text, found.finding.text);
  }
}

TEST(Check, ArraysOfPointersAreCheckedWithTheirValues) {
  const ww::GemmProblem problem{
      .m = 64, .n = 64, .k = 64, .a = ww::bf16, .b = ww::bf16, .batch = 3, .pointer_array = true};
  const auto campaign = ww::check(ww::GemmCheck{.problem = problem, .options = {.sms = 7}},
                                  {.schedules = 3, .launches = 2, .verify = true});
  ASSERT_TRUE(campaign) << campaign.error().message;
  EXPECT_EQ(campaign->verdict(), ww::Verdict::clean) << texts_of(*campaign);
  EXPECT_EQ(campaign->launches_ran, 6u);
  EXPECT_EQ(campaign->sms, 7);
}

struct Refusal {
  const char* argument;
  ww::CheckTarget target;
  ww::CheckOptions options = {};
};

std::vector<Refusal> refusals() {
  const ww::KernelCheck good = kernel(kSync);
  std::vector<Refusal> list;
  const auto add = [&](const char* argument, auto change) {
    ww::KernelCheck bad = good;
    change(bad);
    list.push_back({argument, bad});
  };
  add("launch.threads", [](auto& k) { k.launch.threads = 1'000'000'000; });
  add("launch.threads", [](auto& k) { k.launch.threads = 128; });  // not the kernel's own
  add("launch.threads", [](auto& k) { k.launch.threads = 0; });
  add("launch.grid", [](auto& k) { k.launch.grid = 3, k.launch.cluster = 2; });
  add("launch.grid", [](auto& k) { k.launch.grid = 1000, k.launch.cross_cta = true; });
  add("launch.cluster", [](auto& k) { k.launch.cluster = 17; });
  add("launch.shared_bytes", [](auto& k) { k.launch.shared_bytes = 1 << 20; });
  add("launch.parameters", [](auto& k) { k.launch.parameters.pop_back(); });
  add("launch.parameters", [](auto& k) { k.launch.parameters.push_back(ww::CheckParameter::int64(1)); });
  add("launch.parameters, key map", [](auto& k) {
    k.launch.parameters.push_back(ww::CheckParameter::map({.buffer = 2, .extent = {64}, .box = {64}}));
  });
  add("entry", [](auto& k) { k.entry = "nothing"; });
  add("source", [](auto& k) { k.text.clear(), k.source = "/nowhere/kernel.hpp"; });
  list.push_back({"schedules", good, {.schedules = 0}});
  list.push_back({"launches", good, {.launches = 65}});
  list.push_back({"verify", good, {.verify = true}});
  list.push_back({"verify", ww::GemmCheck{}, {.math = ww::EmuMath::off, .verify = true}});
  list.push_back({"sms", ww::GemmCheck{.options = {.sms = 133}}});
  list.push_back({"processes", good, {.processes = -1}});
  list.push_back({"pct_depth", good, {.pct_depth = 0}});
  list.push_back({"relaxed", good, {.relaxed = {"reader-side-fence", "reader-fence"}}});
  list.push_back({"strict", good, {.strict = {""}}});
  list.push_back({"groups.sizes", ww::GroupedCheck{.problem = {.groups = 2, .rows = 8, .n = 64, .k = 128}}});
  list.push_back({"groups.counts", ww::GroupedCheck{.problem = {.n = 64, .k = 128}, .groups = {.counts = {-1}}}});
  return list;
}

TEST(Check, RefusalsNameTheArgumentAndNothingRuns) {
  for (const Refusal& refusal : refusals()) {
    const auto campaign = ww::check(refusal.target, refusal.options);
    ASSERT_FALSE(campaign) << refusal.argument;
    EXPECT_EQ(campaign.error().code, ww::ErrorCode::invalid) << campaign.error().message;
    EXPECT_EQ(campaign.error().argument, refusal.argument) << campaign.error().message;
  }
  ww::KernelCheck broken = kernel("this is no C++;");
  const auto campaign = ww::check(broken);
  ASSERT_FALSE(campaign);
  EXPECT_EQ(campaign.error().code, ww::ErrorCode::could_not_finish);
  EXPECT_NE(campaign.error().message.find("exchange.hpp:12:"), std::string::npos) << campaign.error().message;
}

std::set<std::string> open_descriptors() {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    names.insert(entry.path().filename().string());
  return names;
}

/// What the descriptors of this process's children name.
std::set<std::string> descriptors_of_children() {
  std::set<std::string> names;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int id = 0; children >> id;) {
      std::error_code error;
      std::filesystem::directory_iterator fds("/proc/" + std::to_string(id) + "/fd", error);
      for (; !error && fds != std::filesystem::directory_iterator(); fds.increment(error))
        names.insert(std::filesystem::read_symlink(fds->path(), error).string());
    }
  }
  return names;
}

TEST(Check, ACrashingKernelLeavesTheCallerAlone) {
  static std::atomic<int> signals = 0;
  struct sigaction action = {}, before = {};
  action.sa_handler = [](int) { ++signals; };
  ASSERT_EQ(::sigaction(SIGSEGV, &action, &before), 0);
  ASSERT_EQ(::sigaction(SIGPIPE, &action, nullptr), 0);
  std::atomic<bool> end = false;
  std::atomic<long> turns = 0;
  std::thread busy([&] {
    while (!end) ++turns;
  });
  const auto descriptors = open_descriptors();
  for (const int processes : {1, 2}) {
    const auto campaign = ww::check(kernel(kCrash), {.schedules = 6, .processes = processes});
    ASSERT_TRUE(campaign) << campaign.error().message;
    EXPECT_NE(campaign->verdict(), ww::Verdict::clean);
  }
  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_EQ(signals, 0);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a worker is left";
  end = true;
  busy.join();
  EXPECT_GT(turns, 0);
  ::sigaction(SIGSEGV, &before, nullptr);
  ::sigaction(SIGPIPE, &before, nullptr);
}

TEST(Check, WorkersHaveNothingOfTheCallers) {
  const std::string path = ::testing::TempDir() + "/ww-check-descriptor-" + std::to_string(::getpid());
  const int file = ::open(path.c_str(), O_CREAT | O_RDWR, 0600);  // without O_CLOEXEC
  ASSERT_GE(file, 0);
  std::set<std::string> seen;
  std::stop_source stop;
  const auto look = [&](const ww::CheckProgress& now) {
    if (std::string(now.phase) != "check") return;  // by then the worker has closed what it was born with
    seen.merge(descriptors_of_children());
    stop.request_stop();
  };
  const auto campaign =
      ww::check(kernel(kHang), {.schedules = 4, .processes = 1, .progress = look, .stop = stop.get_token()});
  ASSERT_TRUE(campaign) << campaign.error().message;
  EXPECT_FALSE(seen.empty());
  EXPECT_EQ(seen.count(path), 0u);
  EXPECT_EQ(campaign->verdict(), ww::Verdict::incomplete);
  ::close(file);
  std::filesystem::remove(path);
}

TEST(Check, AShortCampaignTellsOfItsSchedules) {
  for (int i = 0; i < 2; ++i) {  // the second compiles nothing
    std::set<std::string> phases;
    const auto look = [&](const ww::CheckProgress& now) { phases.insert(now.phase); };
    const auto campaign = ww::check(kernel(kSync), {.schedules = 2, .processes = 1, .progress = look});
    ASSERT_TRUE(campaign) << campaign.error().message;
    EXPECT_EQ(phases.count("check"), 1u);
  }
}

TEST(Check, AStopKeepsWhatRanAndSaysSo) {
  std::stop_source stop;
  // A millionth is five schedules, and of the time 1,000 seconds.
  const auto campaign = ww::check(kernel(""), {.schedules = 5'000'000,
                                               .seconds = 1e9,
                                               .shrink = true,
                                               .progress =
                                                   [&](const ww::CheckProgress& now) {
                                                     if (now.fraction > 1e-6) stop.request_stop();
                                                   },
                                               .stop = stop.get_token()});
  ASSERT_TRUE(campaign) << campaign.error().message;
  EXPECT_TRUE(campaign->stopped);
  EXPECT_GT(campaign->schedules_ran, 0u);
  EXPECT_LT(campaign->schedules_ran, 5'000'000u);
  EXPECT_FALSE(campaign->findings.empty());
  EXPECT_EQ(campaign->why_incomplete.substr(0, 18), "interrupted after ");
  std::stop_source early;
  early.request_stop();
  const auto none = ww::check(kernel(kSync), {.stop = early.get_token()});
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_TRUE(none->stopped);
  EXPECT_EQ(none->verdict(), ww::Verdict::incomplete);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a worker is left";
}

}  // namespace
