// SPDX-License-Identifier: Apache-2.0
// The benchmark's bookkeeping, which needs no GPU: cases, data, the spot check, ratios, and a run on the emulator.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/native/report.hpp"
#include "reference/element.hpp"

namespace ww::bench {
namespace {

class CaseFile : public testing::Test {
 protected:
  ~CaseFile() override { std::filesystem::remove(path_); }
  Result<std::vector<BenchCase>> read(const std::string& text, std::int64_t min_m = 0) {
    std::ofstream(path_) << text;
    BenchOptions options;
    options.cases = path_;
    options.min_m = min_m;
    return bench_cases(options, skipped_);
  }
  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("ww_bench_test_" + std::to_string(getpid()) + ".json");
  int skipped_ = 0;
};

TEST_F(CaseFile, DenseCasesAreReadAndOthersCounted) {
  const auto cases = read(R"({"cases":[{"op":"dense","m":64,"n":128,"k":256,"roof_us":3.5,"peers_us":{"x":7}},
                                        {"op":"grouped"},{"op":"dense","m":8,"n":16,"k":32}]})",
                          10);
  ASSERT_TRUE(cases) << cases.error().message;
  ASSERT_EQ(cases->size(), 1u);
  EXPECT_EQ(cases->front().m, 64);
  EXPECT_EQ(cases->front().roof_us, 3.5);
  EXPECT_EQ(table_us(cases->front(), "x"), 7);
  EXPECT_EQ(table_us(cases->front(), "y"), 0);
  EXPECT_EQ(skipped_, 2);
}

TEST_F(CaseFile, BadFilesAreRefused) {
  for (const char* text : {"", "[]", "{", R"({"cases":1})", R"({"cases":[]})", R"({"cases":[{"m":1,"n":1}]})",
                           R"({"cases":[{"m":0,"n":1,"k":1}]})", R"({"cases":[{"m":1.5,"n":1,"k":1}]})"}) {
    const auto cases = read(text);
    ASSERT_FALSE(cases) << text;
    EXPECT_EQ(cases.error().argument, "--cases") << text;
  }
}

TEST(Bench, ScalesAreLaidOutForEveryContender) {
  const GemmProblem p = problem_of({.m = 4098, .n = 300, .k = 900, .peers_us = {}, .roof_us = 0}, {});
  EXPECT_EQ(p.scale_a_row, 1);
  EXPECT_EQ(p.scale_a_k, 4100);
  EXPECT_EQ(p.scale_b_k, 1);
  EXPECT_EQ(p.scale_b_n, 8);  // ceil(900 / 128) to a multiple of 4
}

TEST(Bench, OperandsAreNormal) {
  BenchOptions options;
  const Device device = Device::open("emu:sm90").value();
  const DataPool pool(DType::e4m3, 1);
  std::vector<std::uint8_t> bytes(1 << 16);
  ASSERT_TRUE(pool.fill(device, bytes.data(), bytes.size(), (1 << 22) - 1000));  // across the end of the pool
  double sum = 0, squares = 0;
  for (const std::uint8_t byte : bytes)
    sum += ref::decode_e4m3(byte), squares += ref::decode_e4m3(byte) * ref::decode_e4m3(byte);
  EXPECT_LT(std::fabs(sum / 65536), 0.02);
  EXPECT_NEAR(squares / 65536, 1, 0.03);
}

