// SPDX-License-Identifier: Apache-2.0
#include "case.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <set>
#include <sstream>

#include "emu/emulator.hpp"
#include "kernel_texts.hpp"

namespace ww::arch_test {
namespace {

constexpr u32 kUnwritten = 0xC0DEDEADu;

/// Returns the text of a header with its neighbours' texts in place of their includes, each once.
std::string inlined(std::string_view header, std::set<std::string>& seen) {
  std::string result;
  for (const KernelText& kernel : kernel_texts()) {
    if (kernel.name != header || !seen.insert(kernel.name).second) continue;
    std::istringstream lines(kernel.text);
    constexpr std::string_view kInclude = "#include \"", kEnd = ".hpp\"";
    for (std::string line; std::getline(lines, line);) {
      const bool neighbour = line.starts_with(kInclude) && line.find('/') == std::string::npos;
      if (neighbour) result += inlined(line.substr(kInclude.size(), line.size() - kInclude.size() - kEnd.size()), seen);
      else if (line != "#pragma once") result += line + '\n';
    }
  }
  return result;
}

/// Returns the kernel's parameter, with tensor maps from `encode`.
template <class Encode> Result<Params> params_of(const Case& c, const u32* in, u32* out, Encode encode) {
  Params params{};
  params.in = in;
  params.out = out;
  for (std::size_t i = 0; i < c.arg.size(); ++i) params.arg[i] = c.arg[i];
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    runtime::TensorMapSpec spec = c.tensors[i].spec;
    const void* buffer = c.tensors[i].in_output ? static_cast<const void*>(out) : in;
    spec.base = static_cast<const std::byte*>(buffer) + c.tensors[i].byte_offset;
    WW_TRY(params.map[i], encode(spec));
  }
  return params;
}

runtime::Launch launch_of(const Case& c, const Params& params, std::span<const runtime::MemoryRange> memory) {
  runtime::Launch launch;
  launch.grid = c.grid;
  launch.cluster = c.cluster;
  launch.threads = c.threads;
  launch.shared_bytes = c.shared_bytes;
  launch.params = &params;
  launch.params_bytes = sizeof(params);
  launch.memory = memory;
  launch.cross_cta = c.cross_cta;
  launch.pdl = c.pdl;
  return launch;
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Words = std::unique_ptr<u32[], Free>;

/// Returns a copy in memory aligned as device allocations are.
Words aligned_copy(const std::vector<u32>& words) {
  constexpr std::size_t kAlignment = 256;
  Words copy(static_cast<u32*>(std::aligned_alloc(kAlignment, round_up(words.size() * 4 + 1, kAlignment))));
  if (!words.empty()) std::memcpy(copy.get(), words.data(), words.size() * 4);
  return copy;
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (auto* group : {synchronisation_cases, tma_cases, wgmma_cases, wgmma_type_cases, data_cases, tensor_map_cases,
                        sm100_memory_cases, sm100_mma_cases})
      for (Case& c : group()) all.push_back(std::move(c));
    for (Case& c : all)
      if (c.out.empty()) c.out.assign(c.expected.size(), kUnwritten);
    return all;
  }();
  return cases;
}

const std::vector<const char*>& kernel_headers() {
  static const std::vector<const char*> headers = {
      "mbarrier", "tma",        "wgmma", "wgmma_widths", "wgmma_types",  "matrix",    "control",      "warp",
      "memory",   "arithmetic", "scan",  "tensor_map",   "sm100_memory", "sm100_mma", "sm100_cluster"};
  return headers;
}

std::string kernel_source(std::string_view header) {
  std::set<std::string> seen;
  return inlined(header, seen) + "WW_MODULE()\n";
}

Result<std::vector<u32>> run_in_process(const Case& c, const EmuOptions& options) {
  const arch::KernelEntry* entry = find_kernel(c.kernel);
  if (!entry) return failure(ErrorCode::invalid, "kernel", "a kernel of this program", c.kernel);
  const char* const device = is_sm100(c.header) ? "emu:sm100" : "emu:sm90";
  const emu::MachineModel* const model = emu::find_machine(device);
  if (!model) return failure(ErrorCode::unsupported, "device", "a machine that this library emulates", device);
  const Words in = aligned_copy(c.in), out = aligned_copy(c.out);
  WW_TRY(const Params params, params_of(c, in.get(), out.get(), [](const auto& spec) { return emu::encode(spec); }));
  const runtime::MemoryRange memory[] = {{"in", in.get(), c.in.size() * 4, false},
                                         {"out", out.get(), c.out.size() * 4, true}};
  WW_CHECK(emu::run(*model, *entry, launch_of(c, params, memory), options, 16));
  return std::vector<u32>(out.get(), out.get() + c.out.size());
}

Result<std::vector<u32>> run_on_device(const Case& c, const Device& device, const runtime::Kernel& kernel) {
  runtime::Backend& backend = device.backend();
  WW_TRY(const Buffer in, device.allocate(c.in.size() * 4));
  WW_TRY(const Buffer out, device.allocate(c.out.size() * 4));
  WW_CHECK(device.upload(in.data(), c.in.data(), c.in.size() * 4));
  WW_CHECK(device.upload(out.data(), c.out.data(), c.out.size() * 4));
  WW_TRY(const Params params, params_of(c, static_cast<const u32*>(in.data()), static_cast<u32*>(out.data()),
                                        [&](const auto& spec) { return backend.encode(spec); }));
  const runtime::MemoryRange memory[] = {{"in", in.data(), c.in.size() * 4, false},
                                         {"out", out.data(), c.out.size() * 4, true}};
  runtime::Launch launch = launch_of(c, params, memory);
  launch.kernel = &kernel;
  WW_CHECK(backend.launch(launch));
  WW_CHECK(device.synchronize());
  std::vector<u32> words(c.out.size());
  WW_CHECK(device.download(words.data(), out.data(), words.size() * 4));
  return words;
}

std::string difference(const std::vector<u32>& got, const std::vector<u32>& expected) {
  if (got.size() != expected.size()) return fmt::format("{} words, expected {}", got.size(), expected.size());
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = got.size(); i-- > 0;)
    if (got[i] != expected[i]) ++wrong, first = i;
  if (wrong == 0) return {};
  return fmt::format("{} of {} words differ, the first at {}: got 0x{:08x}, expected 0x{:08x}", wrong, got.size(),
                     first, got[first], expected[first]);
}

}  // namespace ww::arch_test
