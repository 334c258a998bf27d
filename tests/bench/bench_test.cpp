// SPDX-License-Identifier: Apache-2.0
// The benchmark's bookkeeping, which needs no GPU: cases, data, the spot check, ratios, and a run on the emulator.
#include <gtest/gtest.h>

#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "bench/native/random_cases.hpp"
#include "bench/native/suite.hpp"
#include "reference/element.hpp"

namespace ww::bench {
namespace {

class CaseFile : public testing::Test {
 protected:
  ~CaseFile() override { std::filesystem::remove(path_); }
  Result<std::vector<BenchCase>> read(const std::string& text, std::int64_t min_m = 0,
                                      const std::string& op = "dense") {
    std::ofstream(path_) << text;
    BenchOptions options;
    options.cases = path_;
    options.min_m = min_m;
    return bench_cases(options, op, skipped_);
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

TEST_F(CaseFile, CasesOfGroupsHaveTheirRows) {
  const char* const file = R"({"cases":[{"op":"grouped","n":64,"k":128,"tokens_per_group":[3,0,5],"regime":"decode"},
                                        {"op":"k-grouped","m":8,"n":16,"tokens_per_group":[128,256]}]})";
  const auto rows = read(file, 0, "grouped");
  ASSERT_TRUE(rows) << rows.error().message;
  EXPECT_EQ(rows->front().counts, (std::vector<std::int64_t>{3, 0, 5}));
  EXPECT_EQ(rows->front().regime, "decode");
  EXPECT_EQ(rows->front().flops(), 2.0 * 8 * 64 * 128);
  const auto k_rows = read(file, 0, "k-grouped");
  ASSERT_TRUE(k_rows) << k_rows.error().message;
  EXPECT_EQ(k_rows->front().flops(), 2.0 * 8 * 16 * 384);
  EXPECT_EQ(skipped_, 1);
  for (const char* text : {R"({"cases":[{"op":"grouped","n":64,"k":128}]})",
                           R"({"cases":[{"op":"grouped","n":64,"k":128,"tokens_per_group":[]}]})",
                           R"({"cases":[{"op":"grouped","n":64,"k":128,"tokens_per_group":[0]}]})",
                           R"({"cases":[{"op":"grouped","n":64,"k":128,"tokens_per_group":[-1,2]}]})",
                           R"({"cases":[{"op":"grouped","n":0,"k":128,"tokens_per_group":[1]}]})"}) {
    const auto refused = read(text, 0, "grouped");
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().argument, "--cases") << text;
  }
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
  const GemmProblem p = problem_of({.m = 4098, .n = 300, .k = 900}, {});
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
  const GemmProblem p = problem_of({.m = 4, .n = 8, .k = 256}, options);
  const auto operation = operation_of(GemmCheck{p, {}}).value();
  const Operation* const operations[] = {operation.get()};
  const auto sets = make_sets(device, operations, options, BenchData(options));
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
  EXPECT_LT(spot_check(device, *operation, options, set, Recipe::problem).value(), 1e-6);
  EXPECT_GT(spot_check(device, *operation, options, set, Recipe::unscaled).value(), 0.1);
  d[0] = NAN;
  EXPECT_TRUE(std::isinf(spot_check(device, *operation, options, set, Recipe::problem).value()));
}

/// Groups on the emulated device: right as they are, and not when one group has the D of another.
TEST(Bench, TheSpotCheckKnowsWhichGroupAnElementIsOf) {
  const Device device = Device::open("emu:sm90").value();
  BenchOptions options;
  options.dtype = DType::bf16, options.out = DType::f32;
  const BenchData data(options);
  GroupedProblem rows{.n = 64, .k = 192, .a = bf16, .b = bf16, .d = f32};
  GroupedProblem masked = rows;
  masked.encoding = GroupEncoding::masked;
  KGroupedProblem k_rows{.m = 64, .n = 64};
  const CheckGroups groups{.counts = {40, 0, 64, 40}};
  for (const CheckTarget& target :
       {CheckTarget(GroupedCheck{rows, groups, {}}), CheckTarget(GroupedCheck{masked, groups, {}}),
        CheckTarget(KGroupedCheck{k_rows, groups, {}})}) {
    const auto operation = operation_of(target).value();
    ASSERT_TRUE(operation->plan(device));
    ASSERT_TRUE(operation->set_up());
    const Operation* const operations[] = {operation.get()};
    const auto sets = make_sets(device, operations, options, data).value();
    const Result<void> ran = operation->run(sets[0], {});
    ASSERT_TRUE(ran) << ran.error().message;
    const auto error = [&] { return spot_check(device, *operation, options, sets[0], Recipe::problem).value(); };
    EXPECT_LT(error(), 1e-3) << operation->title();
    auto* const d = static_cast<float*>(sets[0].d.data());
    const std::int64_t last = operation->dot_product(3, 0, 0).d;
    std::memmove(d + last, d, 40 * 64 * sizeof(float));  // the D of the first group, which has as many rows
    EXPECT_GT(error(), 0.1) << operation->title();
  }
}

