// SPDX-License-Identifier: Apache-2.0
// One block at a time: amax, scale, elements.
#include "reference/quantize.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "reference/element.hpp"
#include "reference/group_layout.hpp"

namespace ww::ref {
namespace {

constexpr std::int64_t kBlock = 128;
constexpr float kNan = std::bit_cast<float>(0x7fffffffu);  // the NaN that FP32 arithmetic of a GPU returns

struct Scale {
  float scale, inverse;
};

/// The scale of values whose magnitudes are at most `amax`, which may be NaN.
Scale scale_of(const QuantizeProblem& p, float amax) {
  if (std::isnan(amax)) return {kNan, kNan};
  amax = std::max(amax, p.min_amax);
  if (amax == 0) return {1.0f, 1.0f};
  const float step = 1.0f / static_cast<float>(format_of(p.q).largest);
  float scale = amax * step;
  if (p.power_of_two && std::isfinite(scale)) {
    int exponent = 0;
    const float fraction = std::frexp(scale, &exponent);  // in [1/2, 1)
    scale = std::ldexp(1.0f, fraction == 0.5f ? exponent - 1 : exponent);
  }
  scale = std::max(scale, 0x1p-126f);
  return {scale, 1.0f / scale};
}

std::uint8_t element(DType type, float x, float inverse) {
  const float value = x * inverse;
  return std::isnan(value) ? 0x7f : static_cast<std::uint8_t>(encode(type, static_cast<double>(value)));
}

/// One matrix of the batch.
class Matrices {
 public:
  Matrices(const QuantizeProblem& p, const QuantizeOperands& o, std::int64_t l)
      : p_(p),
        x_(static_cast<const char*>(o.x) + l * p.batch_x * bytes_of(p.x)),
        q_(of(static_cast<std::uint8_t*>(o.q), l * p.batch_q)),
        transposed_(of(static_cast<std::uint8_t*>(o.transposed), l * p.batch_transposed)),
        scales_(of(o.scales, l * p.batch_scales)),
        transposed_scales_(of(o.transposed_scales, l * p.batch_transposed_scales)) {}

  float x(std::int64_t row, std::int64_t k) const {
    return static_cast<float>(decode(p_.x, x_ + (row * p_.ldx + k) * bytes_of(p_.x)));
  }

  /// Returns the scale of rows [row, row_end) and columns [k, k_end); amax is NaN where an element is.
  Scale scale(std::int64_t row, std::int64_t row_end, std::int64_t k, std::int64_t k_end) const {
    float amax = 0;
    for (std::int64_t i = row; i < row_end; ++i)
      for (std::int64_t j = k; j < k_end; ++j) {
        const float magnitude = std::fabs(x(i, j));
        if (std::isnan(magnitude) || magnitude > amax) amax = magnitude;
        if (std::isnan(amax)) return scale_of(p_, amax);
      }
    return scale_of(p_, amax);
  }

  void quantize_row(std::int64_t row) const {
    for (std::int64_t k = 0; k < p_.k; k += kBlock) {
      const std::int64_t end = std::min(k + kBlock, p_.k);
      const Scale s = scale(row, row + 1, k, end);
      scales_[row * p_.scale_m + k / kBlock * p_.scale_k] = s.scale;
      for (std::int64_t j = k; j < end; ++j) q_[row * p_.ldq + j] = element(p_.q, x(row, j), s.inverse);
    }
  }

  /// Quantises rows [row, row + rows) as columns of the transpose: column `to` of it is the first, its rows begin at
  /// `base` and are `pitch` apart, and `padded` of its columns are written; `block`: of the first scale.
  void quantize_columns(std::int64_t row, std::int64_t rows, std::int64_t padded, std::int64_t base, std::int64_t pitch,
                        std::int64_t block) const {
    for (std::int64_t k = 0; k < p_.k; ++k)
      for (std::int64_t i = 0; i < padded; i += kBlock) {
        const std::int64_t end = std::min(i + kBlock, rows);
        const Scale s = i < rows ? scale(row + i, row + end, k, k + 1) : Scale{1.0f, 1.0f};
        transposed_scales_[k * p_.transposed_scale_k + (block + i / kBlock) * p_.transposed_scale_m] = s.scale;
        for (std::int64_t r = i; r < std::min(i + kBlock, padded); ++r)
          transposed_[base + k * pitch + r] = r < rows ? element(p_.q, x(row + r, k), s.inverse) : 0;
      }
  }

