// SPDX-License-Identifier: Apache-2.0
// Ahead-of-time compilation: compiles every kernel that a list of problems needs, on several threads, and keeps it in
// the device's cache, in memory and on disk. Planning one of these problems afterwards compiles nothing. Or writes the
// cubins to one file, a pack, which other machines then need no compiler for (host/compile.hpp).
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/microscale.hpp"
#include "warpwright/host/pack_scales.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww {

/// What one kernel is compiled for: a dense product, groups of rows, groups of K, a cast to FP8 or by mx and nv, a
/// transpose of FP8 matrices, the packing of scales, or a config. The kernel of a config depends on no problem: fields
/// that the config leaves open get their defaults. `options` are those of products.
struct PrepareCase {
  // what is to be planned later
  std::variant<GemmProblem, GroupedProblem, KGroupedProblem, GemmConfig, QuantizeProblem, TransposeProblem,
               PackScalesProblem, MicroscaleProblem>
      problem;
  GemmOptions options = {};  // and with which options
};

/// Returns the case of a kernel as text: a config, "quantize=1x128,x=bf16,q=e4m3,rows=1,transposed=0" (a cast; missing
/// keys have these values, and 128x128 is the other block), "cast=mx,x=bf16,q=e4m3" or "cast=nv,x=bf16,q=e2m1" (casts
/// to MX formats and NVFP4), "transpose=e4m3", or "pack=ue8m0" (exponents of scales).
/// `device` is the architecture of the device that is to run it: a config without arch is for it, and one that names
/// another is refused. Without a device the config decides.
Result<PrepareCase> parse_prepare_case(std::string_view text, std::optional<Arch> device = std::nullopt);

/// One kernel: the config that a plan would choose for its cases. The small kernels that run before it count as its
/// part.
struct PreparedKernel {
  std::vector<std::size_t> cases = {};  // indices of the cases that need it, ascending
  GemmConfig config = {};               // config of the first of these cases; of casts and transposes meaningless
  std::string text = {};                // the config, cast or transpose as parse_prepare_case() reads it
  double seconds = 0;                   // time to compile or load it; almost nothing from a cache
  std::optional<Error> error = {};      // if set, the kernel was not made, and nothing of it is on disk
};

/// How kernels are prepared.
struct PrepareOptions {
  int threads = 0;  // 0: one for each core
  // Called after each kernel from the thread that made it, one call at a time; may be empty.
  std::function<void(std::size_t done, std::size_t of, const PreparedKernel&)> progress = {};
};

/// The kernels that were prepared.
struct Prepared {
  std::vector<PreparedKernel> kernels;  // in the order of their first case
  std::size_t failed = 0;               // kernels with an error
  double seconds = 0;                   // in all, as a clock on the wall sees it
};

/// Compiles each kernel once, however many cases share it. A case that no kernel solves becomes an entry with its error
/// and does not stop the others; neither does a compiler that fails. Cases without elements need no kernel.
Prepared prepare(const Device& device, std::span<const PrepareCase> cases, const PrepareOptions& options = {});

/// Returns the kernels that plans of `cases` take on an H200 with all its SMs, or on a B200 if their configs are for
/// sm100. Compiles nothing and needs no device. A case of another architecture than the first is an entry with an
/// error.
Prepared plan_kernels(std::span<const PrepareCase> cases);

/// Compiles the same kernels as cubins for that GPU, and writes them to the pack `file`. Needs NVRTC (for sm100 one of
/// CUDA 12.8 or later), but neither a GPU nor its driver. Kernels that `file` already holds from the same sources and
/// compiler are kept as they are; others that it holds are dropped. Errors: no NVRTC; a file that cannot be written. A
/// kernel that cannot be made is an entry with its error, and missing in the pack.
Result<Prepared> write_kernel_pack(const std::filesystem::path& file, std::span<const PrepareCase> cases,
                                   const PrepareOptions& options = {});

}  // namespace ww
