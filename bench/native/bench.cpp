// SPDX-License-Identifier: Apache-2.0
// Runs the cases: selects the contenders, derives the figures and formats them. The stopwatch is cuda.cpp, the data
// case.cpp, the peer cublaslt.cpp.
#include "bench/native/bench.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench/native/contender.hpp"
#include "bench/native/cublaslt.hpp"
#include "bench/native/cuda.hpp"
#include "bench/native/report.hpp"
#include "config/config_text.hpp"
#include "ops/gemm_choice.hpp"
#include "runtime/backend.hpp"

namespace ww::bench {

std::vector<std::string> split_variants(const std::string& text) {
  std::vector<std::string> list;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(';', at), text.size());
    const std::string variant = text.substr(at, end - at);
    if (!variant.empty()) list.push_back(variant == "auto" ? "" : variant);
    at = end + 1;
  }
  if (list.empty()) list.emplace_back();
  return list;
}

namespace {

bool is_best(const std::string& variant) { return variant.starts_with("best:"); }
Result<std::int64_t> count_of_best(const std::string& best) {
  return parse_integer(best.substr(5), "--variants, best", 1, 1000);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Recipe recipe_of(Scale scale) {
  return scale == Scale::none ? Recipe::unscaled : scale == Scale::tensor ? Recipe::tensor : Recipe::block;
}

/// Our plan for one variant, ready to be enqueued.
Result<Contender> plan_contender(const Device& device, const GemmProblem& problem, const BenchOptions& options,
                                 const std::string& variant) {
  GemmOptions plan_options{
      .config = options.config, .sms = options.sms, .pdl = options.pdl, .batch_invariant = options.batch_invariant};
  if (!variant.empty()) {
    WW_TRY(plan_options.config, parse_config(variant, options.config));
  }
  WW_TRY(const GemmPlan plan, ww::plan_gemm(device, problem, plan_options));
  WW_TRY(const Buffer workspace, device.allocate(plan.workspace_bytes()));
  const std::vector<std::byte> zeros(plan.workspace_bytes());
  if (!zeros.empty()) WW_CHECK(device.upload(workspace.data(), zeros.data(), zeros.size()));
  const bool tensor = problem.scale == Scale::tensor, block = problem.scale == Scale::block_1x128_128x128;
  Contender result;
  result.detail = to_text(plan.config());
  result.recipe = recipe_of(problem.scale);
  result.alternatives.push_back([plan, workspace, tensor, block](const BufferSet& set, ::ww::Stream stream) {
    GemmOperands operands{.a = set.a.data(),
                          .b = set.b.data(),
                          .d = set.d.data(),
                          .workspace = workspace.data(),
                          .workspace_bytes = workspace.bytes()};
    if (tensor) operands.scale_a = set.tensor_scale_a(), operands.scale_b = set.tensor_scale_b();
    if (block) {
      operands.scale_a = static_cast<const float*>(set.scale_a.data());
      operands.scale_b = static_cast<const float*>(set.scale_b.data());
    }
    return plan.run(operands, stream);
  });
  return result;
}

/// Returns the configs that the model ranks first for this problem, as many as "best:N" says.
Result<std::vector<std::string>> best_configs(const Device& device, const GemmProblem& problem,
                                              const BenchOptions& options, const std::string& best) {
  WW_TRY(const std::int64_t count, count_of_best(best));
  WW_TRY(const ops::Alternatives all,
         ops::alternatives(problem,
                           {.config = options.config, .sms = options.sms, .batch_invariant = options.batch_invariant},
                           {device.info().sms, device.info().emulated}));
  std::vector<std::string> texts;
  for (const select::Candidate& candidate : all.ranking.candidates)
    if (static_cast<std::int64_t>(texts.size()) < count) texts.push_back(to_text(candidate.config));
  return texts;
}

/// Returns the texts of --variants, each "best:N" replaced by its configs.
Result<std::vector<std::string>> variants_of(const Device& device, const GemmProblem& problem,
                                             const BenchOptions& options) {
  std::vector<std::string> texts;
  for (const std::string& variant : split_variants(options.variants)) {
    if (!is_best(variant)) {
      texts.push_back(variant);
      continue;
    }
    WW_TRY(const std::vector<std::string> best, best_configs(device, problem, options, variant));
    texts.insert(texts.end(), best.begin(), best.end());
  }
  return texts;
}

std::vector<Contender> our_contenders(const Device& device, const GemmProblem& problem, const BenchOptions& options) {
  const Result<std::vector<std::string>> found = variants_of(device, problem, options);
  if (!found) {
    Contender contender;
    contender.error = found.error(), contender.name = "warpwright", contender.ours = true;
    return {contender};
  }
  const std::vector<std::string>& variants = *found;
  std::vector<Contender> list;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    Contender contender;
    if (Result<Contender> made = plan_contender(device, problem, options, variants[i]); made)
      contender = std::move(*made);
    else contender.error = made.error(), contender.detail = variants[i];
    contender.name = variants.size() == 1 ? "warpwright" : fmt::format("warpwright[{}]", i);
    contender.ours = true;
    list.push_back(std::move(contender));
  }
  return list;
}

/// Adds the peers of a problem; one that cannot take part is listed with its reason.
void add_peers(std::vector<Contender>& list, const Result<std::shared_ptr<CublasLt>>& cublaslt,
               const GemmProblem& problem, const Device& device, const BufferSet& set, int candidates) {
  const bool fp8 = problem.a == DType::e4m3;
  std::vector<std::pair<Peer, std::string>> peers;
  if (!fp8) peers.emplace_back(Peer::half, fmt::format("cublaslt_{}", name_of(problem.a)));
  if (fp8) peers.emplace_back(Peer::fp8_per_tensor, "cublaslt_fp8_per_tensor");
  if (fp8 && problem.scale == Scale::block_1x128_128x128)
    peers.emplace_back(Peer::fp8_block, "cublaslt_fp8_1x128_128x128");
  for (const auto& [peer, name] : peers) {
    Result<Contender> made = cublaslt ? (*cublaslt)->contender(peer, problem, device, set, candidates)
                                      : Result<Contender>(failure(cublaslt.error()));
    Contender contender;
    if (made) contender = std::move(*made);
    else contender.error = made.error();
    contender.name = name;
    list.push_back(std::move(contender));
  }
}

/// Runs each contender once on an emulated device, which has no peer and no clock; checked, and timed on the wall.
void run_emulated(const Device& device, const GemmProblem& problem, const BufferSet& set,
                  std::vector<Contender>& contenders, std::vector<EmuStats>& stats) {
  for (Contender& contender : contenders) {
    stats.emplace_back();
    if (contender.error) continue;
    const auto once = [&]() -> Result<void> {
      const std::vector<unsigned char> poison(set.d.bytes(), 0xFF);
      WW_CHECK(device.upload(set.d.data(), poison.data(), poison.size()));
      const auto start = std::chrono::steady_clock::now();
      WW_CHECK(contender.alternatives[0](set, {}));
      contender.measured.us = seconds_since(start) * 1e6;
      contender.measured.us_low = contender.measured.us_high = contender.measured.us;
      contender.measured.replays = contender.measured.calls = 1;
      stats.back() = device.backend().last_stats().value_or(EmuStats{});
      WW_TRY(contender.measured.max_error, spot_check(device, problem, set, contender.recipe));
      return {};
    };
    if (Result<void> ran = once(); !ran) contender.error = ran.error();
  }
}

/// Everything that stays the same from case to case.
struct Session {
  const BenchOptions& options;
  Device device;
  BenchData data;
  std::unique_ptr<GpuBench> gpu;  // null on an emulated device
  Result<std::shared_ptr<CublasLt>> cublaslt;
};

Result<Session> open_session(const BenchOptions& options) {
  WW_TRY(Device device, Device::open(options.device, options.device_options));
  Session session{options, device, BenchData(options), nullptr,
                  failure(ErrorCode::unsupported, "", "", "", "no peer was asked for")};
  if (device.info().emulated) return session;
  WW_TRY(session.gpu, GpuBench::open(device));
  if (options.peers) session.cublaslt = CublasLt::open(options.cublaslt);
  return session;
}

Result<CaseResult> run_case(Session& session, const BenchCase& bench_case) {
  const BenchOptions& options = session.options;
  CaseResult result{bench_case, problem_of(bench_case, options), {}, {}, {}, {}, 0};
  WW_TRY(const std::vector<BufferSet> sets, make_sets(session.device, result.problem, session.data));
  result.sets = sets.size();
  result.contenders = our_contenders(session.device, result.problem, options);
  if (!session.gpu) {
    run_emulated(session.device, result.problem, sets[0], result.contenders, result.emulated);
  } else {
    if (options.peers)
      add_peers(result.contenders, session.cublaslt, result.problem, session.device, sets[0], options.peer_candidates);
    const MeasureOptions measure{std::max(1, options.replays), options.seconds_per_case, options.burst};
    const SpotCheck check = [&](const BufferSet& set, const Contender& contender) {
      return spot_check(session.device, result.problem, set, contender.recipe);
    };
    result.samples = session.gpu->measure(check, sets, result.contenders, measure);
  }
  place(result);
  for (Contender& contender : result.contenders) contender.alternatives.clear();  // they hold device memory
  return result;
}

Facts facts_of(const Session& session, int skipped) {
  Facts facts;
  facts.device = session.device.info();
  facts.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
  if (session.gpu) facts.gpu = session.gpu->facts();
  if (session.cublaslt) facts.cublaslt = (*session.cublaslt)->identity();
  facts.skipped = skipped;
  return facts;
}

Result<void> check_options(const BenchOptions& options) {
  if (options.out == DType::e4m3) return failure(ErrorCode::invalid, "--out-dtype", "bf16, f16 or f32", "e4m3");
  if (options.dtype == DType::f32) return failure(ErrorCode::invalid, "--dtype", "e4m3, bf16 or f16", "f32");
  if (!(options.seconds_per_case > 0) || !(options.seconds_total >= 0))
    return failure(ErrorCode::invalid, "--seconds", "a positive number",
                   fmt::format("{} per case, {} in total", options.seconds_per_case, options.seconds_total));
  for (const std::string& variant : split_variants(options.variants))
    if (is_best(variant)) WW_CHECK(count_of_best(variant));
    else if (!variant.empty()) WW_CHECK(parse_config(variant));
  return {};
}

}  // namespace

