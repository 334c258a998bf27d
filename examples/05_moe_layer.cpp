// SPDX-License-Identifier: Apache-2.0
// A mixture-of-experts layer from two grouped products. For each token x, its two best experts e and their weights w_e:
//   y = sum_e w_e Down_e (silu(Gate_e x) * (Up_e x))
//   route:    rows (token, expert) sorted by expert: the rows of an expert follow each other, expert e's up to ends[e]
//   up:       (R, H) x (E, 2I, H) -> (R, 2I), gate in the first I columns      grouped, e4m3, block scales
//   SwiGLU:   (R, 2I) -> (R, I), quantised again                               host
//   down:     (R, I) x (E, H, I) -> (R, H)                                     grouped, e4m3, block scales
//   combine:  rows back to their tokens, weighted                              host
// Checked twice: each product against FP64 on the operands that the device got, every element within its bound
// (docs/numerics.md, section 7), and the layer against FP64 without quantisation, token by token, unsorted.
//   example_05_moe_layer [device]        device: emu:sm90 (default) or cuda:0
#include <cstdio>
#include <numeric>

#include "block_scaled.hpp"
#include "on_device.hpp"
#include "warpwright/host/grouped.hpp"

namespace {

using example::BlockScaled, example::require;
using Floats = std::vector<float>;

constexpr std::int64_t kTokens = 64, kHidden = 256, kInner = 256, kExperts = 8, kChosen = 2, kIdle = 5;
constexpr std::int64_t kRows = kTokens * kChosen;
constexpr double kQuantisation = 0.1;  // what 3 fraction bits may cost, in two products and between them

struct Row {
  std::int64_t token, expert;
  double weight;  // softmax over the logits of the token's experts
};

std::vector<Row> route(const Floats& logits) {  // (T, E) -> (R), sorted by expert
  std::vector<Row> rows;
  for (std::int64_t t = 0; t < kTokens; ++t) {
    const float* const logit = &logits[t * kExperts];
    std::vector<std::int64_t> best(kExperts);
    std::iota(best.begin(), best.end(), 0);
    std::sort(best.begin(), best.end(), [&](auto e, auto f) { return logit[e] > logit[f]; });
    double sum = 0;
    for (std::int64_t i = 0; i < kChosen; ++i) sum += std::exp(double(logit[best[i]]));
    for (std::int64_t i = 0; i < kChosen; ++i) rows.push_back({t, best[i], std::exp(double(logit[best[i]])) / sum});
  }
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.expert < b.expert; });
  return rows;
}

/// D[r, :] = A[r, :] W[expert of r]^T; N is that of one expert. Exits when an element is outside its bound.
Floats grouped_product(const ww::Device& device, const char* name, const BlockScaled& a, const BlockScaled& w,
                       std::int64_t n, const std::vector<Row>& rows) {
  std::vector<std::int32_t> ends(kExperts);
  for (const Row& row : rows)
    for (std::int64_t e = row.expert; e < kExperts; ++e) ++ends[e];
  const ww::GroupedPlan plan = require(ww::plan(device, ww::GroupedProblem{.groups = kExperts,
                                                                           .rows = kRows,
                                                                           .n = n,
                                                                           .k = a.k,
                                                                           .scale = ww::Scale::block_1x128_128x128,
                                                                           .encoding = ww::GroupEncoding::offsets}));
  const ww::Buffer on_a = example::upload(device, a.values), scale_a = example::upload(device, a.scales);
  const ww::Buffer on_w = example::upload(device, w.values), scale_w = example::upload(device, w.scales);
  const ww::Buffer sizes = example::upload(device, ends);
  const ww::Buffer workspace = example::upload(device, std::vector<ww::u8>(plan.workspace_bytes()));  // zeros
  const ww::Buffer d = example::upload(device, std::vector<ww::bf16_t>(kRows * n, ww::bf16_t{0xffff}));
  require(plan.run({.a = on_a.data(),
                    .b = on_w.data(),
                    .d = d.data(),
                    .scale_a = static_cast<const float*>(scale_a.data()),
                    .scale_b = static_cast<const float*>(scale_w.data()),
                    .sizes = static_cast<const std::int32_t*>(sizes.data()),
                    .workspace = workspace.data(),
                    .workspace_bytes = workspace.bytes()}));
  require(device.synchronize());

  Floats values;  // (R, N)
  for (const ww::bf16_t v : example::download<ww::bf16_t>(device, d, kRows * n))
    values.push_back(ww::arch::from_bf16(v.bits));
  int outside = 0;
  for (std::int64_t r = 0; r < kRows; ++r)
    for (std::int64_t j = 0; j < n; ++j)
      outside += !example::product(a, r, w, rows[r].expert * n + j).holds(double(values[r * n + j]));
  std::printf("%-5s %d of %zu elements outside their bound; rows of the experts end at", name, outside, values.size());
  for (const std::int32_t end : ends) std::printf(" %d", end);
  std::printf("\n");
  if (outside != 0) std::exit(1);
  return values;
}

