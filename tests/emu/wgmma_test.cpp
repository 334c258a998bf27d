// SPDX-License-Identifier: Apache-2.0
// wgmma: operands through every K-major descriptor, accumulators in flight, groups, divergence.
#include "harness.hpp"

#include <bit>

#include "emu/sm90/numerics/mma.hpp"

namespace ww::emu::test {
namespace {

constexpr u32 kOperandA = 0, kOperandB = 16384, kShared = 65536;

struct Params {
  const u8 *a, *b;  // images of shared memory
  const float* c;
  float* d;
  MmaTypes types = e4m3;
  int n;
  u64 descriptor_a, descriptor_b;  // without the base address
  bool accumulate;
  int scale_a;
  Major major_a = Major::k, major_b = Major::k;
};

void copy_in(const Params& p) {
  for (u32 i = thread_index(); i < 1024; i += 128)
    std::memcpy(&shared<u8[16]>(shared_base() + kOperandA + 16 * i), p.a + 16 * i, 16);
  for (u32 i = thread_index(); i < 3072; i += 128)
    std::memcpy(&shared<u8[16]>(shared_base() + kOperandB + 16 * i), p.b + 16 * i, 16);
  sync_cta();
}

u32 position(u32 thread, u32 v, int n) {
  const u32 row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (v / 2 % 2),
            column = 2 * (thread % 4) + v % 2 + 8 * (v / 4);
  return row * static_cast<u32>(n) + column;
}

arch::WgmmaCall call(const Params& p) {
  const u64 base = (shared_base() & 0x3FFFF) >> 4;
  return {{p.types.a, p.types.b, p.major_a, p.major_b, p.n, p.scale_a, 1},
          p.descriptor_a + base + (kOperandA >> 4),
          p.descriptor_b + base + (kOperandB >> 4),
          p.accumulate};
}

void one_tile(const Params& p) {
  copy_in(p);
  float acc[128];
  float* accumulators[] = {acc};
  const u32 registers = static_cast<u32>(p.n) / 2;
  for (u32 v = 0; v < registers; ++v) acc[v] = p.c[position(thread_index(), v, p.n)];
  wgmma(call(p), acc, here());
  sm90::instructions().commit(here());
  sm90::instructions().wait(0, accumulators, 1, here());
  for (u32 v = 0; v < registers; ++v) write_global(p.d + position(thread_index(), v, p.n), acc[v]);
}

struct Operands {
  std::vector<u8> a = std::vector<u8>(16384), b = std::vector<u8>(49152);
  std::vector<u8> rows_a, rows_b;  // (64, 32), (n, 32)
  std::vector<float> c, d, expected;
  Params params{};

  /// Places rows of 32 bytes, `k` bytes into their span, in the layout `mode` of a descriptor.
  Operands(MmaTypes type, int n, u32 mode, u32 k, bool accumulate, int scale_a)
      : rows_a(random_bytes<u8>(64 * 32, 1)),
        rows_b(random_bytes<u8>(static_cast<u32>(n) * 32, 2)),
        c(static_cast<u32>(64 * n)),
        d(c.size(), -7.0f) {
    for (u32 i = 0; i < c.size(); ++i) c[i] = static_cast<float>(static_cast<int>(i % 97) - 48) * 0.25f;
    expected = c;
    mma_m64(type, n, rows_a.data(), rows_b.data(), expected.data(), accumulate, scale_a, 1, MmaMath::exact);
    params = {a.data(), b.data(), c.data(), d.data(), type, n, 0, 0, accumulate, scale_a};
    params.descriptor_a = place(a, rows_a, 64, mode, k);
    params.descriptor_b = place(b, rows_b, static_cast<u32>(n), mode, k);
  }

  static u64 place(std::vector<u8>& image, const std::vector<u8>& rows, u32 count, u32 mode, u32 k) {
    const u32 bits = mode == 0 ? 0 : 4 - mode, span = 16u << bits;
    const u32 groups = count / 8, chunk_pitch = groups * 128;  // of the unswizzled layout
    for (u32 r = 0; r < count; ++r)
      for (u32 i = 0; i < 32; ++i) {
        u32 offset = mode == 0 ? r % 8 * 16 + r / 8 * 128 + i / 16 * chunk_pitch + i % 16 : r * span + k + i;
        offset ^= (offset & (((1u << bits) - 1) << 7)) >> 3;
        image[offset] = rows[r * 32 + i];
      }
    const u64 stride = mode == 0 ? 128 : 8 * span, leading = mode == 0 ? chunk_pitch : 16;
    return k >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | u64{mode} << 62;
  }

