// SPDX-License-Identifier: Apache-2.0
// wgmma: deposits of calls, ordered execution, accumulators in flight, group waits.
#include "emu/sm90/warpgroup_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "emu/check/checker.hpp"
#include "emu/machine.hpp"
#include "emu/sm90/descriptor.hpp"
#include "emu/sm90/numerics/mma.hpp"

namespace ww::emu::sm90 {
namespace {

/// Compares as 64-bit values, because 127 of 128 threads compare and find equality.
bool same_call(const arch::WgmmaCall& a, const arch::WgmmaCall& b) {
  const auto words = [](const arch::WgmmaShape& shape) { return std::bit_cast<std::array<u64, 2>>(shape); };
  const std::array<u64, 2> x = words(a), y = words(b);
  return ((a.descriptor_a ^ b.descriptor_a) | (a.descriptor_b ^ b.descriptor_b) | (x[0] ^ y[0]) | (x[1] ^ y[1]) |
          (u32{a.accumulate} ^ u32{b.accumulate}) | (u32{!a.registers_a} ^ u32{!b.registers_a})) == 0;
}

constexpr MmaShape kShape = Sm90().mma[0];

void check_call(Thread& thread, const arch::WgmmaCall& call, arch::Site site) {
  Machine& machine = *thread.machine;
  if (!kShape.takes_n(call.n))
    machine.fail({&thread, site}, fmt::format("wgmma: n is {}; expected a multiple of {} from {} to {}", call.n,
                                              kShape.n_step, kShape.n_least, kShape.n_most));
  const bool types = is_fp8(call.type_a)
                         ? is_fp8(call.type_b)
                         : call.type_a == call.type_b && call.type_a != DType::f32 && bits_of(call.type_a) >= 16;
  const bool k_major = call.major_a == Major::k && call.major_b == Major::k;
  if (!types || (bytes_of(call.type_a) != 2 && !k_major))
    machine.fail({&thread, site},
                 fmt::format("wgmma: operands of types {} and {}, {}-major and {}-major, are not supported",
                             name_of(call.type_a), name_of(call.type_b), name_of(call.major_a), name_of(call.major_b)),
                 Rule::unsupported);
  if ((call.scale_a != 1 && call.scale_a != -1) || (call.scale_b != 1 && call.scale_b != -1))
    machine.fail({&thread, site}, "wgmma: operand scales must be +1 or -1");
}

/// The position of thread t's registers in a (64, n) tile: pairs (2j, 2j + 1) are in row + 8 * (j % 2), columns column
/// + 8 * (j / 2) and the next.
struct Fragment {
  int row, column;
  explicit Fragment(u32 t) : row(static_cast<int>(16 * (t / 32) + t % 32 / 4)), column(static_cast<int>(2 * (t % 4))) {}
};

/// Calls `visit(registers + v, tile + position)` for each pair of neighbouring registers.
template <class Visit> void for_each_pair(u32 t, int n, float* tile, float* registers, Visit visit) {
  const Fragment fragment(t);
  float* upper = tile + fragment.row * n + fragment.column;
  float* lower = upper + 8 * n;
  for (int block = 0; block < n / 8; ++block) {
    visit(registers + 4 * block, upper + 8 * block);
    visit(registers + 4 * block + 2, lower + 8 * block);
  }
}

void widen_in_flight(Thread& thread, const void* registers, u64 bytes) {
  arch::StackHead& head = thread.head();
  const u64 first = reinterpret_cast<u64>(registers);
  head.in_flight_begin = min(head.in_flight_begin, first);
  head.in_flight_end = max(head.in_flight_end, first + bytes);
}

/// Returns whether one of the registers holds what nothing has set: what the stack of a thread begins with, or what
/// g++ stores where a variable is declared (-ftrivial-auto-var-init=pattern).
bool holds_unset(const float* registers, int count) {
  constexpr u32 kDeclaredBits = 0xFEFEFEFE;
  u32 found = 0;
  for (int i = 0; i < count; ++i) {
    const u32 bits = std::bit_cast<u32>(registers[i]);
    found |= u32{bits == kUnsetBits} | u32{bits == kDeclaredBits};
  }
  return found != 0;
}

WgmmaThread& state_of(Thread& thread) { return thread.engine.as<WgmmaThread>(); }

u64 bytes_of_registers(int n) { return static_cast<u64>(n) * 2; }

}  // namespace

WarpgroupEngine::WarpgroupEngine(Cta& cta) : Engine(&kKind), cta_(cta) {
  task_.kind = Operation::Kind::engine;
  task_.engine = this;
  task_.cta = &cta;
}

void WarpgroupEngine::reset() {
  queued_ = false;
  ready_ = 0;
  operations_.clear();
  for (Slot& slot : slots_) {
    slot.threads_in_flight = 0;
    std::fill(std::begin(slot.registers), std::end(slot.registers), nullptr);
    std::fill(std::begin(slot.in_flight_until), std::end(slot.in_flight_until), 0u);
  }
  fragments_.clear();
  for (std::vector<InFlight>& of_thread : in_flight_a_) of_thread.clear();
  for (std::vector<Returned>& of_thread : returned_) of_thread.clear();
  waiters_ = {};
  nearest_wait_ = ~0u;
}

u32 WarpgroupEngine::slot_for(Thread& thread, const float* registers, int n, arch::Site site) {
  const u32 t = thread.index % kWarpgroupSize;
  std::size_t idle = slots_.size();
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    Slot& slot = slots_[i];
    if (slot.threads_in_flight == 0) idle = min(idle, i);
    if (slot.registers[t] != registers) continue;
    if (slot.n == n && slot.threads_in_flight != 0) return static_cast<u32>(i);
    if (slot.in_flight_until[t] != 0)
      thread.machine->fail(
          {&thread, site}, fmt::format("wgmma: accumulators in flight with n = {} are used with n = {}", slot.n, n),
          Rule::accumulator_in_flight, {.origin = {&thread, last_issue_}, .operation = "wgmma.mma_async"});
  }
  if (idle == slots_.size()) slots_.emplace_back();
  Slot& slot = slots_[idle];
  slot.n = n;
  slot.values.resize(static_cast<std::size_t>(64 * n));
  std::fill(std::begin(slot.registers), std::end(slot.registers), nullptr);
  return static_cast<u32>(idle);
}