Result<Outcome> run_bench(const BenchOptions& options) {
  WW_CHECK(check_options(options));
  int skipped = 0;
  WW_TRY(const std::vector<BenchCase> cases, bench_cases(options, skipped));
  WW_TRY(Session session, open_session(options));

  const auto start = std::chrono::steady_clock::now();
  std::vector<CaseResult> results;
  std::optional<Error> first_error;
  for (const BenchCase& bench_case : cases) {
    if (options.seconds_total > 0 && seconds_since(start) + options.seconds_per_case > options.seconds_total) {
      ++skipped;
      continue;
    }
    Result<CaseResult> result = run_case(session, bench_case);
    if (!result) result = CaseResult{bench_case, problem_of(bench_case, options), {}, {}, {}, result.error(), 0};
    if (!first_error) first_error = first_failure(*result);
    if (options.progress) options.progress(one_line(*result));
    results.push_back(std::move(*result));
  }
  if (std::none_of(results.begin(), results.end(), [](const CaseResult& r) { return best_of_ours(r) != nullptr; })) {
    if (first_error) return failure(*first_error);
    return failure(ErrorCode::could_not_finish, "--seconds", "time for at least one case",
                   fmt::format("{} s in total", options.seconds_total));
  }
  Outcome outcome = report(results, facts_of(session, skipped), options);
  if (!options.result.empty()) WW_CHECK(write_result(options.result, outcome.json));
  return outcome;
}

}  // namespace ww::bench
