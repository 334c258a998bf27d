// SPDX-License-Identifier: Apache-2.0
// One pass over the rows: each element's tree with bounds, then what rows share, then what columns share.
#include "reference/verify_epilogue.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/element.hpp"
#include "warpwright/config/epilogue_nodes.hpp"
#include "warpwright/config/epilogue_stages.hpp"

namespace ww::ref {
namespace {

using bounded::kHalfUnit, bounded::kInfinity, bounded::kTiny, bounded::kUnit, bounded::multiply, bounded::rounded;

Bounded convert(Bounded x, DType type) {
  if (type == DType::f32) return x;
  const Format format = format_of(type);
  if (is_fp8(type)) x.value = std::clamp(x.value, -format.largest, format.largest);
  else if (!(std::fabs(x.value) + x.error <= format.largest)) return {x.value, kInfinity};
  const double relative = std::ldexp(1.0, -format.fraction_bits - 1);
  const double tiny = std::ldexp(1.0, format.min_exponent - format.fraction_bits - 1);
  return {x.value, x.error + relative * (std::fabs(x.value) + x.error) + tiny};
}

/// Results over one row or column.
struct Reduction {
  double sum = 0, sum_error = 0, magnitude = 0, amax = 0, amax_error = 0;
  std::int64_t count = 0;
  void add(Bounded x) {
    sum += x.value, sum_error += x.error, magnitude += std::fabs(x.value) + x.error, ++count;
    amax = std::max(amax, std::fabs(x.value)), amax_error = std::max(amax_error, x.error);
    if (std::isnan(x.value)) sum_error = amax_error = kInfinity;
  }
  Bounded result(bool of_sum) const {
    if (!of_sum) return {amax, amax_error};
    // At most one addition for each value, each off by half a unit of no more than the sum of magnitudes.
    return {sum, sum_error + static_cast<double>(count) * 1.01 * kHalfUnit * magnitude + kTiny};
  }
};

double element(const Matrix& matrix, std::int64_t row, std::int64_t column) {
  return decode_at(matrix.type(), matrix.row(row), column);
}

/// One matrix of a batch, or one group of rows.
class Judge {
 public:
  Judge(const EpilogueTree& tree, const BoundedProduct& product, const EpilogueTensors& tensors, const Matrix& d,
        std::int64_t matrix)
      : tree_(tree),
        stages_(config::stages_of(tree)),
        product_(product),
        tensors_(tensors),
        d_(d),
        matrix_(matrix),
        rows_of_d_(product.groups ? (*product.groups)[static_cast<std::size_t>(matrix)]
                                  : GroupRows{matrix * product.m, product.m}) {
    for (auto& rows : rows_) rows.resize(static_cast<std::size_t>(rows_of_d_.count));
    for (auto& columns : columns_) columns.resize(static_cast<std::size_t>(product.n));
  }

  EpilogueComparison run() {
    std::vector<Bounded> row(static_cast<std::size_t>(product_.n));
    for (std::int64_t m = 0; m < rows_of_d_.count; ++m) {
      for (std::int64_t n = 0; n < product_.n; ++n) row[static_cast<std::size_t>(n)] = value(stages_.body, m, n);
      judge_row(m, gated(row));
    }
    judge_reductions();
    if (stages_.quantise == EpilogueOp::quantise)
      judge("amax", matrix_, 0, tensors_.amax[static_cast<std::size_t>(matrix_)], all_.result(false));
    return std::move(verdict_);
  }

