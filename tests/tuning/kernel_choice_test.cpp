// SPDX-License-Identifier: Apache-2.0
// `tune --kernels` on the emulated device: the rows that lines are for, what the file then says, and what auto takes.
#include <algorithm>
#include <limits>
#include <set>

#include "bench/native/kernel_choice.hpp"
#include "bench/native/tuning_file.hpp"
#include "launch/plan_sources.hpp"
#include "tuning_file.hpp"

namespace ww::tuning {
namespace {

using namespace bench;

/// The next line serves every number of rows: Table::find takes one that is at most a quarter larger.
TEST(RowSteps, EveryNumberOfRowsHasALine) {
  for (const std::int64_t most : {1, 2, 16, 17, 100, 4096, 8191, 8192, 8193}) {
    const std::vector<std::int64_t> steps = row_steps(most);
    EXPECT_EQ(steps.front(), 1);
    EXPECT_EQ(steps.back(), most);
    for (std::size_t i = 1; i < steps.size(); ++i) {
      EXPECT_LT(steps[i - 1], steps[i]);
      const std::int64_t first = steps[i - 1] + 1;
      EXPECT_LE(steps[i] - first, first / 4) << most;
    }
  }
  EXPECT_EQ(row_steps(8192).size(), 88u);
}

class FewKernels : public TuningFile {
 protected:
  TuneOptions options(int kernels) const {
    TuneOptions options{.file = path_};
    options.kernels = kernels;
    options.bench.device = "emu:sm90";
    options.bench.device_options.tuning = kNoTuning;
    options.bench.m = 1, options.bench.n = 2112, options.bench.k = 7168;
    options.up_to = 1000;
    return options;
  }
  std::set<std::string> sources_of_lines() const {
    std::set<std::string> sources;
    const auto lines = read_lines(path_).value();
    for (const FileLine& one : lines)
      sources.insert(adapters::plan_sources(parse_config(one.line.config).value()).front().text);
    return sources;
  }
};

TEST_F(FewKernels, EveryNumberOfRowsFollowsOneOfSoManyKernels) {
  const Outcome outcome = run_tune(dense_suite(), options(3)).value();
  EXPECT_EQ(sources_of_lines().size(), 3u) << outcome.text;
  const auto lines = read_lines(path_).value();
  EXPECT_EQ(lines.size(), row_steps(1000).size());
  for (const FileLine& one : lines) EXPECT_TRUE(one.line.modelled);
  const Device follows = device();
  std::set<std::string> taken;
  for (std::int64_t m = 1; m <= 1000; m += m < 40 ? 1 : 37) {
    const GemmProblem problem{.m = m, .n = 2112, .k = 7168, .scale = Scale::block_1x128_128x128};
    const Explanation all = explain(follows, problem).value();
    EXPECT_TRUE(all.tuned) << m;
    EXPECT_NE(all.because.find("one of few kernels for many problems"), std::string::npos) << all.because;
    taken.insert(adapters::plan_sources(all.chosen.config).front().text);
  }
  EXPECT_LE(taken.size(), 3u);
}

/// With a kernel for each problem nothing is lost: each then has the fastest config of its ranking.
TEST_F(FewKernels, EnoughKernelsLoseNothing) {
  run_tune(dense_suite(), options(100)).value();
  const auto lines = read_lines(path_).value();
  for (const FileLine& one : lines) {
    const GemmProblem problem{.m = one.line.problem.m, .n = 2112, .k = 7168, .scale = Scale::block_1x128_128x128};
    double least = std::numeric_limits<double>::infinity();
    const Explanation all = explain(plain(), problem).value();
    for (const RankedConfig& config : all.ranking) least = std::min(least, config.us);
    EXPECT_DOUBLE_EQ(one.line.us, least) << problem.m;
  }
}

TEST_F(FewKernels, ASecondRunReplacesTheLinesAndMeasuredOnesAreRefused) {
  run_tune(dense_suite(), options(2)).value();
  const std::size_t count = read_lines(path_)->size();
  run_tune(dense_suite(), options(1)).value();
  EXPECT_EQ(read_lines(path_)->size(), count);
  EXPECT_EQ(sources_of_lines().size(), 1u);
  Line measured = read_lines(path_).value()[4].line;
  measured.modelled = false;
  write(to_text(measured) + "\n");
  const Result<Outcome> refused = run_tune(dense_suite(), options(1));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a file without measured lines of these problems"), std::string::npos);
  EXPECT_EQ(content(), to_text(measured) + "\n");
  TuneOptions dry = options(1);
  dry.dry_run = true;
  const Result<Outcome> refused_too = run_tune(dense_suite(), dry);
  ASSERT_FALSE(refused_too);
  EXPECT_EQ(refused_too.error().message, refused.error().message);
}

/// Another process measures a problem between the choice and the lock.
TEST_F(FewKernels, ModelledLinesNeverReplaceMeasuredOnesThatCameSince) {
  const Problem problem{.op = "gemm", .m = 8, .n = 64, .k = 128, .family = "any"};
  Line modelled = line_of(problem, "modelled"), other = modelled;
  modelled.modelled = other.modelled = true, other.problem.m = 9;
  bench::TuningFile file(path_, here());
  ASSERT_TRUE(file.read());
  const std::string measured = to_text(line_of(problem, "measured")) + "\n";
  write(measured);
  const Result<void> refused = file.add({other, modelled});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("got gemm 8 x 64 x 128"), std::string::npos) << refused.error().message;
  EXPECT_EQ(content(), measured);
  EXPECT_TRUE(file.add({other}));
  EXPECT_TRUE(file.add({line_of(problem, "measured again")}));
  EXPECT_EQ(read_lines(path_)->size(), 2u);
}

/// Masked groups are one problem for all counts up to the same capacity.
TEST_F(FewKernels, EachProblemHasOneLineAndOneWeight) {
  TuneOptions how = options(2);
  how.bench.m = 0, how.bench.n = 4096, how.bench.counts = {1, 1, 1, 1};
  how.bench.config.row_groups.variant = GroupedVariant::masked;
  how.up_to = 40;
  const Outcome outcome = run_tune(grouped_suite(), how).value();
  std::set<std::int64_t> rows;
  const auto lines = read_lines(path_).value();
  for (const FileLine& one : lines) EXPECT_TRUE(rows.insert(one.line.problem.m).second) << one.text;
  std::set<std::int64_t> capacities;
  for (const std::int64_t all : row_steps(how.up_to)) capacities.insert((all + 3) / 4);
  EXPECT_EQ(rows.size(), capacities.size());
  EXPECT_EQ(outcome.text.find(std::to_string(capacities.size()) + " problems"), outcome.text.find(": ") + 2)
      << outcome.text;
}

TEST_F(FewKernels, WhatIsNotTunedIsRefusedBeforeTheChoice) {
  TuneOptions how = options(2);
  how.bench.out = DType::e4m3;
  EXPECT_EQ(run_tune(dense_suite(), how).error().argument, "--out-dtype");
  how = options(2);
  how.bench.k = 7;  // which is refused later
  std::filesystem::create_directory(path_.string() + ".lock");
  EXPECT_EQ(run_tune(dense_suite(), how).error().argument, "--tuning");
  how.dry_run = true;
  EXPECT_NE(run_tune(dense_suite(), how).error().message.find("; the case is "), std::string::npos);
}

TEST_F(FewKernels, GroupsOfRowsToo) {
  TuneOptions how = options(2);
  how.bench.m = 0, how.bench.n = 4096, how.bench.counts = {1, 1, 1, 1};
  how.up_to = 4000;
  run_tune(grouped_suite(), how).value();
  EXPECT_EQ(sources_of_lines().size(), 2u);
  for (const std::int64_t rows : {1, 5, 700, 4000}) {
    GroupedProblem problem{.groups = 4, .rows = rows, .n = 4096, .k = 7168};
    problem.scale = Scale::block_1x128_128x128;
    EXPECT_TRUE(explain(device(), problem)->tuned) << rows;
  }
  how.bench.counts = {128, 128};
  EXPECT_EQ(run_tune(k_grouped_suite(), how).error().argument, "--kernels");
}

TEST_F(FewKernels, ADryRunAndAListWithoutAFileWriteNoLines) {
  TuneOptions how = options(2);
  how.dry_run = true;
  run_tune(dense_suite(), how).value();
  EXPECT_FALSE(std::filesystem::exists(path_));
  how.dry_run = false, how.file.clear(), how.list = path_;
  run_tune(dense_suite(), how).value();
  EXPECT_EQ(content().find("\narch=sm90"), content().find('\n'));
}

}  // namespace
}  // namespace ww::tuning
