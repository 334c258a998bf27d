// SPDX-License-Identifier: Apache-2.0
// tcgen05.mma, cp and commit on emu:sm100. Random instructions of every kind run on random memory; afterwards all of
// tensor memory must be what a scalar model of the instruction leaves, in both CTAs of a pair.
#include "sm100_harness.hpp"
#include "umma_reference.hpp"

namespace ww::emu::test {
namespace {

using arch::sm100::MmaInstruction;

constexpr u32 kLanes = 128, kBarrier = 16, kData = 1024, kA = kData, kB = kData + 48 * 1024;
constexpr u32 kSharedBytes = kData + 96 * 1024;
using Cells = std::vector<u32>;  // (128 lanes, 512 columns)

/// Where the bytes of an operand are, written down from the canonical layouts: offsets from the start address.
struct Layout {
  Major major = Major::k;
  u32 swizzle_bits = 0, leading = 0, stride = 0, start = 0;
  u32 span() const { return 16u << swizzle_bits; }
  u64 descriptor(u32 base) const {
    constexpr arch::sm100::MatrixSwizzle kModes[] = {arch::sm100::MatrixSwizzle::none, arch::sm100::MatrixSwizzle::b32,
                                                     arch::sm100::MatrixSwizzle::b64, arch::sm100::MatrixSwizzle::b128};
    return arch::sm100::make_descriptor({base + start}, kModes[swizzle_bits], leading, stride).bits;
  }
  /// The offset of byte `byte` of row `row`; of MN-major operands byte / width is k.
  u32 offset(u32 base, u32 row, u32 byte, u32 width) const {
    u32 at = 0;
    if (major == Major::k)
      at = row % 8 * span() + row / 8 * stride + (swizzle_bits == 0 ? byte / 16 * leading + byte % 16 : byte);
    else {
      const u32 k = byte / width, across = row * width, rest = byte % width;
      at = swizzle_bits == 0 ? k % 8 * 16 + k / 8 * leading + across / 16 * stride + across % 16 + rest
                             : k % 8 * span() + k / 8 * stride + across / span() * leading + across % span() + rest;
    }
    const u32 address = base + start + at;
    return address ^ (address >> 3 & ((1u << swizzle_bits) - 1) << 4);
  }
};

Layout random_layout(std::mt19937_64& random, Major major, u32 rows, u32 width) {
  Layout l{major, static_cast<u32>(random() % 4)};
  if (major == Major::k) {
    l.stride = 8 * l.span();
    l.leading = l.swizzle_bits == 0 ? rows * 16 : 16;
    l.start = l.swizzle_bits == 0 ? 0 : static_cast<u32>(random() % (l.span() / 32)) * 32;
  } else if (l.swizzle_bits == 0) {
    l.leading = 128, l.stride = 32 / width * 16;
  } else {
    l.stride = 8 * l.span(), l.leading = 32 / width / 8 * l.stride;
  }
  return l;
}

struct Case {
  arch::UmmaCall call{};
  MmaInstruction i;
  Layout a, b;
  u32 disabled[8] = {};
  u32 cp_address = 0;
  std::vector<u8> shared[2];  // of each CTA, from its first byte on
  Cells before[2], after[2];
  u32 base = 0;  // as the kernel found it
  int count = 1, ctas() const { return arch::ctas_of(call.group); }
};

/// Stores tensor memory, issues the MMA `count` times in CTA 0, and loads what is there then.
void multiplies(Case* const& pointer) {
  Case& p = *pointer;
  const CtaGroup group = p.call.group;
  const u32 rank = cluster_rank(), barrier = shared_base() + kBarrier;
  for (u32 at = kData + 16 * thread_index(); at < p.shared[rank].size(); at += 128 * 16)
    std::memcpy(t().shared_access(shared_base() + at, 16, arch::Access::write, arch::kWeak, here()),
                &p.shared[rank][at], 16);
  t().fence(arch::Fence::proxy_async_shared, here());
  if (thread_index() == 0) {
    t().mbarrier_init(barrier, 1, here());
    t().fence(arch::Fence::mbarrier_init, here());
  }
  sync_cluster();
  const u32 base = allocate(group, kAllColumns), own = own_lanes(base), first = thread_index() * kAllColumns;
  for (u32 column = 0; column < kAllColumns; column += 128)
    store_columns(own + column, 128, &p.before[rank][first + column]);
  u().wait_store(here());
  u().fence(true, here());
  sync_cluster();
  u().fence(false, here());
  if (rank == 0 && thread_index() == 0) {
    for (int i = 0; i < p.count; ++i) {
      u().mma(p.call, here());
      p.call.accumulate = true;
    }
    u().commit(group, barrier, group == CtaGroup::pair ? 3 : 0, here());
  }
  t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  u().fence(false, here());
  for (u32 column = 0; column < kAllColumns; column += 128)
    load_columns(own + column, 128, &p.after[rank][first + column]);
  u().wait_load(here());
  u().fence(true, here());
  sync_cluster();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(group, base, kAllColumns, here());
}

/// Bytes whose values are finite and of like size, so that sums are not NaN.
u32 moderate(std::mt19937_64& random, MmaFormat format) {
  const u32 r = static_cast<u32>(random());
  switch (format) {
    case MmaFormat::f16: return (r & 0x83FF) | (12 + r / 65536 % 6) << 10;
    case MmaFormat::bf16: return (r & 0x807F) | (124 + r / 65536 % 6) << 7;
    case MmaFormat::tf32: return (r & 0x807FFFFF) | (124 + static_cast<u32>(random()) % 6) << 23;
    case MmaFormat::e4m3: return (r & 0x87) | (4 + r / 256 % 6) << 3;
    case MmaFormat::e5m2: return (r & 0x83) | (12 + r / 256 % 6) << 2;
    default: return r & 0xFF;
  }
}

void fill_operand(std::mt19937_64& random, MmaFormat format, std::vector<u8>& shared, u32 from, u32 to) {
  const u32 width = static_cast<u32>(max(8, arch::bits_of(format))) / 8;
  for (u32 at = from; at < to; at += width) {
    const u32 value = moderate(random, format);
    std::memcpy(&shared[at], &value, width);
  }
}

Case random_case(std::mt19937_64& random) {
  Case p;
  const auto kind = static_cast<MmaKind>(random() % 6);
  const bool pair = random() % 2, scaled = is_block_scaled(kind),
             mixed = kind == MmaKind::f8f6f4 || kind == MmaKind::mxf8f6f4;
  const auto pick = [&] {
    if (kind == MmaKind::tf32) return MmaFormat::tf32;
    if (kind == MmaKind::f16) return random() % 2 ? MmaFormat::f16 : MmaFormat::bf16;
    return mixed ? static_cast<MmaFormat>(3 + random() % 5) : MmaFormat::e2m1;
  };
  MmaInstruction& i = p.i;
  i.kind = kind;
  i.a = pick(), i.b = kind == MmaKind::f16 ? i.a : pick();
  const bool half = !scaled && kind != MmaKind::tf32 && i.a != MmaFormat::bf16 && random() % 4 == 0;
  i.d = half ? arch::MmaResult::f16 : arch::MmaResult::f32;
  i.m = pair ? (random() % 2 ? 256 : 128) : (random() % 2 || scaled ? 128 : 64);
  const int step = 32;
  i.n = step * (1 + static_cast<int>(random() % 4));
  arch::UmmaCall& call = p.call;
  call.kind = kind, call.group = pair ? CtaGroup::pair : CtaGroup::one;
  call.a_in_tensor_memory = random() % 3 == 0;
  const bool wide =
      kind == MmaKind::f16 || (kind == MmaKind::f8f6f4 && arch::bits_of(i.a) == 8 && arch::bits_of(i.b) == 8);
  if (wide && !call.a_in_tensor_memory && random() % 3 == 0) i.major_a = Major::mn;
  if (wide && random() % 3 == 0) i.major_b = Major::mn;
  i.negate_a = random() % 5 == 0, i.negate_b = random() % 5 == 0;
  if (scaled) {
    call.scale_vector = kind == MmaKind::mxf8f6f4 ? 1 : kind == MmaKind::mxf4 || random() % 2 ? 2 : 4;
    i.scale = call.scale_vector == 4 && random() % 2 ? arch::ScaleFormat::ue4m3 : arch::ScaleFormat::ue8m0;
    i.scale_id_a = static_cast<u32>(random() % 4) / call.scale_vector * call.scale_vector;
    i.scale_id_b = static_cast<u32>(random() % 4) / call.scale_vector * call.scale_vector;
  } else {
    if ((kind == MmaKind::f16 || kind == MmaKind::tf32) && random() % 3 == 0)
      call.scale_input_d = static_cast<u8>(random() % 16);
    if (random() % 3 == 0) {
      for (u32& word : p.disabled) word = static_cast<u32>(random());
      call.disabled_lanes = p.disabled;
    }
  }
  call.accumulate = random() % 2;
  p.count = call.scale_input_d == 0 && i.d == arch::MmaResult::f32 ? 1 + static_cast<int>(random() % 3) : 1;
  const u32 width = static_cast<u32>(max(8, arch::bits_of(i.a))) / 8;
  p.a = random_layout(random, i.major_a, static_cast<u32>(i.m / p.ctas()), width);
  p.b = random_layout(random, i.major_b, static_cast<u32>(i.n / p.ctas()), width);
  for (int c = 0; c < p.ctas(); ++c) {
    p.shared[c].assign(kSharedBytes, 0);
    fill_operand(random, i.a, p.shared[c], kA, kB);
    fill_operand(random, i.b, p.shared[c], kB, kSharedBytes);
    p.before[c].resize(kLanes * kAllColumns), p.after[c].resize(kLanes * kAllColumns);
  }
  return p;
}

// Columns of tensor memory that the cases use, relative to the base: D from 0 on, then A and the scales.
constexpr u32 kColumnOfA = 300, kColumnOfScales[2] = {320, 340};

/// The columns of D, half-precision or not, hold moderate numbers; A and the scales what they should.
void fill_tensor_memory(std::mt19937_64& random, Case& p) {
  const u32 per_cell = 32 / static_cast<u32>(p.i.kind >= MmaKind::mxf4 ? 4 : max(8, arch::bits_of(p.i.a)));
  for (int c = 0; c < p.ctas(); ++c)
    for (u32 lane = 0; lane < kLanes; ++lane)
      for (u32 column = 0; column < kAllColumns; ++column) {
        u32& cell = p.before[c][lane * kAllColumns + column];
        cell = moderate(random, p.i.d == arch::MmaResult::f16 ? MmaFormat::f16 : MmaFormat::tf32);
        if (column >= kColumnOfA && column < kColumnOfA + 8) {
          cell = 0;
          const u32 bits = 32 / per_cell;
          for (u32 e = 0; e < per_cell; ++e) cell |= (moderate(random, p.i.a) & (~0u >> (32 - bits))) << e * bits;
        }
        if (column < kColumnOfScales[0] || column >= 380) continue;
        // Equal in all quarters, as tcgen05.cp leaves them.
        if (lane >= 32) cell = p.before[c][lane % 32 * kAllColumns + column];
        else
          for (int byte = 0; byte < 4; ++byte)
            reinterpret_cast<u8*>(&cell)[byte] =
                static_cast<u8>(p.i.scale == arch::ScaleFormat::ue4m3 ? random() % 0x70 : 122 + random() % 10);
      }
}

/// The lane and column of D(row, column) of one CTA, from the table of the PTX ISA.
std::pair<u32, u32> place_of_d(const MmaInstruction& i, bool pair, u32 row, u32 column) {
  const u32 n = static_cast<u32>(i.n);
  if (!pair && i.m == 64) return {row % 16 + 32 * (row / 16), column};
  if (pair && i.m == 128) return {row + 64 * (column / (n / 2)), column % (n / 2)};
  return {row, column};
}

/// Row `row` of an operand as the reference reads it: 32 bytes, elements of 4 and 6 bits in containers one byte each.
std::vector<u8> row_of(const Case& p, const Layout& layout, MmaFormat format, int cta, u32 base, u32 row) {
  const bool mixed = p.i.kind == MmaKind::f8f6f4 || p.i.kind == MmaKind::mxf8f6f4;
  const u32 bits = static_cast<u32>(arch::bits_of(format)), width = max(8u, bits) / 8;
  std::vector<u8> bytes(32), elements(32);
  const u32 system = 1024;  // of shared memory, before the first byte that belongs to the kernel
  for (u32 byte = 0; byte < 32; ++byte)
    bytes[byte] = p.shared[cta][layout.offset(base + system, row, byte, width) - system];
  if (!mixed || bits == 8) return bytes;
  for (u32 e = 0; e < 32; ++e)
    for (u32 bit = 0; bit < bits; ++bit) {
      const u32 at = e % 16 * bits + bit;
      elements[e] |= static_cast<u8>((bytes[e / 16 * 16 + at / 8] >> at % 8 & 1) << bit);
    }
  return elements;
}

/// The same of A in tensor memory. 4 bits are in the middle of a byte.
std::vector<u8> row_in_tensor_memory(const Case& p, int cta, u32 lane) {
  std::vector<u8> bytes(32);
  for (u32 column = 0; column < 8; ++column)
    std::memcpy(&bytes[4 * column], &p.before[cta][lane * kAllColumns + (p.base + kColumnOfA + column) % kAllColumns],
                4);
  const bool mixed = p.i.kind == MmaKind::f8f6f4 || p.i.kind == MmaKind::mxf8f6f4;
  const int bits = arch::bits_of(p.i.a);
  for (u8& byte : bytes)
    if (mixed && bits < 8) byte = bits == 4 ? byte / 4 % 16 : byte % 64;
  return bytes;
}

/// What tensor memory of one CTA is afterwards.
Cells expected_of(const Case& p, int cta, bool accumulate) {
  Cells cells = p.before[cta];
  const bool pair = p.ctas() == 2;
  const u32 rows = static_cast<u32>(p.i.m / p.ctas()), b_rows = static_cast<u32>(p.i.n / p.ctas());
  const reference::Umma how{p.i.kind,
                            p.i.a,
                            p.i.b,
                            p.i.d == arch::MmaResult::f16,
                            p.i.negate_a,
                            p.i.negate_b,
                            p.call.scale_input_d,
                            p.call.scale_vector,
                            p.i.scale == arch::ScaleFormat::ue4m3};
  std::vector<std::vector<u8>> b;
  for (u32 n = 0; n < static_cast<u32>(p.i.n); ++n)
    b.push_back(row_of(p, p.b, p.i.b, static_cast<int>(n / b_rows), kB - kData + kData, n % b_rows));
  const auto scale = [&](int operand, u32 row, u32 columns, u32 id, u32 s) {
    static_cast<void>(columns);
    const u32 column = kColumnOfScales[operand] + row / 32;
    return reinterpret_cast<const u8*>(&p.before[cta][row % 32 * kAllColumns + column])[id + s];
  };
  for (u32 m = 0; m < rows; ++m) {
    const std::vector<u8> from_shared =
        p.call.a_in_tensor_memory ? std::vector<u8>{} : row_of(p, p.a, p.i.a, cta, kA, m);
    for (u32 n = 0; n < static_cast<u32>(p.i.n); ++n) {
      const auto [lane, column] = place_of_d(p.i, pair, m, n);
      if (p.call.disabled_lanes && (p.disabled[4 * cta + lane / 32] >> lane % 32 & 1)) continue;
      const std::vector<u8> a = p.call.a_in_tensor_memory ? row_in_tensor_memory(p, cta, lane) : from_shared;
      u8 sa[4] = {}, sb[4] = {};
      // B's halves of N begin again at row 0 of the scales on the 2x2 datapath, on their own lanes.
      const u32 scale_row = pair && p.i.m == 128 ? n % b_rows : n;
      for (u32 s = 0; s < p.call.scale_vector; ++s) {
        sa[s] = scale(0, m, rows, p.i.scale_id_a, s);
        sb[s] = scale(1, scale_row, b_rows, p.i.scale_id_b, s);
      }
      u32& cell = cells[lane * kAllColumns + column];
      for (int step = 0; step < p.count; ++step)
        cell = reference::umma_output(how, a.data(), b[n].data(), sa, sb, accumulate || step > 0, cell);
    }
  }
  return cells;
}

TEST(Umma, RandomInstructionsLeaveWhatTheScalarModelLeaves) {
  std::mt19937_64 random(2026);
  for (int round = 0; round < 40; ++round) {
    Case p = random_case(random);
    fill_tensor_memory(random, p);
    p.call.instruction = arch::sm100::encode(p.i).bits;
    p.call.d = 0;
    p.call.a = p.call.a_in_tensor_memory ? kColumnOfA : p.a.descriptor(kA + 1024);
    p.call.b = p.b.descriptor(kB + 1024);
    p.call.scale_a = kColumnOfScales[0], p.call.scale_b = kColumnOfScales[1];
    const bool accumulate = p.call.accumulate;
    Case* const pointer = &p;
    const Shape shape{
        .grid = static_cast<u32>(p.ctas()), .cluster = static_cast<u32>(p.ctas()), .shared_bytes = kSharedBytes};
    const Result<EmuStats> stats = launch_sm100<multiplies>(pointer, shape, {.seed = random()});
    ASSERT_TRUE(stats) << message(stats) << "\nround " << round;
    EXPECT_EQ(stats->ummas, static_cast<u64>(p.count));
    const u64 rows = static_cast<u64>((p.call.a_in_tensor_memory ? 0 : p.i.m) + p.i.n) / static_cast<u64>(p.ctas());
    for (const u64 bytes : stats->umma_shared_bytes) EXPECT_EQ(bytes, rows * 32 * static_cast<u64>(p.count));
    for (int c = 0; c < p.ctas(); ++c) {
      const Cells expected = expected_of(p, c, accumulate);
      u32 wrong = 0;
      for (u32 cell = 0; cell < kLanes * kAllColumns; ++cell) {
        if (p.after[c][cell] == expected[cell]) continue;
        if (++wrong <= 3)
          ADD_FAILURE() << "round " << round << ", kind " << static_cast<int>(p.i.kind) << ", group " << p.ctas()
                        << ", " << p.i.m << " x " << p.i.n << ", A of " << static_cast<int>(p.i.a) << ", CTA " << c
                        << ", lane " << cell / kAllColumns << ", column " << cell % kAllColumns << ": "
                        << p.after[c][cell] << ", expected " << expected[cell];
      }
    }
  }
}

// --- copies -------------------------------------------------------------------------------------------------------

struct Copies {
  arch::CopyShape shape;
  arch::CopyUnpack unpack;
  const u8* from;  // 8 KiB of shared memory
  u32* cells;      // (128 lanes, 512 columns) afterwards
};

constexpr u32 kColumnOfCopy = 40;

void copies(const Copies& p) {
  const u32 barrier = shared_base() + kBarrier;
  for (u32 at = 16 * thread_index(); at < 8192; at += 128 * 16)
    std::memcpy(t().shared_access(shared_base() + kData + at, 16, arch::Access::write, arch::kWeak, here()),
                p.from + at, 16);
  t().fence(arch::Fence::proxy_async_shared, here());
  if (thread_index() == 0) {
    t().mbarrier_init(barrier, 1, here());
    t().fence(arch::Fence::mbarrier_init, here());
  }
  const u32 base = allocate(CtaGroup::one, kAllColumns), own = own_lanes(base);
  u32* const cells = p.cells + thread_index() * kAllColumns;
  for (u32 column = 0; column < kAllColumns; column += 128) store_columns(own + column, 128, cells);  // zeros
  u().wait_store(here());
  u().fence(true, here());
  sync_cta();
  u().fence(false, here());
  if (thread_index() == 64) {
    const u64 descriptor =
        arch::sm100::make_descriptor({shared_base() + kData}, arch::sm100::MatrixSwizzle::none, 4096, 128).bits;
    u().copy(CtaGroup::one, p.shape, p.unpack, base + kColumnOfCopy, descriptor, here());
    u().commit(CtaGroup::one, barrier, 0, here());
  }
  t().mbarrier_wait(barrier, 0, arch::kAcquireCta, here());
  u().fence(false, here());
  for (u32 column = 0; column < kAllColumns; column += 128) load_columns(own + column, 128, cells + column);
  u().wait_load(here());
  u().fence(true, here());
  sync_cta();
  u().fence(false, here());
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, kAllColumns, here());
}

/// The lanes that a row of shared memory goes to, from the PTX ISA.
std::vector<u32> lanes_of_row(arch::CopyShape shape, u32 row) {
  switch (shape) {
    case arch::CopyShape::rows4_bits256: return {32 * row};
    case arch::CopyShape::rows32_bits128_all: return {row, row + 32, row + 64, row + 96};
    case arch::CopyShape::rows64_bits128_02_13: return {row, row + 64};
    case arch::CopyShape::rows64_bits128_01_23:
      return row < 32 ? std::vector<u32>{row, row + 32} : std::vector<u32>{row + 32, row + 64};
    default: return {row};
  }
}

TEST(Umma, CopiesReachTheirLanes) {
  const u32 rows[] = {128, 4, 128, 64, 64, 32}, bytes[] = {32, 32, 16, 16, 16, 16};
  for (u32 which = 0; which < 18; ++which) {
    const auto shape = static_cast<arch::CopyShape>(which % 6);
    const auto unpack = static_cast<arch::CopyUnpack>(which / 6);
    const std::vector<u8> from = random_bytes<u8>(8192, which);
    Cells cells(kLanes * kAllColumns), expected(kLanes * kAllColumns);
    const Copies p{shape, unpack, from.data(), cells.data()};
    const Result<EmuStats> stats = launch_sm100<copies>(p, {.shared_bytes = kData + 8192}, {.seed = which});
    ASSERT_TRUE(stats) << message(stats);
    EXPECT_EQ(stats->umma_copies, 1u);
    const u32 bits = unpack == arch::CopyUnpack::from4_padded64 ? 4 : unpack == arch::CopyUnpack::none ? 8 : 6;
    for (u32 row = 0; row < rows[which % 6]; ++row)
      for (const u32 lane : lanes_of_row(shape, row))
        for (u32 byte = 0; byte < bytes[which % 6]; ++byte) {
          const u8* chunk = &from[row % 8 * 16 + row / 8 * 128 + byte / 16 * 4096];
          u32 value = 0;
          for (u32 bit = 0; bit < bits; ++bit) {
            const u32 at = byte % 16 * bits + bit;
            value |= (chunk[at / 8] >> at % 8 & 1u) << bit;
          }
          if (bits == 4) value <<= 2;
          expected[lane * kAllColumns + kColumnOfCopy + byte / 4] |= value << byte % 4 * 8;
        }
    EXPECT_EQ(cells, expected) << "shape " << which % 6 << ", unpack " << which / 6;
  }
}

// --- refusals -----------------------------------------------------------------------------------------------------

struct Refused {
  void (*spoil)(arch::UmmaCall&);
  u32 columns = 128;
};

void refuses(const Refused& p) {
  const u32 base = allocate(CtaGroup::one, p.columns);
  if (thread_index() == 0) {
    const MmaInstruction i{.n = 64};
    const u64 operand = Layout{.leading = 2048, .stride = 128}.descriptor(2048);
    arch::UmmaCall call{.kind = MmaKind::f16,
                        .group = CtaGroup::one,
                        .instruction = arch::sm100::encode(i).bits,
                        .d = base,
                        .a = operand,
                        .b = operand};
    p.spoil(call);
    u().mma(call, here());
  }
  sync_cta();
  if (warp_index() == 0) u().dealloc(CtaGroup::one, base, p.columns, here());
}

TEST(Umma, WhatNoInstructionMaySayIsReported) {
  const auto report = [](void (*spoil)(arch::UmmaCall&)) {
    return launch_sm100<refuses>(Refused{spoil}, {.shared_bytes = 16384}, {.schedule = EmuSchedule::fifo});
  };
  using Call = arch::UmmaCall;
  EXPECT_REPORTS(report([](Call& c) { c.instruction |= 4; }), "sparse MMAs (.sp) are not supported");
  EXPECT_REPORTS(report([](Call& c) { c.scale_input_d = 16; }), "scale-input-d 16: expected 0 to 15");
  EXPECT_REPORTS(report([](Call& c) { c.d += 96; }), "is in no allocation of the CTA");
  EXPECT_REPORTS(report([](Call& c) { c.d += 16 << 16; }), "begins at lane 16; expected lane 0");
  EXPECT_REPORTS(report([](Call& c) { c.d += 500; }), "reach past the 512 of tensor memory");
  EXPECT_REPORTS(report([](Call& c) { c.a &= ~(u64{7} << 46); }), "operand A");
  EXPECT_REPORTS(report([](Call& c) { c.b |= u64{3} << 61; }), "operand B");
  EXPECT_REPORTS(report([](Call& c) { c.b = (c.b & ~u64{0x3FFF}) | 0x3FF0; }), "outside shared memory");
  EXPECT_REPORTS(report([](Call& c) { c.a_in_tensor_memory = true, c.a = 124; }), "tcgen05.mma: A in CTA 0");
  EXPECT_REPORTS(report([](Call& c) { c.group = CtaGroup::pair; }), "a kernel uses one of them");
  int in_flight = 0;  // at the exit, under some schedules
  for (u64 seed = 0; seed < 60; ++seed) {
    const auto done = launch_sm100<refuses>(Refused{[](Call&) {}}, {.shared_bytes = 16384}, {.seed = seed});
    in_flight += message(done).find("the CTA exits while its tcgen05 operations are in flight") != std::string::npos;
  }
  EXPECT_GT(in_flight, 0);
}

}  // namespace
}  // namespace ww::emu::test
