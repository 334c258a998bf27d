// SPDX-License-Identifier: Apache-2.0
// Each litmus kernel gets the verdict that its comment, and so docs/memory-model.md, states: clean under every
// schedule, or reported by that rule and no other under some. WARPWRIGHT_LITMUS names one test, WARPWRIGHT_CHECK_SEED
// another seed than the commit's.
#include <dlfcn.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "emu/emulator.hpp"
#include "emu/sm90/model.hpp"
#include "warpwright/arch/common/tensor_map.hpp"

namespace ww {
namespace {

constexpr int kSchedules = 30;

struct Litmus {
  std::string name, verdict, also, strict;
  bool strict_on = true, awaits = false;
  std::map<std::string, u32> launch{{"grid", 1}, {"cluster", 1}, {"threads", 64}};
};

/// The comments of kernels/ that state a test: see kernels/threads.hpp.
std::vector<Litmus> litmus_tests() {
  std::vector<Litmus> tests;
  for (const char* family :
       {"message_passing", "causality", "fences", "atomics", "barriers", "clusters", "proxies", "async"}) {
    std::ifstream file(fmt::format("{}/kernels/{}.hpp", WW_LITMUS_FOLDER, family));
    for (std::string line; std::getline(file, line);) {
      if (line.starts_with("// litmus ")) {
        Litmus test;
        std::istringstream words(line.substr(10));
        std::getline(words, test.name, ':');
        bool first = true;
        for (std::string part; std::getline(words, part, ';'); first = false) {
          part.erase(0, 1);
          if (first) {
            test.verdict = part;
          } else if (part.starts_with("strict ")) {
            test.strict_on = !part.ends_with(" (off)");
            test.strict = part.substr(7, test.strict_on ? std::string::npos : part.size() - 13);
          } else if (!part.starts_with("ptx ") && !part.starts_with("deviation ")) {
            std::istringstream fields(part);
            for (std::string field; fields >> field;)
              test.launch[field.substr(0, field.find('='))] =
                  static_cast<u32>(std::atoi(field.c_str() + field.find('=') + 1));
          }
        }
        tests.push_back(test);
      } else if (line.starts_with("//   also: ")) {
        tests.back().also = line.substr(11);
      } else if (line.starts_with("//   P") && line.find("await") != std::string::npos) {
        tests.back().awaits = true;
      }
    }
  }
  return tests;
}

/// Tests on which the checker and the document do not agree yet, with the reason: disagreements.txt.
std::map<std::string, std::string> disagreements() {
  std::map<std::string, std::string> known;
  std::ifstream file(std::string(WW_LITMUS_FOLDER) + "/disagreements.txt");
  for (std::string line; std::getline(file, line);)
    if (!line.empty() && line[0] != '#') known[line.substr(0, line.find(':'))] = line.substr(line.find(':') + 1);
  return known;
}

const arch::ModuleInfo& module() {
  static const arch::ModuleInfo* const info = [] {
    void* library = dlopen(WW_LITMUS_MODULE, RTLD_NOW | RTLD_LOCAL);
    if (!library) throw std::runtime_error(dlerror());
    return reinterpret_cast<WarpwrightModuleEntry>(dlsym(library, "warpwright_module"))(emu::table());
  }();
  return *info;
}

const arch::KernelEntry* kernel(const std::string& name) {
  for (const arch::KernelEntry* entry = module().kernels; entry; entry = entry->next)
    if (name == entry->name) return entry;
  return nullptr;
}

u64 base_seed() {
  const char* given = std::getenv("WARPWRIGHT_CHECK_SEED");
  return given ? std::strtoull(given, nullptr, 0) : u64{WW_LITMUS_SEED};
}

EmuOptions schedule(int index) {
  constexpr EmuSchedule kKinds[] = {EmuSchedule::random, EmuSchedule::pct, EmuSchedule::adversarial};
  EmuOptions options;
  options.threads = 1;
  options.seed = base_seed() + static_cast<u64>(index);
  options.schedule = index == 0 ? EmuSchedule::fifo : kKinds[index % 3];
  return options;
}

/// The members of kernels/threads.hpp's Params.
struct Params {
  arch::TensorMap map;
  u32* words[6];
  u32* tile;
  u32* noise;
  arch::TensorMap* global_map;
};

/// Global memory of a test: words 256 bytes apart, a tile, a workspace that nobody wrote, a tensor map.
class Memory {
 public:
  Memory() : storage_(kWords + 64, 0) {
    u32* start = storage_.data();
    while (reinterpret_cast<std::uintptr_t>(start) % 256 != 0) ++start;
    for (u32 i = 0; i < 6; ++i) params_.words[i] = start + 64 * i;
    params_.tile = start + kTile;
    params_.noise = start + kNoise;
    params_.global_map = reinterpret_cast<arch::TensorMap*>(start + kMap);
    runtime::TensorMapSpec spec;
    spec.base = params_.tile;
    spec.element = DType::f32;
    spec.rank = 2;
    spec.extent[0] = 32, spec.extent[1] = 32;
    spec.stride_bytes[1] = 128;
    spec.box[0] = 32, spec.box[1] = 8;
    params_.map = *emu::encode(spec);
    ranges_ = {{{"words", start, kTile * 4, true},
                {"tile", params_.tile, 4096, true},
                {"map", params_.global_map, 256, true},
                {"noise", params_.noise, 256, true, true}}};
  }

