// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/wgmma.hpp: images of K-major operands for each swizzle, the accumulator's fragment, and a chain of
// the tensor core's own sums (emu/sm90/numerics/mma.hpp, which its tests pin to a reference and a run on an H200).
#include <bit>
#include <cstring>

#include "case.hpp"
#include "emu/sm90/numerics/mma.hpp"
#include "warpwright/arch/sm90/matrix_descriptor.hpp"

namespace ww::arch_test {
namespace {

using arch::MatrixSwizzle;

/// The layout of an operand in shared memory: byte k of row r, 16-byte chunks of a row, groups of 8 rows.
struct Layout {
  MatrixSwizzle swizzle;
  u32 k_bytes, leading, stride, step;  // bytes: of a row, descriptor fields, from instruction to instruction
  u32 place(u32 row, u32 k) const {
    const u32 r = row % 8, chunk = k / 16, group = row / 8 * stride;
    switch (swizzle) {
      case MatrixSwizzle::none: return group + r * 16 + chunk * leading + k % 16;
      case MatrixSwizzle::b128: return group + r * 128 + (chunk ^ r) * 16 + k % 16;
      case MatrixSwizzle::b64: return group + r * 64 + (chunk ^ r / 2) * 16 + k % 16;
      case MatrixSwizzle::b32: return group + r * 32 + (chunk ^ r / 4) * 16 + k % 16;
    }
    return 0;
  }
  u32 bytes(u32 rows) const {
    u32 end = 0;
    for (u32 row = 0; row < rows; ++row)
      for (u32 k = 0; k < k_bytes; k += 16) end = max(end, place(row, k) / 16 * 16 + 16);
    return end;
  }
};

constexpr Layout kB128{MatrixSwizzle::b128, 128, 0, 1024, 32};
constexpr Layout kB64{MatrixSwizzle::b64, 64, 0, 512, 32};
constexpr Layout kB32{MatrixSwizzle::b32, 32, 0, 256, 0};
constexpr Layout kPlain{MatrixSwizzle::none, 64, 128, 512, 256};        // chunks of 8 rows side by side
constexpr Layout kPlainColumns{MatrixSwizzle::none, 32, 1024, 128, 0};  // each chunk of all 64 rows in a block

/// Finite values around one; with `special`, one in 64 elements is any bit pattern.
std::vector<u8> operand(DType type, u32 rows, u32 k_bytes, bool special, u64 seed) {
  std::mt19937_64 generator(seed);
  std::vector<u8> bytes(rows * k_bytes);
  const u32 size = static_cast<u32>(bytes_of(type));
  for (u32 i = 0; i < bytes.size(); i += size) {
    const u32 raw = static_cast<u32>(generator());
    u32 bits = raw;
    if (!special || generator() % 64 != 0) {
      if (type == e4m3) bits = (raw & 0x7f) == 0x7f ? 0 : raw;
      else if (type == bf16) bits = (raw & 0x807f) | (119 + (raw >> 16) % 16) << 7;
      else bits = (raw & 0x83ff) | (7 + (raw >> 16) % 16) << 10;
    }
    bytes[i] = static_cast<u8>(bits);
    if (size == 2) bytes[i + 1] = static_cast<u8>(bits >> 8);
  }
  return bytes;
}

void put_image(std::vector<u32>& in, const std::vector<u8>& rows, u32 count, const Layout& layout) {
  std::vector<u8> image(layout.bytes(count));
  for (u32 row = 0; row < count; ++row)
    for (u32 k = 0; k < layout.k_bytes; ++k) image[layout.place(row, k)] = rows[row * layout.k_bytes + k];
  const std::size_t words = in.size();
  in.resize(words + image.size() / 4);
  std::memcpy(&in[words], image.data(), image.size());
}

/// 32 bytes of K from each row.
std::vector<u8> slice(const std::vector<u8>& rows, u32 first, u32 count, u32 k_bytes, u32 step) {
  std::vector<u8> out(count * 32);
  for (u32 row = 0; row < count; ++row) std::memcpy(&out[row * 32], &rows[(first + row) * k_bytes + step * 32], 32);
  return out;
}

/// Returns the position of value v of thread t in a (64, n) tile.
u32 position(u32 t, u32 v, u32 n) {
  return (16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2)) * n + 2 * (t % 4) + v % 2 + 8 * (v / 4);
}

void append_fragments(std::vector<u32>& words, const std::vector<float>& tile, u32 n) {
  for (u32 t = 0; t < 128; ++t)
    for (u32 v = 0; v < n / 2; ++v) words.push_back(std::bit_cast<u32>(tile[position(t, v, n)]));
}

struct Options {
  bool accumulate = false, special = false;
  int scale_a = 1, scale_b = 1;
};

Case staged(std::string name, const std::string& kernel, DType type, u32 n, const Layout& layout, const Options& o,
            std::vector<u8>& a, std::vector<u8>& b) {
  Case c{std::move(name), "wgmma", kernel};
  const u64 seed = n * 8 + static_cast<u64>(type);
  a = operand(type, 64, layout.k_bytes, o.special, 60 + seed);
  b = operand(type, n, layout.k_bytes, o.special, 61 + seed);
  const u32 bytes_a = layout.bytes(64), bytes_b = layout.bytes(n);
  c.arg = {static_cast<i32>(bytes_a),
           static_cast<i32>(bytes_b),
           0,
           static_cast<i32>(layout.step),
           static_cast<i32>(layout.swizzle),
           static_cast<i32>(layout.leading),
           static_cast<i32>(layout.stride),
           o.accumulate};
  c.shared_bytes = round_up(bytes_a, 1024u) + bytes_b;
  put_image(c.in, a, 64, layout);
  put_image(c.in, b, n, layout);
  return c;
}

Case chain(std::string name, const std::string& kernel, DType type, u32 n, const Layout& layout,
           const Options& o = {}) {
  std::vector<u8> a, b;
  Case c = staged(std::move(name), kernel, type, n, layout, o, a, b);
  std::mt19937_64 generator(n);
  std::vector<float> d(64 * n);
  for (float& value : d) value = static_cast<float>(static_cast<i32>(generator() % 4001) - 2000) / 32;
  append_fragments(c.in, d, n);
  for (u32 step = 0; step < layout.k_bytes / 32; ++step)
    emu::mma_m64(type, static_cast<int>(n), slice(a, 0, 64, layout.k_bytes, step).data(),
                 slice(b, 0, n, layout.k_bytes, step).data(), d.data(), step > 0 || o.accumulate, o.scale_a, o.scale_b,
                 emu::MmaMath::exact);
  append_fragments(c.expected, d, n);
  return c;
}

/// The kernels with two accumulators: one A, two halves of B.
Case halves(std::string name, const std::string& kernel, bool goes_on) {
  std::vector<u8> a, b;
  Case c = staged(std::move(name), kernel, e4m3, 128, kB128, {}, a, b);
  std::vector<float> first(64 * 64), second(64 * 64);
  const auto multiply = [&](std::vector<float>& d, u32 from, u32 step) {
    emu::mma_m64(e4m3, 64, slice(a, 0, 64, 128, step).data(), slice(b, from, 64, 128, step).data(), d.data(), step > 0,
                 1, 1, emu::MmaMath::exact);
    append_fragments(c.expected, d, 64);
  };
  multiply(first, 0, 0);
  multiply(second, 64, 0);
  if (goes_on) multiply(first, 0, 1);
  return c;
}

/// One instruction of kernels/wgmma_widths.hpp.
Case width(DType type, u32 n) {
  const std::string name = std::string(name_of(type)) + "_" + std::to_string(n);
  Case c = chain("wgmma_width_" + name, "arch_wgmma_width_" + name, type, n, kB32, {.accumulate = n % 16 == 0});
  c.header = "wgmma_widths";
  return c;
}

/// The elements of one row, or of C. Products of `tiny` and of `small` straddle the FP32 subnormals.
enum class Edge { plain, tiny, small, huge, infinity, infinities, infinity_among_zeros, nan, zeros, cancelling, one };
constexpr u32 kEdges = 11;

u32 edge_element(DType type, Edge edge, u32 k, u32 chosen, u32 raw) {
  const int bits = type == e4m3 ? 8 : 16, fraction = type == e4m3 ? 3 : type == bf16 ? 7 : 10;
  const u32 sign = raw & (1u << (bits - 1)), low = raw & ((1u << fraction) - 1);
  const u32 last = ((1u << (bits - 1)) - 1) >> fraction, middle = last / 2,
            infinity = type == e4m3 ? 0x7e : last << fraction;
  const u32 more = raw >> 16, plain = sign | (middle - 2 + more % 4) << fraction | low;
  switch (edge) {
    case Edge::plain: return plain;
    case Edge::tiny: return sign | (more % 3) << fraction | low;
    case Edge::small: return sign | (type == bf16 ? middle / 2 - 9 + more % 10 : more % 4) << fraction | low;
    case Edge::huge: return sign | (last - 1) << fraction | low;
    case Edge::infinity: return k == chosen ? sign | infinity : plain;
    case Edge::infinities: return k % 8 == chosen % 8 ? sign | infinity : plain;
    case Edge::infinity_among_zeros: return sign | (k == chosen ? infinity : 0);
    case Edge::nan: return k == chosen ? sign | (type == e4m3 ? 0x7f : infinity | low | 1) : plain;
    case Edge::zeros: return sign;
    case Edge::cancelling: return sign | middle << fraction;
    case Edge::one: return k == chosen ? plain : sign;
  }
  return 0;
}

/// Rows of `edge_element`, row r of edge (r + turn) mod 11.
std::vector<u8> edge_rows(DType type, u32 rows, u32 turn, u64 seed) {
  std::mt19937_64 generator(seed);
  std::vector<u8> bytes(rows * 32);
  const u32 size = static_cast<u32>(bytes_of(type));
  for (u32 row = 0; row < rows; ++row) {
    const u32 chosen = static_cast<u32>(generator() % (32 / size));
    for (u32 k = 0; k < 32 / size; ++k) {
      const u32 bits =
          edge_element(type, static_cast<Edge>((row + turn) % kEdges), k, chosen, static_cast<u32>(generator()));
      bytes[row * 32 + k * size] = static_cast<u8>(bits);
      if (size == 2) bytes[row * 32 + k * size + 1] = static_cast<u8>(bits >> 8);
    }
  }
  return bytes;
}

/// Zeros, subnormals, the ends of the normal range, Inf, NaN of any payload, plain numbers, any exponent.
u32 edge_addend(u64 raw) {
  const u32 bits = static_cast<u32>(raw), sign = bits & 0x80000000u, low = bits & 0x7fffffu;
  switch (raw >> 32 & 15) {
    case 0: return sign;
    case 1: return sign | low;
    case 2: return sign | 1;
    case 3: return sign | 0x00800000u | low;
    case 4: return sign | 0x7f000000u | low;
    case 5: return sign | 0x7f7fffffu;
    case 6: return sign | 0x7f800000u;
    case 7: return bits | 0x7f800001u;
    case 8: return bits & 0xff7fffffu;
    default: return sign | (120 + static_cast<u32>(raw >> 40) % 16) << 23 | low;
  }
}

/// One instruction, 64 wide, whose rows of A meet every kind of row of B and of C.
Case edges(DType type, u32 turn) {
  const std::string name = name_of(type);
  Case c{"wgmma_" + name + "_edges_" + std::to_string(turn), "wgmma_widths", "arch_wgmma_width_" + name + "_64"};
  const std::vector<u8> a = edge_rows(type, 64, 0, 80 + turn), b = edge_rows(type, 64, turn, 90 + turn);
  const u32 bytes = kB32.bytes(64);
  c.arg = {static_cast<i32>(bytes),
           static_cast<i32>(bytes),
           0,
           0,
           static_cast<i32>(kB32.swizzle),
           0,
           static_cast<i32>(kB32.stride),
           turn != 1};
  c.shared_bytes = round_up(bytes, 1024u) + bytes;
  put_image(c.in, a, 64, kB32);
  put_image(c.in, b, 64, kB32);
  std::mt19937_64 generator(70 + turn);
  std::vector<float> d(64 * 64);
  for (float& value : d) value = std::bit_cast<float>(edge_addend(generator()));
  append_fragments(c.in, d, 64);
  emu::mma_m64(type, 64, a.data(), b.data(), d.data(), turn != 1, 1, 1, emu::MmaMath::exact);
  append_fragments(c.expected, d, 64);
  return c;
}

#define WW_TEST_CHAINS(type)                                                                             \
  chain("wgmma_" #type "_n8", "arch_wgmma_" #type "_8", type, 8, kB128, {.accumulate = true}),           \
      chain("wgmma_" #type "_n64", "arch_wgmma_" #type "_64", type, 64, kB128),                          \
      chain("wgmma_" #type "_n128", "arch_wgmma_" #type "_128", type, 128, kB128, {.accumulate = true}), \
      chain("wgmma_" #type "_n136", "arch_wgmma_" #type "_136", type, 136, kB128),                       \
      chain("wgmma_" #type "_n256", "arch_wgmma_" #type "_256", type, 256, kB128, {.accumulate = true}), \
      chain("wgmma_" #type "_special_values", "arch_wgmma_" #type "_64", type, 64, kB128, {.special = true})

}  // namespace

std::vector<Case> wgmma_cases() {
  std::vector<Case> cases = {
      WW_TEST_CHAINS(e4m3),
      WW_TEST_CHAINS(bf16),
      WW_TEST_CHAINS(f16),
      chain("wgmma_b64", "arch_wgmma_steps_2", bf16, 64, kB64),
      chain("wgmma_b32", "arch_wgmma_steps_1", e4m3, 64, kB32, {.accumulate = true}),
      chain("wgmma_unswizzled", "arch_wgmma_steps_2", bf16, 64, kPlain),
      chain("wgmma_unswizzled_columns", "arch_wgmma_steps_1", e4m3, 64, kPlainColumns),
      chain("wgmma_negate_a", "arch_wgmma_negate_a", bf16, 64, kB128, {.accumulate = true, .scale_a = -1}),
      chain("wgmma_negate_b", "arch_wgmma_negate_b", f16, 64, kB128, {.scale_b = -1}),
      chain("wgmma_negate_both", "arch_wgmma_negate_both", e4m3, 64, kB128,
            {.accumulate = true, .scale_a = -1, .scale_b = -1}),
      chain("wgmma_negate_a_special", "arch_wgmma_negate_a", bf16, 64, kB128, {.special = true, .scale_a = -1}),
      chain("wgmma_negate_b_special", "arch_wgmma_negate_b", f16, 64, kB128, {.special = true, .scale_b = -1}),
      halves("wgmma_groups_in_flight", "arch_wgmma_groups", true),
      halves("wgmma_two_accumulators_one_group", "arch_wgmma_pair", false),
  };
  for (const DType type : {e4m3, bf16, f16}) {
    for (u32 turn = 0; turn < kEdges; ++turn) cases.push_back(edges(type, turn));
    for (u32 n = 8; n <= 256; n += 8) cases.push_back(width(type, n));
  }
  return cases;
}

}  // namespace ww::arch_test
