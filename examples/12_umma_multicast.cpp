// SPDX-License-Identifier: Apache-2.0
// UMMA with TMA multicast: a cluster of 4 x 4 CTAs computes 4 x 4 tiles of (128, 256). The four CTAs of a row need the
// same A and those of a column the same B, so each loads a quarter of both and multicasts it: every tile is read once a
// cluster instead of four times.
//   CTA (x, y) has rank x + 4 y.  A goes to all y: mask 0x1111 << x.  B goes to all x: mask 0x000F << 4 y.
// A stage may be written again when the MMAs of all CTAs that a CTA writes to are complete: each commits to the mask of
// both, 0x111F for rank 0, so that 4 + 4 - 1 = 7 commits arrive.
//   example_12_umma_multicast [device] [schedules|timeline]
#include "umma.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/umma.hpp"
#include "warpwright/pipeline/umma_arrivals.hpp"

using namespace ww;

struct Params {
  arch::TensorMap a, b;
  float* d;
  u32 k_blocks, n;
};

constexpr u32 kM = 128, kN = 256, kK = 64;
constexpr u32 kBytesA = kM * 128, kBytesB = kN * 128;
constexpr arch::CtaGroup kOne = arch::CtaGroup::one;
constexpr pipeline::ClusterShape kCluster{4, 4};
constexpr arch::InstructionDescriptor kInstruction =
    arch::sm100::encode({.kind = arch::MmaKind::f16, .a = arch::MmaFormat::bf16, .b = arch::MmaFormat::bf16,
                         .d = arch::MmaResult::f32, .m = kM, .n = kN});

WW_KERNEL(umma_multicast, 128, Params, params) {
  const arch::SharedAddress sA = arch::dynamic_shared(), sB = sA + kBytesA;
  const arch::MBarrier full{sB + kBytesB}, done{full.address + 8};
  const arch::SharedAddress allocated = done.address + 8;
  const u32 thread = arch::thread_index(), warp = thread / 32;
  // Clusters follow each other along M.
  const u32 rank = arch::cluster_rank(), x = rank % 4, y = rank / 4;
  const u32 row = (arch::block_index() / 16 * 4 + x) * kM, column = y * kN;
  const u16 mask_a = pipeline::mask_of_a(kCluster, static_cast<int>(rank));
  const u16 mask_b = pipeline::mask_of_b(kCluster, kOne, static_cast<int>(rank));
  const u16 release = pipeline::mask_of_release(kCluster, kOne, static_cast<int>(rank));

  if (warp == 0) arch::tensor::alloc<kOne>(allocated, kN);
  if (thread == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(done, pipeline::umma_empty_arrivals(kCluster, kOne));
    arch::fence::mbarrier_init();
  }
  arch::umma::fence_before();
  arch::cluster::sync();  // the barriers of all CTAs exist
  arch::umma::fence_after();
  const arch::TensorAddress acc{arch::shared::load(allocated)};

  const auto a = arch::sm100::make_descriptor(sA, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  const auto b = arch::sm100::make_descriptor(sB, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  if (warp == 0) {
    if (arch::warp::elect())
      for (u32 block = 0; block < params.k_blocks; ++block) {
        arch::mbarrier::arrive_expect_tx(full, kBytesA + kBytesB);
        // 32 of the 128 rows of A, and 64 of the 256 of B; the other CTAs send the rest.
        arch::tma::load_multicast_2d(params.a, full, sA + y * (kBytesA / 4), mask_a, static_cast<int>(block * kK),
                                     static_cast<int>(row + 32 * y));
        arch::tma::load_multicast_2d(params.b, full, sB + x * (kBytesB / 4), mask_b, static_cast<int>(block * kK),
                                     static_cast<int>(column + 64 * x));
        arch::mbarrier::wait(full, block % 2);
        for (u32 i = 0; i < 4; ++i)
          arch::umma::mma<arch::MmaKind::f16, kOne>(acc, a + 32 * i, b + 32 * i, kInstruction, block + i > 0);
        arch::umma::commit_multicast<kOne>(done, release);
        arch::mbarrier::wait(done, block % 2);  // A and B may be overwritten, and after the last block D be read
      }
    arch::warp::sync();
  }
  // Other threads do not wait on the barrier, because a slow one would miss a phase that two others follow.
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  float* const d = params.d + (row + thread) * params.n + column;
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
  arch::cluster::sync();  // no CTA exits before the commits of its peers, and its own, have arrived
}
WW_MODULE()
)";

struct Params {
  ww::arch::TensorMap a, b;
  void* d;
  ww::u32 k_blocks, n;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Product p = example::product(512, 1024, 192);
  const ww::EmuStats stats = example::run(
      argc, argv, {"umma_multicast", kKernel}, p,
      [&](const ww::Device& device, const ww::Kernel& kernel, const example::Operands& operands) {
        const Params params{example::operand_map(device, operands.a, p.m, p.k, 128 / 4),
                            example::operand_map(device, operands.b, p.n, p.k, 256 / 4), operands.d.data(),
                            static_cast<ww::u32>(p.k / 64), static_cast<ww::u32>(p.n)};
        const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                          {"b", operands.b.data(), operands.b.bytes(), false},
                                          {"d", operands.d.data(), operands.d.bytes(), true}};
        example::require(kernel.launch(
            params,
            {.grid = 16, .cluster = 16, .threads = 128, .shared_bytes = (128 + 256) * 128 + 24, .memory = memory}));
      });
  example::print_traffic(stats);
  if (stats.ctas == 0) return 0;  // a GPU counts none of this
  const bool once = stats.l2_read_bytes.at("a") == p.a.size() && stats.l2_read_bytes.at("b") == p.b.size();
  std::printf("  each tile is read once a cluster: %s\n", once ? "yes" : "NO");
  return once ? 0 : 1;
}