[[gnu::noinline]] void WarpgroupEngine::begin_operation(Thread& thread, const arch::WgmmaCall& call,
                                                        const float* registers, arch::Site site) {
  check_call(thread, call, site);
  const u32 slot = slot_for(thread, registers, call.n, site);
  last_issue_ = site;
  operations_.append() = {call, state_of(thread).groups, 0, slot, fragments_.end(), {&thread, site}, thread.call};
  if (call.registers_a) fragments_.append();
}

[[gnu::noinline]] void WarpgroupEngine::refuse(Thread& thread, const Wgmma& operation, arch::Site site) {
  thread.machine->fail({&thread, site},
                       fmt::format("wgmma diverges in its warpgroup: thread {} issued line {} with another "
                                   "shape, descriptor, flag or group",
                                   operation.origin.thread->index, operation.origin.site.line),
                       Rule::divergent_call, {.origin = operation.origin, .operation = "wgmma.mma_async"});
}

void WarpgroupEngine::take_registers(Slot& slot, u32 t, float* registers, bool accumulate) {
  if (accumulate && computes())
    for_each_pair(t, slot.n, slot.values.data(), registers,
                  [](const float* pair, float* place) { std::memcpy(place, pair, 2 * sizeof(float)); });
  std::fill(registers, registers + slot.n / 2, std::bit_cast<float>(kPoisonBits));
  slot.registers[t] = registers;
  ++slot.threads_in_flight;
}

