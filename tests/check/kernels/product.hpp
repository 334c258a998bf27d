// SPDX-License-Identifier: Apache-2.0
// wgmma: operands written by threads or by TMA, one or two accumulators in flight, and the register budget around it.
// Every row of an operand is one repeated e4m3 value in each k-block, so no swizzle shows and sums are exact
// integers.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/registers.hpp"
#include "warpwright/arch/common/stmatrix.hpp"
#include "warpwright/atom/mma_atom.hpp"
#include "warpwright/atom/tma_atom.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::check_test {

inline constexpr u32 kOperandBytes = 64 * 128;

/// Each thread fills half a row of A and of B: words in[pass * 128 + row] and in[pass * 128 + 64 + row].
WW_DEVICE void write_operands(const Params& p, arch::SharedAddress a, u32 pass) {
  const u32 t = arch::thread_index(), row = t / 2, at = row * 128 + t % 2 * 64;
  for (u32 operand = 0; operand < 2; ++operand) {
    const u32 w = arch::global::load(p.in + pass * 128 + operand * 64 + row);
    for (u32 i = 0; i < 64; i += 16)
      arch::shared::store4(a + operand * kOperandBytes + at + i, {{w, w, w, w}});  // @operand_write
  }
}

template <int kN> WW_DEVICE void write_accumulator(u32* out, const arch::Accumulator<kN>& acc) {
  for (int v = 0; v < kN / 2; ++v)
    arch::global::store(out + arch::thread_index() % 128 * (kN / 2) + v, arch::bits_of(acc[v]));
}

/// arg[0] passes over one pair of operand tiles. out[32 t + v] = thread t's value v of the sum.
WW_KERNEL(check_product, 128, Params, p) {
  const arch::SharedAddress base = arch::dynamic_shared();
  const arch::MatrixDescriptor a = arch::make_descriptor(base, arch::MatrixSwizzle::b128, 0, 1024);
  arch::MatrixDescriptor b = arch::make_descriptor(base + kOperandBytes, arch::MatrixSwizzle::b128, 0, 1024);
  if (p.is(Edit::descriptor_diverges) && arch::warp_index() == 3) b = b + 32;
  arch::Accumulator<64> acc;
  for (int v = 0; v < 32; ++v) acc[v] = 0;
  float peek = 0;
  for (u32 pass = 0; pass < static_cast<u32>(p.arg[0]); ++pass) {
    write_operands(p, base, pass);
    if (!p.is(Edit::operand_no_fence)) arch::fence::proxy_async_shared();
    if (!p.is(Edit::operand_no_barrier)) arch::named_barrier::sync_cta();
    if (!p.is(Edit::registers_no_fence)) arch::wgmma::fence();
    for (u32 step = 0; step < 4; ++step)
      arch::wgmma::mma<DType::e4m3>(acc, a + 32 * step, b + 32 * step, true);  // @product_mma
    if (!p.is(Edit::no_commit)) arch::wgmma::commit();
    if (p.is(Edit::accumulator_read)) peek += acc[1];  // @product_read
    if (p.is(Edit::accumulator_written)) acc[1] = 0;   // @product_written
    if (p.is(Edit::operand_rewritten) && pass == 0)
      arch::shared::store(base + 4 * arch::thread_index(), 0);     // @product_rewritten
    if (p.is(Edit::wait_leaves_group)) arch::wgmma::wait<1>(acc);  // @product_wait
    else arch::wgmma::wait<0>(acc);                                // @product_wait
    arch::named_barrier::sync_cta();
  }
  acc[0] += peek;
  write_accumulator(p.out, acc);
}

/// Two accumulators over one A: first A B, second A B again; handed back one after the other.
WW_KERNEL(check_two_groups, 128, Params, p) {
  const arch::SharedAddress base = arch::dynamic_shared();
  const arch::MatrixDescriptor a = arch::make_descriptor(base, arch::MatrixSwizzle::b128, 0, 1024);
  const arch::MatrixDescriptor b = arch::make_descriptor(base + kOperandBytes, arch::MatrixSwizzle::b128, 0, 1024);
  write_operands(p, base, 0);
  arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  arch::Accumulator<64> first, second;
  arch::wgmma::fence();
  for (u32 step = 0; step < 4; ++step)
    arch::wgmma::mma<DType::e4m3>(first, a + 32 * step, b + 32 * step,
                                  step != 0 || p.is(Edit::accumulator_never_set));  // @groups_first
  arch::wgmma::commit();
  for (u32 step = 0; step < 4; ++step)
    arch::wgmma::mma<DType::e4m3>(second, a + 32 * step, b + 32 * step, step != 0);  // @groups_mma
  arch::wgmma::commit();
  if (p.is(Edit::wait_leaves_group)) arch::wgmma::wait<1>(second);  // @groups_wait
  else arch::wgmma::wait<1>(first);
  for (int v = 0; v < 32; ++v) first[v] += 1;  // the other group is still in flight
  arch::wgmma::wait<0>(first, second);
  for (u32 pass = 0; pass < 2; ++pass) {  // each has accumulators of its own, in the same place
    arch::Accumulator<64> third;
    const bool adds = pass == 1 && p.is(Edit::accumulator_of_another_pass);
    arch::wgmma::fence();
    arch::wgmma::mma<DType::e4m3>(third, a, b, adds);  // @groups_third
    arch::wgmma::commit();
    arch::wgmma::wait<0>(third);
  }
  write_accumulator(p.out, first);
  write_accumulator(p.out + 128 * 32, second);
}

