// SPDX-License-Identifier: Apache-2.0
// The pair of 13_umma_pair with an epilogue by TMA: D += A B^T, 32 columns at a time. TMA brings C, the threads add
// their rows of the accumulator in shared memory, and TMA stores the sum. Shared memory of the mainloop serves again:
// once the commits of the last block have arrived, no MMA reads it and no load writes it.
//   example_14_umma_tma_epilogue [device] [schedules|timeline]
#include "umma.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/tma_pair.hpp"
#include "warpwright/arch/sm100/umma.hpp"
#include "warpwright/pipeline/umma_arrivals.hpp"

using namespace ww;

struct Params {
  arch::TensorMap a, b, d;
  u32 k_blocks;
};

constexpr u32 kM = 256, kN = 256, kK = 64;  // of a pair
constexpr u32 kBytesA = kM / 2 * 128, kBytesB = kN / 2 * 128;  // of a CTA
constexpr arch::CtaGroup kPair = arch::CtaGroup::pair;
constexpr pipeline::ClusterShape kCluster{4, 4};
constexpr arch::InstructionDescriptor kInstruction =
    arch::sm100::encode({.kind = arch::MmaKind::f16, .a = arch::MmaFormat::bf16, .b = arch::MmaFormat::bf16,
                         .d = arch::MmaResult::f32, .m = kM, .n = kN});

WW_KERNEL(umma_tma_epilogue, 128, Params, params) {
  const arch::SharedAddress sA = arch::dynamic_shared(), sB = sA + kBytesA;
  const arch::MBarrier full{sB + kBytesB}, done{full.address + 8}, c_full{done.address + 8};
  const arch::SharedAddress allocated = c_full.address + 8;
  const u32 thread = arch::thread_index(), warp = thread / 32;
  // Clusters follow each other along M.
  const u32 rank = arch::cluster_rank(), half = rank % 2, pair_m = rank / 2 % 2, pair_n = rank / 4;
  const u32 row = (arch::block_index() / 16 * 2 + pair_m) * kM + half * 128, column = pair_n * kN;
  const bool leads = half == 0;
  const u16 mask_a = pipeline::mask_of_a(kCluster, static_cast<int>(rank));
  const u16 mask_b = pipeline::mask_of_b(kCluster, kPair, static_cast<int>(rank));
  const u16 release = pipeline::mask_of_release(kCluster, kPair, static_cast<int>(rank));

  if (thread == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(c_full, 1);
    arch::mbarrier::init(done, pipeline::umma_empty_arrivals(kCluster, kPair));
    arch::fence::mbarrier_init();
  }
  arch::named_barrier::sync_cta();
  arch::cluster::sync();                                     // the other CTA of the pair, and all barriers, exist
  if (warp == 0) arch::tensor::alloc<kPair>(allocated, kN);  // by one warp of each of the two
  arch::umma::fence_before();
  arch::cluster::sync();
  arch::umma::fence_after();
  const arch::TensorAddress acc{arch::shared::load(allocated)};

  const auto a = arch::sm100::make_descriptor(sA, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  const auto b = arch::sm100::make_descriptor(sB, arch::sm100::MatrixSwizzle::b128, 0, 1024);
  if (warp == 0) {
    if (arch::warp::elect())
      for (u32 block = 0; block < params.k_blocks; ++block) {
        if (leads) arch::mbarrier::arrive_expect_tx(full, 2 * (kBytesA + kBytesB));
        const int at = static_cast<int>(block * kK);
        arch::tma::load_pair_multicast_2d(params.a, arch::leader(full), sA + pair_n * (kBytesA / 4), mask_a, at,
                                          static_cast<int>(row + 32 * pair_n));
        arch::tma::load_pair_multicast_2d(params.b, arch::leader(full), sB + pair_m * (kBytesB / 2), mask_b, at,
                                          static_cast<int>(column + 128 * half + 64 * pair_m));
        if (leads) {
          arch::mbarrier::wait(full, block % 2);
          for (u32 i = 0; i < 4; ++i)
            arch::umma::mma<arch::MmaKind::f16, kPair>(acc, a + 32 * i, b + 32 * i, kInstruction, block + i > 0);
          arch::umma::commit_multicast<kPair>(done, release);
        }
        arch::mbarrier::wait(done, block % 2);  // A and B may be overwritten, and after the last block D be read
      }
    arch::warp::sync();
  }
  // Other threads do not wait on the barrier, because a slow one would miss a phase that two others follow.
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  const arch::SharedAddress sC = sA;  // (128, 32) FP32, 128B swizzle
  for (u32 n = 0; n < kN; n += 32) {
    const int x = static_cast<int>(column + n), y = static_cast<int>(row);
    if (warp == 0) {
      if (arch::warp::elect()) {
        arch::tma::wait_read<0>();  // the store before has read sC
        arch::mbarrier::arrive_expect_tx(c_full, 128 * 128);
        arch::tma::load_2d(params.d, c_full, sC, x, y);
      }
      arch::warp::sync();
    }
    arch::TensorRegisters<32> values;
    arch::tensor::load<arch::TensorShape::lanes32_bits32, 32>(values, acc.down(32 * warp) + n);
    arch::tensor::wait_load(values);
    arch::mbarrier::wait(c_full, n / 32 % 2);
    WW_UNROLL
    for (u32 chunk = 0; chunk < 8; ++chunk) {
      const arch::SharedAddress place = sC + thread * 128 + (chunk ^ thread % 8) * 16;
      arch::Words<4> c = arch::shared::load4(place);
      WW_UNROLL
      for (u32 i = 0; i < 4; ++i)
        c.w[i] = arch::bits_of(arch::float_of(c.w[i]) + arch::float_of(values[static_cast<int>(4 * chunk + i)]));
      arch::shared::store4(place, c);
    }
    arch::fence::proxy_async_shared();
    arch::named_barrier::sync_cta();
    if (warp == 0) {
      if (arch::warp::elect()) {
        arch::tma::store_2d(params.d, sC, x, y);
        arch::tma::commit();
      }
      arch::warp::sync();
    }
  }
  if (warp == 0) {
    if (arch::warp::elect()) arch::tma::wait_read<0>();  // shared memory stays until the last store has read it
    arch::warp::sync();
  }
  arch::umma::fence_before();
  arch::cluster::sync();  // both CTAs have read their rows
  arch::umma::fence_after();
  if (warp == 0) {
    arch::tensor::relinquish<kPair>();
    arch::tensor::dealloc<kPair>(acc, kN);
  }
}
WW_MODULE()
)";

