// SPDX-License-Identifier: Apache-2.0
// Decides requests when they are made; their answers arrive later.
#include "emu/sm100/clc.hpp"

#include <fmt/format.h>

#include <cstring>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/memory.hpp"
#include "emu/random.hpp"
#include "emu/timeline.hpp"

namespace ww::emu::sm100 {
namespace {

/// The 16 bytes of an answer, which are opaque to kernels.
struct Answer {
  static constexpr u32 kGiven = 0x434C4331, kDeclined = 0x434C4330;
  u32 mark;
  u32 first_cta;
  u32 unused;
  u32 sum;  // of the other words, by which other bytes are told from an answer
};
static_assert(sizeof(Answer) == 16);

Answer answer_of(bool given, u32 first_cta) {
  const u32 mark = given ? Answer::kGiven : Answer::kDeclined;
  return {mark, first_cta, 0, mark + first_cta};
}

/// Writes answers. It has no state, so that one serves all CTAs.
class AnswerEngine final : public Engine {
 public:
  AnswerEngine() : Engine(&kKind) {}
  void reset() override {}
  void execute(Operation& operation) override {
    Cta& cta = *operation.cta;
    if (cta.exited())
      cta.machine->fail(operation.origin,
                        fmt::format("answer of clusterlaunchcontrol.try_cancel to CTA {} (cluster rank {}), which has "
                                    "exited",
                                    cta.index, cta.rank),
                        Rule::exited_cta, {.cta = &cta});
    Answer answer;
    std::memcpy(&answer, operation.bytes.data(), sizeof answer);
    note_effect(cta, "launch control", [&] {
      return answer.mark == Answer::kGiven ? fmt::format("answer: work of CTA {}", answer.first_cta + cta.rank)
                                           : std::string("answer: no work");
    });
    std::memcpy(cta.shared.get() + operation.shared, operation.bytes.data(), sizeof(Answer));
    signal_now(cta, operation.barrier, 0, 0, sizeof(Answer), operation.origin, operation.note);
    cta.machine->recycle(operation);
  }
  std::string waits_on(const Thread&) const override { return "an answer of clusterlaunchcontrol.try_cancel"; }

  static constexpr char kKind = 0;
};
AnswerEngine answers;

/// Takes a cluster for the requesting one; ~0 when the request is declined.
u32 decide(Machine& machine, Cluster& cluster) {
  LaunchRequests& requests = cluster.requests;
  const u32 left = machine.clusters_left();
  Random random(mix(machine.seed() ^ u64{cluster.ctas[0]->index} << 20) + requests.made);
  if (requests.made == 0 && random.one_in(2)) requests.most = random.below(left + 1);
  if (requests.made == requests.most || left == 0) requests.declined = true;
  ++requests.made;
  if (requests.declined) return ~0u;
  return machine.hand_out(random.below(left)) * static_cast<u32>(cluster.ctas.size());
}

void submit(Thread& thread, Cta& cta, u32 offset, u32 barrier, const Answer& answer, arch::Site site) {
  Machine& machine = *thread.machine;
  const Origin origin{&thread, site};
  Operation& operation = machine.new_operation(Operation::Kind::engine, origin);
  operation.engine = &answers;
  operation.cta = &cta;
  operation.shared = offset;
  operation.barrier = barrier;
  operation.bytes.resize(sizeof answer);
  std::memcpy(operation.bytes.data(), &answer, sizeof answer);
  if (Checker* checker = machine.checker())
    operation.note = checker->launch_answer(thread, cta, offset, sizeof answer, barrier_at(cta, barrier, origin), site);
  machine.submit(operation);
}

Answer decoded(Thread& thread, const u32* words, arch::Site site) {
  Answer answer;
  std::memcpy(&answer, words, sizeof answer);
  const bool known = answer.mark == Answer::kGiven || answer.mark == Answer::kDeclined;
  if (!known || answer.sum != answer.mark + answer.first_cta)
    thread.machine->fail(
        {&thread, site},
        "clusterlaunchcontrol.query_cancel: these 16 bytes are no answer of try_cancel; load them from "
        "shared memory after the wait on its mbarrier");
  return answer;
}

}  // namespace

void try_cancel(Thread& thread, u32 answer, u32 barrier, bool multicast, arch::Site site) {
  constexpr const char* kName = "clusterlaunchcontrol.try_cancel";
  Machine& machine = *thread.machine;
  Cluster& cluster = *thread.cta->cluster;
  const SharedPlace place = own_shared_place(thread, answer, sizeof(Answer), sizeof(Answer), kName, site);
  const SharedPlace signal = own_shared_place(thread, barrier, 8, 8, kName, site);
  if (thread.cta->rank != 0)
    machine.fail({&thread, site},
                 fmt::format("{} by CTA {} of the cluster; expected its first CTA", kName, thread.cta->rank));
  if (cluster.requests.declined_seen)
    machine.fail({&thread, site}, fmt::format("{} after an answer that gave no work: undefined", kName));
  machine.progress();
  note_issue(thread, [&] { return "clusterlaunchcontrol.try_cancel"; });
  const u32 given = decide(machine, cluster);
  const Answer made = answer_of(given != ~0u, given != ~0u ? given : 0);
  if (!multicast) return submit(thread, *place.cta, place.offset, signal.offset, made, site);
  for (const auto& cta : cluster.ctas) submit(thread, *cta, place.offset, signal.offset, made, site);
}

bool is_canceled(Thread& thread, const u32* words, arch::Site site) {
  const bool given = decoded(thread, words, site).mark == Answer::kGiven;
  if (!given) thread.cta->cluster->requests.declined_seen = true;
  return given;
}

void first_cta(Thread& thread, const u32* words, u32* coordinates, arch::Site site) {
  const Answer answer = decoded(thread, words, site);
  if (answer.mark != Answer::kGiven)
    thread.machine->fail(
        {&thread, site},
        "clusterlaunchcontrol.query_cancel.get_first_ctaid of an answer that gives no work: undefined; "
        "ask is_canceled first");
  coordinates[0] = answer.first_cta;
  coordinates[1] = coordinates[2] = 0;  // grids have one dimension
}

}  // namespace ww::emu::sm100
