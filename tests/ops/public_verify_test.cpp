// SPDX-License-Identifier: Apache-2.0
// ww::verify through the public headers: results of runs are right, one changed element is found where it is, operands
// may lie in any layout, and sizes that contradict are refused.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <warpwright/warpwright.hpp>

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Small numbers in every operand type: no bit pattern is NaN or infinite.
Bytes random_values(ww::DType type, std::int64_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(static_cast<std::size_t>(count * ww::bytes_of(type)));
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto sign = static_cast<std::uint32_t>(random() & 1);
    if (type == ww::e4m3) bytes[i] = static_cast<std::uint8_t>(sign << 7 | (0x20 + random() % 32));
    const float value = (sign ? -1.0f : 1.0f) * static_cast<float>(1 + random() % 64) / 32;
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    const auto half = static_cast<std::uint16_t>(bits >> 16);
    if (type == ww::bf16) std::memcpy(&bytes[2 * i], &half, 2);
    if (type == ww::f32) std::memcpy(&bytes[4 * i], &bits, 4);
  }
  return bytes;
}

/// A host array and its copy on the device.
struct Array {
  Bytes host;
  ww::Buffer buffer;
  template <class T = void> T* on_host() { return reinterpret_cast<T*>(host.data()); }
  template <class T = void> T* on_device() const { return static_cast<T*>(buffer.data()); }
};

class PublicVerify : public testing::Test {
 protected:
  Array array(Bytes host) {
    Array made{std::move(host), device_.allocate(made.host.size() + 16).value()};
    EXPECT_TRUE(device_.upload(made.buffer.data(), made.host.data(), made.host.size()));
    return made;
  }
  Array zeros(std::size_t bytes) { return array(Bytes(bytes)); }
  Array values(ww::DType type, std::int64_t count) { return array(random_values(type, count, ++seed_)); }
  Array integers(const std::vector<std::int32_t>& list) {
    Bytes bytes(list.size() * 4);
    std::memcpy(bytes.data(), list.data(), bytes.size());
    return array(std::move(bytes));
  }
  void fetch(Array& from) { ASSERT_TRUE(device_.download(from.host.data(), from.buffer.data(), from.host.size())); }

  ww::Device device_ = ww::Device::open("emu:sm90").value();
  std::uint64_t seed_ = 0;
};

TEST_F(PublicVerify, ABatchInEveryLayoutWithAnEpilogue) {
  using namespace ww::evt;
  for (const bool columns : {false, true}) {
    ww::GemmProblem p{.m = 72, .n = 40, .k = 96, .a = ww::bf16, .b = ww::bf16, .d = ww::f32};
    p.batch = 3, p.batch_a = p.m * p.k, p.batch_d = p.m * p.n;
    if (columns) p.a_major = p.b_major = ww::Major::mn, p.d_layout = p.c_layout = ww::OutputLayout::column;
    p.epilogue = relu(alpha * acc + c(ww::f32) + bias());
    const ww::GemmPlan plan = ww::plan_gemm(device_, p).value();
    Array a = values(p.a, 3 * p.m * p.k), b = values(p.b, p.n * p.k), c0 = values(ww::f32, 3 * p.m * p.n);
    Array v = values(ww::f32, p.n), d = zeros(static_cast<std::size_t>(12 * p.m * p.n));
    Array workspace = zeros(plan.workspace_bytes());
    ww::GemmOperands run{.a = a.on_device(), .b = b.on_device(), .d = d.on_device()};
    run.workspace = workspace.on_device(), run.workspace_bytes = plan.workspace_bytes();
    run.epilogue.scalar[ww::kScalarAlpha] = 0.5f;
    run.epilogue.c = c0.on_device(), run.epilogue.batch_c = p.m * p.n, run.epilogue.row_vector[0] = v.on_device();
    const auto done = plan.run(run);
    ASSERT_TRUE(done) << done.error().message;
    fetch(d);

    ww::GemmOperands host = run;
    host.a = a.on_host(), host.b = b.on_host(), host.d = d.on_host();
    host.epilogue.c = c0.on_host(), host.epilogue.row_vector[0] = v.on_host();
    const ww::Result<ww::Verification> right = ww::verify(p, host);
    ASSERT_TRUE(right) << right.error().message;
    EXPECT_TRUE(right->right()) << right->first->tensor << " " << right->first->got << " " << right->first->expected;
    EXPECT_EQ(right->elements, 3 * p.m * p.n);

    const std::int64_t row = 5, column = 7;
    d.on_host<float>()[p.m * p.n + (columns ? column * p.m + row : row * p.n + column)] += 100;
    const ww::Verification wrong = ww::verify(p, host).value();
    EXPECT_EQ(wrong.wrong, 1);
    EXPECT_EQ(wrong.first->product, 1);
    EXPECT_EQ(wrong.first->row, row);
    EXPECT_EQ(wrong.first->column, column);
    EXPECT_EQ(wrong.first->tensor, "D");
    host.epilogue.c = host.d;
    EXPECT_EQ(ww::verify(p, host).error().argument, "c");
    host.epilogue.c = c0.on_host(), host.b = nullptr;
    EXPECT_EQ(ww::verify(p, host).error().argument, "b");
  }
}