void WarpgroupEngine::deposit(Thread& thread, const arch::WgmmaCall& call, float* registers, arch::Site site) {
  WgmmaThread& own = state_of(thread);
  const u32 t = thread.index % kWarpgroupSize, turn = own.issued++;
  if (turn == operations_.end()) begin_operation(thread, call, registers, site);
  Wgmma& operation = operations_[turn];
  if (!same_call(operation.call, call) || operation.group != own.groups) refuse(thread, operation, site);
  Slot& slot = slots_[operation.slot];
  const bool first_of_a = call.registers_a && take_fragment(thread, operation, call.registers_a);
  if (Checker* checker = thread.machine->checker()) {
    rules_.deposited(*checker, thread, slot.in_flight_until[t] == 0 || first_of_a, own.fenced, turn, site);
    // An accumulator that starts from zero is not read, and a compiler may set it where it is declared.
    const bool first_sum = slot.in_flight_until[t] == 0 && call.accumulate;
    if ((first_of_a && written_since_fence(t, call.registers_a)) ||
        (first_sum && written_since_fence(t, reinterpret_cast<const u32*>(registers))))
      WgmmaRules::written_behind_fence(*checker, thread, site);
  }
  if (slot.in_flight_until[t] == 0) {
    if (call.accumulate && thread.machine->checker() && holds_unset(registers, slot.n / 2))
      WgmmaRules::accumulators_unset(*thread.machine->checker(), thread, site);
    take_registers(slot, t, registers, call.accumulate);
    ++own.registers_in_flight;
    widen_in_flight(thread, registers, bytes_of_registers(slot.n));
  } else if (slot.registers[t] != registers)
    thread.machine->fail({&thread, site}, "wgmma diverges in its warpgroup: threads name different accumulators",
                         Rule::divergent_call, {.origin = operation.origin, .operation = "wgmma.mma_async"});
  slot.in_flight_until[t] = own.issued;
  if (++operation.deposits != kWarpgroupSize) return;
  // Descriptors are validated with --math off as well; otherwise one that points outside shared memory would go
  // unreported.
  if (thread.machine->checker() || !computes()) check_operands(operation, turn);
  ++ready_;
  queue();
}

bool WarpgroupEngine::take_fragment(Thread& thread, const Wgmma& operation, const u32* registers_a) {
  const u32 t = thread.index % kWarpgroupSize;
  fragments_[operation.fragment][t] = registers_a;
  for (InFlight& fragment : in_flight_a_[t])
    if (fragment.registers == registers_a) {
      fragment.until = state_of(thread).issued;
      return false;
    }
  InFlight fragment{registers_a, state_of(thread).issued, {}};
  std::memcpy(fragment.seen, registers_a, sizeof fragment.seen);
  in_flight_a_[t].push_back(fragment);
  widen_in_flight(thread, registers_a, sizeof fragment.seen);
  return true;
}

void WarpgroupEngine::gather_fragment(const Wgmma& operation, u8* rows) {
  const std::array<const u32*, 128>& registers = fragments_[operation.fragment];
  for (u32 t = 0; t < kWarpgroupSize; ++t)
    for (u32 i = 0; i < 4; ++i) {
      const u32 row = 16 * (t / 32) + t % 32 / 4 + 8 * (i % 2), byte = 4 * (t % 4) + 16 * (i / 2);
      std::memcpy(rows + row * 32 + byte, registers[t] + i, 4);
    }
}

void WarpgroupEngine::Returned::look(u32 (&words)[4]) const {
  std::memcpy(words, registers, 8);
  std::memcpy(words + 2, registers + count - 2, 8);
}

void WarpgroupEngine::fence(Thread& thread) {
  state_of(thread).fenced = true;
  if (!thread.machine->checker()) return;
  for (Returned& returned : returned_[thread.index % kWarpgroupSize]) {
    returned.fenced = true;
    returned.look(returned.seen);
  }
}

void WarpgroupEngine::give_back(u32 t, const u32* registers, u32 count) {
  for (Returned& returned : returned_[t])
    if (returned.registers == registers) {
      returned.count = count, returned.fenced = false;
      return;
    }
  returned_[t].push_back({registers, count, false, {}});
}

bool WarpgroupEngine::written_since_fence(u32 t, const u32* registers) {
  for (Returned& returned : returned_[t]) {
    if (returned.registers != registers || !std::exchange(returned.fenced, false)) continue;
    u32 now[4];
    returned.look(now);
    return std::memcmp(now, returned.seen, sizeof now) != 0;
  }
  return false;
}

bool WarpgroupEngine::computes() const { return cta_.machine->context().options.math != EmuMath::off; }

