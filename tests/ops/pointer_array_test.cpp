// SPDX-License-Identifier: Apache-2.0
// Batches whose matrices have arbitrary addresses: bit for bit the batch with strides, with matrices in separate
// buffers, in any order, and some of them shared.
#include <gtest/gtest.h>

#include <set>
#include <span>

#include "problems/narrow_problem.hpp"
#include "problems/random_problem.hpp"
#include "runtime/backend.hpp"

namespace ww {
namespace {

using namespace ww::testing;

void must(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}

Device open_emu(bool check = false, const char* name = "emu:sm90") {
  auto device = Device::open(name, {.cache_dir = {}, .emu = {.check = check}});
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

/// The matrices of one operand, each in its own buffer, and the array of their addresses.
struct Scattered {
  std::vector<Buffer> matrices;
  Buffer array;

  static Scattered make(const Device& device, const std::uint8_t* bytes, std::size_t size, std::size_t step,
                        std::size_t batch) {
    Scattered made;
    made.matrices.resize(batch);
    std::vector<void*> pointers(batch);
    for (std::size_t i = 0; i < batch; ++i) {
      const std::size_t l = batch - 1 - i;  // backwards, so that memory has another order than the batch
      if (step == 0 && i != 0) {
        pointers[l] = pointers[batch - 1];
        continue;
      }
      made.matrices[l] = device.allocate(std::max<std::size_t>(size, 16)).value();
      must(device.upload(made.matrices[l].data(), bytes + l * step, size));
      pointers[l] = made.matrices[l].data();
    }
    made.array = device.allocate(batch * sizeof(void*)).value();
    must(device.upload(made.array.data(), pointers.data(), batch * sizeof(void*)));
    return made;
  }
};

/// Runs the batch of `host` with strides, and again with pointers; both D packed.
void expect_same_bits(const HostProblem& host, const Device& device) {
  const GemmProblem& p = host.problem;
  const auto want = run_on(device, host);
  ASSERT_TRUE(want) << want.error().message;
  GemmProblem pointers = p;
  pointers.pointer_array = true;
  const auto made = plan_gemm(device, pointers, options_of(host));
  ASSERT_TRUE(made) << made.error().message << "\n" << host.replay();
  const auto batch = static_cast<std::size_t>(p.batch);
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
  const auto bytes = [](std::int64_t rows, std::int64_t ld, DType type) {
    return static_cast<std::size_t>(bytes_in(type, rows * ld));
  };
  const std::size_t size_d = bytes(p.d_layout == OutputLayout::row ? p.m : p.n, p.ldd, p.d);
  const std::vector<std::uint8_t> untouched(size_d * batch, 0xa5);
  const Scattered a = Scattered::make(device, host.a.data(), bytes(a_mn ? p.k : p.m, p.lda, p.a),
                                      static_cast<std::size_t>(bytes_in(p.a, p.batch_a)), batch);
  const Scattered b = Scattered::make(device, host.b.data(), bytes(b_mn ? p.k : p.n, p.ldb, p.b),
                                      static_cast<std::size_t>(bytes_in(p.b, p.batch_b)), batch);
  const Scattered d = Scattered::make(device, untouched.data(), size_d, size_d, batch);
  const auto upload = [&](const void* data, std::size_t count) {
    Buffer buffer = device.allocate(std::max<std::size_t>(count, 16)).value();
    must(device.upload(buffer.data(), data, count));
    return buffer;
  };
  const auto upload_all = [&](std::span<const std::byte> all) { return upload(all.data(), all.size()); };
  const Buffer sa = upload_all(bytes_of_scales(host.scale_a, host.chunks_a));
  const Buffer sb = upload_all(bytes_of_scales(host.scale_b, host.chunks_b));
  const Buffer global = upload(host.global_scale ? &*host.global_scale : nullptr, host.global_scale ? 4 : 0);
  const std::vector<std::uint8_t> zeros(made->workspace_bytes());
  const Buffer workspace = upload(zeros.data(), zeros.size());
  GemmOperands operands{.scale_a = static_cast<const float*>(sa.data()),
                        .scale_b = static_cast<const float*>(sb.data())};
  if (host.global_scale) operands.global_scale = static_cast<const float*>(global.data());
  operands.workspace = workspace.data(), operands.workspace_bytes = zeros.size();
  operands.a_pointers = static_cast<const void* const*>(a.array.data());
  operands.b_pointers = static_cast<const void* const*>(b.array.data());
  operands.d_pointers = static_cast<void* const*>(d.array.data());
  for (int i = 0; i < 2; ++i) {  // maps of the preceding run must not matter
    const auto ran = made->run(operands);
    ASSERT_TRUE(ran) << ran.error().message << "\n" << host.replay();
  }
  GemmProblem packed = p;
  packed.batch_d = static_cast<std::int64_t>(size_d) / bytes_of(p.d);
  std::vector<std::uint8_t> all;
  for (const Buffer& matrix : d.matrices) {
    std::vector<std::uint8_t> one(size_d);
    must(device.download(one.data(), matrix.data(), size_d));
    all.insert(all.end(), one.begin(), one.end());
  }
  const auto got = packed_output(packed, all);
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(difference(host, *got, *want), "");
}

GemmProblem batch_of(DType type, Scale scale, DType d, std::int64_t batch) {
  GemmProblem p{.m = 100, .n = 72, .k = 144, .a = type, .b = type, .d = d, .scale = scale};
  p.batch = batch, p.batch_a = p.m * p.k, p.batch_b = p.n * p.k, p.batch_d = p.m * p.n;
  return p;
}

TEST(PointerArrays, AreTheStridedBatchBitForBit) {
  const Device device = open_emu();
  std::uint64_t seed = 0;
  GemmProblem block = batch_of(e4m3, Scale::block_1x128_128x128, bf16, 5);
  block.batch_scale_a = block.m * 2, block.batch_scale_b = 2;
  GemmProblem transposed = batch_of(bf16, Scale::none, f32, 3);
  transposed.a_major = transposed.b_major = Major::mn, transposed.m = 104,
  transposed.batch_a = transposed.m * transposed.k;
  transposed.d_layout = OutputLayout::column, transposed.batch_d = transposed.m * transposed.n;
  for (const GemmProblem& p :
       {batch_of(bf16, Scale::none, bf16, 4), block, transposed, batch_of(f16, Scale::none, f16, 1)})
    expect_same_bits(make_problem(p, {.tile = {128, 128}, .cluster = {2, 1}}, ++seed), device);
}

// Operands of 4, 6 and 8 bits, with scales of mx and nv and without; maps that widen elements to bytes too.
TEST(PointerArrays, AreTheStridedBatchOnBlackwell) {
  const Device device = open_emu(false, "emu:sm100");
  std::set<Scale> scales;
  int taken = 0;
  for (std::uint64_t i = 9'000'000; taken < 5; i += kProblemsOfKernel) {
    const HostProblem host = narrow_problem(i);
    GemmProblem pointers = host.problem;
    pointers.pointer_array = true;
    // The test packs D, which has whole bytes.
    if (pointers.batch == 1 || is_packed(pointers.d) || !can_implement(pointers, options_of(host))) continue;
    expect_same_bits(host, device);
    scales.insert(host.problem.scale), ++taken;
  }
  EXPECT_EQ(scales.count(Scale::mx) + scales.count(Scale::nv), 2u);
}

TEST(PointerArrays, MatricesMayBeShared) {
  GemmProblem p = batch_of(bf16, Scale::none, bf16, 4);
  p.batch_b = 0;
  expect_same_bits(make_problem(p, {.tile = {64, 64}, .cluster = {1, 1}}, 9), open_emu());
}

TEST(PointerArrays, WithoutKAreZeros) {
  GemmProblem p = batch_of(bf16, Scale::none, bf16, 3);
  p.k = 0, p.batch_a = p.batch_b = 0;
  expect_same_bits(make_problem(p, {.tile = {64, 64}, .cluster = {1, 1}}, 9), open_emu());
}

TEST(PointerArrays, AreCleanUnderTheChecker) {
  for (Schedule schedule : {Schedule::cooperative, Schedule::pingpong}) {
    const bool pingpong = schedule == Schedule::pingpong;
    const GemmConfig config{
        .tile = {64, 64}, .cluster = {pingpong ? 1 : 2, 1}, .sm90 = {.schedule = schedule, .stages = 2}};
    const Device device = open_emu(true);
    expect_same_bits(make_problem(batch_of(bf16, Scale::none, bf16, 3), config, 11), device);
    const auto report = device.backend().last_check();
    ASSERT_TRUE(report);
    EXPECT_EQ(report->verdict, Verdict::clean) << report->findings.size() << " findings";
  }
}

TEST(PointerArrays, WhatIsMissingIsNamed) {
  GemmProblem p = batch_of(bf16, Scale::none, bf16, 2);
  p.pointer_array = true;
  const auto made = plan_gemm(open_emu(), p, {.config = {.tile = {64, 64}}});
  ASSERT_TRUE(made) << made.error().message;
  alignas(256) static char memory[4096];
  ASSERT_LE(made->workspace_bytes(), sizeof memory);
  GemmOperands operands;
  operands.workspace = memory, operands.workspace_bytes = sizeof memory;
  EXPECT_EQ(made->run(operands).error().argument, "d_pointers");
  operands.d_pointers = reinterpret_cast<void* const*>(memory);
  EXPECT_EQ(made->run(operands).error().argument, "a_pointers");
  operands.a_pointers = reinterpret_cast<const void* const*>(memory);
  EXPECT_EQ(made->run(operands).error().argument, "b_pointers");
  const auto multistage = can_implement(p, {.config = {.sm90 = {.schedule = Schedule::multistage}}});
  ASSERT_FALSE(multistage);
  EXPECT_NE(multistage.error().message.find("pointer arrays"), std::string::npos) << multistage.error().message;
}

}  // namespace
}  // namespace ww