  void quantize_block(std::int64_t row, std::int64_t k) const {
    const std::int64_t row_end = std::min(row + kBlock, p_.m), k_end = std::min(k + kBlock, p_.k);
    const Scale s = scale(row, row_end, k, k_end);
    if (p_.rows) scales_[row / kBlock * p_.scale_m + k / kBlock * p_.scale_k] = s.scale;
    if (p_.transposed)
      transposed_scales_[k / kBlock * p_.transposed_scale_k + row / kBlock * p_.transposed_scale_m] = s.scale;
    for (std::int64_t i = row; i < row_end; ++i)
      for (std::int64_t j = k; j < k_end; ++j) {
        const std::uint8_t value = element(p_.q, x(i, j), s.inverse);
        if (p_.rows) q_[i * p_.ldq + j] = value;
        if (p_.transposed) transposed_[j * p_.ld_transposed + i] = value;
      }
  }

 private:
  template <class T> static T* of(T* first, std::int64_t offset) { return first == nullptr ? nullptr : first + offset; }

  const QuantizeProblem& p_;
  const char* x_;
  std::uint8_t *q_, *transposed_;
  float *scales_, *transposed_scales_;
};

void quantize_groups(const QuantizeProblem& p, const QuantizeOperands& o) {
  GroupLayout layout{.encoding = p.encoding, .groups = p.groups, .rows = p.m, .alignment = p.alignment};
  const std::int64_t count = p.encoding == GroupEncoding::row_ids  ? p.m
                             : p.encoding == GroupEncoding::indptr ? p.groups + 1
                                                                   : p.groups;
  layout.sizes.assign(o.sizes, o.sizes + count);
  if (p.encoding == GroupEncoding::starts_counts) layout.sizes2.assign(o.sizes2, o.sizes2 + p.groups);
  const GroupMeaning meaning = meaning_of(layout);
  if (o.status != nullptr) *o.status |= meaning.status;
  const Matrices matrices(p, o, 0);
  std::int64_t end = 0;
  for (std::size_t g = 0; g < meaning.groups.size(); ++g) {
    const auto [first, rows] = meaning.groups[g];
    const std::int64_t padded = (rows + p.padding - 1) / p.padding * p.padding;
    if (p.rows)
      for (std::int64_t row = first; row < first + rows; ++row) matrices.quantize_row(row);
    matrices.quantize_columns(first, rows, padded, p.one_by_one ? p.k * end : end,
                              p.one_by_one ? padded : p.ld_transposed, end / kBlock);
    end += padded;
    if (o.padded_ends != nullptr) o.padded_ends[g] = static_cast<std::int32_t>(end);
  }
}

}  // namespace

void quantize(const QuantizeProblem& p, const QuantizeOperands& o) {
  if (p.groups > 0) return quantize_groups(p, o);
  for (std::int64_t l = 0; l < p.batch; ++l) {
    const Matrices matrices(p, o, l);
    if (p.block == QuantizeBlock::b128x128) {
      for (std::int64_t row = 0; row < p.m; row += kBlock)
        for (std::int64_t k = 0; k < p.k; k += kBlock) matrices.quantize_block(row, k);
      continue;
    }
    for (std::int64_t row = 0; row < p.m && p.rows; ++row) matrices.quantize_row(row);
    if (p.transposed && p.m > 0) matrices.quantize_columns(0, p.m, p.m, 0, p.ld_transposed, 0);
  }
}

void transpose(const TransposeProblem& p, const TransposeOperands& o) {
  for (std::int64_t l = 0; l < p.batch; ++l) {
    const auto* w = static_cast<const std::uint8_t*>(o.w) + l * p.batch_w;
    auto* to = static_cast<std::uint8_t*>(o.transposed) + l * p.batch_transposed;
    for (std::int64_t n = 0; n < p.n; ++n)
      for (std::int64_t k = 0; k < p.k; ++k) to[k * p.ld_transposed + n] = w[n * p.ld + k];
    if (o.scales == nullptr) continue;
    for (std::int64_t n = 0; n < (p.n + kBlock - 1) / kBlock; ++n)
      for (std::int64_t k = 0; k < (p.k + kBlock - 1) / kBlock; ++k)
        o.transposed_scales[l * p.batch_transposed_scales + k * p.transposed_scale_k + n * p.transposed_scale_n] =
            o.scales[l * p.batch_scales + n * p.scale_n + k * p.scale_k];
  }
}

}  // namespace ww::ref
