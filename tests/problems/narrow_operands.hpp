// SPDX-License-Identifier: Apache-2.0
// Operands whose elements are packed codes of 4 or 6 bits, and the bytes of scales of mx and nv, for comparing bits:
// random ones, and what an instruction of sm_100 takes of them, for the reference. It shares no code with kernels or
// src/reference.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "emu/sm100/numerics/umma.hpp"
#include "warpwright/atom/umma_atom.hpp"
#include "warpwright/config/gemm_config.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

/// Returns whether rows of 32 bytes of an instruction hold something else than 32 bytes of the operand.
inline bool is_narrow(const GemmProblem& p) { return is_packed(p.a) || is_packed(p.b) || is_microscaled(p.scale); }
/// Returns whether both operands stay packed in shared memory: 64 elements of K in an instruction, 32 otherwise.
inline bool stays_packed(const GemmProblem& p) { return p.a == e2m1 && p.b == e2m1 && is_microscaled(p.scale); }

/// Returns the number of elements of which the K of operands with scales of mx and nv is a multiple.
inline std::int64_t step_of_k(const GemmProblem& p) {
  return stays_packed(p) ? 16 : is_packed(p.a) || is_packed(p.b) ? 128 : 1;
}
/// Returns the number of elements of which the rows of such operands in memory are multiples.
inline std::int64_t step_of_rows(const GemmProblem& p) {
  return stays_packed(p) ? 32 : is_packed(p.a) || is_packed(p.b) ? 128 : 16;
}

/// Returns the arithmetic of an instruction.
inline emu::sm100::UmmaArithmetic narrow_arithmetic(const GemmProblem& p) {
  emu::sm100::UmmaArithmetic how{.kind = arch::MmaKind::f8f6f4, .a = atom::mma_format(p.a), .b = atom::mma_format(p.b)};
  if (!is_microscaled(p.scale)) return how;
  how.kind = p.scale == Scale::nv ? arch::MmaKind::mxf4nvf4
             : stays_packed(p)    ? arch::MmaKind::mxf4
                                  : arch::MmaKind::mxf8f6f4;
  how.scale_vector = p.scale == Scale::nv ? 4 : stays_packed(p) ? 2 : 1;
  how.scale = p.scale == Scale::nv ? arch::ScaleFormat::ue4m3 : arch::ScaleFormat::ue8m0;
  return how;
}

/// Returns the code of element `index` of packed elements, the first of which starts a byte.
inline std::uint8_t code_at(const std::vector<std::uint8_t>& bytes, DType type, std::int64_t index) {
  const int bits = bits_of(type);
  const auto first = static_cast<std::size_t>(index * bits / 8);
  const unsigned both = bytes[first] | (first + 1 < bytes.size() ? bytes[first + 1] : 0u) << 8;
  return static_cast<std::uint8_t>(both >> index * bits % 8 & ((1u << bits) - 1));
}
/// Sets the code of an element whose bits are 0.
inline void add_code(std::vector<std::uint8_t>& bytes, DType type, std::int64_t index, unsigned code) {
  const int bits = bits_of(type);
  const unsigned both = code << index * bits % 8;
  const auto first = static_cast<std::size_t>(index * bits / 8);
  bytes[first] = static_cast<std::uint8_t>(bytes[first] | both);
  if (both >> 8 != 0) bytes[first + 1] = static_cast<std::uint8_t>(bytes[first + 1] | both >> 8);
}

/// Fills packed elements with random codes. Padding between rows has codes too, because none of them is a NaN.
inline void fill_codes(std::vector<std::uint8_t>& bytes, std::mt19937_64& rng, DType type, std::size_t elements) {
  bytes.assign(static_cast<std::size_t>(bytes_in(type, static_cast<std::int64_t>(elements))), 0);
  for (std::size_t i = 0; i < elements; ++i)
    add_code(bytes, type, static_cast<std::int64_t>(i), static_cast<unsigned>(rng() % (1u << bits_of(type))));
}