double swiglu(double gate, double up) { return gate / (1 + std::exp(-gate)) * up; }

template <class X> double dot(const X* x, const float* w, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += double(x[i]) * double(w[i]);
  return sum;
}

/// The layer without quantisation, nor sorting: an expert counts where fewer than two have a larger logit.
std::vector<double> exact_layer(const Floats& x, const Floats& logits, const Floats& gate_up, const Floats& down) {
  std::vector<double> y(kTokens * kHidden), sums(kTokens), inner(kInner);
  for (std::int64_t i = 0; i < kTokens * kExperts; ++i) {
    const std::int64_t t = i / kExperts, e = i % kExperts;
    const float* const of_token = &logits[t * kExperts];
    if (std::count_if(of_token, of_token + kExperts, [&](float l) { return l > logits[i]; }) >= kChosen) continue;
    sums[t] += std::exp(double(logits[i]));
    const float* const weights = &gate_up[e * 2 * kInner * kHidden];
    for (std::int64_t j = 0; j < kInner; ++j)
      inner[j] = swiglu(dot(&x[t * kHidden], weights + j * kHidden, kHidden),
                        dot(&x[t * kHidden], weights + (kInner + j) * kHidden, kHidden));
    for (std::int64_t h = 0; h < kHidden; ++h)
      y[t * kHidden + h] += std::exp(double(logits[i])) * dot(inner.data(), &down[(e * kHidden + h) * kInner], kInner);
  }
  for (std::size_t i = 0; i < y.size(); ++i) y[i] /= sums[i / kHidden];
  return y;
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  std::mt19937 rng(5);
  const Floats x = example::random_values(rng, kTokens * kHidden);
  const Floats gate_up = example::random_values(rng, kExperts * 2 * kInner * kHidden);  // (E, 2I, H)
  const Floats down = example::random_values(rng, kExperts * kHidden * kInner);         // (E, H, I)
  Floats logits = example::random_values(rng, kTokens * kExperts);
  for (std::int64_t t = 0; t < kTokens; ++t) logits[t * kExperts + kIdle] = -2;  // an expert nobody asks

  const std::vector<Row> rows = route(logits);
  Floats sorted, inner;  // (R, H), (R, I)
  for (const Row& row : rows)
    sorted.insert(sorted.end(), &x[row.token * kHidden], x.data() + (row.token + 1) * kHidden);
  const Floats up = grouped_product(device, "up:", example::quantise(sorted, kHidden, 1),
                                    example::quantise(gate_up, kHidden, example::kBlock), 2 * kInner, rows);
  for (std::int64_t i = 0; i < kRows * kInner; ++i) {
    const float* const gate = &up[i / kInner * 2 * kInner + i % kInner];
    inner.push_back(float(swiglu(double(gate[0]), double(gate[kInner]))));
  }
  const Floats out = grouped_product(device, "down:", example::quantise(inner, kInner, 1),
                                     example::quantise(down, kInner, example::kBlock), kHidden, rows);
  std::vector<double> y(kTokens * kHidden);
  for (std::int64_t i = 0; i < kRows * kHidden; ++i)
    y[rows[i / kHidden].token * kHidden + i % kHidden] += rows[i / kHidden].weight * double(out[i]);

  const std::vector<double> exact = exact_layer(x, logits, gate_up, down);
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    error += (y[i] - exact[i]) * (y[i] - exact[i]), norm += exact[i] * exact[i];
  const double relative = std::sqrt(error / norm);
  std::printf("%s: the layer is %.2f %% from the unquantised one\n", device.info().description.c_str(), 100 * relative);
  return relative < kQuantisation ? 0 : 1;
}