 private:
  Bounded value(int at, std::int64_t m, std::int64_t n) {
    const EpilogueNode node = tree_.node(at);
    const auto operand = [&](int i) { return value(config::operand_node(tree_, at, i), m, n); };
    const auto exact = [](double x) { return Bounded{x, 0}; };
    switch (node.op) {
      case EpilogueOp::accumulator: {
        const auto i = static_cast<std::size_t>(row_of(m) * product_.n + n);
        return {product_.reference[i], product_.error[i]};
      }
      case EpilogueOp::constant: return exact(std::bit_cast<float>(tree_.constant[node.slot]));
      case EpilogueOp::scalar: {
        const std::vector<float>& each = tensors_.scalars[node.slot];
        return exact(each.empty() ? tensors_.scalar[node.slot] : each[static_cast<std::size_t>(matrix_)]);
      }
      case EpilogueOp::c: return exact(element(tensors_.c, input_row(tensors_.c, m), n));
      case EpilogueOp::row_vector: {
        const Matrix& row = tensors_.row[node.slot];
        return exact(element(row, row.rows() > 1 ? matrix_ : 0, n));
      }
      case EpilogueOp::column_vector: {
        const Matrix& column = tensors_.column[node.slot];
        return exact(element(column, input_row(column, m), 0));
      }
      case EpilogueOp::auxiliary: {
        const Matrix& auxiliary = tensors_.auxiliary[node.slot];
        return exact(element(auxiliary, input_row(auxiliary, m), n));
      }
      case EpilogueOp::add: return bounded::add(operand(0), operand(1));
      case EpilogueOp::multiply: return bounded::multiply(operand(0), operand(1));
      case EpilogueOp::divide: return bounded::divide(operand(0), operand(1));
      case EpilogueOp::fma: return bounded::fma(operand(0), operand(1), operand(2));
      case EpilogueOp::clamp: return bounded::clamp(operand(0), operand(1), operand(2));
#define WW_EPILOGUE_CASE(name, formula) \
  case EpilogueOp::name: return bounded::name(operand(0), operand(1));
        WW_EPILOGUE_FUNCTIONS_OF_TWO(WW_EPILOGUE_CASE)
#undef WW_EPILOGUE_CASE
      default: return function(node, operand(0), m, n);
    }
  }

  Bounded function(const EpilogueNode& node, Bounded x, std::int64_t m, std::int64_t n) {
    switch (node.op) {
#define WW_EPILOGUE_CASE(name, formula) \
  case EpilogueOp::name: return bounded::name(x);
      WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_CASE)
#undef WW_EPILOGUE_CASE
      case EpilogueOp::convert: return convert(x, node.type);
      case EpilogueOp::store: {
        const Matrix& out = tensors_.out[node.slot];
        judge(kOut[node.slot], row_of(m), n, element(out, row_of(m), n), convert(x, out.type()));
        return x;
      }
      default: break;
    }
    if (config::is_row_reduction(node.op)) rows_[node.slot][static_cast<std::size_t>(m)].add(x);
    if (config::is_column_reduction(node.op)) columns_[node.slot][static_cast<std::size_t>(n)].add(x);
    return x;
  }

  std::vector<Bounded> gated(const std::vector<Bounded>& row) const {
    if (stages_.swiglu == EpilogueOp::none) return row;
    std::vector<Bounded> out(row.size() / 2);
    const bool halves = stages_.swiglu == EpilogueOp::swiglu_halves;
    for (std::size_t i = 0; i < out.size(); ++i)
      out[i] = multiply(bounded::silu(row[halves ? i : 2 * i]), row[halves ? i + out.size() : 2 * i + 1]);
    return out;
  }

  void judge_row(std::int64_t m, const std::vector<Bounded>& row) {
    const auto columns = static_cast<std::int64_t>(row.size());
    if (stages_.quantise > EpilogueOp::quantise) return judge_blocks(m, row);
    const bool quantise = stages_.quantise == EpilogueOp::quantise;
    for (std::int64_t n = 0; n < columns; ++n) {
      Bounded x = row[static_cast<std::size_t>(n)];
      if (quantise) all_.add(x), x = multiply(x, {tensors_.scalar[kScalarOutScale], 0});
      judge("D", row_of(m), n, element(d_, row_of(m), n), convert(x, d_.type()));
    }
  }

