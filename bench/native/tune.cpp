// SPDX-License-Identifier: Apache-2.0
// Chooses candidates, measures them, and keeps the tuning file.
#include "bench/native/tune.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <random>

#include <fmt/format.h>

#include "bench/native/kernel_choice.hpp"
#include "bench/native/session.hpp"
#include "bench/native/tuning_file.hpp"
#include "config/config_text.hpp"
#include "measure/timing.hpp"
#include "runtime/place.hpp"

namespace ww::bench {
namespace {

// Below this share of the time of auto's choice a config replaces it. Two replays of one kernel differ by as much.
constexpr double kWorthwhile = 0.99;

/// A case with what is measured for it.
struct Job {
  BenchCase bench_case;
  tuning::Problem problem;
  std::string title;
  std::vector<GemmConfig> candidates;  // what auto takes is the first
};

/// Returns what auto takes, then the configs of the ranking that were asked for, each once.
std::vector<GemmConfig> candidates_of(const Explanation& all, const TuneOptions& options) {
  std::vector<GemmConfig> list{all.chosen.config}, rest;
  for (const RankedConfig& ranked : all.ranking) {
    if (ranked.config == all.chosen.config) continue;
    (static_cast<int>(list.size()) <= options.best ? list : rest).push_back(ranked.config);
  }
  std::mt19937_64 draws(options.bench.seed);
  for (int i = 0; i < options.extra && !rest.empty(); ++i) {
    const auto at = static_cast<std::ptrdiff_t>(draws() % rest.size());
    list.push_back(rest[static_cast<std::size_t>(at)]);
    rest.erase(rest.begin() + at);
  }
  return list;
}

Result<Job> job_of(const Session& session, const BenchCase& bench_case, const TuneOptions& options) {
  WW_TRY(const std::shared_ptr<Operation> operation, tuned_operation(session.suite, bench_case, options.bench));
  WW_TRY(const Explanation all, operation->explain(&session.device));
  WW_TRY(tuning::Problem problem, tuning_problem_of(*operation, session.device.info().arch));
  return Job{bench_case, std::move(problem), operation->title(), candidates_of(all, options)};
}

/// Returns the line of a measured case: the fastest config, or auto's own where the fastest is hardly faster.
Result<tuning::Line> line_of(const Job& job, const CaseResult& result, const tuning::Place& place) {
  tuning::Line line{job.problem, place, "", 0, {}, ""};
  line.date = date_now();
  const Contender* best = best_of_ours(result);
  if (best == nullptr)
    return failure(first_failure(result).value_or(
        make_error(ErrorCode::could_not_finish, "--cases", "a config that runs", job.title)));
  const Contender& automatic = result.contenders.front();
  if (ran(automatic) && best->measured.us > kWorthwhile * automatic.measured.us) best = &automatic;
  line.config = best->detail, line.us = best->measured.us;
  for (const Contender& contender : result.contenders)
    if (ran(contender)) line.times.push_back({contender.detail, contender.measured.us});
  return line;
}

std::vector<Variant> variants_of(const Job& job) {
  std::vector<Variant> list;
  for (const GemmConfig& config : job.candidates) list.push_back({"warpwright", to_text(config), config});
  return list;
}

/// One run of the verb: what it has done so far.
struct Progress {
  Outcome outcome;
  List cases;
  int measured = 0, known = 0, failed = 0, left = 0;
  std::optional<Error> first_error;

