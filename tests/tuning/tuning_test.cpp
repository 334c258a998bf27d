// SPDX-License-Identifier: Apache-2.0
// Which line of a tuning file a plan follows, which it ignores and why, and which files are refused.
#include <sys/stat.h>

#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "ops/gemm_choice.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/group_choice.hpp"
#include "ops/grouped_validation.hpp"
#include "tuning_file.hpp"

namespace ww::tuning {
namespace {

const GemmProblem kDense{.m = 64, .n = 256, .k = 512, .scale = Scale::block_1x128_128x128};
const GroupedProblem kRows{.groups = 4, .rows = 400, .n = 256, .k = 512, .scale = Scale::block_1x128_128x128};
const KGroupedProblem kGroupsOfK{.groups = 2, .m = 256, .n = 256, .k = 512};

Problem key(const GemmProblem& p, const GemmOptions& options = {}) {
  return ops::tuning_problem(ops::validate(p).value(), options);
}
Problem key(const GroupedProblem& p, const GemmOptions& options = {}) {
  return ops::tuning_problem(ops::validate(p).value(), options);
}
Problem key(const KGroupedProblem& p, const GemmOptions& options = {}) {
  return ops::tuning_problem(ops::decide(p, {})->batch, p, options);
}

class Tuning : public TuningFile {
 protected:
  /// Returns a config of the ranking that the emulated device would not take by itself.
  template <class P> static GemmConfig other_config(const P& problem) {
    const Result<Explanation> all = explain(plain(), problem);
    if (!all) {
      ADD_FAILURE() << all.error().message;
      return {};
    }
    for (const RankedConfig& ranked : all->ranking)
      if (ranked.config != all->chosen.config) return ranked.config;
    ADD_FAILURE() << "only one config";
    return {};
  }
};

TEST_F(Tuning, ALineIsWrittenAndReadAgain) {
  const Line line = line_of(key(kDense), "arch=sm90,tile=64x64x128", 12.5);
  write("\n" + to_text(line) + "\n\n" + to_text(line) + "\n");
  const auto lines = read_lines(path_).value();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].number, 2);
  EXPECT_EQ(lines[1].number, 4);
  EXPECT_EQ(lines[0].text, to_text(line));
  EXPECT_EQ(to_text(lines[1].line), to_text(line));
  EXPECT_EQ(lines[0].line.problem, line.problem);
  EXPECT_EQ(lines[0].line.place, line.place);
}

TEST_F(Tuning, APlanFollowsTheFileInEveryOperation) {
  const auto follows = [&](const auto& problem) {
    const GemmConfig tuned = other_config(problem);
    write(to_text(line_of(key(problem), to_text(tuned))) + "\n");
    const Result<Explanation> all = explain(device(), problem);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(to_text(all->chosen.config), to_text(tuned));
    EXPECT_TRUE(all->tuned);
    EXPECT_EQ(all->because, fmt::format("the fastest of 2 configs measured, 5 us ({}, line 1)", path_.string()));
  };
  follows(kDense);
  follows(kRows);
  GroupedProblem masked = kRows;
  masked.encoding = GroupEncoding::masked, masked.rows = 64;
  follows(masked);
  follows(kGroupsOfK);
  GemmProblem batch = kDense;
  batch.batch = 3, batch.batch_d = batch.m * batch.n;
  follows(batch);
}

/// The kernel of the line is what runs: its module is one of those that ship, so that nothing is compiled.
TEST_F(Tuning, AProductByATunedConfigRuns) {
  const GemmProblem large{.m = 512, .n = 512, .k = 512, .scale = Scale::block_1x128_128x128};
  const GemmConfig shipped = explain(plain(), large)->chosen.config;
  ASSERT_NE(shipped, explain(plain(), kDense)->chosen.config);
  write(to_text(line_of(key(kDense), to_text(shipped))));
  const auto plan = plan_gemm(device(), kDense);
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->config(), shipped);
}

