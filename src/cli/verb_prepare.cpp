// SPDX-License-Identifier: Apache-2.0
// `warpwright prepare`: compiles the kernels of configs, or what the problem of the flags or those of a case file will
// need, into the cache of a device or into a pack.
#include <algorithm>
#include <cctype>
#include <fstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/native/case.hpp"
#include "cli/execution.hpp"
#include "cli/operation_request.hpp"
#include "cli/progress.hpp"
#include "cli/request.hpp"
#include "config/config_text.hpp"
#include "facts/facts.hpp"
#include "host/messages.hpp"
#include "io/file.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww::cli {

using namespace bench;

namespace {

std::string joined(const std::vector<std::int64_t>& counts) { return fmt::format("{}", fmt::join(counts, ",")); }

/// The flags with the sizes of a case.
Flags sized(Flags flags, const BenchCase& one, const std::string& operation) {
  const auto set = [](Flag& flag, std::int64_t size) {
    if (size > 0) flag = fmt::format("{}", size);
  };
  set(flags.m, one.m), set(flags.n, one.n), set(flags.k, one.k);
  if (operation == "grouped") flags.rows = joined(one.counts);
  if (operation == "k-grouped") flags.ks = joined(one.counts);
  return flags;
}

/// The problem of the flags, or each of --cases with everything but its sizes from the flags.
Result<std::vector<PrepareCase>> cases_of(const OperationRequest& asked, const Flags& flags) {
  std::vector<PrepareCase> made;
  if (!flags.cases) {
    made.push_back(asked.operation->prepare_case());
    return made;
  }
  BenchOptions of_file;
  of_file.cases = *flags.cases;
  int skipped = 0;
  const std::string name = asked.operation->name();
  WW_TRY(const std::vector<BenchCase> cases, bench_cases(of_file, name == "gemm" ? "dense" : name, skipped));
  for (const BenchCase& one : cases) {
    WW_TRY(const OperationRequest request, asked.make(sized(flags, one, name)));
    made.push_back(request.operation->prepare_case());
  }
  return made;
}

/// The configs as lines of a file, those of the most cases first.
std::string list_of(const Prepared& prepared, const std::string& command_line) {
  std::vector<const PreparedKernel*> kernels;
  for (const PreparedKernel& kernel : prepared.kernels)
    if (!kernel.error) kernels.push_back(&kernel);
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const PreparedKernel* a, const PreparedKernel* b) { return a->cases.size() > b->cases.size(); });
  std::string text = fmt::format("# {}\n", command_line);
  for (const PreparedKernel* kernel : kernels) text += fmt::format("{}  # {}\n", kernel->text, kernel->cases.size());
  return text;
}

/// `place` is the device's name or the pack's file.
Outcome report(const std::string& title, const std::string& place, const Prepared& prepared, std::size_t cases) {
  Outcome outcome;
  outcome.text =
      fmt::format("{}: {} case{}, {} kernel{} for {}, {}\n", title, cases, cases == 1 ? "" : "s",
                  prepared.kernels.size(), prepared.kernels.size() == 1 ? "" : "s", place, duration(prepared.seconds));
  List list;
  for (const PreparedKernel& kernel : prepared.kernels) {
    outcome.text += fmt::format("  {:<9} {}\n", kernel.error ? "failed" : duration(kernel.seconds), kernel.text);
    if (kernel.error) outcome.text += fmt::format("            {}\n", kernel.error->message);
    list.push_back(facts::fields_of(kernel));
    if (kernel.error && !outcome.error) outcome.error = kernel.error;
  }
  outcome.json = {{"ok", prepared.failed == 0},
                  {"device", place},
                  {"cases", static_cast<std::int64_t>(cases)},
                  {"failed", static_cast<std::int64_t>(prepared.failed)},
                  {"seconds", prepared.seconds},
                  {"kernels", list}};
  return outcome;
}

/// The configs of --config or of the lines of --configs.
Result<std::vector<PrepareCase>> cases_of_configs(const Flags& flags) {
  std::vector<PrepareCase> made;
  if (flags.config.has_value() == flags.configs.has_value())
    return failure(ErrorCode::invalid, "--config, --configs", "one of them, or an operation after prepare",
                   flags.config ? "both" : "neither");
  const std::optional<Arch> arch = emulated_arch(flags.device.value_or("auto"));
  if (flags.config) {
    Result<PrepareCase> one = parse_prepare_case(*flags.config, arch);
    if (!one && !one.error().argument.starts_with("config"))
      return failure(with_argument(one.error(), "--config, " + one.error().argument));
    if (!one) return failure(one.error());
    made.push_back(std::move(*one));
    return made;
  }
  std::ifstream file(*flags.configs);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    line.resize(std::min(line.find('#'), line.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.empty()) continue;
    Result<PrepareCase> one = parse_prepare_case(line, arch);
    if (!one)
      return failure(with_argument(one.error(), fmt::format("--configs, line {}, {}", number, one.error().argument)));
    made.push_back(std::move(*one));
  }
  if (!file.eof()) return failure(ErrorCode::invalid, "--configs", "a file that can be read", quoted(*flags.configs));
  return made;
}

Result<Outcome> prepare_cases(const std::string& title, const std::vector<PrepareCase>& cases, const Flags& flags) {
  if (flags.device && (flags.pack || flags.list))
    return failure(
        ErrorCode::invalid, "--device",
        fmt::format("nothing beside --pack and --list, which are for an H200, or a B200 with --config arch={}",
                    name_of(Arch::sm100)),
        *flags.device);
  if (flags.tuning && (flags.pack || flags.list))
    return failure(ErrorCode::invalid, "--tuning", "nothing beside --pack and --list, which open no device",
                   quoted(*flags.tuning));
  if (flags.pack && flags.list) return failure(ErrorCode::invalid, "--list", "nothing beside --pack", *flags.list);
  PrepareOptions options;
  if (flags.jobs) {
    WW_TRY(const std::int64_t jobs, parse_integer(*flags.jobs, "--jobs", 1, 256));
    options.threads = static_cast<int>(jobs);
  }
  Progress progress;
  std::atomic<int>* permille = progress.phase("compile");
  options.progress = [permille](std::size_t done, std::size_t of, const PreparedKernel&) {
    *permille = static_cast<int>(1000 * done / of);
  };
  if (flags.list) {
    const Prepared planned = plan_kernels(cases);
    const std::string lines = list_of(planned, flags.command_line);
    WW_CHECK(
        io::write_file(*flags.list, "--list", [&](const io::Sink& sink) { return sink(lines.data(), lines.size()); }));
    return report(title, *flags.list, planned, cases.size());
  }
  if (flags.pack) {
    Result<Prepared> prepared = write_kernel_pack(*flags.pack, cases, options);
    if (!prepared)
      return failure(prepared.error().argument == "file" ? with_argument(prepared.error(), "--pack")
                                                         : prepared.error());
    return report(title, *flags.pack, *prepared, cases.size());
  }
  WW_TRY(const Device device, Device::open(flags.device.value_or("auto")));
  return report(title, device.info().name, ww::prepare(device, cases, options), cases.size());
}

}  // namespace

Result<Outcome> prepare_kernels(OperationRequest asked, const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  WW_TRY(const std::vector<PrepareCase> cases, cases_of(asked, flags));
  return prepare_cases(fmt::format("prepare {}", asked.operation->name()), cases, flags);
}

Result<Outcome> run_prepare_configs(const Flags& flags) {
  WW_TRY(const std::vector<PrepareCase> cases, cases_of_configs(flags));
  return prepare_cases("prepare", cases, flags);
}

}  // namespace ww::cli