/// D of a small problem computed in FP64, so that the check must pass, and then broken.
TEST(Bench, TheSpotCheckSeesWrongElementsAndWrongScales) {
  const Device device = Device::open("emu:sm90").value();
  BenchOptions options;
  options.out = DType::f32;
  const GemmProblem p = problem_of({.m = 4, .n = 8, .k = 256, .peers_us = {}, .roof_us = 0}, options);
  const auto sets = make_sets(device, p, BenchData(options));
  ASSERT_TRUE(sets) << sets.error().message;
  const BufferSet& set = sets->front();
  const auto* a = static_cast<const std::uint8_t*>(set.a.data());
  const auto* b = static_cast<const std::uint8_t*>(set.b.data());
  const auto* scale_a = static_cast<const float*>(set.scale_a.data());
  const auto* scale_b = static_cast<const float*>(set.scale_b.data());
  auto* d = static_cast<float*>(set.d.data());
  for (int i = 0; i < p.m; ++i)
    for (int j = 0; j < p.n; ++j) {
      double sum = 0;
      for (int k = 0; k < p.k; ++k)
        sum += ref::decode_e4m3(a[i * p.k + k]) * ref::decode_e4m3(b[j * p.k + k]) *
               scale_a[i * p.scale_a_row + k / 128 * p.scale_a_k] * scale_b[j / 128 * p.scale_b_n + k / 128];
      d[i * p.n + j] = static_cast<float>(sum);
    }
  EXPECT_LT(spot_check(device, p, set, Recipe::block).value(), 1e-6);
  EXPECT_GT(spot_check(device, p, set, Recipe::unscaled).value(), 0.1);
  d[0] = NAN;
  EXPECT_TRUE(std::isinf(spot_check(device, p, set, Recipe::block).value()));
}

Contender timed(const std::string& name, double us, bool ours) {
  Contender contender;
  contender.name = name, contender.ours = ours, contender.measured.us = us;
  return contender;
}

TEST(Bench, RatiosAreTakenAsDocumented) {
  CaseResult result;
  result.problem.scale = Scale::block_1x128_128x128;
  result.bench_case.peers_us = {{"cublaslt_fp8_per_tensor", 100}, {"deepgemm_fp8_1x128_128x128", 125}};
  result.contenders = {timed("warpwright[0]", 60, true), timed("warpwright[1]", 50, true),
                       timed("cublaslt_fp8_per_tensor", 45, false)};
  result.contenders.push_back(timed("warpwright[2]", 1, true));
  result.contenders.back().error = Error{};
  place(result);
  EXPECT_EQ(best_of_ours(result)->name, "warpwright[1]");
  EXPECT_DOUBLE_EQ(result.ratio_to_cublaslt, 0.9);
  EXPECT_DOUBLE_EQ(result.vs_table_deepgemm, 0.9 / (100.0 / 125.0));
}

TEST(Bench, RunsOnTheEmulatorAndWritesItsResult) {
  BenchOptions options;
  options.device = "emu:sm90";
  options.m = 128, options.n = 128, options.k = 256;
  options.command_line = "a command";
  options.variants = "auto;stages=3";
  options.result = std::filesystem::temp_directory_path() / ("ww_bench_result_" + std::to_string(getpid()) + ".json");
  const Result<Outcome> outcome = run_bench(options);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_NE(outcome->text.find("emulator:"), std::string::npos) << outcome->text;
  std::ifstream file(options.result);
  const std::string written((std::istreambuf_iterator<char>(file)), {});
  std::filesystem::remove(options.result);
  for (const char* expected : {"\"source_hash\": \"xxh3-128:", "\"command\": \"a command\"", "\"config\": \"arch=sm90",
                               "\"warpwright[0]\"", "\"warpwright[1]\"", "stages=3"})
    EXPECT_NE(written.find(expected), std::string::npos) << expected << " in " << written;
}

TEST(Bench, BadOptionsAreRefusedBeforeAnythingRuns) {
  const auto argument_of = [](auto&& change) {
    BenchOptions options;
    options.device = "emu:sm90", options.m = options.n = options.k = 128;
    change(options);
    const Result<Outcome> outcome = run_bench(options);
    return outcome ? std::string("ran") : outcome.error().argument;
  };
  EXPECT_EQ(argument_of([](auto& o) { o.m = 0; }), "--m");
  EXPECT_EQ(argument_of([](auto& o) { o.out = DType::e4m3; }), "--out-dtype");
  EXPECT_EQ(argument_of([](auto& o) { o.seconds_per_case = 0; }), "--seconds");
  EXPECT_EQ(argument_of([](auto& o) { o.device = "tpu"; }), "device");
  EXPECT_EQ(argument_of([](auto& o) { o.cases = "/no/such/file"; }), "--cases");
}

}  // namespace
}  // namespace ww::bench