bool WarpgroupEngine::owns(const Thread& thread, u64 address, u32 bytes) const {
  const u32 t = thread.index % kWarpgroupSize;
  for (const Slot& slot : slots_) {
    if (slot.threads_in_flight == 0 || slot.in_flight_until[t] == 0) continue;
    const u64 first = reinterpret_cast<u64>(slot.registers[t]);
    if (address < first + static_cast<u64>(slot.n) * 2 && address + bytes > first) return true;
  }
  for (const InFlight& fragment : in_flight_a_[t]) {
    const u64 first = reinterpret_cast<u64>(fragment.registers);
    if (address < first + sizeof fragment.seen && address + bytes > first) return true;
  }
  return false;
}

void WarpgroupEngine::local_access(Checker& checker, Thread& thread, u64 address, u32 bytes, bool write,
                                   arch::Site site) const {
  if (owns(thread, address, bytes))
    WgmmaRules::registers_touched(checker, thread, last_issue_, site, write,
                                  "accumulators are touched between a wgmma and the wait that names them");
}

std::string WarpgroupEngine::waits_on(const Thread& thread) const {
  return fmt::format("wgmma wait: {} operations needed, {} done; the warpgroup has not issued them together",
                     thread.wait_a, executed());
}

void WarpgroupEngine::check_operands(const Wgmma& operation, u32 turn) {
  u32 a[2 * 64], b[2 * 256];
  const arch::WgmmaCall& call = operation.call;
  const bool shared_a = !call.registers_a;
  if (shared_a) operand_chunks(cta_, call.descriptor_a, call.major_a, 64, a, "A", operation.origin);
  operand_chunks(cta_, call.descriptor_b, call.major_b, call.n, b, "B", operation.origin);
  if (Checker* checker = cta_.machine->checker())
    rules_.ready(*checker, cta_, turn, a, shared_a ? 2 * 64 : 0, b, 2 * static_cast<u32>(call.n), operation.origin,
                 operation.from);
}

void WarpgroupEngine::queue() {
  if (queued_ || executed() == ready_) return;
  queued_ = true;
  cta_.machine->submit(task_);
}

void WarpgroupEngine::commit(Thread& thread) {
  WgmmaThread& own = state_of(thread);
  own.boundary[own.groups++ % 8] = own.issued;
}

void WarpgroupEngine::execute(Operation&) {
  alignas(64) u8 a[64 * 32], b[256 * 32];
  const Wgmma& operation = operations_[executed()];
  const arch::WgmmaCall& call = operation.call;
  Machine& machine = *cta_.machine;
  if (computes()) {
    if (call.registers_a) gather_fragment(operation, a);
    else gather_rows(cta_, call.descriptor_a, call.major_a, 64, a, "A", operation.origin);
    gather_rows(cta_, call.descriptor_b, call.major_b, call.n, b, "B", operation.origin);
    const MmaMath math = machine.context().options.math == EmuMath::exact ? MmaMath::exact : MmaMath::fp32_chain;
    mma_m64({call.type_a, call.type_b}, call.n, a, b, slots_[operation.slot].values.data(), call.accumulate,
            call.scale_a, call.scale_b, math);
  }
  ++machine.counters().mmas;
  if (call.registers_a) fragments_.drop_first();
  operations_.drop_first();
  queued_ = false;
  queue();
  if (executed() < nearest_wait_) return;
  nearest_wait_ = ~0u;
  machine.wake_all(waiters_);  // each checks again and waits again if it needs more
}

