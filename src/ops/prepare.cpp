// SPDX-License-Identifier: Apache-2.0
// Chooses a config for every case, merges cases with the same kernel source, then compiles on a pool of threads: into
// the cache of a device, or into a pack.
#include "warpwright/host/prepare.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "config/config_text.hpp"
#include "config/quantize_text.hpp"
#include "host/messages.hpp"
#include "jit/keys.hpp"
#include "jit/pack.hpp"
#include "launch/microscale_adapter.hpp"
#include "launch/pack_scales_adapter.hpp"
#include "launch/plan_sources.hpp"
#include "launch/quantize_adapter.hpp"
#include "ops/gemm_choice.hpp"
#include "ops/gemm_validation.hpp"
#include "ops/group_choice.hpp"
#include "ops/operand_checks.hpp"
#include "ops/quantize_validation.hpp"
#include "runtime/backend.hpp"
#include "select/fault_text.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/host/kernel.hpp"

namespace ww {
namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// What a plan of one case would compile.
struct Needed {
  GemmConfig config;
  std::string text;                                 // as PreparedKernel::text
  std::vector<runtime::KernelSource> sources = {};  // the main one first; none where there is nothing to compute
};
Needed needed(const GemmConfig& config, std::vector<runtime::KernelSource> sources) {
  return {config, to_text(config), std::move(sources)};
}

Result<Needed> needed(const GemmProblem& problem, const GemmOptions& asked, const ops::LaunchTarget& target) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, target.arch));
  WW_TRY(const ops::Decision decision, ops::decide(problem, options, target));
  return needed(decision.config, adapters::plan_sources(decision.config, decision.problem));
}

Result<Needed> needed(const GroupedProblem& problem, const GemmOptions& asked, const ops::LaunchTarget& target) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, target.arch));
  WW_TRY(const ops::GroupedDecision decision, ops::decide(problem, options, target));
  return needed(decision.config, adapters::plan_sources(decision.config, decision.problem));
}

Result<Needed> needed(const KGroupedProblem& problem, const GemmOptions& asked, const ops::LaunchTarget& target) {
  WW_TRY(const GemmOptions options, ops::for_arch(asked, target.arch));
  WW_TRY(const ops::KGroupedDecision decision, ops::decide(problem, options, target));
  if (problem.groups == 0) return needed(decision.config, {});
  return needed(decision.config, adapters::plan_sources(decision.config, decision.batch));
}

/// The kernel of a valid cast or transpose.
Needed needed(const QuantizeProblem& problem) {
  const config::QuantizeKind kind = adapters::quantize_kind(problem);
  Needed made{{}, to_text(kind)};
  if (adapters::quantize_tiles(problem) > 0 || problem.groups > 0)
    made.sources.push_back(adapters::quantize_source(kind));
  return made;
}
template <class Problem>
requires std::is_same_v<Problem, QuantizeProblem> || std::is_same_v<Problem, TransposeProblem> Result<Needed> needed(
    const Problem& problem, const GemmOptions&, const ops::LaunchTarget&) {
  WW_TRY(const QuantizeProblem valid, ops::validate(problem));
  return needed(valid);
}
Result<Needed> needed(const PackScalesProblem& problem, const GemmOptions&, const ops::LaunchTarget&) {
  WW_CHECK(can_implement(problem));
  Needed made{{}, std::string(kPackScales)};
  if (problem.batch > 0 && problem.m > 0 && (problem.k > 0 || problem.words > 0))
    made.sources.push_back(adapters::pack_scales_source());
  return made;
}

Result<Needed> needed(const MicroscaleProblem& problem, const GemmOptions&, const ops::LaunchTarget&) {
  WW_CHECK(can_implement(problem));
  const config::MicroscaleKind kind{problem.x, problem.q, problem.scale};
  Needed made{{}, to_text(kind)};
  if (problem.batch > 0 && problem.m > 0 && problem.k > 0) made.sources.push_back(adapters::microscale_source(kind));
  return made;
}

Result<GemmConfig> resolved(const GemmConfig& config) {
  if (config.grouping == Grouping::dense) {
    const GemmConfig made = config::resolve(config);
    WW_CHECK(ops::validate(made));
    return made;
  }
  const bool rows = config.grouping == Grouping::row_groups;
  const GemmConfig made = rows ? config::resolve_grouped(config) : config::resolve(config);
  if (const config::ConfigFault fault = rows ? config::fault_of_grouped(made) : config::fault_of_k_grouped(made))
    return failure(ErrorCode::unsupported, fmt::format("config, {}", fault.field), select::expected_text(fault),
                   to_text(made));
  return made;
}

/// The kernel of a config, and the small ones that plans with this config may run before it.
Result<Needed> needed(const GemmConfig& config, const GemmOptions&, const ops::LaunchTarget& target) {
  WW_TRY(const GemmOptions options, ops::for_arch({.config = config}, target.arch));
  WW_TRY(const GemmConfig made, resolved(options.config));
  return needed(made, adapters::plan_sources(made));
}

