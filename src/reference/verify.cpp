// SPDX-License-Identifier: Apache-2.0
// One tile of D at a time, K in steps of 128. For each element, over the instructions j of a chain (c of K each):
//   S_j = S_{j-1} + sum p                              FP64, products exact
//   M_j = max(|S_{j-1}| + B_{j-1}, amax bmax, 2^-126)  amax, bmax: largest |input| of the row's c elements, subnormals
//                                                      counted as the smallest normal number
//   T_j = (c + 1) 2^-F M_j                             truncation of c products and the addend
//   R_j = 2^-P (|S_j| + B_{j-1} + T_j) + 2^-149        truncation of the result
//   B_j = B_{j-1} + T_j + R_j + c 2^-52 (|S_{j-1}| + c amax bmax)     the last term: this reference's own rounding
// Then the scales and the output conversion as docs/numerics.md section 7 has them.
// A bound becomes infinite (anything is right) where FP32 may have overflowed on the way to a finite reference.
#include "reference/verify.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <vector>

#include "reference/element.hpp"
#include "reference/parallel.hpp"

// The loops below are plain vector code; the widest available unit executes them, with the same bits everywhere.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define WW_CLI_VECTOR __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define WW_CLI_VECTOR
#endif

namespace ww::ref {
namespace {

constexpr int kTile = 64;       // rows and columns of D that are checked together
constexpr int kStep = 128;      // of K: the granularity of block scales
constexpr int kMaxChunks = 16;  // instructions in kStep
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kUnit = 0x1p-24;  // half a unit of FP32
constexpr double kLargest = 0x1.fffffep127;

/// What one instruction may lose.
struct Arithmetic {
  int chunk = 32;           // of K
  double term = 0x1p-13;    // 2^-F
  double result = 0x1p-13;  // 2^-P
  bool chain = false;       // fp32_chain: one fma after another
};

Arithmetic arithmetic_of(const Claim& claim) {
  const DType type = claim.a.type();
  // sm_90 keeps 13 bits of FP8. Kind f8f6f4 of sm_100, with and without scales, keeps 25 as for 16 bits; so bounds a
  // kernel that multiplies e2m1 as mxf4, which keeps more. nv: four groups of 16 share an exponent, 35 bits are kept.
  Arithmetic rule =
      claim.scale == Scale::nv ? Arithmetic{64, 0x1p-35, 0x1p-23}
      : claim.arch == Arch::sm90 && is_fp8(type) && !is_microscaled(claim.scale) && !is_packed(claim.b.type())
          ? Arithmetic{32, 0x1p-13, 0x1p-13}
          : Arithmetic{is_f8f6f4(type) ? 32 : 32 / bytes_of(type), 0x1p-25, 0x1p-23};
  rule.chain = claim.math == EmuMath::fp32_chain;
  return rule;
}

/// A (kTile rows, kStep of K) part of an operand: numbers, and the largest magnitude per row and instruction.
struct Slab {
  alignas(64) double value[kTile * kStep];  // a: [row][k]   b: [k][row]
  alignas(64) double largest[kMaxChunks][kTile];
};

/// State of the elements of one tile. `sum`, `bound` restart with each block when scales are per block.
struct Tile {
  alignas(64) double sum[kTile * kTile], bound[kTile * kTile], before[kTile * kTile];
  alignas(64) double reference[kTile * kTile], error[kTile * kTile];
  Slab a, b;
};

/// Converts bits to numbers, by a table if the format is not a plain shift; 32-bit entries keep that of f16 in the
/// cache.
template <DType kType> class Decoder {
 public:
  Decoder() : table_(is_fp8(kType) ? 256 : kType == DType::f16 ? 65536 : 0) {
    for (std::size_t i = 0; i < table_.size(); ++i) {
      const std::uint8_t bits[4] = {static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8)};
      table_[i] = static_cast<float>(decode(kType, bits));
    }
  }
  double operator()(storage_t<kType> element) const {
    if constexpr (kType == DType::bf16) return decode_bf16(element.bits);
    else if constexpr (kType == DType::tf32) return decode(kType, &element);
    else return table_[element.bits];
  }