  std::vector<MemoryRange> memory() { return {range("d", d)}; }
};

TEST(EmuWgmma, OneTileIsExactForEveryTypeAndLayout) {
  for (MmaTypes type :
       {MmaTypes(e4m3), MmaTypes(e5m2), MmaTypes(e4m3, e5m2), MmaTypes(bf16), MmaTypes(f16), MmaTypes(tf32)})
    for (int n : {8, 24, 128, 256})
      for (u32 mode = 0; mode < 4; ++mode)
        for (u32 k : {0u, 32u, 96u}) {
          if ((mode == 0 || mode == 3) && k != 0) continue;
          if (mode == 2 && k > 32) continue;
          Operands o(type, n, mode, k, n != 24, n == 128 ? -1 : 1);
          const auto stats = launch<one_tile>(o.params, {.shared_bytes = kShared}, o.memory());
          ASSERT_TRUE(stats) << message(stats);
          ASSERT_EQ(0, std::memcmp(o.d.data(), o.expected.data(), o.d.size() * 4))
              << name_of(type.a) << " x " << name_of(type.b) << " n " << n << " mode " << mode << " k " << k;
        }
}

void look_early(const Params& p) {
  copy_in(p);
  float acc[4] = {1, 2, 3, 4};
  float* accumulators[] = {acc};
  wgmma(call(p), acc, here());
  write_global(p.d + thread_index(), acc[2]);
  sm90::instructions().commit(here());
  sm90::instructions().wait(0, accumulators, 1, here());
}

TEST(EmuWgmma, AccumulatorsInFlightAreNaN) {
  Operands o(e4m3, 8, 1, 0, false, 1);
  ASSERT_TRUE((launch<look_early>(o.params, {.shared_bytes = kShared}, o.memory())));
  for (u32 i = 0; i < 128; ++i) EXPECT_EQ(std::bit_cast<u32>(o.d[i]), 0x7FFFDEADu);
}

/// Two groups on two accumulators; the first is handed back while the second may still run.
void two_groups(const Params& p) {
  copy_in(p);
  float first[4] = {}, second[4] = {};
  float *name_first[] = {first}, *name_second[] = {second};
  wgmma(call(p), first, here());
  sm90::instructions().commit(here());
  for (int i = 0; i < 3; ++i) wgmma(call(p), second, here());
  sm90::instructions().commit(here());
  sm90::instructions().wait(1, name_first, 1, here());
  for (u32 v = 0; v < 4; ++v) write_global(p.d + position(thread_index(), v, 8), first[v]);
  sm90::instructions().wait(0, name_second, 1, here());
}

void name_too_early(const Params& p) {
  copy_in(p);
  float acc[4] = {};
  float* accumulators[] = {acc};
  wgmma(call(p), acc, here());
  sm90::instructions().commit(here());
  sm90::instructions().wait(1, accumulators, 1, here());
}

void not_committed(const Params& p) {
  copy_in(p);
  float acc[4] = {};
  float* accumulators[] = {acc};
  wgmma(call(p), acc, here());
  sm90::instructions().wait(0, accumulators, 1, here());
}

TEST(EmuWgmma, AWaitHandsBackWhatItsGroupsFinished) {
  int early = 0, uncommitted = 0;
  for (u64 seed = 0; seed < 10; ++seed) {
    Operands o(e4m3, 8, 1, 0, false, 1);
    EXPECT_RUNS((launch<two_groups>(o.params, {.shared_bytes = kShared}, o.memory(), {.seed = seed})));
    EXPECT_EQ(0, std::memcmp(o.d.data(), o.expected.data(), o.d.size() * 4)) << "replay with seed " << seed;
    for (const auto& result : {launch<name_too_early>(o.params, {.shared_bytes = kShared}, o.memory(), {.seed = seed})})
      early += message(result).find("still in flight") != std::string::npos;
    uncommitted += message(launch<not_committed>(o.params, {.shared_bytes = kShared}, o.memory(), {.seed = seed}))
                       .find("still in flight") != std::string::npos;
  }
  EXPECT_EQ(early, 10);
  EXPECT_EQ(uncommitted, 10);
}

struct RegisterParams {
  Params p;
  u32 a[64][8];  // rows of A
  int pending = 0;
  bool clears = false;  // its registers of A, as soon as the call has returned
};

/// The product of one_tile with A in registers.
void from_registers(const RegisterParams& r) {
  const Params& p = r.p;
  copy_in(p);
  float acc[128];
  float* accumulators[] = {acc};
  const u32 registers = static_cast<u32>(p.n) / 2, row = 16 * (thread_index() / 32) + thread_index() % 32 / 4;
  for (u32 v = 0; v < registers; ++v) acc[v] = p.c[position(thread_index(), v, p.n)];
  u32 a[4];
  for (u32 i = 0; i < 4; ++i) a[i] = r.a[row + 8 * (i % 2)][thread_index() % 4 + 4 * (i / 2)];
  arch::WgmmaCall registers_call = call(p);
  registers_call.descriptor_a = 0, registers_call.registers_a = a;
  wgmma(registers_call, acc, here());
  if (r.clears) std::fill(std::begin(a), std::end(a), 0u);
  sm90::instructions().commit(here());
  sm90::instructions().wait(r.pending, accumulators, r.pending == 0, here());
  sm90::instructions().hand_back(a, 4, here());
  for (u32 v = 0; v < registers; ++v) write_global(p.d + position(thread_index(), v, p.n), acc[v]);
}

RegisterParams register_params(const Operands& o) {
  RegisterParams r{o.params, {}};
  std::memcpy(r.a, o.rows_a.data(), sizeof r.a);
  return r;
}

TEST(EmuWgmma, AFromRegistersIsExactForEveryType) {
  for (MmaTypes type :
       {MmaTypes(e4m3), MmaTypes(e5m2), MmaTypes(e4m3, e5m2), MmaTypes(bf16), MmaTypes(f16), MmaTypes(tf32)})
    for (int n : {8, 24, 128, 256}) {
      Operands o(type, n, 1, 32, n != 24, n == 128 ? -1 : 1);
      const auto stats = launch<from_registers>(register_params(o), {.shared_bytes = kShared}, o.memory());
      ASSERT_TRUE(stats) << message(stats);
      ASSERT_EQ(0, std::memcmp(o.d.data(), o.expected.data(), o.d.size() * 4))
          << name_of(type.a) << " x " << name_of(type.b) << " n " << n;
    }
}

TEST(EmuWgmma, RegistersOfAAreReadWhenTheOperationIsCarriedOut) {
  Operands o(bf16, 8, 1, 0, true, 1);
  RegisterParams r = register_params(o);
  r.clears = true;
  ASSERT_TRUE((launch<from_registers>(r, {.shared_bytes = kShared}, o.memory())));
  const std::vector<u8> zeros(64 * 32);
  std::vector<float> expected = o.c;
  mma_m64(bf16, 8, zeros.data(), o.rows_b.data(), expected.data(), true, 1, 1, MmaMath::exact);
  EXPECT_EQ(0, std::memcmp(o.d.data(), expected.data(), o.d.size() * 4)) << "a product of zeros";
}

TEST(EmuWgmma, AWaitHandsBackRegistersOfAOnlyWhenTheyAreRead) {
  for (u64 seed = 0; seed < 10; ++seed) {
    Operands o(bf16, 8, 1, 0, true, 1);
    RegisterParams r = register_params(o);
    r.pending = 1;
    const auto result = launch<from_registers>(r, {.shared_bytes = kShared}, o.memory(), {.seed = seed});
    EXPECT_NE(message(result).find("registers of A that are still in flight"), std::string::npos) << seed;
  }
}

struct BadParams {
  Params p;
  u32 which;
};

void bad_wgmma(const BadParams& b) {
  copy_in(b.p);
  float acc[128] = {};
  float* accumulators[] = {acc};
  arch::WgmmaCall bad = call(b.p);
  if (b.which == 0 && thread_index() == 77) bad.descriptor_b += 2;
  if (b.which == 1) bad.n = 12;
  if (b.which == 2) bad.descriptor_a = u64{0x3FFF} | u64{64} << 32 | u64{1} << 62;
  if (b.which == 3) bad.descriptor_a |= u64{1} << 49;
  if (b.which == 4) bad.type_a = bad.type_b = f32;
  if (b.which == 7) bad.type_b = bf16;
  if (b.which == 8) bad.major_b = Major::mn;  // of a type of one byte
  const u32 registers_a[4] = {};
  if (b.which == 9 && thread_index() == 5) bad.registers_a = registers_a;
  wgmma(bad, acc, here());
  if (b.which != 5 || thread_index() != 3) sm90::instructions().commit(here());
  if (b.which == 5) wgmma(bad, acc, here());
  if (b.which == 6 && thread_index() == 9) return;
  if (b.which == 6) wgmma(bad, acc, here());
  if (b.which == 6) sm90::instructions().commit(here());
  sm90::instructions().wait(0, accumulators, 1, here());
}

TEST(EmuWgmma, WrongAndDivergentCallsAreReported) {
  Operands o(e4m3, 8, 1, 0, false, 1);
  const char* parts[] = {"diverges",
                         "n is 12",
                         "outside shared memory",
                         "base offset",
                         "not supported",
                         "diverges",
                         "wgmma wait: 2 operations needed, 1 done",
                         "not supported",
                         "mn-major, are not supported",
                         "diverges"};
  for (u32 which = 0; which < std::size(parts); ++which)
    EXPECT_REPORTS((launch<bad_wgmma>(BadParams{o.params, which}, {.shared_bytes = kShared}, o.memory())),
                   parts[which]);
}

}  // namespace
}  // namespace ww::emu::test