/// A kernel to be made: its entry of the result, and what to compile.
struct Job {
  std::size_t kernel = 0;
  std::vector<runtime::KernelSource> sources;
  std::size_t made = 0;  // of the sources
};

/// The entry of a case that no kernel solves.
PreparedKernel unmade(std::size_t i, const PrepareCase& given, const Error& error) {
  PreparedKernel kernel{.cases = {i}, .error = error};
  if (const auto* quantize = std::get_if<QuantizeProblem>(&given.problem)) {
    kernel.text = text_of_cast(adapters::quantize_kind(*quantize));
    kernel.error = with_argument(error, "quantize, " + error.argument);
  } else if (const auto* transpose = std::get_if<TransposeProblem>(&given.problem)) {
    kernel.text = fmt::format("transpose={}", name_of(transpose->type));
    kernel.error = with_argument(error, "transpose, " + error.argument);
  } else if (std::holds_alternative<PackScalesProblem>(given.problem)) {
    kernel.text = kPackScales;
    kernel.error = with_argument(error, "pack, " + error.argument);
  } else if (const auto* cast = std::get_if<MicroscaleProblem>(&given.problem)) {
    kernel.text = to_text(config::MicroscaleKind{cast->x, cast->q, cast->scale});
    kernel.error = with_argument(error, "cast, " + error.argument);
  } else {
    const auto* config = std::get_if<GemmConfig>(&given.problem);
    kernel.config = config ? *config : given.options.config;
    kernel.text = to_text(kernel.config);
  }
  return kernel;
}

/// Fills `kernels`; entries with an error get no job.
std::vector<Job> jobs_of(const ops::LaunchTarget& target, std::span<const PrepareCase> cases,
                         std::vector<PreparedKernel>& kernels) {
  std::vector<Job> jobs;
  std::map<std::string, std::size_t> known;  // source text -> entry
  for (std::size_t i = 0; i < cases.size(); ++i) {
    Result<Needed> made =
        std::visit([&](const auto& problem) { return needed(problem, cases[i].options, target); }, cases[i].problem);
    if (!made) {
      kernels.push_back(unmade(i, cases[i], made.error()));
      continue;
    }
    if (made->sources.empty()) continue;
    const auto [at, fresh] = known.try_emplace(made->sources.front().text, kernels.size());
    if (!fresh) {
      kernels[at->second].cases.push_back(i);
      const auto job = std::find_if(jobs.begin(), jobs.end(), [&](const Job& j) { return j.kernel == at->second; });
      if (made->sources.size() > job->sources.size()) job->sources = std::move(made->sources);
      continue;
    }
    jobs.push_back({kernels.size(), std::move(made->sources)});
    kernels.push_back({.cases = {i}, .config = made->config, .text = std::move(made->text)});
  }
  return jobs;
}

using Maker = std::function<Result<void>(const runtime::KernelSource&)>;

/// Makes one kernel. It lets no exception escape, because it runs at the top of a thread.
std::optional<Error> make_kernel(const Maker& make, const runtime::KernelSource& source) {
  try {
    if (const Result<void> made = make(source); !made) return made.error();
    return std::nullopt;
  } catch (const std::exception& error) {  // out of memory, at worst
    return make_error(ErrorCode::could_not_finish, {}, {}, {}, error.what());
  }
}

/// One source of a job; those of a job are made at the same time, too.
struct Task {
  std::size_t job, source;
};

/// Main kernels first, because they take the longest.
std::vector<Task> tasks_of(const std::vector<Job>& jobs) {
  std::vector<Task> tasks;
  bool more = true;
  for (std::size_t source = 0; more; ++source) {
    more = false;
    for (std::size_t job = 0; job < jobs.size(); ++job)
      if (source < jobs[job].sources.size()) tasks.push_back({job, source}), more = true;
  }
  return tasks;
}

/// Calls `make`, on several threads, for the sources of every kernel that the cases need.
Prepared prepare_with(const Maker& make, const ops::LaunchTarget& target, std::span<const PrepareCase> cases,
                      const PrepareOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  Prepared prepared;
  std::vector<Job> jobs = jobs_of(target, cases, prepared.kernels);
  const std::vector<Task> tasks = tasks_of(jobs);
  std::mutex reporting;
  std::size_t done = 0;
  const auto report = [&](const PreparedKernel& kernel) {
    ++done;
    if (options.progress) options.progress(done, prepared.kernels.size(), kernel);
  };
  for (const PreparedKernel& kernel : prepared.kernels)
    if (kernel.error) report(kernel);

  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < tasks.size();) {
      Job& job = jobs[tasks[i].job];
      const auto begin = std::chrono::steady_clock::now();
      std::optional<Error> error = make_kernel(make, job.sources[tasks[i].source]);
      const double seconds = seconds_since(begin);
      const std::lock_guard lock(reporting);
      PreparedKernel& kernel = prepared.kernels[job.kernel];
      kernel.seconds = std::max(kernel.seconds, seconds);
      if (error && !kernel.error) kernel.error = std::move(error);
      if (++job.made == job.sources.size()) report(kernel);
    }
  };
  const std::size_t wanted = options.threads > 0 ? static_cast<std::size_t>(options.threads)
                                                 : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::jthread> threads;
  try {
    while (threads.size() + 1 < std::min(wanted, tasks.size())) threads.emplace_back(work);
  } catch (const std::exception&) {  // continue with the threads that were created
  }
  work();
  threads.clear();
  for (const PreparedKernel& kernel : prepared.kernels) prepared.failed += kernel.error.has_value();
  prepared.seconds = seconds_since(start);
  return prepared;
}