Contender timed(const std::string& name, double us, bool ours) {
  Contender contender;
  contender.name = name, contender.ours = ours, contender.measured.us = us;
  return contender;
}

TEST(Bench, RatiosAreTakenAsDocumented) {
  CaseResult result;
  result.scale = Scale::block_1x128_128x128;
  result.bench_case.peers_us = {{"cublaslt_fp8_per_tensor", 100}, {"deepgemm_fp8_1x128_128x128", 125}};
  result.contenders = {timed("warpwright[0]", 60, true), timed("warpwright[1]", 50, true),
                       timed("cublaslt_fp8_per_tensor", 45, false)};
  result.contenders.push_back(timed("warpwright[2]", 1, true));
  result.contenders.back().error = Error{};
  dense_suite().place(result);
  EXPECT_EQ(best_of_ours(result)->name, "warpwright[1]");
  EXPECT_DOUBLE_EQ(result.ratio_to_cublaslt, 0.9);
  EXPECT_DOUBLE_EQ(result.vs_table_deepgemm, 0.9 / (100.0 / 125.0));
}

TEST(Bench, FiguresThatWereNotMeasuredAreDashesAndNulls) {
  for (const Suite* suite : {&dense_suite(), &grouped_suite(), &k_grouped_suite()}) {
    CaseResult result;
    result.bench_case.m = result.bench_case.n = result.bench_case.k = 128, result.bench_case.counts = {128};
    result.contenders = {timed("warpwright", 50, true)};
    result.contenders[0].measured.max_error = 0.5;
    const Outcome outcome = report(*suite, {result}, {}, {});
    EXPECT_EQ(outcome.text.find(" 0.00"), std::string::npos) << outcome.text;
    for (const char* expected : {"burst          - us        - TFLOP/s", "host      - us"})
      EXPECT_NE(outcome.text.find(expected), std::string::npos) << expected << " in " << outcome.text;
    const std::string json = to_json(outcome.json);
    EXPECT_NE(json.find("\"power_limit_watts\":null"), std::string::npos) << json;
    EXPECT_EQ(json.find("\"burst_us\":"), std::string::npos) << json;
    const bool has_mean = json.find("\"geomean_ratio_to_cublaslt\":null") != std::string::npos;
    EXPECT_EQ(has_mean, suite == &dense_suite()) << json;
  }
}

TEST(Bench, RunsOnTheEmulatorAndWritesItsResult) {
  BenchOptions options;
  options.device = "emu:sm90";
  options.m = 128, options.n = 128, options.k = 256;
  options.command_line = "a command";
  options.variants = "auto;stages=3";
  options.result = std::filesystem::temp_directory_path() / ("ww_bench_result_" + std::to_string(getpid()) + ".json");
  const Result<Outcome> outcome = run_bench(dense_suite(), options);
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
    const Result<Outcome> outcome = run_bench(dense_suite(), options);
    return outcome ? std::string("ran") : outcome.error().argument;
  };
  EXPECT_EQ(argument_of([](auto& o) { o.m = 0; }), "--m");
  EXPECT_EQ(argument_of([](auto& o) { o.out = DType::e4m3; }), "--out-dtype");
  EXPECT_EQ(argument_of([](auto& o) { o.seconds_per_case = 0; }), "--seconds");
  EXPECT_EQ(argument_of([](auto& o) { o.device = "tpu"; }), "device");
  EXPECT_EQ(argument_of([](auto& o) { o.cases = "/no/such/file"; }), "--cases");
  EXPECT_EQ(argument_of([](auto& o) { o.variants = "best:0"; }), "--variants, best");
  EXPECT_EQ(argument_of([](auto& o) { o.variants = "stages=many"; }), "config, key stages");
}

