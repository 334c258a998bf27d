// SPDX-License-Identifier: Apache-2.0
// Three ways to wait for ever: an arrival that nobody makes, a value that nobody writes, and the shipped GEMM without
// the line that releases a stage.
#include "hanging_kernels.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "jit/embedded_headers.hpp"
#include "launch/gemm_source.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/kernel/gemm_params.hpp"

namespace ww::gpu_test {
namespace {

constexpr const char* kKernels = R"(
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/role.hpp"
using namespace ww;
struct Params { u32* flags; u32 block; };
struct IsSet { WW_DEVICE bool operator()(u32 v) const { return v != 0; } };

// The second phase lacks one of two arrivals.
WW_KERNEL(hangs_on_mbarrier, 128, Params, params) {
  const arch::MBarrier barrier{arch::dynamic_shared() + 0x40};
  const int warp = static_cast<int>(arch::warp_index());
  if (arch::thread_index() == 0) arch::mbarrier::init(barrier, 2);
  arch::named_barrier::sync_cta();
  if (arch::thread_index() == 0) arch::mbarrier::arrive(barrier, 2);
  arch::mbarrier::wait(barrier, 0);
  arch::named_barrier::sync_cta();
  if (warp == 0) {
    arch::role("writer");
    if (arch::lane_index() == 0) arch::mbarrier::arrive(barrier, arch::block_index() != params.block ? 2 : 1);
  } else {
    arch::role("reader", warp);
    arch::mbarrier::wait(barrier, 1);
  }
}
WW_KERNEL(hangs_on_global, 128, Params, params) {
  arch::role("waiter");
  if (arch::block_index() == params.block && arch::thread_index() == 96)
    arch::global::wait_global(params.flags + 5, IsSet{});
}
WW_MODULE()
)";

constexpr u32 kBlocks = 4, kStuck = 2;

class Small final : public Hanging {
 public:
  static Result<std::unique_ptr<Hanging>> make(bool global, const Device& device) {
    std::unique_ptr<Small> self(new Small(global));
    WW_TRY(self->kernel_, device.backend().kernel({global ? "hangs_on_global" : "hangs_on_mbarrier", kKernels}));
    WW_TRY(self->flags_, device.allocate(64));
    const std::array<u32, 16> zeros{};
    WW_CHECK(device.upload(self->flags_.data(), zeros.data(), 64));
    self->params_ = {static_cast<u32*>(self->flags_.data()), kStuck};
    self->memory_ = {"flags", self->flags_.data(), 64, true};
    runtime::Launch& launch = self->launch_;
    launch.kernel = self->kernel_.get();
    launch.grid = kBlocks, launch.threads = 128, launch.shared_bytes = 128;
    launch.params = &self->params_, launch.params_bytes = sizeof(Params);
    launch.memory = {&self->memory_, 1};
    return self;
  }
  std::string watchdog_words(const std::string& milliseconds) const override {
    if (global_)
      return fmt::format(
          "1 warp gave up waiting after {} ms\n  CTA 2, waiter, warp 3: the word of global memory at {:#x}",
          milliseconds, reinterpret_cast<std::uintptr_t>(params_.flags + 5));
    return fmt::format(
        "3 warps gave up waiting after {} ms\n  CTA 2, reader 1 and reader 2 and reader 3, warps 1-3: the mbarrier at "
        "offset 0x40 of dynamic shared memory, parity 1",
        milliseconds);
  }
  std::vector<std::string> emulator_words() const override {
    if (global_) return {"livelock", "CTA 2, waiter, warp 3 (1 thread)", "global memory"};
    return {"CTA 2, reader 1, warp 1 (32 threads)", "CTA 2, reader 3, warp 3 (32 threads)",
            "waiting for parity 1: phase 1 (parity 1) is open, 1 of 2 arrivals and 0 bytes missing"};
  }

 private:
  struct Params {
    u32* flags;
    u32 block;
  };
  explicit Small(bool global) : global_(global) {}

  bool global_;
  std::shared_ptr<const runtime::Kernel> kernel_;
  Buffer flags_;
  Params params_{};
  runtime::MemoryRange memory_;
};

/// `text` with the library's headers in the place of their includes, each once.
void inline_headers(const std::string& text, std::set<std::string>& seen, std::string& out) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    const std::string line = text.substr(at, end == std::string::npos ? end : end - at);
    at = end == std::string::npos ? text.size() : end + 1;
    if (line == "#pragma once") continue;
    if (!line.starts_with("#include \"")) {
      out += line + "\n";
      continue;
    }
    const std::string name = line.substr(10, line.rfind('"') - 10);
    if (!seen.insert(name).second) continue;
    for (const jit::EmbeddedHeader& header : jit::embedded_headers())
      if (name == header.name) inline_headers(header.text, seen, out);
  }
}

constexpr const char* kReleaseLine = "arch::mbarrier::arrive_if(arrives, empty(barriers_, stage.index));";

/// The shipped kernel's text without the release of its stages.
Result<runtime::KernelSource> without_release(const GemmConfig& config) {
  runtime::KernelSource source = adapters::gemm_source(config);
  std::string text;
  std::set<std::string> seen;
  inline_headers(source.text, seen, text);
  const std::size_t at = text.find(kReleaseLine);
  if (at == std::string::npos || text.find(kReleaseLine, at + 1) != std::string::npos)
    return failure(ErrorCode::invalid, "kernel", std::string("one line ") + kReleaseLine, "none or several");
  text.erase(at, std::string(kReleaseLine).size());
  return runtime::KernelSource{source.name, text};
}