/// Returns the GPU of the first product or config. Casts and transposes are for any.
ops::LaunchTarget target_of(std::span<const PrepareCase> cases) {
  for (const PrepareCase& one : cases) {
    if (const auto* config = std::get_if<GemmConfig>(&one.problem)) return ops::typical_target({.config = *config});
    const bool product = std::holds_alternative<GemmProblem>(one.problem) ||
                         std::holds_alternative<GroupedProblem>(one.problem) ||
                         std::holds_alternative<KGroupedProblem>(one.problem);
    if (product) return ops::typical_target(one.options);
  }
  return ops::typical_target({});
}

/// The kernels of a pack that is being made, by key. Threads add to it.
class PackMaker {
 public:
  PackMaker(const jit::Nvrtc& nvrtc, const std::filesystem::path& file, Arch arch) : nvrtc_(nvrtc), arch_(arch) {
    if (Result<jit::Pack> old = jit::Pack::open(file); old && old->compiler() == nvrtc.identity())
      old_.emplace(std::move(*old));
  }

  Result<void> add(const runtime::KernelSource& source) {
    const std::string key = jit::cubin_source_key(source.text, arch_);
    {
      const std::lock_guard lock(mutex_);
      if (!started_.insert(key).second) return {};
    }
    std::optional<jit::Entry> entry;
    if (old_ && old_->contains(key))
      if (Result<jit::Entry> kept = old_->read(key)) entry = std::move(*kept);
    if (!entry) {
      WW_TRY(entry, nvrtc_.compile(source.text, arch_));
    }
    // A pack outlives the compiler of its user, so that a slow kernel would stay slow.
    if (entry->log.find("are serialized") != std::string::npos)
      return failure(ErrorCode::could_not_finish, {}, "an NVRTC that keeps wgmma asynchronous", nvrtc_.identity(),
                     entry->log);
    const std::lock_guard lock(mutex_);
    kernels_.emplace(key, std::move(*entry));
    return {};
  }

  std::string bytes() const { return jit::pack_bytes(kernels_, nvrtc_.identity(), arch_); }

 private:
  const jit::Nvrtc& nvrtc_;
  Arch arch_;
  std::optional<jit::Pack> old_;
  std::mutex mutex_;
  std::set<std::string> started_;
  std::map<std::string, jit::Entry> kernels_;
};

}  // namespace

Result<PrepareCase> parse_prepare_case(std::string_view text, std::optional<Arch> device) {
  PrepareCase made;
  if (!names_quantize(text)) {
    WW_TRY(made.problem, parse_config(text, {}, device));
    return made;
  }
  WW_TRY(const auto problem, parse_quantize(text));
  std::visit([&](const auto& one) { made.problem = one; }, problem);
  return made;
}

Prepared prepare(const Device& device, std::span<const PrepareCase> cases, const PrepareOptions& options) {
  const auto make = [&](const runtime::KernelSource& source) -> Result<void> {
    WW_CHECK(device.backend().kernel(source));
    return {};
  };
  return prepare_with(make, {device.info().sms, device.info().emulated, device.info().arch}, cases, options);
}

Prepared plan_kernels(std::span<const PrepareCase> cases) {
  const auto start = std::chrono::steady_clock::now();
  Prepared planned;
  jobs_of(target_of(cases), cases, planned.kernels);
  for (const PreparedKernel& kernel : planned.kernels) planned.failed += kernel.error.has_value();
  planned.seconds = seconds_since(start);
  return planned;
}

Result<Prepared> write_kernel_pack(const std::filesystem::path& file, std::span<const PrepareCase> cases,
                                   const PrepareOptions& options) {
  WW_TRY(const jit::Nvrtc* nvrtc, jit::Nvrtc::get());
  if (file.extension() != jit::kPackSuffix)
    return failure(ErrorCode::invalid, "file", fmt::format("a name that ends in {}", jit::kPackSuffix), file.string());
  const ops::LaunchTarget target = target_of(cases);
  PackMaker maker(*nvrtc, file, target.arch);
  const auto make = [&](const runtime::KernelSource& source) { return maker.add(source); };
  Prepared prepared = prepare_with(make, target, cases, options);
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(file, error);
  if (error) return failure(jit::file_error("absolute path of", file, error.value()));
  WW_CHECK(jit::make_directories(absolute.parent_path()));
  WW_CHECK(jit::publish_file(absolute, maker.bytes()));
  // Published files are private to their owner; a pack is for every user of its machine, as a library is.
  using std::filesystem::perms;
  std::filesystem::permissions(absolute,
                               perms::owner_read | perms::owner_write | perms::group_read | perms::others_read, error);
  return prepared;
}

}  // namespace ww