/// Returns the place of scale `scale` of `row` among chunks of (128 rows, 4 scales). As public documents describe it, a
/// chunk is 32 lines of 16 bytes, each with the scales of four rows that are 32 apart.
inline std::size_t chunk_byte(std::int64_t row, std::int64_t scale, std::int64_t scales) {
  const std::int64_t along_k = (scales + 3) / 4, chunk = row / 128 * along_k + scale / 4;
  return static_cast<std::size_t>(chunk * 512 + row % 32 * 16 + row % 128 / 32 * 4 + scale % 4);
}
/// Returns a scale of about 1. Those of nv have signs, which are ignored.
inline std::uint8_t random_scale(std::mt19937_64& rng, Scale scale) {
  const std::uint64_t draw = rng();
  return static_cast<std::uint8_t>(scale == Scale::mx ? 121 + draw % 12 : draw % 2 * 128 + 0x28 + draw / 2 % 32);
}
/// Returns what a scale behind K may be: NaN, or so large that a sum would lose its low bits.
inline std::uint8_t scale_behind_k(std::mt19937_64& rng, Scale scale) {
  return rng() % 2 == 0 ? 0xff : scale == Scale::mx ? 0xfe : 0x7e;
}
/// Fills `sets` of `size` bytes, `stride` bytes apart, with scales of about 1; those of rows that do not exist too.
inline void fill_scale_bytes(std::vector<std::uint8_t>& bytes, std::mt19937_64& rng, const GemmProblem& p,
                             std::int64_t size, std::int64_t sets, std::int64_t stride) {
  bytes.assign(static_cast<std::size_t>(sets == 0 ? 0 : (sets - 1) * stride + size), 0);
  const std::int64_t all = ceil_div(p.k, std::int64_t{scale_vector(p.scale)}), along_k = ceil_div(all, std::int64_t{4});
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const bool exists = at / 512 % along_k * 4 + at % 4 < all;
    bytes[i] = exists ? random_scale(rng, p.scale) : scale_behind_k(rng, p.scale);
  }
}

/// Returns the chunks along K of the scales of `k` elements.
inline std::int64_t chunks_along_k(Scale scale, std::int64_t k) {
  return ceil_div(k, 4 * std::int64_t{scale_vector(scale)});
}
/// Returns the bytes of the scales of `rows` rows of `k` elements, padded to 128 rows.
inline std::int64_t chunk_bytes(Scale scale, std::int64_t rows, std::int64_t k) {
  return ceil_div(rows, std::int64_t{128}) * chunks_along_k(scale, k) * 512;
}
/// Draws the scales of one matrix of (rows, k), whose chunks begin at byte `first`, and those behind K. Those that pad
/// the rows keep what they hold.
inline void draw_scales(std::vector<std::uint8_t>& bytes, std::mt19937_64& rng, Scale scale, std::int64_t first,
                        std::int64_t rows, std::int64_t k) {
  const std::int64_t scales = 4 * chunks_along_k(scale, k), all = ceil_div(k, std::int64_t{scale_vector(scale)});
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t s = 0; s < scales; ++s)
      bytes[static_cast<std::size_t>(first) + chunk_byte(row, s, scales)] =
          s < all ? random_scale(rng, scale) : scale_behind_k(rng, scale);
}

/// One operand of one matrix of a batch.
struct NarrowOperand {
  const std::vector<std::uint8_t>& bytes;
  const std::vector<std::uint8_t>& scales;
  DType type;
  std::int64_t first, stride, rows;  // the matrix's first element, elements from row to row
  std::int64_t first_scale;          // the matrix's first byte of scales
  Major major;                       // mn: `stride` elements from k to k

  std::uint8_t code(std::int64_t row, std::int64_t k) const {
    return code_at(bytes, type, first + (major == Major::k ? row * stride + k : k * stride + row));
  }
  /// Writes `count` rows from `row` on as instruction `index` along K takes them, 32 bytes each, and their scales.
  /// Elements and scales outside the matrix are zero.
  void gather(const GemmProblem& p, std::int64_t index, std::int64_t row, int count, std::uint8_t* out,
              std::uint8_t* out_scales) const {
    const int elements = stays_packed(p) ? 64 : 32, vector = is_microscaled(p.scale) ? scale_vector(p.scale) : 32;
    const int of_row = elements / vector;
    const std::int64_t all = ceil_div(p.k, std::int64_t{vector});
    for (int r = 0; r < count; ++r) {
      const bool exists = row + r < rows;
      for (int i = 0; i < elements; ++i) {
        const std::int64_t k = index * elements + i;
        const unsigned value = exists && k < p.k ? code(row + r, k) : 0;
        std::uint8_t& byte = out[r * 32 + (elements == 64 ? i / 2 : i)];
        byte = static_cast<std::uint8_t>(elements == 64 && i % 2 == 1 ? byte | value << 4 : value);
      }
      for (int s = 0; is_microscaled(p.scale) && s < of_row; ++s) {
        const std::int64_t scale = index * of_row + s;
        out_scales[r * of_row + s] =
            exists && scale < all ? scales[static_cast<std::size_t>(first_scale) + chunk_byte(row + r, scale, all)] : 0;
      }
    }
  }
};

}  // namespace ww::testing