void WarpgroupEngine::hand_back(Thread& thread, float* registers, arch::Site site) {
  const u32 t = thread.index % kWarpgroupSize;
  for (Slot& slot : slots_) {
    if (slot.registers[t] != registers || slot.in_flight_until[t] == 0) continue;
    if (executed() < slot.in_flight_until[t])
      thread.machine->fail({&thread, site}, "wgmma wait names accumulators that are still in flight after it",
                           Rule::accumulator_in_flight,
                           {.origin = {&thread, last_issue_}, .operation = "wgmma.mma_async"});
    if (Checker* checker = thread.machine->checker()) {
      state_of(thread).fenced = false;
      u32 changed = 0;
      for (int i = 0; i < slot.n / 2; ++i) changed |= std::bit_cast<u32>(registers[i]) ^ kPoisonBits;
      if (changed != 0)
        WgmmaRules::registers_touched(*checker, thread, last_issue_, site, true,
                                      "accumulators were written between a wgmma and its wait");
      give_back(t, reinterpret_cast<const u32*>(registers), static_cast<u32>(slot.n / 2));
    }
    if (computes())
      for_each_pair(t, slot.n, slot.values.data(), registers,
                    [](float* pair, const float* place) { std::memcpy(pair, place, 2 * sizeof(float)); });
    else std::fill(registers, registers + slot.n / 2, 0.0f);
    slot.in_flight_until[t] = 0;
    --slot.threads_in_flight;
    --state_of(thread).registers_in_flight;
    find_in_flight(thread);
    return;
  }
}

void WarpgroupEngine::hand_back(Thread& thread, const u32* registers_a, int count, arch::Site site) {
  const u32 t = thread.index % kWarpgroupSize;
  std::vector<InFlight>& in_flight = in_flight_a_[t];
  for (std::size_t i = in_flight.size(); i-- > 0;) {
    const InFlight fragment = in_flight[i];
    if (fragment.registers < registers_a || fragment.registers >= registers_a + count) continue;
    if (executed() < fragment.until)
      thread.machine->fail({&thread, site}, "wgmma wait names registers of A that are still in flight after it",
                           Rule::accumulator_in_flight,
                           {.origin = {&thread, last_issue_}, .operation = "wgmma.mma_async"});
    if (Checker* checker = thread.machine->checker()) {
      state_of(thread).fenced = false;
      if (std::memcmp(fragment.seen, fragment.registers, sizeof fragment.seen) != 0)
        WgmmaRules::registers_touched(*checker, thread, last_issue_, site, true,
                                      "registers of A were written between a wgmma and its wait");
      give_back(t, fragment.registers, 4);
    }
    in_flight.erase(in_flight.begin() + static_cast<std::ptrdiff_t>(i));
  }
  find_in_flight(thread);
}

void WarpgroupEngine::find_in_flight(Thread& thread) {
  const u32 t = thread.index % kWarpgroupSize;
  thread.head().in_flight_begin = ~u64{0}, thread.head().in_flight_end = 0;
  if (state_of(thread).registers_in_flight != 0)
    for (const Slot& slot : slots_)
      if (slot.in_flight_until[t] != 0) widen_in_flight(thread, slot.registers[t], bytes_of_registers(slot.n));
  for (const InFlight& fragment : in_flight_a_[t]) widen_in_flight(thread, fragment.registers, sizeof fragment.seen);
}

void WarpgroupEngine::wait(Thread& thread, int pending, float* const* accumulators, int count, arch::Site site) {
  Machine& machine = *thread.machine;
  if (pending < 0 || pending > 7)
    machine.fail({&thread, site}, fmt::format("wgmma wait: {} groups; expected 0 to 7", pending));
  const u32 left = static_cast<u32>(pending);
  const WgmmaThread& own = state_of(thread);
  const u32 needed = own.groups > left ? own.boundary[(own.groups - 1 - left) % 8] : 0;
  while (executed() < needed) {
    nearest_wait_ = min(nearest_wait_, needed);
    waiters_.push(thread);
    machine.park(thread, Wait::warpgroup_engine, site, needed, executed());
  }
  // Prefetched, because the accumulators of a thread that slept have left the caches.
  for (int i = 0; i < count; ++i)
    for (u64 line = 0; line < 4; ++line)
      __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<u64>(accumulators[i]) + 64 * line), 1);
  if (Checker* checker = machine.checker()) rules_.waited(*checker, thread, needed);
  const u32 before = own.registers_in_flight;
  for (int i = 0; i < count; ++i) hand_back(thread, accumulators[i], site);
  if (thread.index % kWarpgroupSize == 0 && own.registers_in_flight > 0 && own.registers_in_flight < before)
    ++machine.counters().results_under_mma;
}

}  // namespace ww::emu::sm90
