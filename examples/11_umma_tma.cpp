// SPDX-License-Identifier: Apache-2.0
// UMMA with TMA: the tile of 10_umma_tile, but one thread loads A and B by TMA, which writes the swizzled layout.
// No proxy fence is left: TMA and the tensor core are in the same proxy. A grid of tiles covers D.
//   example_11_umma_tma [device] [schedules|timeline]
#include "umma.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/umma.hpp"

using namespace ww;

struct Params {
  arch::TensorMap a, b;
  float* d;
  u32 k_blocks, tiles_n;
};

constexpr u32 kM = 128, kN = 256, kK = 64;
constexpr u32 kBytesA = kM * 128, kBytesB = kN * 128;
constexpr arch::CtaGroup kOne = arch::CtaGroup::one;
constexpr arch::InstructionDescriptor kInstruction =
    arch::sm100::encode({.kind = arch::MmaKind::f16, .a = arch::MmaFormat::bf16, .b = arch::MmaFormat::bf16,
                         .d = arch::MmaResult::f32, .m = kM, .n = kN});

WW_KERNEL(umma_tma, 128, Params, params) {
  const arch::SharedAddress sA = arch::dynamic_shared(), sB = sA + kBytesA;
  const arch::MBarrier full{sB + kBytesB}, done{full.address + 8};
  const arch::SharedAddress allocated = done.address + 8;
  const u32 thread = arch::thread_index(), warp = thread / 32;
  const u32 row = arch::block_index() / params.tiles_n * kM, column = arch::block_index() % params.tiles_n * kN;

  if (warp == 0) arch::tensor::alloc<kOne>(allocated, kN);
  if (thread == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(done, 1);
    arch::fence::mbarrier_init();
  }
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  const arch::TensorAddress acc{arch::shared::load(allocated)};

  const auto a = arch::sm100::make_descriptor(sA, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  const auto b = arch::sm100::make_descriptor(sB, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  if (warp == 0) {
    if (arch::warp::elect())
      for (u32 block = 0; block < params.k_blocks; ++block) {
        arch::mbarrier::arrive_expect_tx(full, kBytesA + kBytesB);
        arch::tma::load_2d(params.a, full, sA, static_cast<int>(block * kK), static_cast<int>(row));
        arch::tma::load_2d(params.b, full, sB, static_cast<int>(block * kK), static_cast<int>(column));
        arch::mbarrier::wait(full, block % 2);
        for (u32 i = 0; i < 4; ++i)
          arch::umma::mma<arch::MmaKind::f16, kOne>(acc, a + 32 * i, b + 32 * i, kInstruction, block + i > 0);
        arch::umma::commit<kOne>(done);
        arch::mbarrier::wait(done, block % 2);  // A and B may be overwritten, and after the last block D be read
      }
    arch::warp::sync();
  }
  // Other threads do not wait on the barrier, because a slow one would miss a phase that two others follow.
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  float* const d = params.d + (row + thread) * (params.tiles_n * kN) + column;
  for (u32 n = 0; n < kN; n += 32) {
    arch::TensorRegisters<32> values;
    arch::tensor::load<arch::TensorShape::lanes32_bits32, 32>(values, acc.down(32 * warp) + n);
    arch::tensor::wait_load(values);
    WW_UNROLL
    for (u32 v = 0; v < 32; ++v) arch::global::store(d + n + v, values[v]);
  }
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  if (warp == 0) {
    arch::tensor::relinquish<kOne>();
    arch::tensor::dealloc<kOne>(acc, kN);
  }
}
WW_MODULE()
)";

struct Params {
  ww::arch::TensorMap a, b;
  void* d;
  ww::u32 k_blocks, tiles_n;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Product p = example::product(256, 512, 256);
  const ww::EmuStats stats = example::run(
      argc, argv, {"umma_tma", kKernel}, p,
      [&](const ww::Device& device, const ww::Kernel& kernel, const example::Operands& operands) {
        const Params params{example::operand_map(device, operands.a, p.m, p.k, 128),
                            example::operand_map(device, operands.b, p.n, p.k, 256), operands.d.data(),
                            static_cast<ww::u32>(p.k / 64), static_cast<ww::u32>(p.n / 256)};
        const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                          {"b", operands.b.data(), operands.b.bytes(), false},
                                          {"d", operands.d.data(), operands.d.bytes(), true}};
        example::require(kernel.launch(
            params, {.grid = 4, .threads = 128, .shared_bytes = (128 + 256) * 128 + 24, .memory = memory}));
      });
  example::print_traffic(stats);
  return 0;
}