  CheckReport check(const Litmus& test, const EmuOptions& options) {
    std::memset(params_.words[0], 0, kWords * 4 - 256);
    std::memcpy(params_.global_map, &params_.map, sizeof params_.map);
    runtime::Launch launch;
    launch.grid = test.launch.at("grid");
    launch.cluster = test.launch.at("cluster");
    launch.threads = test.launch.at("threads");
    launch.shared_bytes = 1024 + 8192;
    launch.cross_cta = test.awaits && launch.grid != launch.cluster;
    launch.params = &params_;
    launch.params_bytes = sizeof params_;
    launch.memory = ranges_;
    arch::KernelEntry entry = *kernel(test.name);  // one macro defines all, for as many threads as any needs
    entry.threads = launch.threads;
    return emu::check(emu::sm90::kModel, entry, launch, options, 8, module().checked != 0);
  }

 private:
  static constexpr u32 kTile = 512, kNoise = kTile + 1024, kMap = kNoise + 64, kWords = kMap + 128;
  std::vector<u32> storage_;
  Params params_{};
  std::array<runtime::MemoryRange, 4> ranges_;
};

std::string shown(const CheckReport& report) {
  std::string text = report.verdict == Verdict::incomplete ? "incomplete: " + report.why_incomplete : "";
  for (const Finding& finding : report.findings) text += "\n" + finding.text;
  return text;
}

std::string replay(const Litmus& test, const EmuOptions& options) {
  return fmt::format("{} schedule with seed {}; replay: WARPWRIGHT_LITMUS={} WARPWRIGHT_CHECK_SEED={} litmus_test",
                     name_of(options.schedule), options.seed, test.name, base_seed());
}

/// Empty when every schedule agrees with the verdict, otherwise what does not.
std::string disagreement(const Litmus& test, const std::string& verdict, StrictRules rules) {
  Memory memory;
  bool reported = false;
  for (int i = 0; i <= kSchedules; ++i) {
    EmuOptions options = schedule(i);
    options.strict_rules = rules;
    const CheckReport report = memory.check(test, options);
    if (report.verdict == Verdict::incomplete) return replay(test, options) + "\n" + shown(report);
    for (const Finding& finding : report.findings) {
      const std::string rule = rule_name(finding.rule);
      if (rule == verdict) reported = true;
      else if (verdict == "clean" || rule != test.also)
        return fmt::format("expected {}, got {}: {}\n{}", verdict, rule, replay(test, options), shown(report));
    }
  }
  if (verdict == "clean" || reported) return {};
  return fmt::format("expected {}, but no schedule reports it: {}", verdict, replay(test, schedule(0)));
}

TEST(Litmus, EveryKernelGetsTheVerdictOfTheDocument) {
  const char* only = std::getenv("WARPWRIGHT_LITMUS");
  const std::map<std::string, std::string> known = disagreements();
  std::size_t run = 0, disagreeing = 0;
  for (const Litmus& test : litmus_tests()) {
    if (only && test.name != only) continue;
    ASSERT_NE(kernel(test.name), nullptr) << test.name;
    ++run;
    const std::string why = disagreement(test, test.verdict, default_strict_rules());
    const auto expected = known.find(test.name);
    if (expected == known.end()) {
      if (!why.empty()) ADD_FAILURE() << test.name << ": " << why;
    } else {
      ++disagreeing;
      EXPECT_NE(why, "") << test.name << " agrees now; delete its line of disagreements.txt:" << expected->second;
      if (only) fmt::print("{}: {}\n", test.name, why);
    }
  }
  fmt::print("{} tests, {} schedules each, {} known disagreements\n", run, kSchedules + 1, disagreeing);
  EXPECT_GE(run, only ? 1u : 80u);
}

// A verdict that rests on a strict rule goes with it: clean without the rule, or not clean with one that is off.
TEST(Litmus, StrictRulesDecideWhatTheDocumentSaysTheyDecide) {
  int run = 0;
  for (const Litmus& test : litmus_tests()) {
    if (test.strict.empty()) continue;
    ++run;
    const auto names = std::vector<std::string>{test.strict};
    const auto rules = test.strict_on ? strict_rules(names, {}) : strict_rules({}, names);
    ASSERT_TRUE(rules) << rules.error().message;
    const std::string why = disagreement(test, "clean", *rules);
    if (test.strict_on) EXPECT_EQ(why, "") << test.name;
    else EXPECT_EQ(why.find("expected clean, got "), 0u) << test.name << ": " << why;
  }
  EXPECT_GE(run, 5);
}

// fence.proxy.async.shared::cta covers no memory of a peer, so that the advice must name the other fence.
TEST(Litmus, AdviceForMemoryOfAPeerNamesAFenceThatCoversIt) {
  for (const Litmus& test : litmus_tests()) {
    if (test.name != "remote_write_then_tma_store_cta_fence") continue;
    const CheckReport report = Memory().check(test, schedule(0));
    ASSERT_EQ(report.findings.size(), 1u) << shown(report);
    EXPECT_EQ(report.findings[0].advice.find("call fence::proxy_async() in every thread that wrote"), 0u)
        << shown(report);
    return;
  }
  FAIL() << "no such test";
}

TEST(Litmus, EveryDisagreementNamesATest) {
  std::set<std::string> names;
  for (const Litmus& test : litmus_tests()) names.insert(test.name);
  for (const auto& [name, reason] : disagreements()) {
    EXPECT_TRUE(names.contains(name)) << name;
    EXPECT_GT(reason.size(), 10u) << name << ": no reason";
  }
}

}  // namespace
}  // namespace ww