  /// Checks the scale against the block's amax, then the elements against the scale that was returned.
  void judge_blocks(std::int64_t m, const std::vector<Bounded>& row) {
    if (config::is_microscale(stages_.quantise)) return judge_chunks(m, row);
    const auto columns = static_cast<std::int64_t>(row.size());
    for (std::int64_t first = 0; first < columns; first += 128) {
      const std::int64_t last = std::min(first + 128, columns);
      Reduction block;
      for (std::int64_t n = first; n < last; ++n) block.add(row[static_cast<std::size_t>(n)]);
      const double got = element(tensors_.out_scales, row_of(m), first / 128);
      judge("out_scales", row_of(m), first / 128, got, scale_of(block.result(false), got));
      for (std::int64_t n = first; n < last; ++n) {
        const Bounded x = row[static_cast<std::size_t>(n)];
        const Bounded scaled = rounded(x.value / got, x.error / got, 4 * kHalfUnit);
        judge("D", row_of(m), n, element(d_, row_of(m), n), convert(scaled, d_.type()));
      }
    }
  }
  /// The same with scales of 8 bits.
  void judge_chunks(std::int64_t m, const std::vector<Bounded>& row) {
    const bool mx = stages_.quantise == EpilogueOp::quantise_mx;
    const auto columns = static_cast<std::int64_t>(row.size()), vector = std::int64_t{mx ? 32 : 16};
    const double inverse = mx ? 1 : tensors_.scalar[kScalarOutScale], largest = format_of(d_.type()).largest;
    for (std::int64_t first = 0; first < columns; first += vector) {
      const std::int64_t last = std::min(first + vector, columns), block = first / vector;
      Reduction magnitudes;
      for (std::int64_t n = first; n < last; ++n) magnitudes.add(row[static_cast<std::size_t>(n)]);
      const auto byte = static_cast<std::uint8_t>(tensors_.out_scales.row(row_of(m))[block]);
      const double got = mx ? std::ldexp(1.0, byte - 127) : decode_e4m3(byte);
      const Bounded amax = magnitudes.result(false);
      judge("out_scales", row_of(m), block, got,
            mx ? power_of_two(amax, largest, got)
               : convert(rounded(amax.value / 6 * inverse, amax.error / 6 * inverse, 4 * kHalfUnit), DType::e4m3));
      for (std::int64_t n = first; n < last; ++n) {
        const Bounded x = row[static_cast<std::size_t>(n)];
        const double factor = got == 0 ? 0 : inverse / got;
        const Bounded scaled = rounded(x.value * factor, x.error * std::fabs(factor), 4 * kHalfUnit);
        judge("D", row_of(m), n, element(d_, row_of(m), n), convert(scaled, d_.type()));
      }
    }
  }
  /// `got` if it is a least power of two that brings some number within the bound to the range of the type.
  static Bounded power_of_two(Bounded amax, double largest, double got) {
    const auto least = [&](double of) {
      return of <= 0 ? 0x1p-127 : std::clamp(std::exp2(std::ceil(std::log2(of / largest))), 0x1p-127, 0x1p127);
    };
    const double low = least((amax.value - amax.error) * (1 - 2 * kUnit)),
                 high = least((amax.value + amax.error) * (1 + 2 * kUnit));
    return {got >= low && got <= high ? got : high, 0};
  }
  Bounded scale_of(Bounded amax, double got) const {
    if (amax.value == 0 && amax.error == 0) return {1, 0};
    const double largest = format_of(d_.type()).largest;
    const auto scale = [&](double of) {
      double s = std::max(of / largest, 0x1p-126);
      if (stages_.quantise == EpilogueOp::quantise_block_pow2) s = std::exp2(std::ceil(std::log2(s)));
      return s;
    };
    const double low = std::max(0.0, amax.value - amax.error) * (1 - 2 * kUnit), high = amax.value + amax.error;
    if (low == 0 && got == 1) return {1, 0};  // FP32 may have seen nothing but zeros
    if (stages_.quantise == EpilogueOp::quantise_block_pow2) {
      const double least = scale(low), most = scale(high * (1 + 2 * kUnit));
      return {got >= least && got <= most && std::exp2(std::round(std::log2(got))) == got ? got : most, 0};
    }
    return rounded(scale(amax.value), amax.error / largest, 4 * kHalfUnit);
  }