 private:
  std::vector<float> table_;
};

/// Decodes rows [first, first + count) x [k, k + depth) of `matrix`; the rest of a slab is zero.
/// It decodes eight rows at once, because one row of a k-major slab, written along K, touches a cache line per element.
template <bool kKMajor, DType kType>
void load(Slab& slab, const Matrix& matrix, const Decoder<kType>& decoder, std::int64_t first, int count,
          std::int64_t k, int chunk) {
  constexpr int kGroup = 8;
  const double smallest = std::ldexp(1.0, format_of(kType).min_exponent);
  const int depth = static_cast<int>(std::min<std::int64_t>(kStep, matrix.cols() - k));
  if (count < kTile || depth < kStep) std::fill(std::begin(slab.value), std::end(slab.value), 0.0);
  std::fill_n(&slab.largest[0][0], kMaxChunks * kTile, 0.0);
  for (int group = 0; group < count; group += kGroup) {
    const int rows = std::min(kGroup, count - group);
    const storage_t<kType>* from[kGroup];
    for (int r = 0; r < rows; ++r)
      from[r] = reinterpret_cast<const storage_t<kType>*>(matrix.row(first + group + r)) + k;
    for (int at = 0, j = 0; at < depth; at += chunk, ++j) {
      double largest[kGroup] = {};
      for (int i = at; i < std::min(at + chunk, depth); ++i)
        for (int r = 0; r < rows; ++r) {
          const double value = decoder(from[r][i]);
          slab.value[kKMajor ? i * kTile + group + r : (group + r) * kStep + i] = value;
          const double magnitude = std::fabs(value);
          const double counted = magnitude < smallest && magnitude > 0 ? smallest : magnitude;
          if (counted > largest[r]) largest[r] = counted;  // never true for NaN
        }
      std::copy_n(largest, rows, &slab.largest[j][group]);
    }
  }
}

/// Values of all codes of a type of at most 8 bits.
std::array<double, 256> code_table(DType type) {
  std::array<double, 256> table{};
  for (int i = 0; i < 1 << bits_of(type); ++i) {
    const auto code = static_cast<std::uint8_t>(i);
    table[static_cast<std::size_t>(i)] = decode(type, &code);
  }
  return table;
}

/// An operand of mx, nv or of a packed type: decodes rows [first, first + count) x [k, k + depth), times their scales
/// if there are any. The product of both is exact in FP64. `largest` is what the instruction aligns to: under nv, all
/// of a group counts as its scale times the largest element, because the exponent of the group's scale alone counts.
template <bool kKMajor>
void load_codes(Slab& slab, const Matrix& matrix, const std::array<double, 256>& values, const Matrix* scales,
                int vector, std::int64_t first, int count, std::int64_t k, int chunk) {
  const Format format = format_of(matrix.type());
  const double smallest = std::ldexp(1.0, format.min_exponent);
  const int depth = static_cast<int>(std::min<std::int64_t>(kStep, matrix.cols() - k));
  if (count < kTile || depth < kStep) std::fill(std::begin(slab.value), std::end(slab.value), 0.0);
  std::fill_n(&slab.largest[0][0], kMaxChunks * kTile, 0.0);
  for (int row = 0; row < count; ++row)
    for (int i = 0; i < depth; ++i) {
      const std::byte* const from = matrix.row(first + row);
      const std::uint8_t code =
          is_packed(matrix.type()) ? packed_code(matrix.type(), from, k + i) : static_cast<std::uint8_t>(from[k + i]);
      double scale = 1;
      if (scales != nullptr) {
        const std::byte byte = scales->row(first + row)[(k + i) / vector];
        // The sign of a UE4M3 scale does not count.
        scale = scales->type() == DType::e8m0 ? decode_e8m0(static_cast<std::uint8_t>(byte))
                                              : decode_e4m3(static_cast<std::uint8_t>(byte & std::byte{0x7f}));
      }
      const double value = values[code];
      slab.value[kKMajor ? i * kTile + row : row * kStep + i] = value * scale;
      double counted = std::fabs(value) > 0 ? std::max(std::fabs(value), smallest) * scale : 0;
      if (vector == 16) counted = format.largest * std::max(scale, 0x1p-6);
      double& largest = slab.largest[i / chunk][row];
      if (counted > largest) largest = counted;  // never true for NaN
    }
}

/// Eight numbers side by side, on any CPU: the compiler splits them into what the target has.
typedef double Eight __attribute__((vector_size(64)));

/// Computes sum += a . b^T over k in [from, to) for a whole tile, four rows and sixteen columns in registers.
WW_CLI_VECTOR void multiply(const double* a, const double* b, double* sum, int from, int to) {
  constexpr int kRows = 4, kColumns = 16;
  for (int column = 0; column < kTile; column += kColumns)
    for (int row = 0; row < kTile; row += kRows) {
      Eight s[kRows][2];
      for (int r = 0; r < kRows; ++r)
        for (int half = 0; half < 2; ++half)
          s[r][half] = *reinterpret_cast<const Eight*>(sum + (row + r) * kTile + column + 8 * half);
      for (int k = from; k < to; ++k) {
        const Eight* y = reinterpret_cast<const Eight*>(b + k * kTile + column);
        for (int r = 0; r < kRows; ++r) {
          const double x = a[(row + r) * kStep + k];
          s[r][0] += x * y[0];
          s[r][1] += x * y[1];
        }
      }
      for (int r = 0; r < kRows; ++r)
        for (int half = 0; half < 2; ++half)
          *reinterpret_cast<Eight*>(sum + (row + r) * kTile + column + 8 * half) = s[r][half];
    }
}

/// Computes the step of B_j for a whole tile, after `sum` has gone from `before` to S_j.
WW_CLI_VECTOR void widen(const double* before, const double* sum, double* bound, const double* largest_a,
                         const double* largest_b, const Arithmetic& rule) {
  const double c = rule.chunk;
  const double term = rule.term, result = rule.result;
  const bool chain = rule.chain;
  for (int row = 0; row < kTile; ++row)
    for (int column = 0; column < kTile; ++column) {
      const int i = row * kTile + column;
      const double product = largest_a[row] * largest_b[column];
      const double old = std::fabs(before[i]), now = std::fabs(sum[i]), b = bound[i];
      const double reach = old + b > product ? old + b : product;
      const double m = reach > 0x1p-126 ? reach : 0x1p-126;
      const double t = (c + 1) * term * m;
      const double exact = t + result * (now + b + t) + 0x1p-149;
      const double fp32 = c * 1.01 * kUnit * (old + b + c * product) + c * 0x1p-149;
      const double next = b + (chain ? fp32 : exact) + c * 0x1p-52 * (old + c * product);
      const double overflow = now + next >= kLargest ? kInfinity : next;
      bound[i] = now <= std::numeric_limits<double>::max() ? overflow : b;  // NaN and Inf need no bound
    }
}

/// Computes reference += t S and its bound, for a row of elements and scales that FP32 can hold; u = 2^-24.
/// With `fused`, product and sum round once (fma); otherwise the product alone rounds.
WW_CLI_VECTOR void scale_row(const double* scales, const double* sum, const double* bound, bool fused,
                             double* reference, double* error) {
  for (int i = 0; i < kTile; ++i) {
    const double t = scales[i], magnitude = std::fabs(t);
    const double s = sum[i], b = bound[i], size = std::fabs(s) + b, carried = error[i];
    const double product = t * s, total = reference[i] + product, now = std::fabs(total);
    const double raw =
        carried + magnitude * b + kUnit * magnitude * size + 0x1p-149 * (size + 1);  // sum, rounded scale
    const double rounding = kUnit * (fused ? now + raw : (1 + kUnit) * magnitude * size);
    const double next = raw + rounding + 0x1p-52 * (now + std::fabs(product));  // and this reference's own
    const double overflow = now + next >= kLargest ? kInfinity : next;
    reference[i] = total;
    error[i] = now <= std::numeric_limits<double>::max() ? overflow : carried;  // NaN and Inf need no bound
  }
}

/// Does the same for one element if FP32 has no finite scale: t is NaN, Inf, or a product of scales beyond the largest
/// number. A bound of Inf or NaN accepts anything: overflow on the way, or Inf times a sum of unknown sign.
void scale_by_special(double t, double s, double bound, double& reference, double& error) {
  const bool sign_known = std::isnan(t) || std::fabs(s) > bound || !std::isfinite(s);
  reference += t * s;
  if (!sign_known) error = std::numeric_limits<double>::quiet_NaN();
  else if (std::isfinite(reference)) error = kInfinity;
}

/// Returns the bound of an element after conversion to `type`.
double output_bound(DType type, double reference, double error) {
  if (type == DType::f32) return error;
  const double relative = type == DType::bf16 ? 0x1p-8 : 0x1p-11, tiny = type == DType::bf16 ? 0x1p-134 : 0x1p-25;
  return error + relative * (std::fabs(reference) + error) + tiny;
}

bool is_right(DType type, double got, double reference, double error, double bound) {
  if (std::isnan(error)) return true;
  if (std::isnan(reference)) return std::isnan(got);
  if (std::isinf(error)) return true;
  if (std::isinf(reference)) return got == reference;
  const double half_unit = type == DType::bf16 ? 0x1p119 : type == DType::f16 ? 16 : 0x1p103;  // of the largest value
  const bool may_overflow = std::fabs(reference) + error >= format_of(type).largest + half_unit;
  if (std::isinf(got)) return std::signbit(got) == std::signbit(reference) && may_overflow;
  return std::fabs(got - reference) <= bound;  // false for NaN
}

template <DType kA, DType kB = kA> class Verifier {
 public:
  Verifier(const Claim& claim, std::atomic<int>* progress)
      : claim_(claim), rule_(arithmetic_of(claim)), progress_(progress) {
    if (has_codes()) codes_a_ = code_table(claim.a.type()), codes_b_ = code_table(claim.b.type());
  }

  Comparison run() {
    const std::vector<Rows> tiles = row_tiles();
    const std::int64_t rows = static_cast<std::int64_t>(tiles.size()), columns = (claim_.columns() + kTile - 1) / kTile;
    std::atomic<std::int64_t> done{0};
    parallel_for(rows * columns, [&](std::int64_t i) {
      thread_local const auto tile = std::make_unique<Tile>();
      judge(*tile, tiles[static_cast<std::size_t>(i / columns)], i % columns * kTile);
      if (progress_) progress_->store(static_cast<int>(++done * 1000 / (rows * columns)), std::memory_order_relaxed);
    });
    if (claim_.groups) judge_outside();
    return verdict_;
  }

 private:
  /// Rows of D that are checked together: all of one group.
  struct Rows {
    std::int64_t first = 0, count = 0, group = 0;
  };

  std::vector<Rows> row_tiles() const {
    std::vector<Rows> tiles;
    const auto add = [&](const GroupRows& rows, std::int64_t group) {
      for (std::int64_t at = 0; at < rows.count; at += kTile)
        tiles.push_back({rows.first + at, std::min<std::int64_t>(kTile, rows.count - at), group});
    };
    if (!claim_.groups) add({0, claim_.d.rows()}, 0);
    else
      for (std::size_t g = 0; g < claim_.groups->size(); ++g) add((*claim_.groups)[g], static_cast<std::int64_t>(g));
    return tiles;
  }

  void judge(Tile& tile, const Rows& rows, std::int64_t column) {
    const std::int64_t k_size = claim_.a.cols();
    const bool block = is_block(claim_.scale);
    const int count = static_cast<int>(rows.count);
    const int columns = static_cast<int>(std::min<std::int64_t>(kTile, claim_.columns() - column));
    clear(tile.sum), clear(tile.bound), clear(tile.reference), clear(tile.error);
    for (std::int64_t k = 0; k < k_size; k += kStep) {
      const std::int64_t row_of_b = rows.group * claim_.columns() + column;
      if (has_codes()) {
        const bool scaled = is_microscaled(claim_.scale);
        const int vector = scaled ? scale_vector(claim_.scale) : kStep;
        load_codes<false>(tile.a, claim_.a, codes_a_, scaled ? claim_.scale_a : nullptr, vector, rows.first, count, k,
                          rule_.chunk);
        load_codes<true>(tile.b, claim_.b, codes_b_, scaled ? claim_.scale_b : nullptr, vector, row_of_b, columns, k,
                         rule_.chunk);
      } else {
        load<false>(tile.a, claim_.a, decoder_a_, rows.first, count, k, rule_.chunk);
        load<true>(tile.b, claim_.b, decoder_b_, row_of_b, columns, k, rule_.chunk);
      }
      const int depth = static_cast<int>(std::min<std::int64_t>(kStep, k_size - k));
      for (int at = 0, j = 0; at < depth; at += rule_.chunk, ++j) {
        std::copy(std::begin(tile.sum), std::end(tile.sum), tile.before);
        multiply(tile.a.value, tile.b.value, tile.sum, at, std::min(at + rule_.chunk, depth));
        widen(tile.before, tile.sum, tile.bound, tile.a.largest[j], tile.b.largest[j], rule_);
      }
      if (block) promote(tile, rows, column, columns, k / kStep);
    }
    if (!block) finish(tile, rows, column, columns);
    if (claim_.reference) copy_out(tile, rows, column, columns);
    else compare(tile, rows, column, columns);
  }

  /// Returns whether operands are decoded by tables of their codes.
  bool has_codes() const {
    return is_microscaled(claim_.scale) || is_packed(claim_.a.type()) || is_packed(claim_.b.type());
  }

  void copy_out(const Tile& tile, const Rows& rows, std::int64_t column, int columns) const {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const std::int64_t to = (rows.first + r) * claim_.columns() + column;
      std::copy_n(tile.reference + r * kTile, columns, claim_.reference + to);
      std::copy_n(tile.error + r * kTile, columns, claim_.error + to);
    }
  }

