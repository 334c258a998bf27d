# SPDX-License-Identifier: Apache-2.0
"""Mutants of random_mutants.py that a person has reviewed.
EQUIVALENT: no execution that PTX allows of the edited kernel differs from those of the shipped one in a value, in a race
or in whether it ends. random_mutants.py draws another mutant in its place, but runs it all the same, and fails if the
checker reports something. An entry holds for edits of one operator in one function, in the families that `where` selects.
MISSED: the edit is an error, and why the checker does not see it."""
import collections
import re

Entry = collections.namedtuple("Entry", "header function operator edits where why")  # edits: without the function


def everywhere(_):
    return True


def one_cta(arguments):
    """Families without clusters."""
    shape = re.search(r"cluster[ =]([\dx]+)", arguments)
    return (not shape or set(shape.group(1)) == set("1x")) and "--split " not in arguments


def rings_only(arguments):
    """Clusters that meet in the operand ring alone: static tiles, no exchange of sums, and a producer with a tail."""
    return not one_cta(arguments) and not re.search(r"dynamic|split-k|multistage", arguments)


def ends_together(arguments):
    """Clusters that end with a barrier, because peers access more than the operand ring."""
    return not one_cta(arguments) and not rings_only(arguments)


def reads_stages_by_mma_only(arguments):
    """No thread reads a stage by ordinary loads: no scales in it, A from shared memory, nothing transposed in place."""
    return bool(re.search(r"--dtype (bf16|f16) |--scale tensor", arguments)) and "--a-source registers" not in arguments


def transposes_only(arguments):
    """Threads read and write the stage of B before all of them meet at a named barrier; A is from shared memory."""
    return "--layout nn" in arguments and "--dtype tf32" in arguments


def one_warp_lists(arguments):
    """Ragged families in which only the first warp reads the sizes of the groups."""
    return "--variant ragged" in arguments and "row-ids" not in arguments and "--groups 130" not in arguments


PROMOTION = "mainloop/sm90/promotion.hpp"
TMA = "pipeline/tma_pipeline.hpp"
EXCHANGE = "pipeline/exchange_pipeline.hpp"
ORDERED = "pipeline/ordered_barrier.hpp"
SKELETON = "kernel/skeleton.hpp"
MULTISTAGE = "mainloop/sm90/multistage_mainloop.hpp"

LATER_RELEASE = ("the stage is released later than before, and still before the thread waits for a stage again, so that "
                 "every wait ends. What comes before the release now is arithmetic on registers: release_before() is empty "
                 "where promotion reads scales from the stage")
TURN = ("order.arrive() gives the other warpgroup its turn to issue MMAs. It stands after this one's last wait for a stage "
        "in both orders, which is all that consumer_skip() relies on. No access to memory depends on whether this "
        "warpgroup's own MMAs have retired by then, because their stages are released by barriers of their own")
TWO_BARRIERS = "two arrivals of one thread on different mbarriers; no waiter of one needs the other to come first or later"
TAIL = ("the wait keeps the CTA until its stages are released. Without a cluster only its own warps arrive there, and the "
        "shared memory of a CTA exists until its last thread has ended. Every load has completed by then as well: the "
        "consumers wait for the full barrier of each stage")
TAIL_IN_CLUSTER = ("the wait keeps the CTA until peers have arrived on its barriers. In kernels that end with the cluster's "
                   "barrier they do so before they arrive at the "
                   "cluster barrier of leave() with .release, and this CTA waits there with .acquire (PTX, barrier.cluster), "
                   "so that barrier alone keeps it. Its loads have completed, because consumers wait for every full barrier")
LEAVE = ("these families have no cluster barrier at their end: peers touch this CTA's shared memory by multicast copies, whose "
         "full barriers its consumers wait for, and by arrivals on its empty barriers, all of which producer_tail() waits for "
         "before the producer thread ends; epilogues use no memory of peers")
