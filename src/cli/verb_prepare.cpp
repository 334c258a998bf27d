// SPDX-License-Identifier: Apache-2.0
// `warpwright prepare`: compiles what the problem of the flags, or those of a case file, will need.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/native/case.hpp"
#include "cli/execution.hpp"
#include "cli/operation_request.hpp"
#include "cli/progress.hpp"
#include "config/config_text.hpp"
#include "facts/facts.hpp"
#include "warpwright/host/prepare.hpp"

namespace ww::cli {

using namespace bench;

namespace {

std::string list_of(const std::vector<std::int64_t>& counts) { return fmt::format("{}", fmt::join(counts, ",")); }

/// The flags with the sizes of a case.
Flags sized(Flags flags, const BenchCase& one, const std::string& operation) {
  const auto set = [](Flag& flag, std::int64_t size) {
    if (size > 0) flag = fmt::format("{}", size);
  };
  set(flags.m, one.m), set(flags.n, one.n), set(flags.k, one.k);
  if (operation == "grouped") flags.rows = list_of(one.counts);
  if (operation == "k-grouped") flags.ks = list_of(one.counts);
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

Outcome report(const std::string& operation, const DeviceInfo& device, const Prepared& prepared, std::size_t cases) {
  Outcome outcome;
  outcome.text = fmt::format("prepare {}: {} case{}, {} kernel{} for {}, {}\n", operation, cases, cases == 1 ? "" : "s",
                             prepared.kernels.size(), prepared.kernels.size() == 1 ? "" : "s", device.name,
                             duration(prepared.seconds));
  List list;
  for (const PreparedKernel& kernel : prepared.kernels) {
    outcome.text +=
        fmt::format("  {:<9} {}\n", kernel.error ? "failed" : duration(kernel.seconds), to_text(kernel.config));
    if (kernel.error) outcome.text += fmt::format("            {}\n", kernel.error->message);
    list.push_back(facts::fields_of(kernel));
    if (kernel.error && !outcome.error) outcome.error = kernel.error;
  }
  outcome.json = {{"ok", prepared.failed == 0},
                  {"device", device.name},
                  {"cases", static_cast<std::int64_t>(cases)},
                  {"failed", static_cast<std::int64_t>(prepared.failed)},
                  {"seconds", prepared.seconds},
                  {"kernels", list}};
  return outcome;
}

}  // namespace

Result<Outcome> prepare_kernels(OperationRequest asked, const Flags& flags) {
  WW_CHECK(check_cases_flags(flags));
  PrepareOptions options;
  if (flags.jobs) {
    WW_TRY(const std::int64_t jobs, parse_integer(*flags.jobs, "--jobs", 1, 256));
    options.threads = static_cast<int>(jobs);
  }
  WW_TRY(const std::vector<PrepareCase> cases, cases_of(asked, flags));
  WW_TRY(const Device device, Device::open(asked.request.device, asked.request.device_options));
  Progress progress;
  std::atomic<int>* permille = progress.phase("compile");
  options.progress = [permille](std::size_t done, std::size_t of, const PreparedKernel&) {
    *permille = static_cast<int>(1000 * done / of);
  };
  return report(asked.operation->name(), device.info(), ww::prepare(device, cases, options), cases.size());
}

}  // namespace ww::cli
