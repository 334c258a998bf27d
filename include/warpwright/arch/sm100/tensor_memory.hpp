// SPDX-License-Identifier: Apache-2.0
// Tensor memory: allocation, copies from shared memory, loads to registers and stores from them.
//   alloc -> barrier -> read the address from shared memory -> mma, copy, load, store -> dealloc; relinquish after the
//   last alloc of the CTA.
// - alloc, relinquish, dealloc: one whole warp of the CTA; for a pair, one of each of the two CTAs.
// - load, store: one whole warp, which reaches lanes 32 (warp % 4) to + 31 only. What they access is complete at
//   wait_load and wait_store of the same warp.
// - copy: one thread; it precedes later MMAs of that thread, and umma::commit says when it is complete.
// In register v, thread t of the warp holds, relative to the address's lane and column:
//   lanes32_bits32        lane t,                          column v
//   lanes16_bits64        lane t / 4 + 8 (t % 2),          column t / 2 % 2 + 2 v
//   lanes16_bits128       lane t / 4 + 8 (v % 2),          column t % 4 + 4 (v / 2)
//   lanes16_bits256       lane t / 4 + 8 (v / 2 % 2),      column 2 (t % 4) + v % 2 + 8 (v / 4)
//   lanes16_bits32_split  lane t % 16,                     column v + (t < 16 ? 0 : kSplit)
// PTX ISA: tcgen05.alloc, dealloc, relinquish_alloc_permit, ld, st, wait, cp.
#pragma once

#include "warpwright/arch/sm100/installed.hpp"
#include "warpwright/arch/sm100/matrix_descriptor.hpp"
#include "warpwright/arch/sm100/tensor_address.hpp"
#if defined(__CUDACC__)
#include "warpwright/arch/sm100/opcode_texts.hpp"
#endif

