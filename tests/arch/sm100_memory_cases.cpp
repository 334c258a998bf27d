// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/sm100_memory.hpp and kernels/sm100_cluster.hpp: where each shape of tcgen05.ld, st and cp finds
// lanes and columns, written out from the tables of the PTX ISA; boxes that CTA pairs load; work that clusters take
// over.
#include <cstring>

#include "case.hpp"
#include "warpwright/arch/sm100/formats.hpp"

namespace ww::arch_test {
namespace {

using arch::CopyShape;
using arch::CopyUnpack;
using arch::TensorShape;

constexpr u32 kLanes = 128, kColumns = 512;

u32 background(u32 lane, u32 column) { return 0x55000000u | lane << 12 | column; }

struct Access {
  const char* name;
  TensorShape shape;
  u32 registers;  // of one repetition
  bool packed = false;
  u32 split = 0;
};
const Access kAccesses[] = {
    {"32x32b", TensorShape::lanes32_bits32, 1},
    {"16x64b", TensorShape::lanes16_bits64, 1},
    {"16x128b", TensorShape::lanes16_bits128, 2},
    {"16x256b", TensorShape::lanes16_bits256, 4},
    {"16x32bx2", TensorShape::lanes16_bits32_split, 1, false, 130},
    {"32x32b_packed", TensorShape::lanes32_bits32, 1, true},
    {"16x256b_packed", TensorShape::lanes16_bits256, 4, true},
};

/// Returns where register v of lane t of a warp is, relative to the instruction's address; of two packed columns the
/// first.
std::pair<u32, u32> place(const Access& a, u32 t, u32 v) {
  const u32 wide = a.packed ? 2 : 1;
  switch (a.shape) {
    case TensorShape::lanes32_bits32: return {t, wide * v};
    case TensorShape::lanes16_bits64: return {t / 4 + (t % 2) * 8, t / 2 % 2 + v * 2};
    case TensorShape::lanes16_bits128: return {t / 4 + (v % 2) * 8, t % 4 + v / 2 * 4};
    case TensorShape::lanes16_bits256: return {t / 4 + (v / 2 % 2) * 8, wide * (t % 4 * 2 + v % 2 + v / 4 * 8)};
    case TensorShape::lanes16_bits32_split: return {t % 16, v + (t / 16) * a.split};
  }
  return {};
}

Case access_case(const char* what, const Access& a, u32 lane, u32 column) {
  Case c{std::string("sm100_") + what + "_" + a.name + "_lane_" + std::to_string(lane), "sm100_memory",
         std::string("arch_sm100_") + what + "_" + a.name};
  c.shared_bytes = 1024;
  c.arg[0] = static_cast<i32>(lane), c.arg[1] = static_cast<i32>(column);
  return c;
}

Case load(const Access& a, u32 lane, u32 column) {
  Case c = access_case("load", a, lane, column);
  for (u32 count = a.registers; count <= 128; count *= 2)
    for (u32 thread = 0; thread < kLanes; ++thread)
      for (u32 v = 0; v < count; ++v) {
        const auto [down, along] = place(a, thread % 32, v);
        const u32 row = thread / 32 * 32 + lane + down, first = background(row, column + along);
        c.expected.push_back(a.packed ? (first & 0xffff) | background(row, column + along + 1) << 16 : first);
      }
  return c;
}

Case store(const Access& a, u32 lane, u32 column) {
  Case c = access_case("store", a, lane, column);
  for (u32 count = a.registers; count <= 128; count *= 2) {
    std::vector<u32> cells(kLanes * kColumns);
    for (u32 cell = 0; cell < cells.size(); ++cell) cells[cell] = background(cell / kColumns, cell % kColumns);
    for (u32 thread = 0; thread < kLanes; ++thread)
      for (u32 v = 0; v < count; ++v) {
        const auto [down, along] = place(a, thread % 32, v);
        u32* const cell = &cells[(thread / 32 * 32 + lane + down) * kColumns + column + along];
        const u32 value = 1000 * thread + v;
        cell[0] = a.packed ? value & 0xffff : value;
        if (a.packed) cell[1] = value >> 16;
      }
    c.expected.insert(c.expected.end(), cells.begin(), cells.end());
  }
  return c;
}

Case alloc() {
  Case c{"sm100_alloc", "sm100_memory", "arch_sm100_alloc"};
  c.shared_bytes = 1024;
  c.expected = {1};
  for (const u32 range : {0u, 2u, 3u})
    for (u32 thread = 0; thread < 128; ++thread) c.expected.push_back(100 * range + thread);
  return c;
}

// --- copies ----------------------------------------------------------------------------------------

struct Copy {
  const char* name;
  u32 rows, chunks;  // of 16 bytes in each row
};
const Copy kCopies[] = {{"128x256b", 128, 2},     {"4x256b", 4, 2},         {"128x128b", 128, 1},
                        {"64x128b_02_13", 64, 1}, {"64x128b_01_23", 64, 1}, {"32x128b", 32, 1}};

std::vector<u32> lanes_of(const Copy& copy, u32 row) {
  const std::string name = copy.name;
  if (name == "4x256b") return {32 * row};
  if (name == "32x128b") return {row, row + 32, row + 64, row + 96};
  if (name == "64x128b_02_13") return {row, row + 64};
  if (name == "64x128b_01_23") return {row % 32 + row / 32 * 64, row % 32 + row / 32 * 64 + 32};
  return {row};
}

/// Returns byte e of what a chunk of shared memory becomes.
u8 widened(const u8* chunk, u32 e, int bits) {
  if (bits == 8) return chunk[e];
  u32 value = 0;
  for (u32 bit = 0; bit < static_cast<u32>(bits); ++bit) {
    const u32 at = e * static_cast<u32>(bits) + bit;
    value |= static_cast<u32>(chunk[at / 8] >> at % 8 & 1) << bit;
  }
  return static_cast<u8>(bits == 4 ? value << 2 : value);
}

/// `swizzled`: rows of 32 bytes that are swizzled, instead of chunks in matrices of 8 rows x 16 bytes.
Case copy_case(const Copy& copy, int bits, bool swizzled) {
  const std::string suffix = bits == 8 ? "" : "_" + std::to_string(bits);
  Case c{std::string("sm100_copy_") + copy.name + suffix + (swizzled ? "_swizzled" : ""), "sm100_memory",
         std::string("arch_sm100_copy_") + copy.name + suffix};
  const u32 groups = copy.rows < 8 ? 1 : copy.rows / 8, column = 5;
  const u32 leading = 128 * groups + 256, stride = swizzled ? 256 : 128,
            bytes = swizzled ? 256 * groups : leading * copy.chunks;
  c.arg = {swizzled ? 6 : 0, static_cast<i32>(leading), static_cast<i32>(stride), static_cast<i32>(column),
           static_cast<i32>(bytes)};
  c.shared_bytes = 1024 + bytes;
  c.in = random_words(bytes / 4, 60);
  const u8* const image = reinterpret_cast<const u8*>(c.in.data());
  c.expected.resize(kLanes * 32);
  for (u32 cell = 0; cell < c.expected.size(); ++cell) c.expected[cell] = background(cell / 32, cell % 32);
  for (u32 row = 0; row < copy.rows; ++row)
    for (u32 chunk = 0; chunk < copy.chunks; ++chunk) {
      const u32 at =
          swizzled ? row * 32 + (chunk ^ row / 4 % 2) * 16 : row / 8 * stride + row % 8 * 16 + chunk * leading;
      for (const u32 lane : lanes_of(copy, row))
        for (u32 e = 0; e < 16; ++e) {
          u8* const cell = reinterpret_cast<u8*>(&c.expected[lane * 32 + column + chunk * 4]);
          cell[e] = widened(image + at, e, bits);
        }
    }
  return c;
}

// --- loads of pairs --------------------------------------------------------------------------------

struct PairLoad {
  std::string name;
  int rank;
  std::array<u32, 3> extent, box;
  std::array<i32, 3> at;
  i32 step;
  std::vector<i32> masks;  // of each CTA of the cluster; 0 loads for itself
};

/// Each row of the boxes has 64 bf16 or fewer, without swizzle.
Case pair_load(const PairLoad& l) {
  const u32 ctas = static_cast<u32>(l.masks.size()), bytes = l.box[0] * l.box[1] * l.box[2] * 2;
  Case c{"sm100_pair_load_" + l.name, "sm100_cluster", "arch_sm100_pair_load"};
  c.threads = 64, c.cluster = ctas, c.grid = 2 * ctas;
  runtime::TensorMapSpec spec;
  spec.element = bf16;
  spec.rank = l.rank;
  spec.swizzle = runtime::SmemSwizzle::none;
  for (int d = 0; d < l.rank; ++d)
    spec.extent[d] = l.extent[static_cast<u32>(d)], spec.box[d] = l.box[static_cast<u32>(d)];
  const u32 pitch = l.extent[0] * 2, plane = pitch * l.extent[1];
  spec.stride_bytes[1] = pitch, spec.stride_bytes[2] = plane;
  c.tensors = {{false, 0, spec}};
  c.in = random_words(plane * l.extent[2] / 4, 61);
  c.shared_bytes = 1024 + ctas * bytes;

  std::vector<u8> places(c.grid * ctas * bytes);
  u32 copies_of_pair = 0;  // that the first pair gets; the same in each
  for (u32 block = 0; block < c.grid; ++block)
    for (u32 from = 0; from < ctas; ++from) {
      const u32 rank = block % ctas, mask = static_cast<u32>(l.masks[from]);
      if (mask == 0 ? from != rank : !(mask >> rank & 1)) continue;
      if (block < 2) ++copies_of_pair;
      u32 to = (block * ctas + from) * bytes;
      for (u32 z = 0; z < l.box[2]; ++z)
        for (u32 y = 0; y < l.box[1]; ++y)
          for (u32 x = 0; x < l.box[0]; ++x, to += 2) {
            const i64 gx = l.at[0] + i64{x}, gy = l.at[1] + i64{y} + i64{from} * l.step, gz = l.at[2] + i64{z};
            if (gx < 0 || gy < 0 || gz < 0 || gx >= l.extent[0] || gy >= l.extent[1] || gz >= l.extent[2]) continue;
            std::memcpy(&places[to], reinterpret_cast<const u8*>(c.in.data()) + gz * plane + gy * pitch + gx * 2, 2);
          }
    }
  c.arg = {
      l.at[0], l.at[1], l.at[2], l.step, l.rank, static_cast<i32>(bytes), static_cast<i32>(copies_of_pair * bytes)};
  for (u32 r = 0; r < ctas; ++r) c.arg[8 + r] = l.masks[r];
  c.expected.resize(places.size() / 4);
  std::memcpy(c.expected.data(), places.data(), places.size());
  return c;
}

Case take_over(const char* name, const char* kernel, u32 cluster, u32 clusters) {
  Case c{name, "sm100_cluster", kernel};
  c.threads = 64, c.cluster = cluster, c.grid = cluster * clusters;
  c.shared_bytes = 256;
  c.cross_cta = true;
  c.out.assign(c.grid, 0);
  c.expected.assign(c.grid, 1);
  return c;
}

}  // namespace

std::vector<Case> sm100_memory_cases() {
  std::vector<Case> cases = {alloc()};
  for (const Access& a : kAccesses)
    for (const u32 lane : {0u, 16u}) {
      if (lane != 0 && a.shape == TensorShape::lanes32_bits32) continue;
      const bool all_columns = a.packed && a.registers == 4;  // with the most repetitions
      cases.push_back(load(a, lane, lane == 0 || all_columns ? 0 : 7));
      cases.push_back(store(a, lane, lane == 0 || all_columns ? 0 : 9));
    }
  for (const Copy& copy : kCopies)
    for (const int bits : {8, 4, 6}) cases.push_back(copy_case(copy, bits, false));
  cases.push_back(copy_case(kCopies[0], 8, true));
  cases.push_back(copy_case(kCopies[1], 8, true));
  const std::array<u32, 3> flat{96, 80, 1}, deep{48, 20, 6};
  for (const PairLoad& l : {PairLoad{"2d", 2, flat, {64, 8, 1}, {8, 3, 0}, 8, {0, 0}},
                            PairLoad{"2d_corner", 2, flat, {64, 8, 1}, {64, 76, 0}, 3, {0, 0, 0, 0}},
                            PairLoad{"3d", 3, deep, {16, 4, 2}, {-8, 0, 5}, 4, {0, 0}},
                            PairLoad{"2d_multicast", 2, flat, {32, 8, 1}, {0, 0, 0}, 8, {5, 10, 5, 10}},
                            PairLoad{"3d_multicast", 3, deep, {16, 4, 2}, {16, 2, 1}, 4, {15, 15, 15, 15}}})
    cases.push_back(pair_load(l));
  cases.push_back(take_over("sm100_clc", "arch_sm100_clc", 1, 40));
  cases.push_back(take_over("sm100_clc_pairs", "arch_sm100_clc_multicast", 2, 30));
  cases.push_back(take_over("sm100_clc_fours", "arch_sm100_clc_multicast", 4, 12));
  return cases;
}

}  // namespace ww::arch_test
