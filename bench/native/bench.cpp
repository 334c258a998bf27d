// SPDX-License-Identifier: Apache-2.0
// Runs the cases of a suite: plans the contenders, measures them and formats the figures. The stopwatch is cuda.cpp,
// the data data.cpp, the peer cublaslt.cpp; tune.cpp measures by the same session.
#include "bench/native/bench.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "bench/native/session.hpp"
#include "config/config_text.hpp"
#include "measure/timing.hpp"
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

Result<std::vector<Variant>> variants_of(const std::vector<std::string>& texts, const BenchOptions& options) {
  std::vector<Variant> list;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    list.push_back({texts.size() == 1 ? "warpwright" : fmt::format("warpwright[{}]", i), texts[i], options.config});
    if (!texts[i].empty()) {
      WW_TRY(list.back().config, parse_config(texts[i], options.config));
    }
  }
  return list;
}

Result<std::shared_ptr<Operation>> operation_of(const CheckTarget& target) {
  Result<std::unique_ptr<Operation>> made = std::visit(
      [](const auto& check) -> Result<std::unique_ptr<Operation>> {
        if constexpr (requires { operations::make_operation(check); }) return operations::make_operation(check);
        else return failure(ErrorCode::unsupported, "target", "an operation of the library", "a kernel");
      },
      target);
  if (!made) return failure(made.error());
  return std::shared_ptr<Operation>(std::move(*made));
}

Result<Session> open_session(const Suite& suite, const BenchOptions& options) {
  WW_TRY(Device device, Device::open(options.device, options.device_options));
  Session session{
      suite, options, device, BenchData(options), nullptr, failure(ErrorCode::unsupported, "", "", "", "no peer")};
  if (device.info().emulated) return session;
  WW_TRY(session.gpu, GpuBench::open(device));
  if (options.peers && suite.has_peers()) session.cublaslt = CublasLt::open(options.cublaslt);
  return session;
}

namespace {

/// The operation as a plan computes it, ready to be enqueued on any set.
Result<std::shared_ptr<Operation>> planned(const Session& session, const BenchCase& bench_case,
                                           const Variant& variant) {
  const BenchOptions& o = session.options;
  const GemmOptions options{.config = variant.config, .sms = o.sms, .pdl = o.pdl, .batch_invariant = o.batch_invariant};
  WW_TRY(std::shared_ptr<Operation> made, operation_of(session.suite.target(bench_case, o, options)));
  WW_CHECK(made->plan(session.device));
  WW_CHECK(made->set_up());
  return made;
}

std::vector<Contender> our_contenders(const Session& session, const BenchCase& bench_case,
                                      const Result<std::vector<Variant>>& variants) {
  if (!variants) {
    Contender contender;
    contender.error = variants.error(), contender.name = "warpwright", contender.ours = true;
    return {contender};
  }
  std::vector<Contender> list;
  for (const Variant& variant : *variants) {
    Contender contender;
    contender.name = variant.name, contender.ours = true;
    if (Result<std::shared_ptr<Operation>> made = planned(session, bench_case, variant); made) {
      contender.operation = *made;
      contender.detail = to_text((*made)->config());
      contender.alternatives.push_back(
          [operation = *made](const BufferSet& set, ::ww::Stream stream) { return operation->run(set, stream); });
    } else {
      contender.error = made.error(), contender.detail = variant.detail;
    }
    list.push_back(std::move(contender));
  }
  return list;
}

/// Runs each contender once on an emulated device, which has no peer and no clock; checked, and timed on the wall.
void run_emulated(const Device& device, const BufferSet& set, const SpotCheck& check, CaseResult& result) {
  for (Contender& contender : result.contenders) {
    result.emulated.emplace_back();
    if (contender.error) continue;
    const auto once = [&]() -> Result<void> {
      const std::vector<unsigned char> poison(set.d.bytes(), 0xFF);
      WW_CHECK(device.upload(set.d.data(), poison.data(), poison.size()));
      const double start = measure::now_seconds();
      WW_CHECK(contender.alternatives[0](set, {}));
      Measured& m = contender.measured;
      m.us = m.us_low = m.us_high = (measure::now_seconds() - start) * 1e6;
      m.replays = m.calls = 1;
      result.emulated.back() = device.backend().last_stats().value_or(EmuStats{});
      WW_TRY(m.max_error, check(set, contender));
      return {};
    };
    if (Result<void> ran = once(); !ran) contender.error = ran.error();
  }
}

}  // namespace