TEST_F(Tuning, AStaleLineIsIgnoredWithItsReason) {
  const std::string config = to_text(other_config(kDense));
  const auto ignored = [&](auto&& change, const std::string& reason) {
    Line line = line_of(key(kDense), config);
    change(line.place);
    write(to_text(line));
    const Explanation all = explain(device(), kDense).value();
    EXPECT_FALSE(all.tuned);
    EXPECT_NE(to_text(all.chosen.config), config);
    EXPECT_EQ(all.tuning, fmt::format("{}, line 1 is stale: {}", path_.string(), reason));
  };
  ignored([](Place& place) { place.source_hash = "xxh3-128:0"; },
          "its kernels have the source hash xxh3-128:0, those of this library " + here().source_hash);
  ignored([](Place& place) { place.device = "NVIDIA H200"; }, "it was measured on NVIDIA H200, not on emulated sm_90a");
  ignored([](Place& place) { place.sms = 132; },
          fmt::format("it was measured on 132 SMs, and this device has {}", here().sms));
  ignored([](Place& place) { place.driver = "13.0"; },
          "it was measured with a driver for CUDA 13.0, and this one is for ");
}

TEST_F(Tuning, OnlyTheMajorVersionOfTheDriverCounts) {
  const Place line{"h", "NVIDIA H200", 132, "13.0"};
  EXPECT_EQ(staleness(line, {"h", "NVIDIA H200", 132, "13.2"}), "");
  EXPECT_NE(staleness(line, {"h", "NVIDIA H200", 132, "12.9"}), "");
  EXPECT_NE(staleness(line, {"h", "NVIDIA H200", 132, "130.0"}), "");
}

/// A stale line may be of a library that had other keys, so its config is not read.
TEST_F(Tuning, AStaleLineMayHaveAnyConfig) {
  Line line = line_of(key(kDense), "no=config");
  line.place.source_hash = "another";
  write(to_text(line));
  EXPECT_FALSE(explain(device(), kDense)->tuned);
}

TEST_F(Tuning, ACallThatExcludesTheConfigIsNotServedByIt) {
  const GemmConfig tuned = other_config(kDense);
  GemmOptions options;
  options.config.tile = {64, tuned.tile.n == 64 ? 128 : 64, 128};
  write(to_text(line_of(key(kDense, options), to_text(tuned))));
  const Explanation all = explain(device(), kDense, options).value();
  EXPECT_FALSE(all.tuned);
  EXPECT_NE(all.tuning.find("has a config that this call excludes: " + to_text(tuned)), std::string::npos)
      << all.tuning;
  EXPECT_EQ(all.chosen.config.tile.n, options.config.tile.n);
}

TEST_F(Tuning, ABatchInvariantCallTakesNoSplitOfK) {
  GemmProblem p = kDense;
  p.k = 4096;
  GemmOptions options;
  options.config.sm90.tile_scheduler = TileScheduler::split_k, options.config.sm90.split = 2;
  const GemmConfig split = explain(plain(), p, options)->ranking.front().config;
  write(to_text(line_of(key(p), to_text(split))) + "\n" +
        to_text(line_of(key(p, {.batch_invariant = true}), to_text(split))));
  EXPECT_TRUE(explain(device(), p)->tuned);
  const Explanation invariant = explain(device(), p, {.batch_invariant = true}).value();
  EXPECT_FALSE(invariant.tuned);
  EXPECT_NE(invariant.tuning.find("line 2 has a config that this call excludes"), std::string::npos)
      << invariant.tuning;
}