  void say(const TuneOptions& options, const std::string& line) {
    outcome.text += line + '\n';
    if (options.bench.progress) options.bench.progress(line);
  }
};

void list_job(const Job& job, const TuneOptions& options, Progress& progress) {
  List configs;
  std::string text = fmt::format("{}: {} configs", job.title, job.candidates.size());
  for (const GemmConfig& config : job.candidates) {
    text += "\n  " + to_text(config);
    configs.emplace_back(to_text(config));
  }
  progress.say(options, text);
  progress.cases.emplace_back(Fields{{"case", job.title}, {"configs", std::move(configs)}});
}

bool runs_alone(const Session& session, const BenchCase& bench_case) {
  return measured_alone(bench_case.flops(), session.device.info().emulated);
}

/// Measures a case and puts its line into the file.
Result<void> measure(Session& session, const Job& job, TuningFile& file, const TuneOptions& options,
                     Progress& progress) {
  const bool alone = runs_alone(session, job.bench_case);
  WW_TRY(const CaseResult result, run_case(session, job.bench_case, variants_of(job), alone));
  WW_TRY(tuning::Line line, line_of(job, result, file.place()));
  const double automatic = ran(result.contenders.front()) ? result.contenders.front().measured.us : 0;
  List times;
  for (const tuning::Timing& timing : line.times)
    times.emplace_back(Fields{{"config", timing.config}, {"us", timing.us}});
  progress.say(options, fmt::format("{}: {:.2f} us, auto {} us, {} of {} configs ran: {}", job.title, line.us,
                                    number(automatic, 2), line.times.size(), job.candidates.size(), line.config));
  progress.cases.emplace_back(Fields{{"case", job.title},
                                     {"config", line.config},
                                     {"us", line.us},
                                     {"auto_us", measured_or_null(automatic)},
                                     {"alone", alone},
                                     {"times", std::move(times)}});
  return file.add({std::move(line)});
}

/// Whether `job` would end in time: `left` seconds, or without a limit.
bool has_time(const Session& session, const Job& job, const TuneOptions& options, std::optional<double> left) {
  const MeasureOptions measure{.seconds = options.bench.seconds_per_case, .alone = runs_alone(session, job.bench_case)};
  return !left || seconds_of(measure, job.candidates.size()) <= *left;
}

/// Measures or lists one case, unless the file has it or it would not end in time.
Result<void> treat(Session& session, const BenchCase& bench_case, TuningFile& file, const TuneOptions& options,
                   std::optional<double> left, Progress& progress) {
  WW_TRY(const Job job, job_of(session, bench_case, options));
  if (file.has(job.problem)) {
    ++progress.known;
    progress.say(options, job.title + ": the file has it");
    return {};
  }
  if (!has_time(session, job, options, left)) {
    ++progress.left;
    return {};
  }
  if (options.dry_run) list_job(job, options, progress);
  else WW_CHECK(measure(session, job, file, options, progress));
  ++progress.measured;
  return {};
}

// From so many operations on, a GPU runs at its power limit.
constexpr double kPowerLimited = 1e11;

}  // namespace

bool measured_alone(double flops, bool emulated) { return !emulated && flops >= kPowerLimited; }

Result<Outcome> run_tune(const Suite& suite, const TuneOptions& options) {
  WW_CHECK(check_options(options.bench));
  if (options.kernels > 0) return choose_kernels(suite, options);
  int skipped = 0;
  WW_TRY(const std::vector<BenchCase> cases, bench_cases(options.bench, suite.op(), skipped));
  WW_TRY(Session session, open_session(suite, options.bench));
  TuningFile file(options.file, runtime::place_of(session.device.info()));
  WW_CHECK(file.read());
  if (!options.dry_run) WW_CHECK(file.check_lock());
  Progress progress;
  const double start = measure::now_seconds(), total = options.bench.seconds_total;
  for (const BenchCase& bench_case : cases) {
    std::optional<double> left;
    if (total > 0) left = total - (measure::now_seconds() - start);
    if (left && *left <= 0) {  // the file is not even asked for the case
      ++progress.left;
      continue;
    }
    if (Result<void> done = treat(session, bench_case, file, options, left, progress); !done) {
      ++progress.failed;
      if (!progress.first_error) progress.first_error = done.error();
      progress.say(options, done.error().message);
    }
  }
  if (progress.measured + progress.known == 0 && progress.first_error) return failure(*progress.first_error);
  const bool emulated = session.device.info().emulated;
  progress.outcome.text +=
      fmt::format("{} {}, {} known, {} failed, {} without time{}\n", progress.measured,
                  options.dry_run ? "to measure" : "measured", progress.known, progress.failed, progress.left,
                  emulated ? "; times of an emulated device are for tests: they say nothing about a GPU" : "");
  progress.outcome.json = {{"device", session.device.info().description},
                           {"emulated", emulated},
                           {"source_hash", file.place().source_hash},
                           {"cases", std::move(progress.cases)},
                           {"measured", progress.measured},
                           {"known", progress.known},
                           {"failed", progress.failed},
                           {"without_time", progress.left}};
  return std::move(progress.outcome);
}

}  // namespace ww::bench