/// Peers compute the operation of the case itself, which has no plan.
Result<CaseResult> run_case(Session& session, const BenchCase& bench_case, const Result<std::vector<Variant>>& variants,
                            bool alone) {
  const BenchOptions& options = session.options;
  CaseResult result{bench_case, options.dtype, options.out, options.scale};
  WW_TRY(const std::shared_ptr<const Operation> of_case,
         operation_of(session.suite.target(bench_case, options, {.config = options.config})));
  result.contenders = our_contenders(session, bench_case, variants);
  std::vector<const Operation*> operations;
  for (const Contender& contender : result.contenders)
    if (contender.operation) operations.push_back(contender.operation.get());
  if (operations.empty()) operations.push_back(of_case.get());
  WW_TRY(const std::vector<BufferSet> sets, make_sets(session.device, operations, options, session.data));
  result.sets = sets.size();
  const SpotCheck check = [&](const BufferSet& set, const Contender& contender) {
    return spot_check(session.device, contender.operation ? *contender.operation : *of_case, options, set,
                      contender.recipe);
  };
  if (!session.gpu) {
    run_emulated(session.device, sets[0], check, result);
  } else {
    if (options.peers)
      session.suite.add_peers(session.cublaslt, result, session.device, sets[0], options, result.contenders);
    const MeasureOptions measure{std::max(1, options.replays), options.seconds_per_case, options.burst, alone};
    result.samples = session.gpu->measure(check, sets, result.contenders, measure);
  }
  session.suite.place(result);
  for (Contender& contender : result.contenders)  // they hold device memory
    contender.alternatives.clear(), contender.operation.reset();
  return result;
}

namespace {

Facts facts_of(const Session& session, int skipped) {
  Facts facts;
  facts.device = session.device.info();
  facts.date = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::chrono::system_clock::now()));
  if (session.gpu) facts.gpu = session.gpu->facts();
  if (session.cublaslt) facts.cublaslt = (*session.cublaslt)->identity();
  facts.skipped = skipped;
  return facts;
}

}  // namespace

Result<void> check_options(const BenchOptions& options) {
  if (is_fp8(options.out)) return failure(ErrorCode::invalid, "--out-dtype", "bf16, f16 or f32", name_of(options.out));
  if (options.dtype == DType::f32) return failure(ErrorCode::invalid, "--dtype", "e4m3, bf16 or f16", "f32");
  if (!(options.seconds_per_case > 0) || !(options.seconds_total >= 0))
    return failure(ErrorCode::invalid, "--seconds", "a positive number",
                   fmt::format("{} per case, {} in total", options.seconds_per_case, options.seconds_total));
  return {};
}

Result<Outcome> list_cases(const Suite& suite, const BenchOptions& options) {
  int skipped = 0;
  WW_TRY(const std::vector<BenchCase> cases, bench_cases(options, suite.op(), skipped));
  Outcome outcome;
  List list;
  for (const BenchCase& one : cases) {
    Fields fields = case_fields(one, suite.op());
    outcome.text += to_json(fields) + "\n";
    list.emplace_back(std::move(fields));
  }
  outcome.json = {{"method", options.command_line}, {"cases", std::move(list)}};
  return outcome;
}

Result<Outcome> run_bench(const Suite& suite, const BenchOptions& options) {
  WW_CHECK(check_options(options));
  WW_CHECK(suite.check(options));
  int skipped = 0;
  WW_TRY(const std::vector<BenchCase> cases, bench_cases(options, suite.op(), skipped));
  WW_TRY(Session session, open_session(suite, options));

  const double start = measure::now_seconds();
  std::vector<CaseResult> results;
  std::optional<Error> first_error;
  for (const BenchCase& bench_case : cases) {
    if (options.seconds_total > 0 &&
        measure::now_seconds() - start + options.seconds_per_case > options.seconds_total) {
      ++skipped;
      continue;
    }
    Result<CaseResult> result = run_case(session, bench_case, suite.variants(session.device, bench_case, options));
    if (!result) {
      CaseResult failed{bench_case, options.dtype, options.out, options.scale};
      failed.error = result.error();
      result = std::move(failed);
    }
    if (!first_error) first_error = first_failure(*result);
    if (options.progress) options.progress(suite.one_line(*result));
    results.push_back(std::move(*result));
  }
  if (std::none_of(results.begin(), results.end(), [](const CaseResult& r) { return best_of_ours(r) != nullptr; })) {
    if (first_error) return failure(*first_error);
    return failure(ErrorCode::could_not_finish, "--seconds", "time for at least one case",
                   fmt::format("{} s in total", options.seconds_total));
  }
  Outcome outcome = report(suite, results, facts_of(session, skipped), options);
  if (!options.result.empty()) WW_CHECK(write_result(options.result, outcome.json));
  return outcome;
}

}  // namespace ww::bench