/// The fastest of fewer configs says nothing about all of them, nor the reverse.
TEST_F(Tuning, ALineServesOnlyCallsWithTheRestrictionsOfItsTune) {
  const auto separate = [&](const auto& problem) {
    GemmOptions stages, both;
    stages.config.sm90.stages = both.config.sm90.stages = 3;
    both.batch_invariant = true;
    const std::vector<GemmOptions> all{{}, stages, {.sms = 2}, {.batch_invariant = true}, both};
    for (const GemmOptions& of_line : all) {
      const Explanation model = explain(plain(), problem, of_line).value();
      write(to_text(line_of(key(problem, of_line), to_text(model.chosen.config))));
      for (const GemmOptions& of_call : all) {
        const Explanation choice = explain(device(), problem, of_call).value();
        EXPECT_EQ(choice.tuned, &of_line == &of_call) << content() << to_text(of_call.config);
        EXPECT_EQ(choice.tuning.empty(), &of_line != &of_call) << choice.tuning;
      }
    }
  };
  separate(kDense);
  separate(kRows);
  separate(kGroupsOfK);
  const Line free = line_of(key(kDense), "arch=sm90"), limited = line_of(key(kDense, {.sms = 2}), "arch=sm90");
  EXPECT_EQ(to_text(free).find("limits"), std::string::npos);
  EXPECT_NE(to_text(limited).find("\"limits\":\"sms=2\""), std::string::npos);
  write(to_text(limited));
  EXPECT_EQ(read_lines(path_).value()[0].line.problem, limited.problem);
}

TEST_F(Tuning, OtherProblemsAreLeftToTheModel) {
  write(to_text(line_of(key(kDense), to_text(other_config(kDense)))));
  const Device tuned = device();
  for (auto change :
       {+[](GemmProblem& p) { p.n = 512; }, +[](GemmProblem& p) { p.k = 1024; }, +[](GemmProblem& p) { p.m = 65; },
        +[](GemmProblem& p) { p.m = 51; }, +[](GemmProblem& p) { p.batch = 2, p.batch_d = p.m * p.n; },
        +[](GemmProblem& p) { p.d = DType::f32; }, +[](GemmProblem& p) { p.scale = Scale::tensor; },
        +[](GemmProblem& p) { p.m = 0; }, +[](GemmProblem& p) { p.k = 0; }}) {
    GemmProblem p = kDense;
    change(p);
    const Result<Explanation> all = explain(tuned, p);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_FALSE(all->tuned) << p.m << 'x' << p.n << 'x' << p.k;
    EXPECT_EQ(all->tuning, "");
  }
  GemmProblem fewer = kDense;
  fewer.m = 52;  // 64 is less than a quarter more
  EXPECT_TRUE(explain(tuned, fewer)->tuned);
  EXPECT_NE(explain(tuned, fewer)->because.find("measured for an M of 64, "), std::string::npos);
}

/// find() against its definition, for entries with extents, prices and staleness drawn from a seed.
TEST_F(Tuning, TheNextLargerExtentWithinAQuarterIsFound) {
  std::mt19937_64 draws(20261123);
  for (int round = 0; round < 40; ++round) {
    std::vector<Line> lines;
    std::string text;
    for (int i = 0; i < 12; ++i) {
      Problem problem = key(kDense);
      problem.m = static_cast<std::int64_t>(1 + draws() % 40);
      lines.push_back(line_of(problem, "arch=sm90", static_cast<double>(i + 1)));
      if (draws() % 3 == 0) lines.back().place.device = "another";
      text += to_text(lines.back()) + "\n";
    }
    write(text);
    const auto table = Table::open(path_, here()).value();
    for (std::int64_t m = 1; m <= 45; ++m) {
      Problem wanted = key(kDense);
      wanted.m = m;
      const Line* best = nullptr;
      for (const bool stale : {false, true})
        for (const Line& line : lines) {
          const std::int64_t at = line.problem.m;
          if ((line.place.device == "another") != stale || at < m || 4 * at > 5 * m) continue;
          if (best == nullptr || ((best->place.device == "another") == stale && at <= best->problem.m)) best = &line;
        }
      const Table::Entry* found = table->find(wanted);
      ASSERT_EQ(found == nullptr, best == nullptr) << "round " << round << ", M " << m << "\n" << text;
      if (found == nullptr) continue;
      EXPECT_EQ(found->us, best->us) << "round " << round << ", M " << m << "\n" << text;
    }
  }
}

