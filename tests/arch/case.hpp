// SPDX-License-Identifier: Apache-2.0
// A case: one launch of one test kernel with its input, the output it starts from and the output it must leave,
// computed on the host without the emulator. The emulator tests and the GPU's parity test run the same list.
#pragma once

#include <array>
#include <random>
#include <string>
#include <vector>

#include "kernels/params.hpp"
#include "runtime/backend.hpp"
#include "warpwright/arch/common/emu_table.hpp"
#include "warpwright/core/meta.hpp"
#include "warpwright/host/device.hpp"

namespace ww::arch_test {

/// A tensor in the input or the output, `byte_offset` from its start; `spec.base` is set when addresses are known.
struct TensorOf {
  bool in_output = false;
  std::size_t byte_offset = 0;
  runtime::TensorMapSpec spec;
};

struct Case {
  std::string name;    // of the test; letters, digits and underscores
  const char* header;  // "tma": kernels/tma.hpp
  std::string kernel;  // "arch_tma_load"
  u32 threads = 128, grid = 1, cluster = 1, shared_bytes = 0;
  bool cross_cta = false, pdl = false;
  std::array<i32, 16> arg{};
  std::vector<TensorOf> tensors = {};
  std::vector<u32> in = {}, out = {}, expected = {};
  std::string error = {};  // not empty: both executors must refuse it, the emulated device with this text
};

std::vector<Case> synchronisation_cases();
std::vector<Case> tma_cases();
std::vector<Case> wgmma_cases();
std::vector<Case> wgmma_type_cases();
std::vector<Case> data_cases();
std::vector<Case> tensor_map_cases();
std::vector<Case> sm100_memory_cases();
std::vector<Case> sm100_mma_cases();
const std::vector<Case>& all_cases();

/// Returns the names of the kernel headers, and the translation unit of a header for a run-time compiler.
const std::vector<const char*>& kernel_headers();
std::string kernel_source(std::string_view header);
/// Returns whether the kernels of a header are of sm_100, which neither an sm_90 device nor emu:sm90 runs.
inline bool is_sm100(std::string_view header) { return header.starts_with("sm100_"); }
/// Returns whether the kernels of a header are of sm_90 alone.
inline bool is_sm90(std::string_view header) { return header.starts_with("wgmma"); }

/// Returns the kernel compiled into this program; null when there is none of that name.
const arch::KernelEntry* find_kernel(std::string_view name);

/// Runs a case on the emulated device of its architecture. Fails if this library emulates none of that architecture.
Result<std::vector<u32>> run_in_process(const Case& c, const EmuOptions& options);
Result<std::vector<u32>> run_on_device(const Case& c, const Device& device, const runtime::Kernel& kernel);

/// Returns an empty text when equal, otherwise how many values differ and the first of them.
std::string difference(const std::vector<u32>& got, const std::vector<u32>& expected);

inline std::vector<u32> random_words(std::size_t count, u64 seed) {
  std::mt19937_64 generator(seed);
  std::vector<u32> words(count);
  for (u32& word : words) word = static_cast<u32>(generator());
  return words;
}

}  // namespace ww::arch_test
