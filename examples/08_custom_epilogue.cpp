// SPDX-License-Identifier: Apache-2.0
// A custom epilogue: a network layer around the product, in the same kernel.
//   D = silu(alpha A B^T + bias) + C, in place of C; beside it the largest magnitude of each row of D
// The epilogue is a value, written as a C++ expression or as text; the kernel is compiled for it once.
//   example_08_custom_epilogue [device]        device: emu:sm90 (default) or cuda:0
#include <cmath>
#include <cstdio>
#include <random>

#include "on_device.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/host/gemm.hpp"

namespace {

using example::require;

constexpr std::int64_t kM = 200, kN = 264, kK = 256;
constexpr float kAlpha = 0.125f;

std::vector<ww::bf16_t> random_bf16(std::mt19937& rng, std::int64_t count) {
  std::vector<ww::bf16_t> values(static_cast<std::size_t>(count));
  for (ww::bf16_t& v : values) v.bits = ww::arch::to_bf16(static_cast<float>(rng() % 2048) / 1024.0f - 1.0f);
  return values;
}

double number(ww::bf16_t v) { return ww::arch::from_bf16(v.bits); }

/// The same in FP64, from the operands' own values.
double expected(const std::vector<ww::bf16_t>& a, const std::vector<ww::bf16_t>& b, const std::vector<float>& bias,
                const std::vector<ww::bf16_t>& c, std::int64_t m, std::int64_t n) {
  double sum = 0;
  for (std::int64_t k = 0; k < kK; ++k)
    sum += number(a[static_cast<std::size_t>(m * kK + k)]) * number(b[static_cast<std::size_t>(n * kK + k)]);
  const double x = kAlpha * sum + bias[static_cast<std::size_t>(n)];
  return x / (1 + std::exp(-x)) + number(c[static_cast<std::size_t>(m * kN + n)]);
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);

  using namespace ww::evt;  // acc, alpha, bias(), c(), silu(), row_amax(), ...
  constexpr ww::EpilogueTree tree = row_amax(silu(acc * alpha + bias()) + c(), 0);
  const ww::EpilogueTree text = require(ww::parse_epilogue("row_amax(silu(acc*alpha + bias) + c, out0)"));

  const ww::GemmPlan plan = require(ww::plan_gemm(
      device, ww::GemmProblem{.m = kM, .n = kN, .k = kK, .a = ww::bf16, .b = ww::bf16, .epilogue = tree}));

  std::mt19937 rng(8);
  const auto a = random_bf16(rng, kM * kK), b = random_bf16(rng, kN * kK), c0 = random_bf16(rng, kM * kN);
  std::vector<float> bias0(kN);
  for (float& v : bias0) v = static_cast<float>(rng() % 1024) / 512.0f - 1.0f;
  const ww::Buffer on_a = example::upload(device, a), on_b = example::upload(device, b),
                   on_d = example::upload(device, c0), on_bias = example::upload(device, bias0),
                   amax = example::upload(device, std::vector<float>(kM, -1.0f)),
                   // zeroed once: partial results of tiles on their way to the last one of a row
      workspace = example::upload(device, std::vector<ww::u8>(plan.workspace_bytes()));

  ww::GemmOperands operands{.a = on_a.data(),
                            .b = on_b.data(),
                            .d = on_d.data(),
                            .workspace = workspace.data(),
                            .workspace_bytes = workspace.bytes()};
  operands.epilogue.scalar[ww::kScalarAlpha] = kAlpha;
  operands.epilogue.row_vector[0] = on_bias.data();
  operands.epilogue.c = on_d.data();  // in place: every element is read before it is written
  operands.epilogue.out[0] = amax.data();
  require(plan.run(operands));
  require(device.synchronize());

  const auto d = example::download<ww::bf16_t>(device, on_d, c0.size());
  const auto amaxes = example::download<float>(device, amax, kM);
  int outside = 0, amax_outside = 0;
  for (std::int64_t m = 0; m < kM; ++m) {
    double largest = 0;
    for (std::int64_t n = 0; n < kN; ++n) {
      const double want = expected(a, b, bias0, c0, m, n);
      const double bound = 0x1p-8 * std::fabs(want) + 1e-4;  // half a unit of bf16, and FP32 on the way
      outside += !(std::fabs(number(d[static_cast<std::size_t>(m * kN + n)]) - want) <= bound);
      largest = std::fmax(largest, std::fabs(want));
    }
    amax_outside += !(std::fabs(amaxes[static_cast<std::size_t>(m)] - largest) <= 1e-4);  // taken before bf16
  }
  std::printf("%s\nepilogue  %s\nkernel    %s\n%d of %zu elements and %d of %zu row maxima outside their bounds\n",
              device.info().description.c_str(), ww::to_text(plan.config().epilogue).c_str(),
              text == tree ? "the same as for the text" : "another than for the text", outside, d.size(), amax_outside,
              amaxes.size());
  return outside == 0 && amax_outside == 0 && text == tree ? 0 : 1;
}
