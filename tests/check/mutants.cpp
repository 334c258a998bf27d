// SPDX-License-Identifier: Apache-2.0
// Every mutant: a name, the case it is made from, the edit, the rule, the lines, and what it takes to find it.
// More than one rule: which of the two events comes second names the finding (a read that meets a landing copy is a race,
// a copy that meets a reader is a reuse), and either is the mutant's own.
#include "case.hpp"

namespace ww::check_test {
namespace {

using R = Rule;
constexpr Needs kOne = Needs::one_run, kSome = Needs::some_schedule;

std::vector<Mutant> ring_mutants() {
  return {
      {"no full-barrier wait", "ring", Edit::no_full_wait, {R::data_race, R::uninitialised_read, R::stage_reuse},
       {"ring_read", "ring_load"}, kOne},
      {"no empty wait", "ring", Edit::no_empty_wait, {R::stage_reuse, R::arrival_underflow, R::transaction_count},
       {"ring_load", "ring_expect"}, kOne},
      {"producer starts at parity 0", "ring", Edit::producer_parity, {R::deadlock}, {"ring_empty_wait"}, kOne},
      {"consumers start at parity 1", "ring", Edit::consumer_parity,
       {R::data_race, R::uninitialised_read, R::stage_reuse}, {"ring_read", "ring_load"}, kOne},
      {"empty count one too few", "ring", Edit::empty_count_short, {R::stage_reuse, R::data_race},
       {"ring_load", "ring_read"}, kSome},
      {"empty count one too many", "ring", Edit::empty_count_long, {R::deadlock}, {"ring_empty_wait"}, kOne},
      {"full count one too many", "ring", Edit::full_count_long, {R::deadlock}, {"ring_full_wait"}, kOne},
      {"producer arrives twice", "ring", Edit::arrive_twice, {R::arrival_underflow}, {"ring_arrive_twice"}, kOne},
      {"expect_tx too small", "ring", Edit::expect_short, {R::transaction_count}, {"ring_load", "ring_expect"}, kOne},
      {"expect_tx too large", "ring", Edit::expect_long, {R::transaction_count, R::deadlock},
       {"ring_load", "ring_expect", "ring_full_wait"}, kOne},
      {"release before the read", "ring", Edit::release_before_read, {R::stage_reuse, R::data_race},
       {"ring_load", "ring_read"}, kOne},
      {"no syncwarp before the release", "ring", Edit::ring_no_syncwarp, {R::stage_reuse, R::data_race},
       {"ring_load", "ring_read"}, kOne},
      {"producer loads one block less", "ring", Edit::producer_one_less, {R::deadlock}, {"ring_full_wait"}, kOne},
      {"consumers take one block less", "ring", Edit::consumer_one_less, {R::exited_cta}, {"ring_load"}, kSome},
      {"a round is not waited for", "ring", Edit::round_not_waited,
       {R::data_race, R::stage_reuse, R::phase_misuse}, {"ring_read", "ring_load", "ring_full_wait"}, kOne},
      {"barrier initialised again in use", "ring", Edit::reinit_in_use, {R::phase_misuse}, {"ring_reinit"}, kOne},
      {"no barrier after mbarrier.init", "ring", Edit::init_not_visible, {R::phase_misuse, R::data_race},
       {"ring_init", "ring_full_wait", "ring_release"}, kOne},
      {"coordinate off 16 bytes", "ring", Edit::coordinate_off_16, {R::misaligned, R::invalid_operation}, {"ring_load"},
       kOne},
      {"box past the end of shared memory", "ring", Edit::box_out_of_shared, {R::out_of_bounds}, {"ring_load"}, kOne},
      {"box off 128 bytes", "ring", Edit::box_misaligned, {R::misaligned}, {"ring_load"}, kOne},
  };
}

std::vector<Mutant> shared_mutants() {
  return {
      {"no named barrier before the read", "handover", Edit::no_named_barrier, {R::data_race, R::uninitialised_read},
       {"handover_write", "handover_read"}, kOne},
      {"named barrier counts differ", "handover", Edit::named_count, {R::named_barrier_count}, {"handover_sync"}, kOne},
      {"named barrier counts a warp that left", "handover", Edit::named_too_many, {R::deadlock}, {"handover_sync"}, kOne},
      {"two named barriers in crossed order", "handover", Edit::crossed_barriers, {R::deadlock}, {"handover_sync"}, kOne},
      {"st.shared.v4 at 8 bytes", "handover", Edit::misaligned_store, {R::misaligned}, {"handover_misaligned"}, kOne},
      {"a word nobody wrote", "handover", Edit::uninitialised, {R::uninitialised_read}, {"handover_read"}, kOne},
      {"st.shared past the end", "handover", Edit::shared_bounds, {R::out_of_bounds}, {"handover_outside"}, kOne},
      {"st.global past the end", "handover", Edit::global_bounds, {R::out_of_bounds}, {"handover_out"}, kOne},
      {"32 lanes store, an elected one arrives (cudnn-frontend 426)", "mailbox", Edit::mailbox_no_syncwarp,
       {R::data_race, R::uninitialised_read}, {"mailbox_write", "mailbox_read"}, kOne},
      {"mailbox without ack (cuda-oxide 1066)", "mailbox", Edit::mailbox_no_ack, {R::data_race},
       {"mailbox_write", "mailbox_read"}, kOne},
      {"waits when the parity is two phases on", "phases", Edit::waits_too_late, {R::phase_misuse, R::deadlock},
       {"phases_wait"}, kOne},
      {"live barrier's memory written", "barrier_memory", Edit::barrier_memory_reused, {R::phase_misuse, R::data_race},
       {"reuse_barrier"}, kOne},
      {"out of turn", "turns", Edit::order_skipped, {R::data_race, R::arrival_underflow}, {"turns_access"}, kSome},
  };
}

std::vector<Mutant> product_mutants() {
  return {
      {"no proxy fence before wgmma", "product", Edit::operand_no_fence, {R::proxy_fence},
       {"operand_write", "product_mma"}, kOne},
      {"no barrier before wgmma", "product", Edit::operand_no_barrier,
       {R::data_race, R::uninitialised_read, R::proxy_fence}, {"operand_write", "product_mma"}, kOne},
      {"wgmma with different descriptors", "product", Edit::descriptor_diverges, {R::divergent_call}, {"product_mma"}, kOne},
      {"accumulator read before the wait", "product", Edit::accumulator_read, {R::accumulator_in_flight}, {"product_read"},
       kOne},
      {"accumulator written before the wait", "product", Edit::accumulator_written, {R::accumulator_in_flight},
       {"product_written", "product_mma", "product_wait"}, kOne},
      {"wgmma never committed", "product", Edit::no_commit, {R::accumulator_in_flight}, {"product_wait", "product_mma"},
       kOne},
      {"no wgmma.fence after writing registers", "product", Edit::registers_no_fence, {R::accumulator_in_flight},
       {"product_mma"}, kOne},
      {"wait leaves the group in flight", "product", Edit::wait_leaves_group, {R::accumulator_in_flight},
       {"product_wait", "product_mma"}, kOne},
      {"wait names the group in flight", "two_groups", Edit::wait_leaves_group, {R::accumulator_in_flight},
       {"groups_wait", "groups_mma"}, kOne},
      {"operand rewritten before the wait", "product", Edit::operand_rewritten, {R::data_race, R::stage_reuse},
       {"product_rewritten", "product_mma"}, kOne},
      {"release of the stage that is still read", "pipelined", Edit::group_released_early, {R::stage_reuse, R::data_race},
       {"pipelined_load"}, kOne},
      {"setmaxnreg differs in a warpgroup", "registers", Edit::registers_diverge, {R::divergent_call, R::register_budget},
       {"registers_claim"}, kOne},
      {"register budget 40 + 2 x 240", "registers", Edit::registers_240, {R::register_budget}, {"registers_claim"}, kOne},
  };
}

std::vector<Mutant> store_mutants() {
  return {
      {"no proxy fence before the TMA store", "store", Edit::store_no_fence, {R::proxy_fence},
       {"store_write", "store_issue"}, kOne},
      {"no named barrier before the TMA store", "store", Edit::store_no_barrier, {R::data_race, R::proxy_fence},
       {"store_write", "store_issue"}, kOne},
      {"buffer rewritten without wait_read", "store", Edit::store_no_wait_read, {R::unfinished_store},
       {"store_write", "store_issue"}, kOne},
      {"wait_read leaves one store", "store", Edit::store_wait_one, {R::unfinished_store}, {"store_write", "store_issue"},
       kOne},
      {"wait_read after the barrier", "store", Edit::store_released_early, {R::unfinished_store},
       {"store_write", "store_issue"}, kOne},
      {"store not drained before exit", "store_one", Edit::store_not_drained, {R::unfinished_store}, {"store_issue"}, kOne},
      {"another thread commits and waits", "store", Edit::store_other_commits, {R::unfinished_store},
       {"store_write", "store_issue"}, kOne},
      {"stored words read after wait_read", "read_back", Edit::read_back_early, {R::data_race, R::proxy_fence},
       {"read_back", "read_back_store"}, kOne},
      {"TMA loads over written words without fence", "reload", Edit::reload_no_fence, {R::proxy_fence},
       {"reload_write", "reload_load"}, kOne},
  };
}

std::vector<Mutant> cluster_mutants() {
  return {
      {"DSMEM write without cluster barrier", "exchange", Edit::dsmem_no_sync, {R::data_race, R::uninitialised_read},
       {"exchange_write", "exchange_read"}, kOne},
      {"DSMEM write, relaxed cluster arrival", "exchange", Edit::dsmem_relaxed, {R::data_race, R::scope},
       {"exchange_write", "exchange_read"}, kOne},
      {"DSMEM read of a CTA that may have left", "exchange", Edit::dsmem_no_last_sync, {R::exited_cta}, {"exchange_fetch"},
       kSome},
      {"DSMEM handed over at CTA scope (cutlass 3324)", "remote_signal", Edit::remote_scope_cta, {R::scope},
       {"signal_write", "signal_read"}, kOne},
      {"remote arrival at the wrong CTA", "remote_signal", Edit::remote_wrong_cta, {R::arrival_underflow, R::deadlock},
       {"signal_arrive", "signal_wait"}, kOne},
      {"remote arrival before init is visible", "remote_signal", Edit::remote_not_initialised,
       {R::phase_misuse, R::data_race}, {"signal_init", "signal_arrive", "signal_write"}, kOne},
      {"producer ignores its peer's consumers (humming 56)", "multicast", Edit::peer_ignored, {R::stage_reuse, R::data_race},
       {"multicast_load", "multicast_read"}, kOne},
      {"epilogue ignores the peer's loads (humming 56)", "shared_epilogue", Edit::epilogue_ignores_peer,
       {R::stage_reuse, R::data_race, R::proxy_fence, R::unfinished_store},
       {"multicast_load", "epilogue_write", "epilogue_store"}, kOne},
      {"no producer tail", "multicast", Edit::no_tail, {R::exited_cta}, {"multicast_release", "multicast_load"}, kSome},
      {"multicast mask without the peer", "multicast", Edit::mask_short, {R::deadlock, R::transaction_count},
       {"multicast_full_wait", "multicast_load", "multicast_expect"}, kOne},
      {"multicast before init is visible", "multicast", Edit::multicast_init_not_visible, {R::phase_misuse, R::data_race},
       {"multicast_init", "multicast_load", "multicast_release"}, kSome},
      {"CTA leaves before a multicast lands", "prompt_peer", Edit::multicast_after_exit, {R::exited_cta}, {"late_load"},
       kSome},
  };
}

std::vector<Mutant> global_mutants() {
  return {
      {"flag by a plain store", "flag_fence", Edit::flag_plain, {R::data_race, R::scope},
       {"flag_write", "flag_plain", "flag_read", "flag_wait"}, kOne},
      {"flag fenced at CTA scope", "flag_fence", Edit::flag_scope_cta, {R::scope}, {"flag_write", "flag_read"}, kOne},
      {"no barrier before the flag", "flag_fence", Edit::flag_no_barrier_before, {R::data_race},
       {"flag_write", "flag_read"}, kOne},
      {"no barrier after the flag", "flag_fence", Edit::flag_no_barrier_after, {R::data_race}, {"flag_write", "flag_read"},
       kOne},
      {"flag never raised", "flag_fence", Edit::flag_never, {R::livelock, R::deadlock}, {"flag_wait"}, kOne},
      {"last block by relaxed atomics", "last", Edit::last_relaxed, {R::data_race, R::scope}, {"last_write", "last_read"},
       kOne},
      {"neighbouring CTAs write one word", "neighbour_tiles_together", Edit::overlap, {R::data_race}, {"tiles_write"}, kOne},
      {"neighbouring clusters write one word", "neighbour_tiles", Edit::overlap, {R::data_race}, {"tiles_write"}, kSome},
      {"write to a read-only operand", "neighbour_tiles", Edit::read_only_written, {R::out_of_bounds, R::invalid_operation},
       {"tiles_write"}, kOne},
  };
}

}  // namespace

const std::vector<Mutant>& mutants() {
  static const std::vector<Mutant> all = [] {
    std::vector<Mutant> list;
    for (auto* group : {ring_mutants, shared_mutants, product_mutants, store_mutants, cluster_mutants, global_mutants})
      for (Mutant& mutant : group()) list.push_back(std::move(mutant));
    return list;
  }();
  return all;
}

}  // namespace ww::check_test