  template <std::size_t kSize> static void clear(double (&values)[kSize]) { std::fill_n(values, kSize, 0.0); }

  static void scale_tile_row(Tile& tile, std::int64_t r, const double (&t)[kTile], bool fused) {
    const std::int64_t i = r * kTile;
    if (std::all_of(std::begin(t), std::end(t), [](double x) { return std::fabs(x) <= kLargest; }))
      return scale_row(t, tile.sum + i, tile.bound + i, fused, tile.reference + i, tile.error + i);
    // Both are computed, because neighbours of a special scale are ordinary.
    double ordinary[kTile], reference[kTile], error[kTile];
    for (int c = 0; c < kTile; ++c) ordinary[c] = std::fabs(t[c]) <= kLargest ? t[c] : 0;
    std::copy_n(tile.reference + i, kTile, reference), std::copy_n(tile.error + i, kTile, error);
    scale_row(ordinary, tile.sum + i, tile.bound + i, fused, reference, error);
    for (int c = 0; c < kTile; ++c)
      if (std::fabs(t[c]) <= kLargest) tile.reference[i + c] = reference[c], tile.error[i + c] = error[c];
      else scale_by_special(t[c], tile.sum[i + c], tile.bound[i + c], tile.reference[i + c], tile.error[i + c]);
  }

