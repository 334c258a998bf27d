// SPDX-License-Identifier: Apache-2.0
// The library's pipelines as kernels use them, and the errors when their rules are broken.
//   tokens:       TmaPipeline; every wait follows a try, with work in between
//   transactions: two threads fill a stage: half a block each by TMA, and one of them a value by an ordinary store
//   order:        two groups of two warps alternate in two sections, arg[0] rounds
// The first two compute what check_ring does: out[thread] = sum over blocks of 3^(blocks left) * word.
#pragma once

#include "params.hpp"
#include "warpwright/pipeline/ordered_barrier.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"
#include "warpwright/pipeline/transaction_pipeline.hpp"

namespace ww::check_test {

inline constexpr int kPipeStages = 2;
inline constexpr u32 kPipeBlockBytes = 2048;
inline constexpr u32 kPipeStageBytes = kPipeBlockBytes + 128;  // the block, and a word behind it
inline constexpr u32 kPipeBytes = kPipeStages * kPipeStageBytes + 2 * kPipeStages * arch::kMBarrierBytes;

WW_DEVICE arch::SharedAddress pipe_block(u32 stage) { return arch::dynamic_shared() + stage * kPipeStageBytes; }

WW_DEVICE void tokens_produce(const Params& p, pipeline::TmaPipeline<kPipeStages, {1, 1}, 4>& ring) {
  for (int k = 0; k < p.arg[0]; ++k) {
    pipeline::WaitToken token = ring.producer_try_acquire();
    if (p.is(Edit::producer_token_ignored)) token = {true};
    const pipeline::Stage stage = ring.producer_acquire(kPipeBlockBytes, token);   // @tokens_expect
    arch::tma::load_2d(p.map[0], stage.full, pipe_block(stage.index), 0, 16 * k);  // @tokens_load
  }
}

WW_DEVICE void tokens_consume(const Params& p, pipeline::TmaPipeline<kPipeStages, {1, 1}, 4>& ring) {
  const u32 t = arch::thread_index() - 32;
  u32 sum = 0;
  pipeline::WaitToken token = ring.consumer_try_wait();
  for (int k = 0; k < p.arg[0]; ++k) {
    if (p.is(Edit::consumer_token_ignored)) token = {true};
    const pipeline::Stage stage = ring.consumer_wait(token);
    const u32 word = arch::shared::load(pipe_block(stage.index) + 16 * t);  // @tokens_read
    if (k + 1 < p.arg[0]) token = ring.consumer_try_wait();  // the next stage's, before this one is released
    sum = sum * 3 + word;
    arch::fence::proxy_async_shared();  // after the reads, before a load overwrites them
    ring.consumer_release(stage);
  }
  arch::global::store(p.out + t, sum);
}

WW_KERNEL(check_tokens, 160, Params, p) {
  using Ring = pipeline::TmaPipeline<kPipeStages, {1, 1}, 4>;
  const arch::SharedAddress barriers = pipe_block(kPipeStages);
  if (arch::thread_index() == 0) Ring::initialize(barriers);
  pipeline::make_barriers_visible<pipeline::ClusterShape{1, 1}>();
  const bool produces = arch::warp_index() == 0;
  Ring ring(barriers, produces ? pipeline::Role::producer : pipeline::Role::consumer);
  if (!produces) tokens_consume(p, ring);
  else if (arch::thread_index() == 0) tokens_produce(p, ring);
}

// Two producers of full[stage]; warp 0 and warp 1, one thread each.
using Transactions = pipeline::TransactionPipeline<kPipeStages, 2, 4>;

WW_DEVICE void transactions_produce(const Params& p, Transactions& ring, u32 half) {
  for (int k = 0; k < p.arg[0]; ++k) {
    const pipeline::Stage stage = ring.producer_acquire(ring.producer_try_acquire());
    const arch::SharedAddress block = pipe_block(stage.index);
    const bool early = p.is(Edit::commit_before_store) && half == 1;
    if (!p.is(Edit::half_not_expected) || half == 0) ring.producer_expect(stage, kPipeBlockBytes / 2);
    arch::tma::load_2d(p.map[0], stage.full, block + half * (kPipeBlockBytes / 2), 0,
                       16 * k + 8 * static_cast<int>(half));  // @transactions_load
    if (early) ring.producer_commit(stage);
    if (half == 1) arch::shared::store(block + kPipeBlockBytes, static_cast<u32>(k));  // @transactions_store
    if (!early) ring.producer_commit(stage);
  }
}

WW_KERNEL(check_transactions, 192, Params, p) {
  const arch::SharedAddress barriers = pipe_block(kPipeStages);
  if (arch::thread_index() == 0) Transactions::initialize(barriers);
  pipeline::make_barriers_visible<pipeline::ClusterShape{1, 1}>();
  const u32 warp = arch::warp_index();
  if (warp < 2) {
    Transactions ring(barriers, pipeline::Role::producer);
    if (arch::lane_index() == 0) transactions_produce(p, ring, warp);
    return;
  }
  Transactions ring(barriers, pipeline::Role::consumer);
  const u32 t = arch::thread_index() - 64;
  u32 sum = 0;
  for (int k = 0; k < p.arg[0]; ++k) {
    const pipeline::Stage stage = ring.consumer_wait(ring.consumer_try_wait());
    const u32 word = arch::shared::load(pipe_block(stage.index) + 16 * t);                 // @transactions_read
    sum = sum * 3 + word + arch::shared::load(pipe_block(stage.index) + kPipeBlockBytes);  // @transactions_read
    arch::fence::proxy_async_shared();  // after the reads, before a load overwrites them
    ring.consumer_release(stage);
  }
  arch::global::store(p.out + t, sum);
}

inline constexpr int kOrderSections = 2, kOrderGroups = 2, kOrderWarps = 2;
inline constexpr u32 kOrderThreads = 64;  // of a group
using Order = pipeline::OrderedBarrier<kOrderSections, kOrderGroups, kOrderWarps>;
inline constexpr u32 kOrderBytes = kOrderSections * kOrderThreads * 4 + Order::kBytes;

/// One word for each section and thread of a group; every turn makes 3 w + group + 1 of it. out is what remains.
WW_KERNEL(check_order, 128, Params, p) {
  const arch::SharedAddress words = arch::dynamic_shared();  // (64, SECTION)
  const arch::SharedAddress barriers = words + kOrderSections * kOrderThreads * 4;
  const u32 t = arch::thread_index() % kOrderThreads, group = arch::thread_index() / kOrderThreads;
  if (arch::thread_index() == 0) Order::initialize(barriers);
  if (group == 0)
    for (u32 s = 0; s < kOrderSections; ++s) arch::shared::store(words + 4 * (s * kOrderThreads + t), p.in[t]);
  pipeline::make_barriers_visible<pipeline::ClusterShape{1, 1}>();
  Order order(barriers, group);
  for (int turn = 0; turn < kOrderSections * p.arg[0]; ++turn) {
    const u32 s = static_cast<u32>(turn) % kOrderSections;
    const arch::SharedAddress mine = words + 4 * (s * kOrderThreads + t);
    if (!p.is(Edit::out_of_turn) || group == 0 || turn != 2) order.wait();  // @order_wait
    if (p.is(Edit::turn_given_early)) order.arrive();
    const u32 word = arch::shared::load(mine);        // @order_read
    arch::shared::store(mine, 3 * word + group + 1);  // @order_write
    if (!p.is(Edit::turn_given_early)) order.arrive();
  }
  if (group + 1 == kOrderGroups)  // the last to have had a turn in each section
    for (u32 s = 0; s < kOrderSections; ++s)
      arch::global::store(p.out + s * kOrderThreads + t,
                          arch::shared::load(words + 4 * (s * kOrderThreads + t)));  // @order_read
}

}  // namespace ww::check_test
