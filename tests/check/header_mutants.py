#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One-line edits of the shipped headers. Those of the dense GEMM are compiled into a checked module of the corpus'
shapes and run by check_gemm_test, those of grouped products by the library's own run-time compiler, for
check_grouped_test and check_grouped_epilogue_test, whose headers they replace. The test must fail and name the rule.
Some need a kernel that no test has: `warpwright check` runs a family of kernel_families.py.
What a launch leaves behind is shown by the program itself, in a later launch of a sequence.
  header_mutants.py <source folder> <check_gemm_test> <check_grouped_test> <check_grouped_epilogue_test> <warpwright>
                    <c++ compiler> [part of a name]"""
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import mutation
from blackwell_mutants import BLACKWELL_MUTANTS
from kernel_families import BLACKWELL_FAMILIES, FAMILIES

MUTANTS = [  # name, header, old, new, rules
    ("no empty wait", "pipeline/tma_pipeline.hpp",
     "    if (!token.done) arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);\n", "",
     "stage-reuse arrival-underflow data-race"),
    ("no empty wait of storing warps", "pipeline/tma_pipeline.hpp",
     "  WW_DEVICE Stage storer_acquire() {\n"
     "    arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity);\n", "  WW_DEVICE Stage storer_acquire() {\n",
     "stage-reuse arrival-underflow data-race"),
    ("no full wait", "pipeline/stage_ring.hpp",
     "    if (!token.done) arch::mbarrier::wait(stage.full, state_.parity);\n", "",
     "data-race uninitialised-read stage-reuse"),
    ("release without syncwarp", "pipeline/tma_pipeline.hpp",
     "    arch::warp::sync();  // one lane's arrival stands for the reads", "    // for the reads",
     "data-race"),  # the lanes' own reads of the scales; wgmma reads, and waits for it, as a warp
    ("release to this CTA only", "pipeline/tma_pipeline.hpp",
     "shares_operand(kCluster, rank, static_cast<int>(lane))", "static_cast<int>(lane) == rank",
     "deadlock stage-reuse"),
    ("empty counts no peer", "pipeline/arrivals.hpp", "(shape.m + shape.n - 1) * consumer_warps", "consumer_warps",
     "stage-reuse arrival-underflow"),
    ("full counts two", "pipeline/arrivals.hpp", "return 1 + storing_warps;", "return 2 + storing_warps;", "deadlock"),
    # The producer's tail waits for its own peers, not for the CTA that reduces.
    ("no last cluster sync, but the tail", "kernel/skeleton.hpp",
     "    else if constexpr (Kernel::Mainloop::kCluster.size() > 1 && !peers_reach_ring_alone()) arch::cluster::sync();\n", "",
     "exited-cta"),
    ("kernels that sum in clusters leave each alone", "kernel/warp_specialised_gemm.hpp",
     "!config::sums_in_cluster(kConfig) &&", "", "exited-cta"),
    ("barriers not made visible", "kernel/skeleton.hpp",
     "    pipeline::make_barriers_visible<Kernel::Mainloop::kCluster>();\n", "", "data-race phase-misuse"),
    ("released before the wgmma has read", "mainloop/sm90/products.hpp",
     "    if (k != 0) pipeline.consumer_release(previous);", "    pipeline.consumer_release(stage);",
     "stage-reuse arrival-underflow"),
    ("release deleted", "mainloop/sm90/products.hpp", "    if (k != 0) pipeline.consumer_release(previous);", "", "deadlock"),
    ("release deleted while promoting", "mainloop/sm90/promotion.hpp",
     "      release_before(pipeline, odd_block);\n      promote(acc, odd,", "      promote(acc, odd,",
     "deadlock"),
    ("scales of columns released before they are read", "mainloop/sm90/promotion.hpp",
     "if constexpr (!Scales::kReadsStage) pipeline", "if constexpr (true) pipeline",
     "data-race stage-reuse arrival-underflow"),
    ("scales not handed over", "pipeline/tma_pipeline.hpp",
     "    arch::mbarrier::arrive_if(arch::lane_index() == 0, stage.full);\n", "", "deadlock"),
    ("scales committed without syncwarp", "pipeline/tma_pipeline.hpp",
     "    arch::warp::sync();  // one lane's arrival stands for the stores of all 32\n", "", "data-race"),
    ("wait<2> in flight", "mainloop/sm90/products.hpp", "arch::wgmma::wait<1>();", "arch::wgmma::wait<2>();", "stage-reuse"),
    ("promotes before the wait", "mainloop/sm90/products.hpp", "arch::wgmma::wait<0>(partial);", "arch::wgmma::wait<1>(partial);",
     "accumulator-in-flight"),
    ("no wgmma fence", "mainloop/sm90/products.hpp", "    arch::wgmma::fence();\n", "", "accumulator-in-flight"),
    ("stage bytes of A only", "mainloop/stage_loads.hpp",
     "loaded_bytes(kConfig, kConfig.operands.b, kShared.b_stage);", "0;", "transaction-count"),
    ("no proxy fence before the store", "pipeline/tma_store_pipeline.hpp", "    arch::fence::proxy_async_shared();\n", "",
     "proxy-fence"),
    ("no barrier before the store", "pipeline/tma_store_pipeline.hpp",
     "    arch::fence::proxy_async_shared();\n    meet();\n", "    arch::fence::proxy_async_shared();\n",
     "data-race proxy-fence"),
    ("buffer not waited for", "pipeline/tma_store_pipeline.hpp",
     "    if (is_issuer()) arch::tma::wait_read<kBuffers - 1>();\n", "", "unfinished-store"),
    ("parts of D: one store too many in flight", "pipeline/tma_store_pipeline.hpp",
     "wait_read<kBuffers - 1>()", "wait_read<kBuffers == 1 ? 0 : kBuffers>()", "unfinished-store"),
    ("parts of D: written before the wait", "pipeline/tma_store_pipeline.hpp",
     "wait_read<kBuffers - 1>();\n    meet();\n", "wait_read<kBuffers - 1>();\n    if constexpr (kBuffers == 1) meet();\n",
     "unfinished-store"),
    ("parts of D: stored before all have written", "pipeline/tma_store_pipeline.hpp",
     "    arch::fence::proxy_async_shared();\n    meet();\n",
     "    arch::fence::proxy_async_shared();\n    if constexpr (kBuffers == 1) meet();\n", "data-race"),
    ("parts of D: all in the first buffer", "epilogue/epilogue.hpp", "static_cast<u32>(part % kBuffers) *",
     "static_cast<u32>(part % 1) *", "unfinished-store"),
    ("parts of D: an odd number waits as an even", "epilogue/epilogue.hpp", "kBuffers, kTogether>",
     "kParts == 1 ? 1 : 2, kTogether>", "unfinished-store"),
    ("store not drained", "pipeline/tma_store_pipeline.hpp", "    if (is_issuer()) arch::tma::wait_read<0>();\n", "",
     "unfinished-store"),
    ("store not committed", "pipeline/tma_store_pipeline.hpp", "{ arch::tma::commit(); }", "{}", "unfinished-store"),
    ("no warp sync before the cluster barrier", "kernel/skeleton.hpp",
     "    arch::warp::sync();  // a cluster barrier that follows is .aligned\n", "", "divergent-call"),
    ("no tail", "kernel/skeleton.hpp", "    pipeline.producer_tail();\n", "", "exited-cta"),
    ("producer starts as consumer", "kernel/skeleton.hpp", "Role::producer", "Role::consumer", "deadlock"),
    ("producer keeps its registers", "kernel/skeleton.hpp",
     "    if constexpr (Kernel::kRegisters.producer > 0) arch::warpgroup::release_registers<Kernel::kRegisters.producer>();\n",
     "",
     "register-budget"),
    ("consumer does not advance", "pipeline/stage_ring.hpp",
     "arch::mbarrier::wait(stage.full, state_.parity);\n    state_.advance();\n",
     "arch::mbarrier::wait(stage.full, state_.parity);\n", "deadlock stage-reuse arrival-underflow data-race"),
    ("remote release stays at home", "pipeline/tma_pipeline.hpp",
     "arch::mbarrier::arrive_remote_if(arrives, empty(barriers_, stage.index), arch::lane_index())",
     "arch::mbarrier::arrive_if(arrives, empty(barriers_, stage.index))", "deadlock arrival-underflow stage-reuse"),
    ("no mbarrier fence", "pipeline/tma_pipeline.hpp", "  arch::fence::mbarrier_init();\n", "", "phase-misuse proxy-fence"),
    ("cluster barrier is only the CTA's", "pipeline/tma_pipeline.hpp", "    arch::cluster::sync();\n",
     "    arch::named_barrier::sync_cta();\n", "phase-misuse data-race"),
    ("producer one block short", "mainloop/stage_loads.hpp",
     "    for (int k = first; k < last; ++k) {\n      const pipeline::Stage stage = pipeline.producer_acquire",
     "    for (int k = first + 1; k < last; ++k) {\n      const pipeline::Stage stage = pipeline.producer_acquire",
     "deadlock"),
    ("both CTAs load the same half of B", "mainloop/stage_loads.hpp", "mine % (kSlicesB / kCtas)", "0",
     "uninitialised-read data-race stage-reuse"),
    ("multicast to itself", "mainloop/stage_loads.hpp", "return pipeline::mask_of_row(kCluster, self.y, self.z);",
     "return 1;", "transaction-count deadlock uninitialised-read"),
    ("no wgmma commit", "mainloop/sm90/products.hpp",
     "    arch::wgmma::commit();\n    arch::wgmma::wait<1>();", "    arch::wgmma::wait<1>();", "accumulator-in-flight"),
    ("warpgroups share rows of D", "epilogue/epilogue.hpp", "consumer_warpgroup * kWarpgroupStep + u * kWarpgroupRows",
     "u * kWarpgroupRows", "data-race unfinished-store proxy-fence"),
    ("warpgroups share a named barrier", "pipeline/tma_store_pipeline.hpp", "sync<kFirstBarrier + kGroup>",
     "sync<kFirstBarrier>", "data-race unfinished-store proxy-fence"),
    ("pingpong out of order", "mainloop/sm90/mainloop.hpp", "    order.wait();\n", "",
     "deadlock stage-reuse arrival-underflow data-race uninitialised-read accumulator-in-flight phase-misuse"),
    ("pingpong skips nothing", "kernel/warp_specialised_gemm.hpp", "pipeline.consumer_skip(", "static_cast<void>(", "deadlock stage-reuse "
     "arrival-underflow data-race phase-misuse"),
    ("multistage refills without release", "mainloop/sm90/multistage_mainloop.hpp",
     "    if constexpr (kByWarp) ring.reading.consumer_release(stage);\n    else if",
     "    if constexpr (kByWarp) (void)stage;\n    else if", "deadlock"),
    ("multistage trusts its token", "mainloop/sm90/multistage_mainloop.hpp", "consumer_wait(token)", "consumer_wait({true})",
     "data-race uninitialised-read stage-reuse"),
    ("promotion trusts its token", "mainloop/sm90/promotion.hpp", "consumer_wait(token)", "consumer_wait({true})",
     "data-race uninitialised-read stage-reuse"),
    ("fragment loaded while it is read", "mainloop/sm90/register_products.hpp",
     "    arch::wgmma::wait<1>(half);", "    arch::wgmma::wait<1>();", "accumulator-in-flight"),
    ("no wgmma fence after loading a fragment", "mainloop/sm90/register_products.hpp",
     "    arch::wgmma::fence();  // ... and written anew\n", "", "accumulator-in-flight"),
    ("A from registers: stage released before its products are done", "mainloop/sm90/register_products.hpp",
     "pipeline.consumer_release_if(k != 0, previous)", "pipeline.consumer_release_if(true, stage)",
     "stage-reuse arrival-underflow"),
    ("A from registers: reads of a stage not fenced before its release", "mainloop/sm90/register_products.hpp",
     "{ arch::fence::proxy_async_shared(); }", "{}", "proxy-fence"),
    ("B transposed over without syncwarp", "mainloop/sm90/stage_transpose.hpp",
     "    arch::warp::sync();  // all columns are in registers\n", "", "data-race"),
    ("B transposed over without a proxy fence", "mainloop/sm90/stage_transpose.hpp",
     "    arch::fence::proxy_async_shared();\n", "", "proxy-fence"),
    ("B transposed over, warps do not meet", "mainloop/sm90/stage_transpose.hpp",
     "    meet(consumer_warpgroup / kWarpgroups);\n", "", "data-race proxy-fence"),
    ("B transposed over, released in this CTA only", "pipeline/tma_pipeline.hpp",
     "arrive_remote_release_if(arrives,", "arrive_remote_if(arrives,", "scope"),
    ("register budget", "core/machine.hpp", "registers_at_launch((1 + consumers) * kWarpgroupThreads);",
     "(registers_at_launch((1 + consumers) * kWarpgroupThreads) + (consumers == 2 ? 8 : 0));", "register-budget"),
    ("flag of a partial tile not released", "epilogue/workspace_sum.hpp",
     "arch::global::store_release(flag_of(partials, slot, consumer_warpgroup), 1);",
     "arch::global::atomic_or(flag_of(partials, slot, consumer_warpgroup), 1);", "data-race"),
    ("partial tile read before its flag", "epilogue/workspace_sum.hpp",
     "      arch::global::wait_global_warp(flag, [](u32 value) { return value == 1; });\n", "",
     "data-race"),
    ("partial tiles read before the flags that other lanes acquire", "epilogue/workspace_sum.hpp",
     "      arch::warp::sync();  // now every lane may read all of these parts\n", "", "data-race"),
    ("one partial tile read too many", "epilogue/workspace_sum.hpp",
     "      if (i > 0 && i >= count) break;\n      WW_UNROLL\n      for (int v = 0; v < kLoaded; v += 4)",
     "      WW_UNROLL\n      for (int v = 0; v < kLoaded; v += 4)", "data-race uninitialised-read out-of-bounds"),
    ("flag before the partial tile", "epilogue/workspace_sum.hpp",
     "    arch::warp::sync();  // one lane's release stands for the stores of all 32\n", "", "data-race"),
    ("flag of a partial tile not put back", "epilogue/workspace_sum.hpp",
     "      if (static_cast<int>(arch::lane_index()) < count) arch::global::store(flag, 0);", "      ", "wrong-workspace data-race"),
    ("tile counter not put back", "scheduler/work_tile_counter.hpp", "  arch::global::store(next, 0);\n", "",
     "wrong-workspace"),
    ("peers' parts read before they are there", "epilogue/cluster_sum.hpp",
     "      exchange_.wait(static_cast<u32>((sources - 1) * values) * 4 * arch::kWarpSize);\n", "",
     "data-race uninitialised-read deadlock phase-misuse arrival-underflow transaction-count"),
    ("peer's slot written before it was read", "pipeline/exchange_pipeline.hpp",
     "    arch::mbarrier::wait(empty(), state_.parity);\n", "", "stage-reuse data-race transaction-count"),
    ("fewer bytes of peers announced", "pipeline/exchange_pipeline.hpp", "arrive_expect_tx(full(), bytes)",
     "arrive_expect_tx(full(), bytes - 16)", "transaction-count uninitialised-read data-race"),
    ("tile number stored in one CTA only", "pipeline/async_pipeline.hpp", "store_async_if(lane < kCtas,",
     "store_async_if(lane < 1,", "transaction-count deadlock"),
    ("tile number not announced", "scheduler/dynamic.hpp",
     "    if (reader_ == Reader::thread) ring_.consumer_announce();\n", "", "deadlock transaction-count"),
    ("tile number not waited for", "pipeline/async_pipeline.hpp",
     "    if (!token.done) arch::mbarrier::wait(full(barriers_, state_.index), state_.parity);\n", "",
     "uninitialised-read data-race arrival-underflow deadlock"),
    ("kernels before are not waited for", "kernel/skeleton.hpp",
     "    arch::pdl::wait();  // global memory is left alone before this line, or the same in begin()\n", "", "early-access"),
    ("multistage: kernels before are not waited for", "kernel/multistage_gemm.hpp",
     "    Skeleton<MultistageGemm>::set_up(params, shared, source);\n",
     "    if (arch::thread_index() == 0) initialize(params, shared);\n"
     "    pipeline::make_barriers_visible<Mainloop::kCluster>();\n    arch::pdl::launch_dependents();\n", "early-access"),
]
GROUPED_MUTANTS = [  # the same; "wrong-result": D, where no rule can see it
    ("grouped: map of A not acquired", "scheduler/descriptor_tiles.hpp",
     "      if (loads) arch::tensor_map::acquire(group_a);  // for K = 0, A has no maps\n", "",
     "stale-descriptor"),
    ("grouped: map of D not acquired", "scheduler/descriptor_tiles.hpp", "      arch::tensor_map::acquire(group_d);\n", "",
     "stale-descriptor"),
    ("grouped: only the first group acquired", "scheduler/descriptor_tiles.hpp", "group == acquired_", "acquired_ >= 0",
     "stale-descriptor"),
    ("grouped: maps not released", "kernel/descriptor_update.hpp",
     "      arch::tensor_map::release(", "      static_cast<void>(",
     "invalid-operation"),  # the workspace starts as zeros, which are no map
    ("grouped: map released before it is changed", "kernel/descriptor_update.hpp",
     "      }\n      arch::warp::sync();\n", "      }\n", "data-race"),
    ("grouped: map of D a row too long", "kernel/descriptor_update.hpp", "static_cast<u32>(range.count));",
     "static_cast<u32>(range.count + is_d));", "data-race wrong-result out-of-bounds"),
    ("grouped: list read before it is copied", "scheduler/descriptor_tiles.hpp",
     "    arch::named_barrier::sync_cta();\n", "", "data-race uninitialised-read"),
    ("grouped: scan looks at its own group", "scheduler/descriptor_tiles.hpp", "first_tile(from + 1) <= token_tile",
     "first_tile(from) <= token_tile", "wrong-result data-race out-of-bounds invalid-operation stale-descriptor"),
    ("grouped: counter not reset", "scheduler/work_tile_counter.hpp", "  arch::global::store(next, 0);\n", "",
     "wrong-result"),
    ("grouped: tail row stored twice", "epilogue/ragged_epilogue.hpp", "row < tile.rows && column < arguments.n",
     "row <= tile.rows && column < arguments.n", "data-race wrong-result"),
    ("grouped: widths counted before the table is there", "scheduler/ragged_source.hpp",
     "    if constexpr (kWarpLists) arch::named_barrier::sync<kListed>(2 * arch::kWarpSize);\n", "",
     "data-race uninitialised-read"),
    ("grouped: row ids not looked for", "scheduler/ragged_source.hpp", "      tiles_.prepare(arguments_.groups);\n", "",
     "uninitialised-read wrong-result data-race"),
    ("grouped: a sum before its cluster has met", "kernel/ragged_gemm.hpp",
     "    if constexpr (kSplits) arch::cluster::wait();\n    Pipeline pipeline", "    Pipeline pipeline",
     "phase-misuse data-race uninitialised-read deadlock"),
    ("grouped: a short tile's bytes counted as a whole one's", "mainloop/stage_loads.hpp",
     "const u32 bytes = static_cast<u32>(parts) * (kPartRows * kRowBytes) + kShared.b_stage;",
     "const u32 bytes = kStageBytes;", "transaction-count deadlock"),
    ("grouped: rows multiplied that were not loaded", "kernel/row_group_problem.hpp",
     "return tile.rows > part * Source::kPartRows;", "return tile.rows > 0;", "uninitialised-read data-race"),
    ("grouped: a tile's columns all scaled by the first scale of B", "kernel/row_group_problem.hpp",
     "return Mainloop::scale_offset({0, tile.tile_n, 0});", "return 0;", "wrong-result"),
    ("grouped: a tile's scales of B all loaded from the first", "kernel/row_group_problem.hpp",
     "        arguments.scale_b_n,\n        ceil_div(", "        0,\n        ceil_div(", "wrong-result"),
    ("grouped: a tile announced to one reader fewer", "kernel/row_group_problem.hpp",
     "      1 + config::is", "      config::is", "arrival-underflow data-race deadlock phase-misuse"),
    ("grouped: the producer takes tiles like a warp", "scheduler/item_ring.hpp",
     "    else pipeline_.consumer_release_alone();\n", "    else pipeline_.consumer_release();\n", "divergent-call deadlock"),
    ("grouped: kernels before are not waited for", "kernel/skeleton.hpp",
     "    arch::pdl::wait();  // global memory is left alone before this line, or the same in begin()\n", "", "early-access"),
    ("grouped: maps used before their update has ended", "kernel/skeleton.hpp",
     "    arch::pdl::wait();  // global memory is left alone before this line, or the same in begin()\n",
     "    if constexpr (!requires(typename Kernel::Tile tile) { tile.row_of_group; }) arch::pdl::wait();\n",
     "early-access"),
    ("grouped: maps changed before kernels before have ended", "kernel/descriptor_update.hpp",
     "    arch::pdl::wait();  // nothing", "    // nothing", "early-access"),
    ("grouped: sizes read before kernels before have ended", "scheduler/ragged_source.hpp",
     "      arch::pdl::wait();\n      loaded_ =", "      loaded_ =",
     "early-access"),
    ("grouped: sizes of token tiles read before kernels before have ended", "scheduler/raster_groups.hpp",
     "      arch::pdl::wait();\n      loaded_ =", "      loaded_ =", "early-access"),
    ("grouped: token tiles announced before all lanes have listed theirs", "scheduler/raster_groups.hpp",
     "      arch::warp::sync();\n", "", "data-race"),
    # If the first warp lists the groups, or another prefetches weights, its wait and the barrier after it suffice; with
    # many groups and several CTAs per SM no other wait is left.
    ("grouped: kernels before are waited for by one warp", "kernel/ragged_gemm.hpp",
     "    arch::pdl::wait();  // global", "    // global", "early-access"),
    # A deadlock of multicast peers: CTAs that share an operand must agree on the length of its K. A deadlock whose
    # waits are all for a peer's bytes is reported as transaction-count.
    ("k-grouped: CTAs of a cluster take different groups", "scheduler/k_grouped.hpp",
     "table_[group_at(order_, index_ / tiles_of_group(params_))]",
     "table_[arch::cluster_rank() == 0 ? group_at(order_, index_ / tiles_of_group(params_)) : 0]",
     "deadlock transaction-count"),
    # The total number of stages is the same, so nobody waits for ever; only D shows the error.
    ("k-grouped: CTAs of a cluster take groups in another order", "scheduler/k_grouped.hpp",
     "table_[group_at(order_, index_ / tiles_of_group(params_))]",
     "table_[(group_at(order_, index_ / tiles_of_group(params_)) + static_cast<int>(arch::cluster_rank())) %\n"
     "                                      params_.groups]", "wrong-result"),
    ("k-grouped: the order of groups read before it is sorted", "scheduler/k_grouped.hpp",
     "    }\n    arch::named_barrier::sync_cta();\n  }\n  WW_DEVICE void exchange", "    }\n  }\n  WW_DEVICE void exchange",
     "data-race"),
    # A race of multicast peers: the next group overwrites what a group in flight still reads.
    ("k-grouped: the ring starts anew with every group", "kernel/dense_problem.hpp",
     "      else Mainloop::load(params.gemm, shared, pipeline, at, tile.k);\n",
     "      pipeline = Pipeline(shared + Mainloop::kShared.barriers, pipeline::Role::producer);\n"
     "      Mainloop::load(params.gemm, shared, pipeline, at, tile.k);\n", "stage-reuse arrival-underflow"),
    ("k-grouped: a group runs into the next one", "mainloop/stage_loads.hpp",
     "gA{tile.m * kTileM, k.end, arguments.k - k.rows};", "gA{tile.m * kTileM, arguments.k, k.end - k.rows};", "wrong-result"),
    ("k-grouped: an empty group waits for products", "kernel/warp_specialised_gemm.hpp",
     "if (!Source::kMayBeEmpty || source.k_blocks_of(tile) > 0)", "if (true)", "deadlock"),
    ("k-grouped: maps of packed groups not acquired", "scheduler/tile_maps.hpp",
     "  if constexpr (acquires_operands(kConfig)) {", "  if constexpr (false) {", "stale-descriptor"),
    ("k-grouped: only the maps of the first packed group acquired", "kernel/dense_problem.hpp", "at.batch != matrix",
     "matrix < 0", "stale-descriptor"),
    ("k-grouped: rows of a packed group as long as all of K", "kernel/k_group_maps.hpp",
     "          arch::tensor_map::replace_stride<1>(", "          static_cast<void>(", "wrong-result out-of-bounds"),
    ("k-grouped: packed groups mapped before kernels before have ended", "kernel/k_group_maps.hpp",
     "    arch::pdl::wait();  // nothing", "    // nothing", "early-access"),
    ("k-grouped: tiles before the table of groups is there", "scheduler/group_table.hpp",
     "scratch);\n    arch::named_barrier::sync_cta();\n", "scratch);\n", "data-race uninitialised-read"),
]
GROUPED_EPILOGUE_MUTANTS = [  # the same
    ("grouped epilogue: vectors of the first group", "epilogue/token_tree.hpp",
     "of_matrix(arguments.epilogue, tile.group)", "of_matrix(arguments.epilogue, 0)", "wrong-result"),
    ("grouped epilogue: rows past the group's", "epilogue/token_tree.hpp", "extent.m = tile.row + tile.rows,",
     "extent.m = tile.row + tile.rows + 1,", "data-race wrong-result out-of-bounds"),
    ("grouped epilogue: vectors not exchanged", "epilogue/tree.hpp",
     "kAlongM ? EpilogueOp::row_vector : EpilogueOp::column_vector;\n"
     "  static constexpr EpilogueOp kAlongVector = kAlongM ? EpilogueOp::column_vector : EpilogueOp::row_vector;",
     "EpilogueOp::column_vector;\n  static constexpr EpilogueOp kAlongVector = EpilogueOp::row_vector;",
     "wrong-result out-of-bounds"),
    ("grouped epilogue: map of D not acquired without K", "scheduler/descriptor_tiles.hpp",
     "      arch::tensor_map::acquire(group_d);\n", "      if (loads) arch::tensor_map::acquire(group_d);\n",
     "stale-descriptor"),
    ("grouped epilogue: zeros before kernels before have ended", "kernel/zero_rows.hpp",
     "    arch::pdl::wait();  // global memory is left alone before this line\n", "", "early-access"),
]
CHECKED_MUTANTS = [  # the same, and the family of kernels
    ("dynamic: work tile released behind a shuffle", "pipeline/async_pipeline.hpp",
     "    arch::warp::sync();  // the arrival of one lane stands for the reads of all 32\n", "", "data-race", "dynamic"),
    ("ragged: record released without syncwarp", "pipeline/async_pipeline.hpp",
     "    arch::warp::sync();  // the arrival of one lane stands for the reads of all 32\n", "", "data-race",
     "ragged, row ids"),
    ("reductions: partial results read behind a shuffle", "epilogue/reductions.hpp",
     "  before = arch::warp::shuffle(before, 0);\n  arch::warp::sync();\n", "  before = arch::warp::shuffle(before, 0);\n",
     "data-race", "epilogue, reductions"),
    ("ragged: list of groups read behind a shuffle", "scheduler/ragged_tiles.hpp",
     "    arch::warp::sync();\n", "", "data-race", "ragged, several CTAs of an SM"),
]
# What a launch leaves behind: run by `warpwright check` with these flags, one launch in one schedule.
DYNAMIC = "gemm --m 512 --n 128 --k 64 --dtype bf16 --tile 64x64 --tile-scheduler dynamic --sms 2"
STREAM_K = "gemm --m 128 --n 128 --k 1024 --dtype bf16 --tile 128x128 --tile-scheduler stream-k --sms 3"
SPLIT_K = "gemm --m 128 --n 128 --k 1024 --dtype bf16 --tile 128x128 --tile-scheduler split-k --split 3 --sms 3"
RAGGED = "grouped --rows 100,30,0,70 --n 128 --k 128 --dtype bf16 --variant ragged --tile-scheduler dynamic --sms 2"
SEQUENCE_MUTANTS = [
    ("sequence: tile counter not put back", "scheduler/work_tile_counter.hpp", "  arch::global::store(next, 0);\n", "",
     "wrong-value", DYNAMIC),
    ("sequence: count of finished CTAs not put back", "scheduler/work_tile_counter.hpp",
     "  arch::global::store(finished, 0);\n", "", "wrong-value", DYNAMIC),
    ("sequence: grouped, tile counter not put back", "scheduler/work_tile_counter.hpp",
     "  arch::global::store(next, 0);\n", "", "wrong-value", RAGGED),
    ("sequence: grouped, count of finished CTAs not put back", "scheduler/work_tile_counter.hpp",
     "  arch::global::store(finished, 0);\n", "", "wrong-value", RAGGED),
    ("sequence: counter of a reduction not put back", "epilogue/reductions.hpp",
     "  if (arch::lane_index() == 0) arch::global::store(counter, 0);\n", "", "wrong-value",
     "gemm --m 128 --n 128 --k 128 --dtype bf16 --tile 64x64 --epilogue column_sum(acc,out0)"),
    ("sequence: stream-K, flag of a partial tile not put back", "epilogue/workspace_sum.hpp",
     "      if (static_cast<int>(arch::lane_index()) < count) arch::global::store(flag, 0);", "", "wrong-value", STREAM_K),
    ("sequence: split-K, flag of a partial tile not put back", "epilogue/workspace_sum.hpp",
     "      if (static_cast<int>(arch::lane_index()) < count) arch::global::store(flag, 0);", "", "wrong-value", SPLIT_K),
]
FLAGS = ["-std=c++20", "-O1", "-g1", "-fPIC", "-fvisibility=hidden", "-ffp-contract=off", "-DWW_CHECKED=1",
         "-fsanitize=thread", "-fno-optimize-sibling-calls"]


def edit(source, work, header, old, new):
    include = work / "include"
    shutil.copytree(source / "include", include)
    path = include / "warpwright" / header
    text = path.read_text()
    if text.count(old) < 1:
        return f"the edit no longer applies to {header}"
    path.write_text(text.replace(old, new))
    return ""


def build(source, compiler, work):
    include = work / "include"
    kernel = work / "kernel.cpp"
    kernel.write_text('#include "gemm_kernels.hpp"\nWW_MODULE()\n')
    compile_ = [compiler, *FLAGS, f"-I{include}", f"-I{source / 'tests/check'}", "-c", kernel, "-o", work / "kernel.o"]
    link = [compiler, "-shared", "-Wl,-Bsymbolic", work / "kernel.o", "-o", work / "kernel.so"]
    for command in (compile_, link):
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode != 0:
            return done.stderr[-2000:]
    return ""


def run_gemm(source, test, compiler, work):
    """What the test says, "" when it is content; what went wrong before it."""
    problem = build(source, compiler, work)
    return (None, problem) if problem else run(test, {**os.environ, "WARPWRIGHT_CHECK_MODULE": str(work / "kernel.so")})


def run_sequence(flags):
    """The first schedule has to show it, without a second launch."""
    def runner(_, program, compiler, work):
        environment = mutation.compiled_by(mutation.write_wrapper(work, compiler, work / "include"), work)
        said = ""
        for math in ("on", "off"):
            status, out, why = mutation.run([program, "check", *flags.split(), "--math", math, "--schedules", "1", "--launches", "1",
                                             "--no-shrink", "--json"], 900, environment)
            found = json.loads(out)["findings"] if status == 1 else []
            if not found:
                return None, f"math {math}: {why} {out[-2000:]}"
            said += "".join(f"    {one['rule']} in launch {one['launch']}\n" for one in found)
        return said, ""
    return runner


def run_grouped(_, test, compiler, work):
    return run(test, mutation.compiled_by(mutation.write_wrapper(work, compiler, work / "include"), work))


def run(test, environment):
    status, out, why = mutation.run([test], 900, environment)
    return (None, why) if status is None else ("" if status == 0 else out, "")


def run_check(family, rules):
    verify = ["--verify"] if rules in ("-", "wrong-value") else []  # elsewhere a wrong value would come before its cause

    def runner(_, program, compiler, work):
        wrapper = mutation.write_wrapper(work, compiler, work / "include")
        status, report = mutation.check(program, {**FAMILIES, **BLACKWELL_FAMILIES}[family], work, wrapper, 50, 0, 300, verify)
        if status not in (0, 1) or status == 1 and not report.get("findings"):
            return None, str(report)[-2000:]
        return "".join(f"    {one['rule']} in {one.get('space', '')}\n" for one in report["findings"]), ""
    return runner


def judge(said, rules):
    """(what a report names, what is wrong with that)"""
    found = [rule for rule in rules.split() if f"    {rule} in" in said]
    if (said == "") if rules == "-" else found:
        return ", ".join(found) or "clean, as it must", ""
    return "", said[-3000:] or "clean"


def applies(source):
    """Every edit finds its text in the headers as they are: quick, where running them all is long."""
    every = MUTANTS + GROUPED_MUTANTS + GROUPED_EPILOGUE_MUTANTS + CHECKED_MUTANTS + BLACKWELL_MUTANTS
    every += [mutant[:5] for mutant in SEQUENCE_MUTANTS]
    stale = [f"{name}: nothing to edit in {header}" for name, header, old, *_ in every
             if old not in (source / "include" / "warpwright" / header).read_text()]
    print(*stale, f"{len(stale)} of {len(every)} edits no longer apply", sep="\n")
    return 1 if stale else 0


def main():
    if sys.argv[1] == "applies":
        return applies(pathlib.Path(sys.argv[2]))
    source, gemm_test, grouped_test, epilogue_test, program, compiler = pathlib.Path(sys.argv[1]), *sys.argv[2:7]
    part = sys.argv[7] if len(sys.argv) > 7 else ""
    every = [(run_gemm, gemm_test, mutant) for mutant in MUTANTS]
    every += [(run_grouped, grouped_test, mutant) for mutant in GROUPED_MUTANTS]
    every += [(run_grouped, epilogue_test, mutant) for mutant in GROUPED_EPILOGUE_MUTANTS]
    every += [(run_check(family, mutant[-1]), program, mutant) for *mutant, family in CHECKED_MUTANTS + BLACKWELL_MUTANTS]
    every += [(run_sequence(flags), program, mutant) for *mutant, flags in SEQUENCE_MUTANTS]
    every = [job for job in every if part in job[2][0]]
    if not every:
        print(f"no mutant has {part!r} in its name")
        return 2

    def outcome(job):
        runner, test, (_, header, old, new, rules) = job
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            problem, caught = edit(source, work, header, old, new), ""
            if not problem:
                said, problem = runner(source, test, compiler, work)
            if not problem:
                caught, problem = judge(said, rules)
        return problem, caught

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for (_, _, (name, *_)), (problem, caught) in zip(every, pool.map(outcome, every)):
            failed += bool(problem)
            print(f"{name:<44} {'MISSED: ' + problem if problem else caught}", flush=True)
    print(f"{len(every) - failed} of {len(every)} mutants caught by their rules")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