  /// Adds the block's scaled sum to the reference and starts the next block from zero.
  void promote(Tile& tile, const Rows& rows, std::int64_t column, int columns, std::int64_t block) {
    const Matrix &scale_a = *claim_.scale_a, &scale_b = *claim_.scale_b;
    const std::int64_t shared = columns_of_scale(claim_.scale);  // columns with one scale
    const std::int64_t of_group = (claim_.columns() + shared - 1) / shared;
    double sb[kTile] = {}, t[kTile];
    for (int c = 0; c < columns; ++c)
      sb[c] = scale_b.floats()[(rows.group * of_group + (column + c) / shared) * scale_b.ld() + block];
    for (std::int64_t r = 0; r < rows.count; ++r) {
      const double sa = scale_a.floats()[(rows.first + r) * scale_a.ld() + block];
      for (int c = 0; c < kTile; ++c) t[c] = sa * sb[c];
      scale_tile_row(tile, r, t, true);
    }
    clear(tile.sum), clear(tile.bound);
  }

  /// Scales that are applied once per output, after all of K: none, per tensor, per group, or per row and column.
  void finish(Tile& tile, const Rows& rows, std::int64_t column, int columns) {
    if (claim_.scale == Scale::none || claim_.scale == Scale::mx || claim_.a.cols() == 0) {
      std::copy(std::begin(tile.sum), std::end(tile.sum), tile.reference);
      std::copy(std::begin(tile.bound), std::end(tile.bound), tile.error);
      return;
    }
    if (claim_.scale == Scale::nv) {
      double t[kTile];
      std::fill_n(t, kTile, double{claim_.global_scale});
      for (std::int64_t r = 0; r < rows.count; ++r) scale_tile_row(tile, r, t, false);
      return;
    }
    const Matrix &scale_a = *claim_.scale_a, &scale_b = *claim_.scale_b;
    const auto of_group = [&](const Matrix& scales) { return scales.rows() > 1 ? scales.ld() * rows.group : 0; };
    double t[kTile] = {};
    for (std::int64_t r = 0; r < rows.count; ++r) {
      if (claim_.scale == Scale::tensor)
        std::fill_n(t, kTile, double{scale_a.floats()[of_group(scale_a)]} * scale_b.floats()[of_group(scale_b)]);
      else
        for (int c = 0; c < columns; ++c)
          t[c] = double{scale_a.floats()[(rows.first + r) * scale_a.ld()]} *
                 scale_b.floats()[rows.group * scale_b.ld() + column + c];
      scale_tile_row(tile, r, t, false);
    }
  }