  void judge_reductions() {
    for (int i = 0; i < tree_.size(); ++i) {
      const EpilogueNode node = tree_.node(i);
      const bool of_rows = config::is_row_reduction(node.op);
      if (!of_rows && !config::is_column_reduction(node.op)) continue;
      const bool sum = node.op == EpilogueOp::row_sum || node.op == EpilogueOp::column_sum;
      const std::vector<Reduction>& all = of_rows ? rows_[node.slot] : columns_[node.slot];
      for (std::size_t j = 0; j < all.size(); ++j) {
        const Bounded expected = all[j].result(sum);
        const auto at = static_cast<std::int64_t>(j);
        const Matrix& out = tensors_.out[node.slot];
        const std::int64_t row = of_rows ? row_of(at) : matrix_, column = of_rows ? 0 : at;
        judge(kOut[node.slot], row, column, element(out, row, column), expected);
      }
    }
  }

  /// Row `m` of this matrix in a tensor that has those of all, and in an input, which may have them once.
  std::int64_t row_of(std::int64_t m) const { return rows_of_d_.first + m; }
  std::int64_t input_row(const Matrix& input, std::int64_t m) const {
    return product_.groups || input.rows() > product_.m ? row_of(m) : m;
  }

  void judge(const char* where, std::int64_t row, std::int64_t column, double got, Bounded expected) {
    const double bound = expected.error;
    Comparison& v = verdict_.verdict;
    ++verdict_.elements;
    if (!std::isfinite(bound) || std::isnan(expected.value)) return;
    const Mismatch here{row, column, got, expected.value, bound};
    const double difference = std::fabs(got - expected.value);
    if (!(difference <= bound)) {
      ++v.wrong;
      if (!v.first) v.first = here, verdict_.where = where;
    }
    if (!std::isfinite(difference)) return;
    if (difference > v.max_error) v.max_error = difference, v.worst = here;
    if (bound > 0) v.max_error_of_bound = std::max(v.max_error_of_bound, difference / bound);
  }

  static constexpr const char* kOut[] = {"out0", "out1", "out2", "out3"};

  const EpilogueTree& tree_;
  const config::EpilogueStages stages_;
  const BoundedProduct& product_;
  const EpilogueTensors& tensors_;
  const Matrix& d_;
  const std::int64_t matrix_;
  const GroupRows rows_of_d_;
  std::array<std::vector<Reduction>, kEpilogueSlots> rows_, columns_;
  Reduction all_;
  EpilogueComparison verdict_;
};

}  // namespace

EpilogueComparison verify_epilogue(const EpilogueTree& tree, const BoundedProduct& product,
                                   const EpilogueTensors& tensors, const Matrix& d) {
  EpilogueComparison all;
  const std::int64_t judged = product.groups ? static_cast<std::int64_t>(product.groups->size()) : product.batch;
  for (std::int64_t l = 0; l < judged; ++l) {
    const EpilogueComparison one = Judge(tree, product, tensors, d, l).run();
    const Comparison& from = one.verdict;
    Comparison& to = all.verdict;
    if (!to.first && from.first) to.first = from.first, all.where = one.where;
    if (from.max_error > to.max_error) to.worst = from.worst, to.max_error = from.max_error;
    to.max_error_of_bound = std::max(to.max_error_of_bound, from.max_error_of_bound);
    to.wrong += from.wrong, all.elements += one.elements;
  }
  return all;
}

EpilogueComparison verify_product(Claim claim, const EpilogueTree& tree, BoundedProduct product,
                                  const EpilogueTensors& tensors, std::atomic<int>* progress) {
  if (tree.empty()) {
    std::int64_t rows = product.batch * product.m;
    if (product.groups) rows = 0;
    for (std::size_t g = 0; product.groups && g < product.groups->size(); ++g) rows += (*product.groups)[g].count;
    return {.verdict = verify(claim, progress), .elements = rows * product.n};
  }
  product.reference.resize(static_cast<std::size_t>(product.batch * product.m * product.n));
  product.error.resize(product.reference.size());
  claim.reference = product.reference.data(), claim.error = product.error.data();
  const Comparison outside = verify(claim, progress);
  EpilogueComparison judged = verify_epilogue(tree, product, tensors, claim.d);
  judged.verdict.outside = outside.outside, judged.verdict.outside_wrong = outside.outside_wrong;
  judged.verdict.first_outside = outside.first_outside;
  return judged;
}

}  // namespace ww::ref
