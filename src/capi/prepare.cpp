// SPDX-License-Identifier: Apache-2.0
// Compiling ahead.
#include "capi/objects.hpp"
#include "capi/problems.hpp"
#include "facts/facts.hpp"
#include "warpwright/host/config.hpp"

namespace ww::capi {
namespace {

template <class CProblem>
ww_status read_one(const CProblem* problem, const ww_options* options, Arch arch, PrepareCase& to) {
  Request<CProblem> request;
  WW_C_PASS(request.read(problem, options, arch));
  to.problem = request.problem;
  to.options = request.options;
  return WW_OK;
}

ww_status read_case(const ww_prepare_case* given, Arch arch, PrepareCase& to) {
  Given<ww_prepare_case> from;
  WW_C_PASS(from.read("cases", given));
  const int problems =
      (from->gemm != nullptr) + (from->grouped != nullptr) + (from->k_grouped != nullptr) + (from->kernel != nullptr);
  if (problems != 1)
    return refuse("cases", "exactly one of gemm, grouped, k_grouped and kernel in each case",
                  fmt::format("{} of them", problems));
  if (from->kernel != nullptr) {
    WW_C_TRY(to, parse_prepare_case(from->kernel, arch));
    return WW_OK;
  }
  if (from->gemm != nullptr) return read_one(from->gemm, from->options, arch, to);
  if (from->grouped != nullptr) return read_one(from->grouped, from->options, arch, to);
  return read_one(from->k_grouped, from->options, arch, to);
}

void tell(const ww_prepare_options& options, std::size_t done, std::size_t of, const PreparedKernel& kernel) {
  ww_prepared told{};
  told.struct_size = sizeof told;
  told.done = done, told.of = of;
  told.config = kernel.text.c_str();
  told.seconds = kernel.seconds;
  told.error = kernel.error ? kernel.error->message.c_str() : nullptr;
  options.progress(options.context, &told);
}

std::string json_of(const Prepared& prepared) {
  io::List kernels;
  for (const PreparedKernel& kernel : prepared.kernels) kernels.emplace_back(facts::fields_of(kernel));
  return io::to_json(
      {{"kernels", kernels}, {"failed", static_cast<std::int64_t>(prepared.failed)}, {"seconds", prepared.seconds}});
}

ww_status prepare_cases(ww_device device, const ww_prepare_case* cases, std::size_t count,
                        const ww_prepare_options* options, ww_report* report) {
  if (report != nullptr) *report = nullptr;
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  Given<ww_prepare_options> how;
  WW_C_PASS(how.read("options", options, true));
  constexpr std::size_t kMost = 1u << 20;
  if (count > kMost) return refuse("count", fmt::format("at most {}", kMost), fmt::format("{}", count));
  if (how->threads < 0 || how->threads > 256)
    return refuse("options->threads", "0 to 256", fmt::format("{}", how->threads));
  if (cases == nullptr && count > 0) return refuse("cases", "an array", "null");
  // The cases of a caller with another struct_size are as far apart as it says.
  const std::size_t step = count > 0 ? cases->struct_size : 0;
  std::vector<PrepareCase> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto* const one = reinterpret_cast<const ww_prepare_case*>(reinterpret_cast<const char*>(cases) + i * step);
    if (one->struct_size != step)
      return refuse("cases", fmt::format("struct_size = {} in each, as in the first", step),
                    fmt::format("{}", one->struct_size));
    WW_C_PASS(read_case(one, use->state->device->info().arch, all[i]));
  }
  PrepareOptions made;
  made.threads = how->threads;
  if (how->progress != nullptr)
    made.progress = [&](std::size_t done, std::size_t of, const PreparedKernel& kernel) {
      tell(*how, done, of, kernel);
    };
  const Prepared prepared = prepare(*use->state->device, all, made);
  if (report != nullptr) WW_C_PASS(make_report(json_of(prepared), report));
  for (const PreparedKernel& kernel : prepared.kernels)
    if (kernel.error) return record(*kernel.error);
  return WW_OK;
}

}  // namespace
}  // namespace ww::capi

extern "C" ww_status ww_prepare(ww_device device, const ww_prepare_case* cases, size_t count,
                                const ww_prepare_options* options, ww_report* report) {
  return ww::capi::guarded([&] { return ww::capi::prepare_cases(device, cases, count, options, report); });
}
