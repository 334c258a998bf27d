// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/wgmma_types.hpp and kernels/wgmma_registers.hpp: operands of 128 bytes of K as rows (row, byte of
// K), put where a descriptor of their major and swizzle has them, against a chain of the tensor core's own sums
// (emu/sm90/numerics/mma.hpp).
#include <bit>
#include <cstring>

#include "case.hpp"
#include "emu/sm90/numerics/mma.hpp"
#include "warpwright/arch/sm90/matrix_descriptor.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"

namespace ww::arch_test {
namespace {

using arch::MatrixSwizzle;
using arch::MmaOperands;

constexpr u32 kRowBytes = 128;

/// The positions of the 16-byte chunks of an operand.
struct Image {
  Major major;
  MatrixSwizzle swizzle;
  u32 leading, stride, step;  // bytes
  u32 element = 2;            // bytes, MN-major

  u32 span() const {
    return swizzle == MatrixSwizzle::none  ? 16
           : swizzle == MatrixSwizzle::b32 ? 32
           : swizzle == MatrixSwizzle::b64 ? 64
                                           : 128;
  }
  /// Byte `k` of row `row`.
  u32 place(u32 row, u32 k) const {
    u32 at;
    if (major == Major::k) {
      at = row % 8 * 128 + row / 8 * stride + k;
    } else {
      const u32 depth = k / element, byte = element * row + k % element;
      at = depth % 8 * span() + byte % span();
      at += swizzle == MatrixSwizzle::none ? depth / 8 * leading + byte / 16 * stride
                                           : depth / 8 * stride + byte / span() * leading;
    }
    return at ^ (at / 128 % 8 * 16 & (span() - 1) & ~15u);
  }
};

Image image_of(Major major, MatrixSwizzle swizzle = MatrixSwizzle::b128, DType type = bf16) {
  if (major == Major::k) return {major, swizzle, 0, 1024, 32};
  if (type == tf32) return {major, swizzle, 32 * 128, 1024, 1024, 4};  // rows of 32 for each of 32 k
  switch (swizzle) {
    case MatrixSwizzle::b128: return {major, swizzle, 64 * 128, 1024, 2048};
    case MatrixSwizzle::b64: return {major, swizzle, 64 * 64, 512, 1024};
    case MatrixSwizzle::b32: return {major, swizzle, 64 * 32, 256, 512};
    case MatrixSwizzle::none: break;
  }
  return {major, swizzle, 128, 1024, 256};
}

/// Finite values around one; with `special`, one in 64 elements is any bit pattern.
std::vector<u8> rows_of(DType type, u32 rows, bool special, u64 seed) {
  std::mt19937_64 generator(seed);
  std::vector<u8> bytes(rows * kRowBytes);
  const u32 size = static_cast<u32>(bytes_of(type));
  for (u32 i = 0; i < bytes.size(); i += size) {
    const u32 raw = static_cast<u32>(generator()), more = static_cast<u32>(generator());
    u32 bits = raw;
    if (!special || more % 64 != 0) {
      const u32 near_one = more / 64 % 8;
      if (type == e4m3) bits = (raw & 0x87) | (4 + near_one) << 3;
      else if (type == e5m2) bits = (raw & 0x83) | (12 + near_one) << 2;
      else if (type == tf32) bits = (raw & 0x807fffff) | (124 + near_one) << 23;
      else if (type == bf16) bits = (raw & 0x807f) | (124 + near_one) << 7;
      else bits = (raw & 0x83ff) | (12 + near_one) << 10;
    } else if (type == tf32 && (raw & 0x7f800000) == 0x7f800000) {
      bits = raw & ~0x1fffu;  // whether a NaN whose payload is cleared entirely stays one is undecided
    }
    std::memcpy(&bytes[i], &bits, size);
  }
  return bytes;
}

void put_image(std::vector<u32>& in, const std::vector<u8>& rows, const Image& image, u32 bytes) {
  std::vector<u8> out(bytes);
  for (u32 i = 0; i < rows.size(); ++i) out[image.place(i / kRowBytes, i % kRowBytes)] = rows[i];
  const std::size_t words = in.size();
  in.resize(words + bytes / 4);
  std::memcpy(&in[words], out.data(), bytes);
}

/// Returns the bytes of an image of `rows` rows; whole blocks of 64 if MN-major.
u32 bytes_of_image(const Image& image, u32 rows) {
  return (image.major == Major::k ? rows : round_up(rows, 64u)) * kRowBytes;
}

std::vector<u8> slice(const std::vector<u8>& rows, u32 step) {
  std::vector<u8> out(rows.size() / 4);
  for (u32 row = 0; row < rows.size() / kRowBytes; ++row)
    std::memcpy(&out[row * 32], &rows[row * kRowBytes + step * 32], 32);
  return out;
}

void append_fragments(std::vector<u32>& words, const std::vector<float>& tile, u32 n) {
  for (u32 t = 0; t < 128; ++t)
    for (u32 v = 0; v < n / 2; ++v) {
      const u32 row = 16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2), column = 2 * (t % 4) + v % 2 + 8 * (v / 4);
      words.push_back(std::bit_cast<u32>(tile[row * n + column]));
    }
}

Case stage(const char* header, const std::string& name, const std::string& kernel, const MmaOperands& types, u32 n,
           bool special, const Image& image_a, const Image& image_b, int scale_a = 1) {
  Case c{header + ("_" + name), header, kernel};
  const std::vector<u8> a = rows_of(types.a, 64, special, 700 + n), b = rows_of(types.b, n, special, 701 + n);
  const u32 bytes_a = bytes_of_image(image_a, 64), bytes_b = bytes_of_image(image_b, n);
  const bool accumulate = n != 64;
  const u32 arg[] = {bytes_a,
                     bytes_b,
                     static_cast<u32>(image_a.swizzle),
                     static_cast<u32>(image_b.swizzle),
                     image_a.leading,
                     image_a.stride,
                     image_a.step,
                     accumulate,
                     image_b.leading,
                     image_b.stride,
                     image_b.step};
  for (std::size_t i = 0; i < std::size(arg); ++i) c.arg[i] = static_cast<i32>(arg[i]);
  c.shared_bytes = round_up(bytes_a, 1024u) + bytes_b;
  put_image(c.in, a, image_a, bytes_a);
  put_image(c.in, b, image_b, bytes_b);
  std::mt19937_64 generator(n);
  std::vector<float> d(64 * n);
  for (float& value : d) value = static_cast<float>(static_cast<i32>(generator() % 4001) - 2000) / 32;
  append_fragments(c.in, d, n);
  for (u32 step = 0; step < 4; ++step)
    emu::mma_m64({types.a, types.b}, static_cast<int>(n), slice(a, step).data(), slice(b, step).data(), d.data(),
                 step > 0 || accumulate, scale_a, 1, emu::MmaMath::exact);
  append_fragments(c.expected, d, n);
  return c;
}

}  // namespace

