// SPDX-License-Identifier: Apache-2.0
// The parameter of every kernel of this folder, and the one-line edits that turn a correct kernel into a wrong one.
// A comment `@name` marks the lines of which a report about an edit must name one; tests/check/mutants.cpp pairs them.
#pragma once

#include "warpwright/arch/common/cluster.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/mbarrier.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"

namespace ww::check_test {

enum class Edit : i32 {
  none,
  // ring.hpp
  no_full_wait,
  no_empty_wait,
  producer_parity,
  consumer_parity,
  empty_count_short,
  empty_count_long,
  full_count_long,
  arrive_twice,
  expect_short,
  expect_long,
  release_before_read,
  ring_no_syncwarp,
  producer_one_less,
  consumer_one_less,
  round_not_waited,
  reinit_in_use,
  init_not_visible,
  coordinate_off_16,
  box_out_of_shared,
  box_misaligned,
  // shared.hpp
  no_named_barrier,
  named_count,
  named_too_many,
  crossed_barriers,
  misaligned_store,
  uninitialised,
  shared_bounds,
  global_bounds,
  mailbox_no_syncwarp,
  mailbox_no_ack,
  waits_too_late,
  barrier_memory_reused,
  order_skipped,
  // product.hpp
  operand_no_fence,
  operand_no_barrier,
  descriptor_diverges,
  accumulator_read,
  accumulator_written,
  no_commit,
  registers_no_fence,
  wait_leaves_group,
  registers_diverge,
  registers_240,
  operand_rewritten,
  group_released_early,
  fragment_written,
  fragment_read,
  fragment_no_fence,
  fragment_behind_fence,
  fragment_not_named,
  fragment_named_early,
  accumulator_never_set,
  accumulator_of_another_pass,
  // store.hpp
  store_no_fence,
  store_no_barrier,
  store_no_wait_read,
  store_wait_one,
  store_not_drained,
  store_other_commits,
  read_back_early,
  reload_no_fence,
  store_released_early,
  // cluster.hpp
  dsmem_no_sync,
  dsmem_relaxed,
  dsmem_no_last_sync,
  remote_scope_cta,
  remote_wrong_cta,
  remote_not_initialised,
  peer_ignored,
  no_tail,
  mask_short,
  multicast_init_not_visible,
  epilogue_ignores_peer,
  multicast_after_exit,
  // global.hpp
  flag_plain,
  flag_scope_cta,
  flag_no_barrier_before,
  flag_no_barrier_after,
  flag_never,
  last_relaxed,
  overlap,
  read_only_written,
  spin_never,
  spin_plain,
  // counts.hpp
  counts_no_init,
  counts_init_no_barrier,
  counts_no_barrier,
  // tensor_map.hpp
  map_no_acquire,
  map_acquired_once,
  map_acquired_early,
  map_plain_copy,
  map_no_barrier,
  map_no_syncwarp,
  map_in_flight,
  map_store_in_flight,
  resident_no_acquire,
  // pipelines.hpp
  consumer_token_ignored,
  producer_token_ignored,
  half_not_expected,
  commit_before_store,
  out_of_turn,
  turn_given_early,
  // early.hpp
  early_load,
  early_plain_load,
  early_store,
  early_atomic,
  early_tma_load,
  early_tma_store,
  early_acquire,
  early_never,
  early_no_barrier,
  early_arrive,
  // patterns.hpp
  items_shuffle_written,
  items_vote_read,
  slot_no_release_fence,
  slot_no_acquire_fence,
  slot_release_cta,
  slot_not_drained,
  drained_early,
  reused_no_fence,
  handed_no_fence,
  handed_fence_of_shared,
  tally_cleared,
  tally_read,
  tally_not_put_back,
  pass_relaxed,
  pass_unfenced,
  half_warps_meet,
  signal_acquire_cta,
};

struct Params {
  arch::TensorMap map[2];
  const u32* in;
  u32* out;
  Edit edit;
  i32 arg[4];
  /// Returns whether the kernel must be wrong in this way.
  WW_DEVICE constexpr bool is(Edit which) const { return edit == which; }
};

}  // namespace ww::check_test