TEST_F(PublicVerify, BlackwellIsHeldToItsOwnBound) {
  const ww::GemmProblem p{.m = 16, .n = 16, .k = 32, .a = ww::e4m3, .b = ww::e4m3, .d = ww::f32};
  const std::vector<std::uint8_t> ones(16 * 32, 0x38);
  std::vector<float> d(16 * 16, 32.0f);
  const ww::GemmOperands host{.a = ones.data(), .b = ones.data(), .d = d.data()};
  EXPECT_EQ(ww::verify(p, host, {.arch = ww::Arch::sm100})->wrong, 0);
  d[17] *= 1 + 0x1p-16f;  // less than what Hopper's sums of 13 bits may lose
  EXPECT_EQ(ww::verify(p, host, {.arch = ww::Arch::sm90})->wrong, 0);
  EXPECT_EQ(ww::verify(p, host, {.arch = ww::Arch::sm100})->wrong, 1);
}

TEST_F(PublicVerify, GroupsOfRowsWithBlockScales) {
  ww::GroupedProblem p{.groups = 3, .rows = 40, .n = 128, .k = 256, .scale = ww::Scale::block_1x128_128x128};
  p.encoding = ww::GroupEncoding::starts_counts, p.zero_outside = true;
  const ww::GroupedPlan plan = ww::plan_grouped(device_, p).value();
  Array a = values(p.a, p.rows * p.k), b = values(p.b, p.groups * p.n * p.k);
  Array d = array(Bytes(static_cast<std::size_t>(2 * p.rows * p.n), 0xff));
  Array scale_a = values(ww::f32, p.rows * 2), scale_b = values(ww::f32, p.groups * 2);
  Array starts = integers({0, 9, 20}), counts = integers({7, 0, 15}), workspace = zeros(plan.workspace_bytes());
  const ww::GroupedOperands run{.a = a.on_device(),
                                .b = b.on_device(),
                                .d = d.on_device(),
                                .scale_a = scale_a.on_device(),
                                .scale_b = scale_b.on_device(),
                                .sizes = starts.on_device<std::int32_t>(),
                                .sizes2 = counts.on_device<std::int32_t>(),
                                .workspace = workspace.on_device(),
                                .workspace_bytes = plan.workspace_bytes()};
  const auto done = plan.run(run);
  ASSERT_TRUE(done) << done.error().message;
  fetch(d);
  ww::GroupedOperands host{.a = a.on_host(), .b = b.on_host(), .d = d.on_host()};
  host.scale_a = scale_a.on_host(), host.scale_b = scale_b.on_host();
  host.sizes = starts.on_host<std::int32_t>(), host.sizes2 = counts.on_host<std::int32_t>();
  const ww::Verification right = ww::verify(p, host).value();
  EXPECT_EQ(right.wrong, 0);
  EXPECT_EQ(right.elements, p.rows * p.n);
  std::swap(scale_b.on_host<float>()[0], scale_b.on_host<float>()[5]);
  EXPECT_GT(ww::verify(p, host)->wrong, 15 * p.n);
  std::swap(scale_b.on_host<float>()[0], scale_b.on_host<float>()[5]);
  d.host[static_cast<std::size_t>(2 * 8 * p.n)] = 1;  // row 8 is in no group
  const ww::Verification outside = ww::verify(p, host).value();
  EXPECT_EQ(outside.wrong, 1);
  EXPECT_EQ(outside.first->row, 8);
  starts.on_host<std::int32_t>()[2] = 30;
  EXPECT_EQ(ww::verify(p, host).error().argument, "sizes");
}

TEST_F(PublicVerify, GroupsOfK) {
  ww::KGroupedProblem p{.groups = 3, .m = 64, .n = 72, .k = 100};
  p.accumulate = true;
  const ww::KGroupedPlan plan = ww::plan_k_grouped(device_, p).value();
  Array a = values(p.a, p.k * p.m), b = values(p.b, p.k * p.n), d = zeros(static_cast<std::size_t>(12 * p.m * p.n));
  Array before = values(ww::f32, 3 * p.m * p.n), ends = integers({33, 33, 100});
  ww::KGroupedOperands run{.a = a.on_device(), .b = b.on_device(), .c = before.on_device(), .d = d.on_device()};
  run.sizes = ends.on_device<std::int32_t>();
  const auto done = plan.run(run);
  ASSERT_TRUE(done) << done.error().message;
  fetch(d);
  ww::KGroupedOperands host{.a = a.on_host(), .b = b.on_host(), .c = before.on_host(), .d = d.on_host()};
  host.sizes = ends.on_host<std::int32_t>();
  const ww::Result<ww::Verification> right = ww::verify(p, host);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->wrong, 0);
  ends.on_host<std::int32_t>()[0] = 32;  // the judge computes what the sizes say
  EXPECT_GT(ww::verify(p, host)->wrong, p.m * p.n / 2);
  host.c = nullptr;  // in place: C is gone
  EXPECT_EQ(ww::verify(p, host).error().argument, "c");
  host.c = host.d;
  EXPECT_EQ(ww::verify(p, host).error().argument, "c");
}