RECONVERGED = ("the barrier after it is .aligned, for which PTX demands that all lanes of the warp execute the same "
               "instruction, not in a divergent condition. The branch of one lane ends before it, as in `if (lane == 0) ...; "
               "__syncthreads()`, and the barrier waits for all lanes of the warp. The warp barrier orders no memory that "
               "anything later relies on: the cluster barrier does")
NOTHING_FOLLOWS = ("without a cluster the kernel ends there, so that no .aligned instruction needs the lanes together, and the "
                   "warp barrier orders no memory that anything later relies on. Before a cluster barrier the checker takes "
                   "the strict side and reports divergent-call")
SYNC_ALIGNED = ("the arrival stands for 32 lanes, which have executed a wgmma instruction since their last wait for a stage. "
                "Those are .sync.aligned: none completes before all lanes execute it. So the lanes' waits are over, and the "
                "barrier passes on a turn to issue MMAs, not data")
ASYNC_READS = ("lanes read the stage by wgmma alone, and wgmma.wait_group.sync.aligned precedes the arrival: it waits until all "
               "lanes execute it and the MMAs of the warp have completed. No lane has an ordinary access that lane 0's "
               "arrival would have to release")
MET_BEFORE = ("the lanes' accesses to the stage end before the named barrier of StageTranspose::run(), at which lane 0 is as "
              "well. Its arrival with .release, later, is ordered after them by causality; after the barrier only wgmma reads "
              "the stage, whose wait is .sync.aligned")
WGMMA_MEETS = ("the branch of the loading thread ends before it, and the wgmma instructions that follow are .sync.aligned: they "
               "wait until all lanes execute them. It orders no memory that anything relies on: every lane waits for the full "
               "barrier of the stage, and consumer_release() has a warp barrier of its own")
COUNTED_BYTES = ("the lanes' stores are st.async, whose bytes the full barrier counts: its phase ends after the arrivals of all "
                 "peers and all the bytes that the reader announced. An earlier arrival of lane 0 releases none of them, and "
                 "the next round's acquire waits until the reader has read this one")
FIRST_WARP_WAITED = ("the first warp has executed griddepcontrol.wait in Source::begin(), which makes the memory of preceding "
                     "grids visible to the whole grid. All other threads touch global memory only after a barrier on which "
                     "that warp arrives later: the item ring, or the named barrier of the list for the warp that counts")
EARLIER_TRY = ("the token only saves a wait: true remains true until this thread's own next wait, and after false the thread "
               "waits. pass_on() changes neither the position of the reading end nor what its full barrier waits for")
OWN_GROUPS = ("tiles of 32 tokens are listed in the order of the groups: until RaggedTiles::build() ends, with a barrier of its "
              "own, a thread reads the groups that it has written itself, and no others; the scans have their barriers")
MAPS = "acquires of two different maps; the loads that use either come after both"