TEST(RandomCases, ASeedGivesTheSameCasesAndAPrefixOfThem) {
  for (const char* op : {"dense", "grouped"}) {
    const auto many = random_cases(op, 30, 7, DType::e4m3).value(), few = random_cases(op, 11, 7, DType::e4m3).value();
    const auto other = random_cases(op, 30, 8, DType::e4m3).value();
    int differing = 0;
    for (std::size_t i = 0; i < many.size(); ++i) {
      if (i < few.size()) {
        EXPECT_EQ(to_json(case_fields(many[i], op)), to_json(case_fields(few[i], op))) << op << ' ' << i;
      }
      differing += to_json(case_fields(many[i], op)) != to_json(case_fields(other[i], op));
    }
    EXPECT_EQ(differing, 30) << op;
  }
}

TEST(RandomCases, RowsAreThoseOfTheirClass) {
  struct Bounds {
    const char* name;
    double dense[2], group[2];
  };
  const Bounds bounds[] = {
      {"decode", {1, 64}, {0, 34}}, {"middle", {65, 1024}, {32, 516}}, {"large", {1025, 16384}, {700, 8200}}};
  const auto dense = random_cases("dense", 300, 1, DType::bf16).value();
  for (const BenchCase& one : dense) {
    const Bounds& b = *std::find_if(bounds, bounds + 3, [&](const Bounds& x) { return one.regime == x.name; });
    EXPECT_GE(one.m, b.dense[0]);
    EXPECT_LE(one.m, b.dense[1]);
    EXPECT_EQ(one.n % 16 + one.k % 64, 0);
    EXPECT_GT(one.roof_us, 0);
  }
  const auto grouped = random_cases("grouped", 300, 1, DType::e4m3).value();
  for (const BenchCase& one : grouped) {
    const Bounds& b = *std::find_if(bounds, bounds + 3, [&](const Bounds& x) { return one.regime == x.name; });
    const double mean = static_cast<double>(one.rows()) / static_cast<double>(one.groups());
    EXPECT_GE(mean, b.group[0]);
    EXPECT_LE(mean, b.group[1]);
  }
  EXPECT_EQ(random_cases("k-grouped", 1, 1, DType::bf16).error().argument, "--random");
}

TEST(RandomCases, KOfPackedTypesIsWhatTheirProductsTake) {
  for (const DType type : {DType::e2m1, DType::e3m2, DType::e2m3})
    for (const char* op : {"dense", "grouped"}) {
      const auto cases = random_cases(op, 120, 20261123, type).value();
      for (const BenchCase& one : cases) {
        const GemmProblem p{.m = one.m, .n = one.n, .k = one.k, .a = type, .b = type, .scale = Scale::mx};
        EXPECT_TRUE(can_implement(p, {.config = {.arch = Arch::sm100}}))
            << op << " of " << name_of(type) << ", K = " << one.k;
      }
    }
}

/// A listed case is one that --cases reads: the loops in Python take it from there.
TEST_F(CaseFile, RandomCasesThatAreListedAreReadAgain) {
  for (const Suite* suite : {&dense_suite(), &grouped_suite()}) {
    BenchOptions options;
    options.random = 9, options.seed = 5;
    const Outcome listed = list_cases(*suite, options).value();
    const auto again = read(to_json(listed.json), 0, suite->op());
    ASSERT_TRUE(again) << again.error().message;
    std::string text;
    for (const BenchCase& one : *again) text += to_json(case_fields(one, suite->op())) + "\n";
    EXPECT_EQ(text, listed.text);
  }
}

/// A roof of 50 us and times of 100, 200 and 400 us: 0.5, 0.25 and 0.125 of it.
TEST(Report, MeansAreOfEachClassOfCases) {
  std::vector<CaseResult> results;
  for (const auto& [name, us] : {std::pair{"decode", 100.0}, {"large", 400.0}, {"decode", 200.0}, {"", 1.0}}) {
    CaseResult result;
    result.bench_case = {.m = 1, .n = 1, .k = 1, .regime = name, .roof_us = 50};
    result.contenders.emplace_back();
    result.contenders[0].ours = true, result.contenders[0].measured.us = us;
    result.ratio_to_cublaslt = us / 100;
    results.push_back(std::move(result));
  }
  Outcome outcome;
  add_classes(results, outcome);
  EXPECT_EQ(outcome.text,
            "class decode: 2 cases, 0.354 of the roof (least 0.250), cuBLASLt/ours 1.414 (least 1.000)\n"
            "class large: 1 cases, 0.125 of the roof (least 0.125), cuBLASLt/ours 4.000 (least 4.000)\n");
}

}  // namespace
}  // namespace ww::bench
