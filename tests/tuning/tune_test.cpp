// SPDX-License-Identifier: Apache-2.0
// `tune` on the emulated device: the line that it writes, what a second run does, and which lines stay in a file.
#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "bench/native/cuda.hpp"
#include "bench/native/tune.hpp"
#include "jit/files.hpp"
#include "tuning_file.hpp"

namespace ww::tuning {
namespace {

using namespace bench;

class Tune : public TuningFile {
 protected:
  TuneOptions options() const {
    TuneOptions options{.file = path_, .best = 0};
    options.bench.device = "emu:sm90";
    options.bench.device_options.tuning = kNoTuning;
    options.bench.m = 64, options.bench.n = 64, options.bench.k = 256;
    return options;
  }
  /// What the run says of itself.
  std::string run(const TuneOptions& options, const Suite& suite = dense_suite()) const {
    const Result<Outcome> outcome = run_tune(suite, options);
    return outcome ? outcome->text : outcome.error().message;
  }
};

TEST_F(Tune, TheFastestConfigIsWrittenAndFollowed) {
  TuneOptions how = options();
  how.best = 1;
  EXPECT_NE(run(how).find("1 measured, 0 known, 0 failed, 0 without time; times of an emulated device are for tests"),
            std::string::npos);
  const auto lines = read_lines(path_).value();
  ASSERT_EQ(lines.size(), 1u);
  const Line& line = lines[0].line;
  EXPECT_EQ(line.place, here());
  ASSERT_EQ(line.times.size(), 2u);
  const auto fastest = std::min_element(line.times.begin(), line.times.end(),
                                        [](const Timing& a, const Timing& b) { return a.us < b.us; });
  // The first is auto's own choice, which stays unless another is more than 1 % faster.
  EXPECT_TRUE(line.config == fastest->config ||
              (line.config == line.times[0].config && fastest->us > 0.99 * line.times[0].us));
  const Explanation all = explain(device(), problem_of({.m = 64, .n = 64, .k = 256}, how.bench)).value();
  EXPECT_TRUE(all.tuned);
  EXPECT_EQ(to_text(all.chosen.config), line.config);
}

TEST_F(Tune, ASecondRunMeasuresOnlyWhatIsMissing) {
  EXPECT_NE(run(options()).find("1 measured, 0 known"), std::string::npos);
  const std::string first = content();
  EXPECT_NE(run(options()).find("0 measured, 1 known"), std::string::npos);
  EXPECT_EQ(content(), first);
  TuneOptions other = options();
  other.bench.m = 65;
  EXPECT_NE(run(other).find("1 measured, 0 known"), std::string::npos);
  EXPECT_EQ(content().substr(0, first.size()), first);  // the first line is as it was
  EXPECT_EQ(std::ranges::count(content(), '\n'), 2);
}

TEST_F(Tune, LinesOfOtherPlacesStayAndStaleOnesOfThisDeviceAreReplaced) {
  run(options());
  Line own = read_lines(path_).value()[0].line, stale = own, foreign = own;
  stale.place.source_hash = "old";
  foreign.place.device = "NVIDIA H200", foreign.place.source_hash = "old";
  write(to_text(stale) + "\n" + to_text(foreign) + "\n");
  EXPECT_NE(run(options()).find("1 measured, 0 known"), std::string::npos);
  const auto lines = read_lines(path_).value();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, to_text(foreign));
  EXPECT_EQ(lines[1].line.place, here());
}

TEST_F(Tune, RestrictedRunsKeepLinesOfTheirOwn) {
  TuneOptions how = options();
  run(how);
  how.bench.config.sm90.stages = 3;
  EXPECT_NE(run(how).find("1 measured, 0 known"), std::string::npos);
  how.bench.batch_invariant = true;
  EXPECT_NE(run(how).find("1 measured, 0 known"), std::string::npos);
  EXPECT_NE(run(how).find("0 measured, 1 known"), std::string::npos);
  const auto lines = read_lines(path_).value();
  ASSERT_EQ(lines.size(), 3u);
  const GemmProblem problem = problem_of({.m = 64, .n = 64, .k = 256}, how.bench);
  const auto line_of_call = [&](const GemmOptions& call) { return explain(device(), problem, call)->because; };
  EXPECT_NE(line_of_call({}).find("line 1)"), std::string::npos);
  EXPECT_NE(line_of_call({.config = how.bench.config}).find("line 2)"), std::string::npos);
  EXPECT_NE(line_of_call({.config = how.bench.config, .batch_invariant = true}).find("line 3)"), std::string::npos);
  EXPECT_FALSE(explain(device(), problem, {.batch_invariant = true})->tuned);
}

/// variant=masked says how the groups are given, so that calls with such groups follow the line.
TEST_F(Tune, MaskedGroupsAreTunedAmongAllVariants) {
  TuneOptions how = options();
  how.bench.counts = {3, 0, 40};
  how.bench.m = 0;
  how.bench.config.row_groups.variant = GroupedVariant::masked;
  how.dry_run = true, how.best = 30;
  const std::string listed = run(how, grouped_suite());
  EXPECT_NE(listed.find("variant=ragged"), std::string::npos) << listed;
  EXPECT_NE(listed.find("variant=masked"), std::string::npos) << listed;
  how.dry_run = false, how.best = 1;
  EXPECT_NE(run(how, grouped_suite()).find("2 of 2 configs ran"), std::string::npos);
  GroupedProblem problem{.groups = 3, .rows = 40, .n = 64, .k = 256};
  problem.a = problem.b = how.bench.dtype, problem.d = how.bench.out, problem.scale = how.bench.scale;
  problem.encoding = GroupEncoding::masked;
  EXPECT_TRUE(explain(device(), problem)->tuned) << content();
}

/// Another process holds the lock while the run measures, and has replaced the file when it lets go.
TEST_F(Tune, ALineOfAnotherProcessIsKept) {
  run(options());
  Line other = read_lines(path_).value()[0].line;
  other.problem.m = 1;
  std::filesystem::remove(path_);
  auto lock = jit::advisory_lock(path_.string() + ".lock", std::chrono::seconds(1)).value();
  ASSERT_TRUE(lock);
  auto measured = std::async(std::launch::async, [&] { return run(options()); });
  std::this_thread::sleep_for(std::chrono::seconds(2));
  write(to_text(other) + "\n");
  lock.reset();
  EXPECT_NE(measured.get().find("1 measured"), std::string::npos);
  const auto lines = read_lines(path_).value();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, to_text(other));
}

