// SPDX-License-Identifier: Apache-2.0
// Advice for a finding, from its rule and what the two accesses and the barriers between them are. Without a case of
// its own a finding gets the advice of its rule (rules.cpp and the machine's model).
#include "emu/check/checker.hpp"
#include "emu/machine.hpp"

namespace ww::emu {
namespace {

bool counted(const AccessRecord& access) {
  return access.kind == Access::tma_load || access.kind == Access::store_async || access.kind == Access::launch_answer;
}
bool of_engine(const AccessRecord& access) { return access.kind >= Access::of_machines; }

}  // namespace

const char* Checker::race_advice(const AccessRecord& old, const AccessRecord& mine, u32 cta) const {
  const ThreadName &a = names_[old.thread], &b = names_[mine.thread];
  if (old.kind == Access::mbarrier || mine.kind == Access::mbarrier)
    return "keep other data out of the 8 bytes of a live mbarrier; when all of its users are done, call "
           "mbarrier::invalidate before its memory is used for anything else";
  if (old.kind == Access::tma_store || mine.kind == Access::tma_store)
    return "global memory that a bulk store writes is complete only after a wait for the whole group, not only for its "
           "reads, in the thread that issued it; order that wait before the other access";
  if (old.kind == Access::tma_load_source)
    return "wait for the load's mbarrier before its source is written again: a copy reads until it completes";
  if (counted(old))
    return "wait for the phase of the mbarrier on which the copy completes, in the thread of the second access or in "
           "one that a barrier orders before it";
  if (of_engine(old))
    return "wait for the operation in every warp that issued it, and order those waits before the operand is written "
           "again";
  if (of_engine(mine) && a.cta != cta)
    return "after the operand is written, call fence::proxy_async(), because the proxy fence of shared memory covers "
           "that of the own CTA only, and pass a barrier with all threads that issue the instruction that reads it";
  if (of_engine(mine))
    return "after the operand is written, call fence::proxy_async_shared() and pass a barrier with all threads that "
           "issue the instruction that reads it";
  if (a.cta == b.cta && a.index / kWarpSize == b.index / kWarpSize)
    return "call warp::sync() between the two accesses: the lanes of a warp do not run in lockstep, and an exchange "
           "such as a shuffle or a vote orders no memory";
  if (a.cta == b.cta)
    return "put a CTA barrier, or an mbarrier arrive and wait, between the two accesses; a lane that arrives for its "
           "warp does so after warp::sync()";
  if (cta != kSharedSpaceOfNobody)
    return "order the CTAs of the cluster between the two accesses: cluster::sync(), or a remote arrive that releases "
           "and a wait that acquires at cluster scope";
  return "let one CTA own the bytes, or publish them: a barrier in the writing CTA, a release at GPU scope by one "
         "thread, an acquire at GPU scope by the reading CTA, and a barrier before its other threads read";
}

const char* Checker::reuse_advice(const AccessRecord& old, bool old_write, const AccessRecord& mine) const {
  if (mine.passed == ~0u)
    return "the issuer has passed no mbarrier before this copy: let it wait for one on which all readers of the bytes "
           "arrive when they are done";
  if (old_write && counted(old))
    return "two copies are in flight to the same bytes: between them the issuer must wait for a barrier on which those "
           "who read the first copy arrive";
  if (of_engine(old)) return nullptr;
  const ThreadName& reader = names_[old.thread];
  const u32 warp = old.thread - reader.index % kWarpSize;
  bool arrives = false;
  for (u32 lane = 0; lane < kWarpSize; ++lane) arrives = arrives || last_arrived(warp + lane) == mine.passed;
  if (!arrives)
    return "the reader's warp does not arrive on the mbarrier that the issuer waited for: let it arrive there after "
           "its last read, and count that arrival where the barrier is initialised";
  const bool by_itself = last_arrived(old.thread) == mine.passed;
  return by_itself ? "let the reader arrive on the mbarrier that the issuer waited for after its last read and not "
                     "before; the count of that barrier must hold one arrival of every reader"
                   : "call warp::sync() before one lane arrives for its warp, after the last read of every lane; the "
                     "count of the barrier must hold one arrival of every reading warp";
}

const char* Checker::fence_advice(const AccessRecord& old, bool old_write, u32 cta) const {
  const bool global = cta == kSharedSpaceOfNobody, peers = !global && names_[old.thread].cta != cta;
  if (peers)
    return old_write ? "call fence::proxy_async() in every thread that wrote, after its writes and before the barrier "
                       "that precedes the asynchronous access; fence::proxy_async_shared() covers the shared memory of "
                       "the thread's own CTA only"
                     : "call fence::proxy_async() in every thread that read, after its reads and before it arrives on "
                       "the barrier that the issuer of the copy waits for; fence::proxy_async_shared() covers the "
                       "shared memory of the thread's own CTA only";
  if (!old_write)
    return global ? "call fence::proxy_async_global() or fence::proxy_async() in every thread that read, after its "
                    "reads and before it arrives on the barrier that the issuer of the copy waits for"
                  : "call fence::proxy_async_shared() in every thread that read, after its reads and before it arrives "
                    "on the barrier that the issuer of the copy waits for";
  return global ? "call fence::proxy_async_global() or fence::proxy_async() in every thread that wrote, after its "
                  "writes and before the barrier that precedes the asynchronous access; a proxy fence of shared "
                  "memory does not order global memory"
                : nullptr;
}

const char* Checker::conflict_advice(Rule rule, const AccessRecord& old, bool old_write, const AccessRecord& mine,
                                     u32 cta) const {
  switch (rule) {
    case Rule::data_race: return race_advice(old, mine, cta);
    case Rule::stage_reuse: return reuse_advice(old, old_write, mine);
    case Rule::proxy_fence: return fence_advice(old, old_write, cta);
    case Rule::scope:
      if (old.strong() && mine.strong())
        return "give both operations a scope that holds both threads: cluster within a cluster, gpu across clusters";
      return cta == kSharedSpaceOfNobody
                 ? "release and acquire at GPU scope, or at cluster scope within one cluster: a fence or an operation "
                   "at CTA scope reaches no thread of another CTA"
                 : "release and acquire at cluster scope: cluster::sync(), or a remote arrive that releases and a "
                   "wait that acquires at cluster scope; the default scope of both is the CTA";
    case Rule::unfinished_store:
      if (completion_of(old).find("not committed") != std::string::npos)
        return "commit the store in the thread that issued it (tma::commit), and wait there with wait_read before its "
               "source is written again";
      return "call tma::wait_read in the thread that issued the store, before the barrier that lets others write its "
             "source; a wait in another thread, or one that leaves this group pending, does not cover it";
    default: return nullptr;
  }
}

const char* Checker::stop_advice(Rule rule, Origin origin, const Counterpart& other, const std::string& what) const {
  const auto says = [&](const char* words) { return what.find(words) != std::string::npos; };
  const BarrierState* barrier = other.barrier < barriers_.size() ? &barriers_[other.barrier] : nullptr;
  switch (rule) {
    case Rule::arrival_underflow: {
      if (!barrier || !origin.thread) return nullptr;
      u32 phase = 0, mine = 0;
      barrier->log.each([&](const EventLog::Event& event) {
        if (event.what == EventLog::What::arrived) phase = std::max(phase, event.phase);
      });
      barrier->log.each([&](const EventLog::Event& event) {
        mine += event.what == EventLog::What::arrived && event.phase == phase && event.is_by(origin.thread->check_slot);
      });
      return mine > 1
                 ? "this thread arrives twice in one phase: before it arrives again it must wait for the phase to "
                   "complete, or for the barrier on which the other side frees the stage"
                 : "more threads arrive in a phase than the barrier counts: initialise it with as many arrivals as "
                   "a phase receives, or let fewer arrive; if they belong to different phases, a wait is missing "
                   "before the later arrival";
    }
    case Rule::transaction_count:
      return says("more than announced")
                 ? "announce all bytes of the copies that signal this barrier in this phase (expect_tx), multicast "
                   "slices of peers and parts outside the tensor included, before the last arrival"
                 : nullptr;
    case Rule::phase_misuse:
      if (says("is initialised again"))
        return "initialise a barrier once, by one thread; call mbarrier::invalidate before its memory becomes another";
      if (says("is not initialised"))
        return "initialise the barrier by one thread, and pass a barrier (in a cluster fence::mbarrier_init() and "
               "cluster::sync()) before another thread uses it";
      if (says("is invalidated")) return "invalidate a barrier only when no thread waits for it any more";
      return nullptr;
    case Rule::data_race:
      return "keep other data out of the 8 bytes of a live mbarrier; when all of its users are done, call "
             "mbarrier::invalidate before its memory is used for anything else";
    case Rule::out_of_bounds:
      if (says("read-only")) return "write outputs only: the launch declares this operand as read-only";
      if (other.global)
        return "compare the address, or the extents and strides of the tensor map, with the operand's size";
      return "compare the offset with the bytes of shared memory of the launch";
    case Rule::divergent_call:
      if (says("setmaxnreg")) return "let all warps of a warpgroup ask for the same number of registers";
      if (says("warpgroup"))
        return "give all threads of the warpgroup the same shape, descriptors, flags and registers, in the same order";
      return nullptr;
    case Rule::accumulator_in_flight:
      return says("used with n =")
                 ? "wait for the operation before its registers are used for another shape"
                 : "lower the number of groups that the wait leaves pending, or name only registers of "
                   "groups that it completes; commit each group before the wait";
    default: return nullptr;
  }
}

const char* Checker::stuck_advice(Rule rule, const Thread* waiting, bool apart) const {
  if (rule == Rule::transaction_count)
    return "announce only bytes that copies deliver in this phase, and issue every copy that was announced, to the "
           "mbarrier and the CTAs that wait for it";
  const bool moves = waiting && waiting->loads > kLooksAtOnce && waiting->looking && !waiting->looking->idle;
  if (rule == Rule::livelock && waiting && (waiting->wait == Wait::looping || moves))
    return "give the loop an end that the thread reaches by itself, or let it wait for what another thread does";
  if (rule != Rule::deadlock || !waiting) return nullptr;
  if (apart)
    return "let all lanes of a warp come to the same barrier or exchange: lanes that wait at one place never come to "
           "the "
           "other";
  switch (waiting->wait) {
    case Wait::mbarrier:
      return "compare the count, the bytes and the parity of the mbarrier with what its history shows: an arrival that "
             "is missing, a count that is too high, or a wait for a parity whose phase has passed";
    case Wait::named_barrier:
      return "let as many threads come to the named barrier as it names, in the same order everywhere; threads that "
             "have left or wait elsewhere do not count";
    case Wait::cluster_barrier: return "let every thread of the cluster arrive at the cluster barrier equally often";
    case Wait::warp: return "let all lanes that the exchange names execute it: one of them waits elsewhere or has left";
    default: return nullptr;
  }
}

}  // namespace ww::emu