/// One tile, one block of K more than there are stages.
class GemmWithoutRelease final : public Hanging {
 public:
  static Result<std::unique_ptr<Hanging>> make(const Device& device) {
    std::unique_ptr<GemmWithoutRelease> self(new GemmWithoutRelease);
    WW_CHECK(self->prepare(device));
    return self;
  }
  std::string watchdog_words(const std::string& milliseconds) const override {
    return fmt::format(
        "5 warps gave up waiting after {} ms\n"
        "  CTA 0, consumer 0, warps 4-7: the mbarrier at offset {:#x} of dynamic shared memory, parity 1\n"
        "  CTA 0, producer, warp 0: the mbarrier at offset {:#x} of dynamic shared memory, parity 0",
        milliseconds, full(), empty());
  }
  std::vector<std::string> emulator_words() const override {
    return {"CTA 0, producer, warp 0 (1 thread)", "CTA 0, consumer 0, warps 4-7 (128 threads)",
            "parity 0: phase 0 (parity 0) is open, 4 of 4 arrivals and 0 bytes missing",
            "parity 1: phase 1 (parity 1) is open, 1 of 1 arrivals and 0 bytes missing"};
  }

 private:
  static constexpr i64 kM = 64, kN = 64;
  static constexpr int kElement = 2;
  u32 full() const { return static_cast<u32>(config::shared_plan(config_).barriers); }
  u32 empty() const { return full() + static_cast<u32>(config_.sm90.stages) * arch::kMBarrierBytes; }

  static runtime::TensorMapSpec map_of(const Buffer& buffer, i64 rows, i64 columns, int box_rows, int box_columns) {
    runtime::TensorMapSpec spec;
    spec.base = buffer.data();
    spec.element = DType::bf16;
    spec.extent[0] = static_cast<u64>(columns), spec.extent[1] = static_cast<u64>(rows);
    spec.stride_bytes[1] = static_cast<u64>(columns * kElement);
    spec.box[0] = static_cast<u32>(box_columns), spec.box[1] = static_cast<u32>(box_rows);
    return spec;
  }

  Result<void> prepare(const Device& device) {
    GemmConfig wanted;
    wanted.operands.a = wanted.operands.b = wanted.operands.d = DType::bf16;
    wanted.operands.scale = Scale::none;
    wanted.tile.m = kM, wanted.tile.n = kN, wanted.cluster.m = wanted.cluster.n = 1;
    wanted.sm90.stages = 3, wanted.sm90.consumer_warpgroups = 1, wanted.raster.width = 1;
    config_ = config::resolve(wanted);
    WW_TRY(const runtime::KernelSource source, without_release(config_));
    WW_TRY(kernel_, device.backend().kernel(source));
    const i64 k = (config_.sm90.stages + 1) * config_.tile.k;
    for (Buffer* operand : {&a_, &b_}) {
      WW_TRY(*operand, device.allocate(static_cast<std::size_t>(kM * k * kElement)));
      const std::vector<char> zeros(operand->bytes());
      WW_CHECK(device.upload(operand->data(), zeros.data(), zeros.size()));
    }
    WW_TRY(d_, device.allocate(kM * kN * kElement));
    config::GemmArguments& p = params_.gemm;
    WW_TRY(p.a, device.backend().encode(map_of(a_, kM, k, config_.tile.m, config_.tile.k)));
    WW_TRY(p.b, device.backend().encode(map_of(b_, kN, k, config_.tile.n, config_.tile.k)));
    const int panel = config::panel_bytes(config_);
    WW_TRY(p.d, device.backend().encode(map_of(d_, kM, kN, config::kWarpgroupRows, panel / kElement)));
    p.m = kM, p.n = kN, p.k = static_cast<i32>(k), p.k_blocks = config_.sm90.stages + 1;
    params_.scheduler.grid = {1, 1, 1};
    memory_ = {
        {{"a", a_.data(), a_.bytes(), false}, {"b", b_.data(), b_.bytes(), false}, {"d", d_.data(), d_.bytes(), true}}};
    launch_.kernel = kernel_.get();
    launch_.threads = static_cast<u32>(config::threads_of(config_));
    launch_.shared_bytes = static_cast<u32>(config::shared_plan(config_).total);
    launch_.params = &params_, launch_.params_bytes = sizeof(params_);
    launch_.memory = memory_;
    return {};
  }

  GemmConfig config_;
  std::shared_ptr<const runtime::Kernel> kernel_;
  Buffer a_, b_, d_;
  kernel::GemmParams params_{};
  std::array<runtime::MemoryRange, 3> memory_;
};

}  // namespace

const char* name_of(Hang hang) {
  return hang == Hang::mbarrier ? "mbarrier" : hang == Hang::global ? "global" : "gemm_without_release";
}

Result<std::unique_ptr<Hanging>> make_hanging(Hang hang, const Device& device) {
  if (hang == Hang::gemm_without_release) return GemmWithoutRelease::make(device);
  return Small::make(hang == Hang::global, device);
}

}  // namespace ww::gpu_test