TEST_F(Tune, AFileThatCannotBeLockedIsRefusedBeforeAnythingIsMeasured) {
  std::filesystem::create_directory(path_.string() + ".lock");
  TuneOptions how = options();
  how.bench.progress = [](const std::string& line) { ADD_FAILURE() << line; };
  const std::string refused = run(how);
  EXPECT_NE(refused.find("--tuning"), std::string::npos) << refused;
  EXPECT_NE(refused.find(".lock: Is a directory"), std::string::npos) << refused;
  EXPECT_FALSE(std::filesystem::exists(path_));
  how.bench.progress = {}, how.dry_run = true;
  EXPECT_NE(run(how).find("1 to measure"), std::string::npos);
}

TEST_F(Tune, LargeProductsOfAGpuRunAlone) {
  EXPECT_TRUE(measured_alone(1e11, false));
  EXPECT_FALSE(measured_alone(0.99e11, false));
  EXPECT_FALSE(measured_alone(1e12, true));  // an emulated device has no power limit
}

/// Each of those that run alone takes 1.2 s at least.
TEST_F(Tune, TheTimeOfACaseCountsItsContenders) {
  EXPECT_DOUBLE_EQ(seconds_of({.seconds = 6, .alone = false}, 9), 6);
  EXPECT_DOUBLE_EQ(seconds_of({.seconds = 6, .alone = true}, 5), 6);
  EXPECT_DOUBLE_EQ(seconds_of({.seconds = 6, .alone = true}, 9), 9 * 1.2);
  EXPECT_DOUBLE_EQ(seconds_of({.seconds = 0.5, .alone = true}, 1), 1.2);
}

/// A case that the file already has needs no time; without time, one that it lacks is left.
TEST_F(Tune, ACaseWithoutTimeIsLeft) {
  TuneOptions how = options();
  how.bench.seconds_per_case = 6, how.bench.seconds_total = 5;
  EXPECT_NE(run(how).find("0 measured, 0 known, 0 failed, 1 without time"), std::string::npos);
  run(options());
  EXPECT_NE(run(how).find("0 measured, 1 known, 0 failed, 0 without time"), std::string::npos);
}

TEST_F(Tune, GroupsAreTunedToo) {
  TuneOptions how = options();
  how.bench.counts = {3, 0, 40};
  how.bench.m = 0;
  EXPECT_NE(run(how, grouped_suite()).find("1 measured"), std::string::npos);
  how.bench.dtype = DType::bf16, how.bench.out = DType::f32, how.bench.scale = Scale::none;
  how.bench.m = how.bench.n = 64, how.bench.counts = {128, 128};
  how.bench.k_grouped = {.problem = {.groups = 2, .m = 64, .n = 64, .k = 256}, .groups = {.counts = {128, 128}}};
  EXPECT_NE(run(how, k_grouped_suite()).find("1 measured"), std::string::npos);
  const auto lines = read_lines(path_).value();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line.problem.op, "grouped");
  EXPECT_EQ(lines[0].line.problem.m, 43);
  EXPECT_EQ(lines[0].line.problem.count, 3);
  EXPECT_EQ(lines[1].line.problem.op, "k-grouped");
}

TEST_F(Tune, ADryRunListsCandidatesAndWritesNothing) {
  TuneOptions how = options();
  how.dry_run = true, how.best = 3, how.extra = 2;
  const Outcome listed = run_tune(dense_suite(), how).value();
  EXPECT_EQ(std::ranges::count(listed.text, '\n'), 8) << listed.text;  // a title, six configs, the summary
  EXPECT_EQ(run(how), listed.text);
  how.bench.seed = 5;
  EXPECT_NE(run(how), listed.text);  // other configs beside those of the ranking
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Tune, AFileWithABadLineIsNotOverwritten) {
  write("not JSON\n");
  EXPECT_NE(run(options()).find("expected a JSON object in " + path_.string() + ", line 1"), std::string::npos);
  EXPECT_EQ(content(), "not JSON\n");
}

}  // namespace
}  // namespace ww::tuning