/// TMA, wgmma, one k-block in flight: a stage is released when the block after it has been issued and it has been
/// read.
WW_KERNEL(check_pipelined, 256, Params, p) {
  using Pipeline = pipeline::TmaPipeline<2, pipeline::ClusterShape{1, 1}, 4>;
  const arch::SharedAddress base = arch::dynamic_shared(), barriers = base + 4 * kOperandBytes;
  const atom::SharedOperand<64> sA{base}, sB{base + 2 * kOperandBytes};
  const int blocks = p.arg[0];
  if (arch::thread_index() == 0) Pipeline::initialize(barriers);
  pipeline::make_barriers_visible<pipeline::ClusterShape{1, 1}>();
  if (arch::warpgroup_index() == 0) {
    if (arch::thread_index() != 0) return;
    Pipeline pipeline(barriers, pipeline::Role::producer);
    for (int k = 0; k < blocks; ++k) {
      const pipeline::Stage stage = pipeline.producer_acquire(2 * kOperandBytes);
      arch::tma::load_2d(p.map[0], stage.full, base + stage.index * kOperandBytes, 128 * k, 0);  // @pipelined_load
      arch::tma::load_2d(p.map[0], stage.full, base + (2 + stage.index) * kOperandBytes, 128 * k,
                         64);  // @pipelined_load
    }
    return;
  }
  Pipeline pipeline(barriers, pipeline::Role::consumer);
  arch::Accumulator<64> acc;
  for (int v = 0; v < 32; ++v) acc[v] = 0;
  pipeline::Stage previous{};
  for (int k = 0; k < blocks; ++k) {
    const pipeline::Stage stage = pipeline.consumer_wait();
    arch::wgmma::fence();
    atom::gemm<DType::e4m3>(acc, sA(_, _, static_cast<int>(stage.index)), sB(_, _, static_cast<int>(stage.index)),
                            k != 0);
    arch::wgmma::commit();
    arch::wgmma::wait<1>();
    if (p.is(Edit::group_released_early)) pipeline.consumer_release(stage);
    else if (k != 0) pipeline.consumer_release(previous);
    previous = stage;
  }
  arch::wgmma::wait<0>(acc);
  write_accumulator(p.out, acc);
}

/// The product of check_product with A from registers: two fragments alternate, one is loaded while the MMAs that read
/// the other are in flight. arg[0] passes; each has its values in in[pass * 128 + ...].
WW_KERNEL(check_fragments, 128, Params, p) {
  const arch::SharedAddress base = arch::dynamic_shared();
  const arch::MatrixDescriptor b = arch::make_descriptor(base + kOperandBytes, arch::MatrixSwizzle::b128, 0, 1024);
  const u32 lane_row = 16 * arch::warp_index() + arch::lane_index() % 16;
  arch::Accumulator<64> acc;
  for (int v = 0; v < 32; ++v) acc[v] = 0;
  u32 peek = 0;
  arch::AFragment<1> even, odd;
  const auto load = [&](arch::AFragment<1>& a) {  // any 16 bytes of a row are like the others
    const arch::Words<4> words = arch::ldmatrix(base + lane_row * 128 + arch::lane_index() / 16 * 16);
    for (int i = 0; i < 4; ++i) a.r[i] = words.w[i];  // @fragments_load
  };
  for (u32 pass = 0; pass < static_cast<u32>(p.arg[0]); ++pass) {
    write_operands(p, base, pass);
    arch::fence::proxy_async_shared();
    arch::named_barrier::sync_cta();
    for (u32 step = 0; step < 4; step += 2) {
      if (!p.is(Edit::fragment_not_named)) arch::wgmma::wait<1>(even);
      else arch::wgmma::wait<1>();
      if (p.is(Edit::fragment_behind_fence)) arch::wgmma::fence();
      load(even);
      if (!p.is(Edit::fragment_no_fence) && !p.is(Edit::fragment_behind_fence)) arch::wgmma::fence();
      arch::wgmma::mma<DType::e4m3>(acc, even, b + 32 * step, true);  // @fragments_mma
      arch::wgmma::commit();
      if (p.is(Edit::fragment_written)) even.r[1] = 0;                   // @fragments_written
      if (p.is(Edit::fragment_read)) peek += even.r[1] & 1;              // @fragments_read
      if (p.is(Edit::fragment_named_early)) arch::wgmma::wait<1>(even);  // @fragments_wait
      arch::wgmma::wait<1>(odd);
      load(odd);
      arch::wgmma::fence();
      arch::wgmma::mma<DType::e4m3>(acc, odd, b + 32 * (step + 1), true);
      arch::wgmma::commit();
    }
    arch::wgmma::wait<0>(acc, even, odd);
    arch::named_barrier::sync_cta();
  }
  acc[0] += static_cast<float>(peek);
  write_accumulator(p.out, acc);
}

/// One producer and two consumer warpgroups exchange registers. out[t] = t.
WW_KERNEL(check_registers, 384, Params, p) {
  if (arch::warpgroup_index() == 0) {
    arch::warpgroup::release_registers<40>();
  } else if (p.is(Edit::registers_240)) {
    arch::warpgroup::claim_registers<240>();  // @registers_claim
  } else if (p.is(Edit::registers_diverge) && arch::warp_index() == 6) {
    arch::warpgroup::claim_registers<224>();  // @registers_claim
  } else {
    arch::warpgroup::claim_registers<232>();  // @registers_claim
  }
  arch::global::store(p.out + arch::thread_index(), arch::thread_index());
}

}  // namespace ww::check_test
