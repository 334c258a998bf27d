// SPDX-License-Identifier: Apache-2.0
// Products whose scales the tensor core of sm_100 applies, on the emulated device: every output within its own bound
// of FP64 (docs/numerics.md section 7). Extents have tails of tiles, of chunks of scales and of K.
#include <gtest/gtest.h>

#include "operations/operation.hpp"
#include "warpwright/core/scale_chunks.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww {
namespace {

struct Case {
  DType a, b;
  Scale scale;
  std::int64_t m, n, k, batch;
};

class BlockScaled : public testing::TestWithParam<Case> {};

TEST_P(BlockScaled, EveryOutputIsWithinItsBound) {
  const Case c = GetParam();
  const auto device = Device::open("emu:sm100");
  ASSERT_TRUE(device) << device.error().message;
  GemmProblem p{.m = c.m, .n = c.n, .k = c.k, .a = c.a, .b = c.b, .scale = c.scale, .batch = c.batch};
  p.lda = p.ldb = round_up(c.k, std::int64_t{128});
  if (c.batch > 1) {
    p.batch_a = p.m * p.lda, p.batch_b = p.n * p.ldb, p.batch_d = p.m * p.n;
    p.batch_scale_a = scale_bytes(p.m, p.k, scale_vector(p.scale));
    p.batch_scale_b = scale_bytes(p.n, p.k, scale_vector(p.scale));
  }
  operations::Inputs inputs;
  inputs.options.config.arch = Arch::sm100;
  const auto product = operations::make_operation(p, std::move(inputs));
  for (const auto& step : {product->can_implement(), product->plan(*device), product->make_tensors(), product->upload(),
                           product->run(), product->download()})
    ASSERT_TRUE(step) << step.error().message;
  const auto judged = product->judge(EmuMath::exact, nullptr);
  ASSERT_TRUE(judged) << judged.error().message;
  EXPECT_EQ(judged->elements, c.batch * c.m * c.n);
  EXPECT_EQ(judged->verdict.wrong, 0) << judged->verdict.max_error_of_bound;
}

INSTANTIATE_TEST_SUITE_P(Formats, BlockScaled,
                         testing::Values(Case{e4m3, e4m3, Scale::mx, 200, 136, 320, 1},
                                         Case{e4m3, e2m1, Scale::mx, 64, 64, 128, 1},
                                         Case{e3m2, e2m3, Scale::mx, 128, 64, 256, 1},
                                         Case{e2m1, e2m1, Scale::mx, 130, 72, 256, 1},
                                         Case{e2m1, e2m1, Scale::nv, 100, 128, 320, 2}));

}  // namespace
}  // namespace ww