std::vector<Case> wgmma_type_cases() {
  struct Kind {
    const char* name;
    MmaOperands types;
  };
  constexpr Major k = Major::k, mn = Major::mn;
  const Kind kinds[] = {{"e5m2", e5m2},
                        {"e4m3_e5m2", {e4m3, e5m2}},
                        {"e5m2_e4m3", {e5m2, e4m3}},
                        {"tf32", tf32},
                        {"bf16_mn_k", {bf16, bf16, mn, k}},
                        {"bf16_k_mn", {bf16, bf16, k, mn}},
                        {"bf16_mn_mn", {bf16, bf16, mn, mn}},
                        {"f16_mn_mn", {f16, f16, mn, mn}}};
  std::vector<Case> cases;
  for (const Kind& kind : kinds)
    for (u32 n : {8u, 64u, 136u, 256u})
      for (bool special : {false, true}) {
        const std::string name = std::string(kind.name) + "_" + std::to_string(n);
        cases.push_back(stage("wgmma_types", name + (special ? "_special" : ""), "arch_wgmma_types_" + name, kind.types,
                              n, special, image_of(kind.types.major_a), image_of(kind.types.major_b)));
      }
  const MmaOperands both{bf16, bf16, mn, mn};
  const std::pair<const char*, MatrixSwizzle> swizzles[] = {
      {"b64", MatrixSwizzle::b64}, {"b32", MatrixSwizzle::b32}, {"none", MatrixSwizzle::none}};
  for (const auto& [name, swizzle] : swizzles)
    cases.push_back(stage("wgmma_types", std::string("mn_swizzle_") + name, "arch_wgmma_types_swizzles", both, 64,
                          false, image_of(mn, swizzle), image_of(mn, swizzle)));
  const Kind from_registers[] = {{"e4m3", e4m3},
                                 {"e5m2", e5m2},
                                 {"e4m3_e5m2", {e4m3, e5m2}},
                                 {"e5m2_e4m3", {e5m2, e4m3}},
                                 {"bf16", bf16},
                                 {"bf16_k_mn", {bf16, bf16, k, mn}},
                                 {"bf16_mn_k", {bf16, bf16, mn, k}},
                                 {"f16", f16},
                                 {"f16_mn_mn", {f16, f16, mn, mn}},
                                 {"tf32", tf32},
                                 {"tf32_mn_k", {tf32, tf32, mn, k}}};
  for (const Kind& kind : from_registers)
    for (u32 n : {8u, 64u, 136u, 256u})
      for (bool special : {false, true}) {
        const std::string name = std::string(kind.name) + "_" + std::to_string(n);
        cases.push_back(stage("wgmma_registers", name + (special ? "_special" : ""), "arch_wgmma_registers_" + name,
                              kind.types, n, special, image_of(kind.types.major_a, MatrixSwizzle::b128, kind.types.a),
                              image_of(kind.types.major_b)));
      }
  cases.push_back(
      stage("wgmma_registers", "negate", "arch_wgmma_registers_negate", bf16, 64, true, image_of(k), image_of(k), -1));
  return cases;
}

}  // namespace ww::arch_test