/// D holds C before the run; verify() takes the copy, and only the copy.
TEST_F(PublicVerify, CInPlaceIsGivenAsItWas) {
  using namespace ww::evt;
  ww::GroupedProblem rows{.groups = 2, .rows = 20, .n = 64, .k = 64, .a = ww::bf16, .b = ww::bf16, .d = ww::bf16};
  rows.epilogue = acc + c(ww::bf16);
  const ww::GroupedPlan grouped = ww::plan_grouped(device_, rows).value();
  Array a = values(ww::bf16, 64 * 64), b = values(ww::bf16, 2 * 64 * 64), d = values(ww::bf16, 20 * 64);
  const Bytes earlier = d.host;
  Array ends = integers({0, 20}), workspace = zeros(grouped.workspace_bytes());
  ww::GroupedOperands run{.a = a.on_device(), .b = b.on_device(), .d = d.on_device()};
  run.sizes = ends.on_device<std::int32_t>(), run.epilogue.c = d.on_device();
  run.workspace = workspace.on_device(), run.workspace_bytes = grouped.workspace_bytes();
  ASSERT_TRUE(grouped.run(run));
  fetch(d);
  ww::GroupedOperands host{.a = a.on_host(), .b = b.on_host(), .d = d.on_host()};
  host.sizes = ends.on_host<std::int32_t>();
  host.epilogue.c = host.d, host.epilogue.ldc = 128;  // the first group, where they would meet, is empty
  EXPECT_EQ(ww::verify(rows, host).error().argument, "c");
  host.epilogue.ldc = 0, host.epilogue.c = earlier.data();
  const ww::Result<ww::Verification> right = ww::verify(rows, host);
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->wrong, 0);
  EXPECT_EQ(right->elements, 20 * 64);

  ww::KGroupedProblem k_rows{.groups = 1, .m = 64, .n = 64, .k = 64, .accumulate = true};
  Array sum = values(ww::f32, 64 * 64), end = integers({64});
  const Bytes before = sum.host;
  ww::KGroupedOperands added{.a = a.on_device(), .b = b.on_device(), .d = sum.on_device()};
  added.sizes = end.on_device<std::int32_t>();
  ASSERT_TRUE(ww::plan_k_grouped(device_, k_rows)->run(added));
  fetch(sum);
  ww::KGroupedOperands judged{.a = a.on_host(), .b = b.on_host(), .c = before.data(), .d = sum.on_host()};
  judged.sizes = end.on_host<std::int32_t>();
  EXPECT_EQ(ww::verify(k_rows, judged).value().wrong, 0);
}

TEST_F(PublicVerify, GroupsOfKPackedOneByOne) {
  ww::KGroupedProblem p{.groups = 3, .m = 24, .n = 40, .k = 384};
  p.a_major = p.b_major = ww::Major::k, p.packing = ww::KPacking::per_group;
  const ww::KGroupedPlan plan = ww::plan_k_grouped(device_, p).value();
  Array a = values(p.a, p.m * p.k), b = values(p.b, p.n * p.k), d = zeros(static_cast<std::size_t>(12 * p.m * p.n));
  Array ends = integers({256, 256, 384}), workspace = zeros(plan.workspace_bytes());
  ww::KGroupedOperands run{.a = a.on_device(), .b = b.on_device(), .d = d.on_device()};
  run.sizes = ends.on_device<std::int32_t>();
  run.workspace = workspace.on_device(), run.workspace_bytes = plan.workspace_bytes();
  const auto done = plan.run(run);
  ASSERT_TRUE(done) << done.error().message;
  fetch(d);
  ww::KGroupedOperands host{.a = a.on_host(), .b = b.on_host(), .d = d.on_host()};
  host.sizes = ends.on_host<std::int32_t>();
  EXPECT_EQ(ww::verify(p, host).value().wrong, 0);
  p.packing = ww::KPacking::joint;  // the same bytes mean other matrices
  EXPECT_GT(ww::verify(p, host).value().wrong, p.m * p.n / 2);
}

}  // namespace