  void compare(const Tile& tile, const Rows& rows, std::int64_t column, int columns) {
    const std::int64_t row = rows.first;
    const DType type = claim_.d.type();
    Comparison local;
    for (std::int64_t r = 0; r < rows.count; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const double reference = tile.reference[r * kTile + c], error = tile.error[r * kTile + c];
        const double got = decode(type, claim_.d.row(row + r) + (column + c) * bytes_of(type));
        const double bound = output_bound(type, reference, error);
        const Mismatch here{row + r, column + c, got, reference, bound};
        const double difference = std::fabs(got - reference);
        if (!is_right(type, got, reference, error, bound)) {
          ++local.wrong;
          if (!local.first) local.first = here;
        }
        if (!std::isfinite(difference)) continue;
        if (difference > local.max_error) local.max_error = difference, local.worst = here;
        if (bound > 0) local.max_error_of_bound = std::max(local.max_error_of_bound, difference / bound);
      }
    merge(local);
  }

  /// Checks every byte of every row between groups.
  void judge_outside() {
    const DType type = claim_.d.type();
    const std::int64_t step = elements_per_unit(type), width = bytes_in(type, step);
    unsigned char expected[8];
    std::fill(std::begin(expected), std::end(expected), claim_.outside);
    const auto judge_rows = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row)
        for (std::int64_t column = 0; column < claim_.d.cols(); column += step) {
          const std::byte* at = claim_.d.row(row) + bytes_in(type, column);
          verdict_.outside += step;
          if (std::memcmp(at, expected, static_cast<std::size_t>(width)) == 0) continue;
          ++verdict_.outside_wrong;
          if (!verdict_.first_outside)
            verdict_.first_outside = Mismatch{row, column, decode(type, at), decode(type, expected), 0};
        }
    };
    std::vector<GroupRows> groups;
    for (const GroupRows& group : *claim_.groups)
      if (group.count > 0) groups.push_back(group);
    std::sort(groups.begin(), groups.end(), [](const GroupRows& x, const GroupRows& y) { return x.first < y.first; });
    std::int64_t end = 0;
    for (const GroupRows& group : groups) judge_rows(end, group.first), end = group.first + group.count;
    judge_rows(end, claim_.d.rows());
  }

  /// Merges results independently of the order in which tiles arrive: ties go to the earlier element.
  void merge(const Comparison& local) {
    const auto earlier = [](const Mismatch& x, const Mismatch& y) {
      return x.row != y.row ? x.row < y.row : x.column < y.column;
    };
    const std::lock_guard lock(mutex_);
    verdict_.wrong += local.wrong;
    if (local.first && (!verdict_.first || earlier(*local.first, *verdict_.first))) verdict_.first = local.first;
    if (local.max_error > verdict_.max_error ||
        (local.max_error == verdict_.max_error && earlier(local.worst, verdict_.worst)))
      verdict_.max_error = local.max_error, verdict_.worst = local.worst;
    verdict_.max_error_of_bound = std::max(verdict_.max_error_of_bound, local.max_error_of_bound);
  }

  const Claim& claim_;
  const Arithmetic rule_;
  std::atomic<int>* progress_;
  std::array<double, 256> codes_a_{}, codes_b_{};
  const Decoder<kA> decoder_a_;
  const Decoder<kB> decoder_b_;
  std::mutex mutex_;
  Comparison verdict_;
};

}  // namespace

Comparison verify(const Claim& claim, std::atomic<int>* progress) {
  // Operands that are decoded by tables of their codes need no decoder of the type.
  if (is_microscaled(claim.scale) || is_packed(claim.a.type()) || is_packed(claim.b.type()))
    return Verifier<DType::e4m3>(claim, progress).run();
  const bool wide_b = claim.b.type() == DType::e5m2;
  switch (claim.a.type()) {
    case DType::bf16: return Verifier<DType::bf16>(claim, progress).run();
    case DType::f16: return Verifier<DType::f16>(claim, progress).run();
    case DType::tf32: return Verifier<DType::tf32>(claim, progress).run();
    case DType::e5m2:
      return wide_b ? Verifier<DType::e5m2>(claim, progress).run()
                    : Verifier<DType::e5m2, DType::e4m3>(claim, progress).run();
    default:
      return wide_b ? Verifier<DType::e4m3, DType::e5m2>(claim, progress).run()
                    : Verifier<DType::e4m3>(claim, progress).run();
  }
}

}  // namespace ww::ref