EQUIVALENT = [
    Entry(PROMOTION, "alternate", "swap", [
        "release_before(pipeline, even_block); / promote(acc, even, even_block.scales.of_block(0));",
        "release_before(pipeline, even_block); / promote(acc, even, even_block.scales.of_block(0)); [2]",
        "release_before(pipeline, odd_block); / promote(acc, odd, odd_block.scales.of_block(0));",
        "release_before(pipeline, odd_block); / promote(acc, even, even_block.scales.of_block(0));"], everywhere,
          LATER_RELEASE),
    Entry(PROMOTION, "together", "swap",
          ["pipeline.consumer_release(stage); / promote(acc[1], partial[1], scales.of_block(1));"], everywhere, LATER_RELEASE),
    Entry(PROMOTION, "alternate", "swap", [
        "release_before(pipeline, even_block); / release_before(pipeline, odd_block);",
        "release_after(pipeline, even_block); / release_after(pipeline, odd_block);"], everywhere, TWO_BARRIERS),
    Entry(PROMOTION, "alternate", "swap", ["promote(acc, odd, odd_block.scales.of_block(0)); / release_after(pipeline, even_block);"],
          everywhere, "the scales of the even block have been read by promote(acc, even, ...) in the line before"),
    Entry(PROMOTION, "alternate", "swap", ["order.arrive(); / arch::wgmma::wait<0>(even, odd);",
                                           "order.arrive(); / arch::wgmma::wait<0>(even);"], everywhere, TURN),
    Entry("mainloop/sm90/products.hpp", "accumulate", "swap", ["order.arrive(); / finish_all(acc);"], everywhere, TURN),
    Entry(MULTISTAGE, "multiply_plain", "swap", [
        "if (k >= kInFlight) pass_on(arguments, base, ring, tile, kByWarp ? previous : stage, k - kInFlight); / "
        "token = peek(ring, k + 1 < k_blocks_of<kConfig>(arguments));"], everywhere, EARLIER_TRY),
    Entry(MULTISTAGE, "multiply_promoted", "swap", [
        "pass_on(arguments, base, ring, tile, stage, k); / token = peek(ring, k + 1 < k_blocks_of<kConfig>(arguments));"],
          everywhere, EARLIER_TRY),
    Entry(MULTISTAGE, "load", "drop", ["arch::warp::sync()"], everywhere, WGMMA_MEETS),
    Entry(TMA, "producer_tail", "drop", ["arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity)"], one_cta, TAIL),
    Entry(TMA, "producer_tail", "drop", ["arch::mbarrier::wait(empty(barriers_, state_.index), state_.parity)"],
          ends_together, TAIL_IN_CLUSTER),
    Entry(TMA, "producer_tail", "reset", ["state_.advance()"], one_cta,
          "it waits for one stage again and again, which ends as the first wait does, instead of for all. " + TAIL),
    Entry(TMA, "producer_tail", "reset", ["state_.advance()"], ends_together,
          "it waits for one stage instead of for all. " + TAIL_IN_CLUSTER),
    Entry(SKELETON, "load", "drop", ["pipeline.producer_tail()"], one_cta, TAIL),
    Entry(SKELETON, "load", "drop", ["pipeline.producer_tail()"], ends_together, TAIL_IN_CLUSTER),
    Entry(SKELETON, "run", "drop", ["leave(shared)"], rings_only, LEAVE),
    Entry(SKELETON, "leave", "drop", ["arch::cluster::sync()"], rings_only, LEAVE),
    Entry(SKELETON, "leave", "scope", ["arch::cluster::sync() -> arch::named_barrier::sync_cta()"], rings_only, LEAVE),
    Entry(SKELETON, "produce", "drop", ["arch::warp::sync()"], one_cta, NOTHING_FOLLOWS),
    Entry(SKELETON, "produce", "swap",
          ["arch::warp::sync(); / if constexpr (requires { Kernel::finish_production(); }) Kernel::finish_production();"],
          lambda arguments: not ("--variant ragged" in arguments and "--split " in arguments),
          "the statement behind it is empty, because only ragged kernels that split K have finish_production()"),
    Entry("scheduler/group_table.hpp", "build", "swap",
          ["build_by<kThreads>(sizes, thread, load_first<kThreads>(sizes, thread), scratch); / "
           "arch::named_barrier::sync_cta();"], lambda arguments: "--groups 130" in arguments, OWN_GROUPS),
    Entry("scheduler/group_table.hpp", "build", "swap",
          ["build_by<kThreads>(sizes, thread, load_first<kThreads>(sizes, thread), scratch); / "
           "arch::named_barrier::sync_cta();"], lambda arguments: bool(re.search("--variant (contiguous|masked)", arguments)),
          "until RasterGroups::prepare() ends, with a barrier of its own, a thread reads the groups that it has written "
          "itself, and no others; the scans have their barriers"),
    Entry("kernel/multistage_gemm.hpp", "run", "drop", ["arch::warp::sync()"], everywhere, RECONVERGED),
    Entry("kernel/multistage_gemm.hpp", "run", "swap",
          ["buffer.drain(); / if constexpr (Mainloop::kCluster.size() > 1) arch::warp::sync();"], everywhere, RECONVERGED),
    Entry(ORDERED, "arrive", "drop", ["arch::warp::sync()"], everywhere, SYNC_ALIGNED),
    Entry(ORDERED, "arrive", "swap", [
        "arch::warp::sync(); / arch::mbarrier::arrive_if(arch::lane_index() == 0, turn_of(group_ + 1 == kLength ? 0 : "
        "group_ + 1));"], everywhere, SYNC_ALIGNED),
    Entry(TMA, "release", "drop", ["arch::warp::sync()"], reads_stages_by_mma_only, ASYNC_READS),
    Entry(TMA, "release", "drop", ["arch::warp::sync()"], transposes_only, MET_BEFORE),
    Entry(EXCHANGE, "commit", "drop", ["arch::warp::sync()"], everywhere, COUNTED_BYTES),
    Entry(EXCHANGE, "commit", "swap",
          ["arch::warp::sync(); / arch::mbarrier::arrive_remote_if(arch::lane_index() == 0, full(), taker);"], everywhere,
          COUNTED_BYTES),
    Entry("kernel/ragged_gemm.hpp", "begin", "drop", ["arch::pdl::wait()"], one_warp_lists, FIRST_WARP_WAITED),
    Entry("kernel/ragged_gemm.hpp", "initialize", "drop", ["arch::pdl::wait()"], everywhere,
          "it delays prefetches to L2, which is coherent with the stores of preceding grids; they return no data"),
    Entry("kernel/ragged_gemm.hpp", "consume", "drop", ["arch::warp::sync()"], everywhere,
          "it brings lanes together for ptxas's sake. The stores to D before it are ordered with nothing in the kernel, "
          "store_pieces() has a warp barrier of its own before it overwrites its staging, and so has the release of a record "
          "in walk.next()"),
    Entry("scheduler/tile_maps.hpp", "acquire_operands", "swap", [
        "arch::tensor_map::acquire(map_of_a<kConfig>(arguments, tile)); / "
        "arch::tensor_map::acquire(map_of_b<kConfig>(arguments, tile));"], everywhere, MAPS),
    Entry("scheduler/descriptor_tiles.hpp", "acquire_maps", "swap",
          ["if (loads) arch::tensor_map::acquire(group_a); / arch::tensor_map::acquire(group_d);"], everywhere, MAPS),
    Entry("epilogue/workspace_sum.hpp", "reduce", "swap", [
        "arch::warp::sync(); / const float* const from = part_of_thread(partials, slot, consumer_warpgroup);"], everywhere,
          "the second line computes an address and reads nothing"),
    Entry("scheduler/group_table.hpp", "find_runs", "swap", [
        "if (here[i] >= 0 && here[i] < sizes.groups && arch::shared::atomic_min(starts_ + 4 * here[i], "
        "static_cast<u32>(row)) != kNoRow) status |= GroupStatus::scattered; / if (before[i] >= 0 && before[i] < "
        "sizes.groups) arch::shared::atomic_min(counts_ + 4 * before[i], static_cast<u32>(row));"], everywhere,
          "atomics on two arrays, which are read only after the barrier that follows"),
]

VALID_SIZES = ("it reports sizes of groups that overlap or exceed the matrix, in the status word. The sizes of all families are "
               "valid, so that the call does nothing there; check compares the word among launches, not with what it must be")
MISSED = {  # (header, operator, "function(): edit"): why
    ("scheduler/group_table.hpp", "drop", "build_by(): report(sizes, status)"): VALID_SIZES,
    ("scheduler/group_table.hpp", "drop", "build_in_warp(): report(sizes, status)"): VALID_SIZES,
}


def equivalent(edit, arguments):
    """The argument why an edit of the kernel of a family's arguments is no error; "" where none is known."""
    for entry in EQUIVALENT:
        if (edit.header == entry.header and edit.operator == entry.operator and entry.where(arguments) and
                edit.detail in [f"{entry.function}(): {text}" for text in entry.edits]):
            return entry.why
    return ""