namespace ww::arch {

/// 32-bit values of tensor memory that this thread holds. Like an Accumulator of wgmma it has identity: from a load
/// until the wait that names it, the values belong to the device.
template <int kCount> struct TensorRegisters {
  static_assert(kCount >= 1 && kCount <= 128 && (kCount & (kCount - 1)) == 0, "tcgen05.ld: 1, 2, 4, .. 128 registers");
  static constexpr int kValues = kCount;
  u32 r[kCount];
  WW_DEVICE u32& operator[](int v) { return r[v]; }
  WW_DEVICE u32 operator[](int v) const { return r[v]; }
};

namespace tensor {

/// Returns whether an access of so many repetitions exists.
WW_HOST_DEVICE constexpr bool exists(TensorShape shape, int repetitions) {
  const int most = 128 / registers_of(shape);
  return repetitions >= 1 && repetitions <= most && (repetitions & (repetitions - 1)) == 0;
}

#if defined(__CUDACC__)
inline namespace ptx {

/// Allocates `columns`, a power of two from 32 to 512, and stores the address of the first at `result`.
template <CtaGroup kGroup> WW_DEVICE void alloc(SharedAddress result, u32 columns) {
  asm volatile("tcgen05.alloc.cta_group::%2.sync.aligned.shared::cta.b32 [%0], %1;" ::"r"(result.value), "r"(columns),
               "n"(ctas_of(kGroup))
               : "memory");
}
/// Gives up the right to allocate, so that a CTA that waits for columns may have them.
template <CtaGroup kGroup> WW_DEVICE void relinquish() {
  asm volatile("tcgen05.relinquish_alloc_permit.cta_group::%0.sync.aligned;" ::"n"(ctas_of(kGroup)) : "memory");
}
/// Frees `columns` from `address` on, exactly as they were allocated, when every load, store, copy and MMA of them is
/// complete. The form of a pair waits for the peer CTA. One warp calls it.
template <CtaGroup kGroup> WW_DEVICE void dealloc(TensorAddress address, u32 columns) {
  asm volatile("tcgen05.dealloc.cta_group::%2.sync.aligned.b32 %0, %1;" ::"r"(address.value), "r"(columns),
               "n"(ctas_of(kGroup))
               : "memory");
}
/// Copies the rows that a matrix descriptor names; those of a pair each from their own shared memory to their own
/// tensor memory.
template <CtaGroup kGroup, CopyShape kShape, CopyUnpack kUnpack = CopyUnpack::none>
WW_DEVICE void copy(TensorAddress to, sm100::MatrixDescriptor from) {
  asm volatile("tcgen05.cp.cta_group::%2%3%4 [%0], %1;" ::"r"(to.value), "l"(from.bits), "n"(ctas_of(kGroup)),
               "C"(opcode::Text<kShape>::text), "C"(opcode::Text<kUnpack>::text)
               : "memory");
}

#define WW_OUTPUT(value) "=r"(value)
#define WW_INPUT(value) "r"(value)
#define WW_FORM(pack) "C"(opcode::Text<kShape>::text), "n"(kRepetitions), "C"(opcode::Pack<kPacked>::pack)
// Of the parameters, `address`, `shape`, `times`, `pack` and `distance` are the numbers of the operands after the
// registers.
#define WW_TENSOR_LOAD(n, names, address, shape, times, pack, distance)                                           \
  if constexpr (kCount == n && kShape != TensorShape::lanes16_bits32_split)                                       \
    asm volatile("tcgen05.ld.sync.aligned" shape ".x" times pack ".b32 {" names "}, [" address "];"               \
                 : WW_VALUES_##n(WW_OUTPUT, 0)                                                                    \
                 : "r"(from.value), WW_FORM(load)                                                                 \
                 : "memory");                                                                                     \
  else if constexpr (kCount == n)                                                                                 \
    asm volatile("tcgen05.ld.sync.aligned" shape ".x" times pack ".b32 {" names "}, [" address "], " distance ";" \
                 : WW_VALUES_##n(WW_OUTPUT, 0)                                                                    \
                 : "r"(from.value), WW_FORM(load), "n"(kSplit)                                                    \
                 : "memory");
#define WW_TENSOR_STORE(n, names, address, shape, times, pack, distance)                                     \
  if constexpr (kCount == n && kShape != TensorShape::lanes16_bits32_split)                                  \
    asm volatile("tcgen05.st.sync.aligned" shape ".x" times pack ".b32 [" address "], {" names               \
                 "};" ::WW_VALUES_##n(WW_INPUT, 0),                                                          \
                 "r"(to.value), WW_FORM(store)                                                               \
                 : "memory");                                                                                \
  else if constexpr (kCount == n)                                                                            \
    asm volatile("tcgen05.st.sync.aligned" shape ".x" times pack ".b32 [" address "], " distance ", {" names \
                 "};" ::WW_VALUES_##n(WW_INPUT, 0),                                                          \
                 "r"(to.value), WW_FORM(store), "n"(kSplit)                                                  \
                 : "memory");

/// Loads kRepetitions pieces of a shape. kPacked puts two 16-bit columns into one register.
template <TensorShape kShape, int kRepetitions, bool kPacked = false, u32 kSplit = 0, int kCount>
WW_DEVICE void load(TensorRegisters<kCount>& registers, TensorAddress from) {
  static_assert(exists(kShape, kRepetitions) && kCount == kRepetitions * registers_of(kShape),
                "tcgen05.ld: expected a power of two of repetitions, and registers for all of them, at most 128");
  u32(&r)[kCount] = registers.r;
  WW_TENSOR_SIZES(WW_TENSOR_LOAD)
}
/// Stores what load() of the same form loads.
template <TensorShape kShape, int kRepetitions, bool kPacked = false, u32 kSplit = 0, int kCount>
WW_DEVICE void store(TensorAddress to, const TensorRegisters<kCount>& registers) {
  static_assert(exists(kShape, kRepetitions) && kCount == kRepetitions * registers_of(kShape),
                "tcgen05.st: expected a power of two of repetitions, and registers for all of them, at most 128");
  const u32(&r)[kCount] = registers.r;
  WW_TENSOR_SIZES(WW_TENSOR_STORE)
}
#undef WW_TENSOR_LOAD
#undef WW_TENSOR_STORE
#undef WW_OUTPUT
#undef WW_INPUT
#undef WW_FORM

// An empty asm that reads and writes a register keeps the compiler from moving its uses across this point.
template <int kCount> WW_DEVICE void pin(TensorRegisters<kCount>& registers) {
  WW_UNROLL
  for (int v = 0; v < kCount; ++v) asm volatile("" : "+r"(registers.r[v])::"memory");
}
/// Waits for all loads of this warp; the named registers hold their values from then on.
template <class... Registers> WW_DEVICE void wait_load(Registers&... registers) {
  asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
  (pin(registers), ...);
}
/// Waits for all stores of this warp.
WW_DEVICE void wait_store() { asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory"); }

}  // namespace ptx
#else
inline namespace emu {

template <CtaGroup kGroup> WW_DEVICE void alloc(SharedAddress result, u32 columns WW_SITE) {
  sm100_table->alloc(kGroup, result.value, columns, site);
}
template <CtaGroup kGroup> WW_DEVICE void relinquish(WW_SITE_ONLY) { sm100_table->relinquish(kGroup, site); }
template <CtaGroup kGroup> WW_DEVICE void dealloc(TensorAddress address, u32 columns WW_SITE) {
  sm100_table->dealloc(kGroup, address.value, columns, site);
}
template <CtaGroup kGroup, CopyShape kShape, CopyUnpack kUnpack = CopyUnpack::none>
WW_DEVICE void copy(TensorAddress to, sm100::MatrixDescriptor from WW_SITE) {
  sm100_table->copy(kGroup, kShape, kUnpack, to.value, from.bits, site);
}
template <TensorShape kShape, int kRepetitions, bool kPacked = false, u32 kSplit = 0, int kCount>
WW_DEVICE void load(TensorRegisters<kCount>& registers, TensorAddress from WW_SITE) {
  static_assert(exists(kShape, kRepetitions) && kCount == kRepetitions * registers_of(kShape),
                "tcgen05.ld: expected a power of two of repetitions, and registers for all of them, at most 128");
  sm100_table->load(kShape, kRepetitions, kPacked, kSplit, from.value, registers.r, site);
}
template <TensorShape kShape, int kRepetitions, bool kPacked = false, u32 kSplit = 0, int kCount>
WW_DEVICE void store(TensorAddress to, const TensorRegisters<kCount>& registers WW_SITE) {
  static_assert(exists(kShape, kRepetitions) && kCount == kRepetitions * registers_of(kShape),
                "tcgen05.st: expected a power of two of repetitions, and registers for all of them, at most 128");
  sm100_table->store(kShape, kRepetitions, kPacked, kSplit, to.value, registers.r, site);
}
WW_DEVICE void wait_load(WW_SITE_ONLY) { sm100_table->wait_load(site); }
template <int kA> WW_DEVICE void wait_load(TensorRegisters<kA>& WW_SITE) { sm100_table->wait_load(site); }
template <int kA, int kB> WW_DEVICE void wait_load(TensorRegisters<kA>&, TensorRegisters<kB>& WW_SITE) {
  sm100_table->wait_load(site);
}
template <int kA, int kB, int kC>
WW_DEVICE void wait_load(TensorRegisters<kA>&, TensorRegisters<kB>&, TensorRegisters<kC>& WW_SITE) {
  sm100_table->wait_load(site);
}
template <int kA, int kB, int kC, int kD>
WW_DEVICE void wait_load(TensorRegisters<kA>&, TensorRegisters<kB>&, TensorRegisters<kC>&,
                         TensorRegisters<kD>& WW_SITE) {
  sm100_table->wait_load(site);
}
WW_DEVICE void wait_store(WW_SITE_ONLY) { sm100_table->wait_store(site); }

}  // namespace emu
#endif

}  // namespace tensor
}  // namespace ww::arch