struct Params {
  ww::arch::TensorMap a, b, d;
  ww::u32 k_blocks;
};

}  // namespace

int main(int argc, char** argv) {
  const example::Product p = example::product(512, 1024, 192, true);
  const ww::EmuStats stats = example::run(
      argc, argv, {"umma_tma_epilogue", kKernel}, p,
      [&](const ww::Device& device, const ww::Kernel& kernel, const example::Operands& operands) {
        const Params params{example::operand_map(device, operands.a, p.m, p.k, 128 / 4),
                            example::operand_map(device, operands.b, p.n, p.k, 128 / 2),
                            example::require(device.tensor_map(ww::TensorMapSpec::matrix(
                                operands.d.data(), ww::f32, p.m, p.n, p.n, 128, 32, ww::SmemSwizzle::b128))),
                            static_cast<ww::u32>(p.k / 64)};
        const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                          {"b", operands.b.data(), operands.b.bytes(), false},
                                          {"d", operands.d.data(), operands.d.bytes(), true}};
        example::require(kernel.launch(
            params,
            {.grid = 16, .cluster = 16, .threads = 128, .shared_bytes = (128 + 128) * 128 + 32, .memory = memory}));
      });
  example::print_traffic(stats);
  if (stats.ctas == 0) return 0;  // a GPU counts none of this
  const bool once = stats.l2_read_bytes.at("a") == p.a.size() && stats.l2_read_bytes.at("b") == p.b.size();
  std::printf("  each tile is read once a cluster: %s\n", once ? "yes" : "NO");
  return once ? 0 : 1;
}
