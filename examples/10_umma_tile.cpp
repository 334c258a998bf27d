// SPDX-License-Identifier: Apache-2.0
// One UMMA tile: D (128, 256) = A (128, K) B (256, K)^T, bf16 in, FP32 out, on one SM of Blackwell (sm_100a).
// New against wgmma: one thread multiplies, the accumulator lies in tensor memory, which a warp allocates, and a commit
// tells an mbarrier when the MMAs are complete. The 128 threads copy A and B to shared memory themselves, 64 of K at a
// time, in the layout that the descriptors name.
//   example_10_umma_tile [device] [schedules|timeline]
#include "umma.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/umma.hpp"

using namespace ww;

struct Params {
  const u16 *a, *b;
  float* d;
  u32 k;
};

constexpr u32 kM = 128, kN = 256, kK = 64;  // of K: 128 bytes, the span of the swizzle
constexpr arch::CtaGroup kOne = arch::CtaGroup::one;
constexpr arch::InstructionDescriptor kInstruction =
    arch::sm100::encode({.kind = arch::MmaKind::f16, .a = arch::MmaFormat::bf16, .b = arch::MmaFormat::bf16,
                         .d = arch::MmaResult::f32, .m = kM, .n = kN});

// Copies `rows` rows of 128 bytes: the 16-byte chunk c of row r goes to place c ^ (r % 8) of the row.
WW_DEVICE void copy_block(arch::SharedAddress to, const u16* from, u32 k, u32 rows, u32 thread) {
  for (u32 chunk = thread; chunk < rows * 8; chunk += 128) {
    const u32 r = chunk / 8, c = chunk % 8;
    arch::shared::store4(to + r * 128 + ((c ^ r % 8) * 16), arch::global::load4(from + r * k + c * 8));
  }
}

WW_KERNEL(umma_tile, 128, Params, params) {
  const arch::SharedAddress sA = arch::dynamic_shared();  // (128, 64) bf16, 128B swizzle
  const arch::SharedAddress sB = sA + kM * 128;           // (256, 64)
  const arch::MBarrier done{sB + kN * 128};
  const arch::SharedAddress allocated = done.address + 8;
  const u32 thread = arch::thread_index(), warp = thread / 32;

  if (warp == 0) arch::tensor::alloc<kOne>(allocated, kN);  // a column of 32 bits for each of D
  if (thread == 0) {
    arch::mbarrier::init(done, 1);
    arch::fence::mbarrier_init();
  }
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  const arch::TensorAddress acc{arch::shared::load(allocated)};

  const auto a = arch::sm100::make_descriptor(sA, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  const auto b = arch::sm100::make_descriptor(sB, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  for (u32 block = 0; block < params.k / kK; ++block) {
    copy_block(sA, params.a + block * kK, params.k, kM, thread);
    copy_block(sB, params.b + block * kK, params.k, kN, thread);
    arch::fence::proxy_async_shared();  // ordinary stores, which the tensor core reads
    arch::named_barrier::sync_cta();
    if (warp == 0) {
      if (arch::warp::elect()) {
        for (u32 i = 0; i < 4; ++i)  // 16 of K each: 32 bytes further into the rows
          arch::umma::mma<arch::MmaKind::f16, kOne>(acc, a + 32 * i, b + 32 * i, kInstruction, block + i > 0);
        arch::umma::commit<kOne>(done);  // arrives when the four are complete
      }
      arch::warp::sync();
    }
    arch::mbarrier::wait(done, block % 2);  // then A and B may be overwritten, and after the last block D be read
  }

  // Row m is lane m; a warp reads its own 32 lanes only. Each load brings 32 columns of one row to a thread.
  arch::umma::fence_after();
  for (u32 column = 0; column < kN; column += 32) {
    arch::TensorRegisters<32> values;
    arch::tensor::load<arch::TensorShape::lanes32_bits32, 32>(values, acc.down(32 * warp) + column);
    arch::tensor::wait_load(values);
    WW_UNROLL
    for (u32 v = 0; v < 32; ++v) arch::global::store(params.d + thread * kN + column + v, values[v]);
  }
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();  // all loads are complete
  arch::umma::fence_after();
  if (warp == 0) {
    arch::tensor::relinquish<kOne>();
    arch::tensor::dealloc<kOne>(acc, kN);
  }
}
WW_MODULE()
)";

struct Params {
  const void *a, *b;
  void* d;
  ww::u32 k;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Product p = example::product(128, 256, 256);
  const ww::EmuStats stats =
      example::run(argc, argv, {"umma_tile", kKernel}, p,
                   [&](const ww::Device&, const ww::Kernel& kernel, const example::Operands& operands) {
                     const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                                       {"b", operands.b.data(), operands.b.bytes(), false},
                                                       {"d", operands.d.data(), operands.d.bytes(), true}};
                     example::require(kernel.launch(
                         Params{operands.a.data(), operands.b.data(), operands.d.data(), static_cast<ww::u32>(p.k)},
                         {.threads = 128, .shared_bytes = (128 + 256) * 128 + 16, .memory = memory}));
                   });
  example::print_traffic(stats);
  return 0;
}