TEST_F(Tuning, BadFilesAreRefusedWithFileAndLine) {
  const std::string good = to_text(line_of(key(kDense), to_text(other_config(kDense))));
  const auto refused = [&](const std::string& bad, const std::string& expected, const std::string& actual) {
    write(good + "\n" + bad + "\n");
    const auto opened = open(path_);
    ASSERT_FALSE(opened) << bad;
    EXPECT_EQ(opened.error().code, ErrorCode::invalid);
    EXPECT_EQ(opened.error().argument, "tuning");
    EXPECT_EQ(opened.error().expected, fmt::format("{} {}, line 2", expected, path_.string())) << bad;
    EXPECT_EQ(opened.error().actual, actual) << bad;
  };
  const auto without = [&](const std::string& part, const std::string& instead) {
    std::string text = good;
    return text.replace(text.find(part), part.size(), instead);
  };
  refused("{", "a JSON object in", "\"{\"");
  refused("[]", "a JSON object in", "\"[]\"");
  refused("{}", "a text as op in", "nothing");
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  refused("{\"op\":" + deep + "}", "a text as op in", "an array");
  refused(without("\"times\":[", "\"times\":[" + deep + ","), "a text as config in", "nothing");
  refused(without("\"m\":64", "\"m\":-1"), "an integer from 0 as m in", "-1");
  refused(without("\"m\":64", "\"m\":6.5"), "an integer from 0 as m in", "6.5");
  refused(without("\"us\":5.0,", "\"us\":0,"), "a positive number as us in", "0");
  refused(without("\"times\":[", "\"times\":[3,"), "a text as config in", "nothing");
  refused(to_text(line_of(key(kDense), "tiles=1")), "a config in", "\"tiles=1\"");
  const auto missing = open("/no/such/file");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().argument, "tuning");
  EXPECT_EQ(missing.error().actual, "/no/such/file");
}

TEST_F(Tuning, ALineOfFarMoreRowsIsNotFollowedWhateverTheirNumber) {
  for (const std::int64_t m :
       {kDense.m + kDense.m / 4 + 1, std::int64_t{1} << 40, (std::int64_t{1} << 62) + 64, INT64_MAX}) {
    Problem far = key(kDense);
    far.m = m;
    write(to_text(line_of(far, to_text(other_config(kDense)))));
    EXPECT_FALSE(explain(device(), kDense)->tuned) << m;
  }
}

TEST_F(Tuning, AFileThatNeedNotEndIsRefused) {
  const std::string fifo = path_.string() + ".fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& path : {fifo, std::string("/dev/zero"), path_.parent_path().string()})
    EXPECT_FALSE(open(path)) << path;
  std::filesystem::remove(fifo);
}

TEST_F(Tuning, TheEnvironmentNamesAFileAndAnOptionOverridesIt) {
  const GemmConfig tuned = other_config(kDense);
  write(to_text(line_of(key(kDense), to_text(tuned))));
  ASSERT_EQ(setenv("WARPWRIGHT_TUNING", path_.c_str(), 1), 0);
  EXPECT_TRUE(explain(Device::open("emu:sm90").value(), kDense)->tuned);
  EXPECT_FALSE(explain(plain(), kDense)->tuned);
  ASSERT_EQ(setenv("WARPWRIGHT_TUNING", "/no/such/file", 1), 0);
  EXPECT_FALSE(Device::open("emu:sm90"));
  EXPECT_TRUE(explain(device(), kDense)->tuned);
  ASSERT_EQ(unsetenv("WARPWRIGHT_TUNING"), 0);
  EXPECT_FALSE(explain(Device::open("emu:sm90").value(), kDense)->tuned);
}

}  // namespace
}  // namespace ww::tuning
