// SPDX-License-Identifier: Apache-2.0
// The checks of a dense plan's run() on its pointers: each that is missing, misaligned or too small is named before
// anything is written, and none is required that the product does not read.
#include <gtest/gtest.h>

#include "problems/random_problem.hpp"
#include "warpwright/host/k_grouped.hpp"
#include "warpwright/host/quantize.hpp"

namespace ww {
namespace {

using namespace ww::testing;

/// A plan with operands that it takes, and D full of a pattern.
class Prepared {
 public:
  Prepared(const GemmProblem& problem, const GemmConfig& config)
      : device_(Device::open("emu:sm90").value()),
        plan_(plan_gemm(device_, problem, {.config = config}).value()),
        memory_(device_.allocate(kBytes).value()),
        workspace_(device_.allocate(plan_.workspace_bytes()).value()),
        d_(device_.allocate(kBytes).value()) {
    const std::vector<std::uint8_t> zeros(std::max(kBytes, plan_.workspace_bytes())), pattern(kBytes, kPattern);
    const bool there = device_.upload(memory_.data(), zeros.data(), kBytes) &&
                       device_.upload(workspace_.data(), zeros.data(), plan_.workspace_bytes()) &&
                       device_.upload(d_.data(), pattern.data(), kBytes);
    if (!there) throw std::runtime_error("upload");
    operands.a = operands.b = memory_.data();
    operands.d = d_.data();
    operands.scale_a = operands.scale_b = static_cast<const float*>(memory_.data());
    operands.workspace = workspace_.data(), operands.workspace_bytes = plan_.workspace_bytes();
  }

  /// What run() says of `operands` with a change: the argument that it names, or "accepted".
  std::string said(const std::function<void(GemmOperands&)>& change) const {
    GemmOperands changed = operands;
    change(changed);
    const auto ran = plan_.run(changed);
    if (ran) return "accepted";
    EXPECT_EQ(ran.error().code, ErrorCode::invalid);
    EXPECT_NE(ran.error().message.find(ran.error().argument), std::string::npos) << ran.error().message;
    return ran.error().argument;
  }

  /// Bytes of D that are not the pattern any more.
  std::int64_t written() const {
    std::vector<std::uint8_t> d(kBytes);
    if (!device_.download(d.data(), d_.data(), kBytes)) throw std::runtime_error("download");
    return static_cast<std::int64_t>(kBytes) - std::count(d.begin(), d.end(), kPattern);
  }

  std::size_t workspace_bytes() const { return plan_.workspace_bytes(); }

  GemmOperands operands;

 private:
  static constexpr std::size_t kBytes = std::size_t{1} << 17;
  static constexpr std::uint8_t kPattern = 0x5a;

  Device device_;
  GemmPlan plan_;
  Buffer memory_, workspace_, d_;
};

template <class T> T* moved(T* pointer, std::uintptr_t bytes) {
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(pointer) + bytes);
}
const void* moved(const void* pointer, std::uintptr_t bytes) { return static_cast<const char*>(pointer) + bytes; }
void* moved(void* pointer, std::uintptr_t bytes) { return static_cast<char*>(pointer) + bytes; }

constexpr GemmConfig kStreamK{.tile = {64, 64}, .cluster = {1, 1}, .sm90 = {.tile_scheduler = TileScheduler::stream_k}};
const GemmProblem kBlocks{.m = 192, .n = 72, .k = 256, .scale = Scale::block_1x128_128x128};
using O = GemmOperands;

TEST(OperandPointers, EachIsNamedAndNothingIsWritten) {
  const Prepared p(kBlocks, kStreamK);
  ASSERT_GT(p.workspace_bytes(), 0u);
  for (const std::uintptr_t by : {1, 8}) {  // tensor maps want multiples of 16 bytes
    EXPECT_EQ(p.said([&](O& o) { o.a = moved(o.a, by); }), "a");
    EXPECT_EQ(p.said([&](O& o) { o.b = moved(o.b, by); }), "b");
    EXPECT_EQ(p.said([&](O& o) { o.d = moved(o.d, by); }), "d");
  }
  for (const std::uintptr_t by : {1, 2}) {
    EXPECT_EQ(p.said([&](O& o) { o.scale_a = moved(o.scale_a, by); }), "scale_a");
    EXPECT_EQ(p.said([&](O& o) { o.scale_b = moved(o.scale_b, by); }), "scale_b");
  }
  for (const std::uintptr_t by : {16, 128})
    EXPECT_EQ(p.said([&](O& o) { o.workspace = moved(o.workspace, by); }), "workspace");
  EXPECT_EQ(p.said([](O& o) { o.a = nullptr; }), "a");
  EXPECT_EQ(p.said([](O& o) { o.b = nullptr; }), "b");
  EXPECT_EQ(p.said([](O& o) { o.d = nullptr; }), "d");
  EXPECT_EQ(p.said([](O& o) { o.scale_a = nullptr; }), "scale_a");
  EXPECT_EQ(p.said([](O& o) { o.scale_b = nullptr; }), "scale_b");
  EXPECT_EQ(p.said([](O& o) { o.workspace = nullptr; }), "workspace");
  EXPECT_EQ(p.said([](O& o) { o.workspace_bytes -= 1; }), "workspace_bytes");
  EXPECT_EQ(p.said([](O& o) { o.workspace_bytes = 0; }), "workspace_bytes");
  EXPECT_EQ(p.written(), 0);
  // one step further on all of them are right
  EXPECT_EQ(p.said([](O& o) {
    o.a = moved(o.a, 16), o.b = moved(o.b, 16), o.scale_a = moved(o.scale_a, 4), o.scale_b = moved(o.scale_b, 4);
  }),
            "accepted");
  EXPECT_EQ(p.written(), kBlocks.m * kBlocks.n * 2) << "zeros times anything";
}

TEST(OperandPointers, DIsApartFromAllThatIsRead) {
  const Prepared p(kBlocks, kStreamK);
  EXPECT_EQ(p.said([](O& o) { o.a = o.d; }), "d");
  EXPECT_EQ(p.said([](O& o) { o.b = moved(o.d, kBlocks.m * kBlocks.n * 2 - 16); }), "d") << "its last bytes";
  EXPECT_EQ(p.said([](O& o) { o.scale_a = moved(o.d, 64); }), "d");
  EXPECT_EQ(p.said([](O& o) { o.scale_b = o.d; }), "d");
  EXPECT_EQ(p.said([](O& o) { o.workspace = o.d; }), "d");
  EXPECT_EQ(p.written(), 0);
}

TEST(OperandPointers, DMayLieInRowsBesideA) {
  const GemmProblem rows{.m = 64, .n = 64, .k = 64, .a = bf16, .b = bf16, .lda = 128, .ldd = 128};
  const Device device = Device::open("emu:sm90").value();
  const auto made = plan_gemm(device, rows, {.config = {.tile = {64, 64}, .cluster = {1, 1}}});
  ASSERT_TRUE(made) << made.error().message;
  const Buffer views = device.allocate(64 * 128 * 2 + 256).value(), b = device.allocate(64 * 64 * 2).value();
  std::memset(views.data(), 0, views.bytes()), std::memset(b.data(), 0, b.bytes());
  const auto said = [&](std::uintptr_t column, std::uintptr_t column_of_d) {
    const auto ran =
        made->run({.a = moved(views.data(), column * 2), .b = b.data(), .d = moved(views.data(), column_of_d * 2)});
    return ran ? std::string("accepted") : ran.error().argument;
  };
  EXPECT_EQ(said(0, 64), "accepted");
  EXPECT_EQ(said(64, 0), "accepted");
  EXPECT_EQ(said(0, 56), "d");
  EXPECT_EQ(said(0, 72), "d") << "its rows end in the next rows of A";
}

TEST(OperandPointers, WithoutKOnlyDIsAskedFor) {
  GemmProblem problem = kBlocks;
  problem.k = 0;
  const Prepared p(problem, kStreamK);
  const auto none = [](O& o) { o.a = o.b = nullptr, o.scale_a = o.scale_b = nullptr; };
  EXPECT_EQ(p.said([&](O& o) { none(o), o.d = nullptr; }), "d");
  EXPECT_EQ(p.written(), 0);
  EXPECT_EQ(p.said(none), "accepted");
  EXPECT_EQ(p.written(), problem.m * problem.n * 2);
}

TEST(OperandPointers, ScalesOfNoRecipeAreNotAskedFor) {
  GemmProblem problem = kBlocks;
  problem.scale = Scale::none;
  const Prepared p(problem, {.tile = {64, 64}, .cluster = {1, 1}});
  EXPECT_EQ(p.workspace_bytes(), 0u);
  EXPECT_EQ(p.said([](O& o) { o.scale_a = o.scale_b = nullptr, o.workspace = nullptr; }), "accepted");
  EXPECT_EQ(p.written(), problem.m * problem.n * 2);
}

TEST(OperandPointers, AProductWithoutElementsAsksForNothing) {
  for (const bool rows : {false, true}) {
    GemmProblem problem = kBlocks;
    (rows ? problem.m : problem.n) = 0;
    const Prepared p(problem, kStreamK);
    EXPECT_EQ(p.said([](O& o) { o = {}; }), "accepted");
    EXPECT_EQ(p.written(), 0);
  }
}

TEST(OperandPointers, DMayLieBetweenTheRowsOfB) {
  constexpr std::uint16_t kOne = 0x3f80, kSum = 0x4280;  // 1 and 64 in bf16
  const Device device = Device::open("emu:sm90").value();
  const GemmProblem p{.m = 16, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = bf16, .lda = 64, .ldb = 256, .ldd = 256};
  const auto plan = plan_gemm(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<std::uint16_t> host(16 * 64 + 64 * 256, kOne);  // A, then rows of B (64), D (64) and what is nobody's
  const Buffer memory = device.allocate(2 * host.size()).value();
  ASSERT_TRUE(device.upload(memory.data(), host.data(), memory.bytes()));
  auto* const b = static_cast<std::uint16_t*>(memory.data()) + 16 * 64;
  const auto ran = plan->run({.a = memory.data(), .b = b, .d = b + 64});
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_TRUE(device.download(host.data(), memory.data(), memory.bytes()));
  for (std::size_t i = 0; i < 64 * 256; ++i)
    ASSERT_EQ(host[16 * 64 + i], i < 16 * 256 && i % 256 / 64 == 1 ? kSum : kOne) << i;
  EXPECT_EQ(plan->run({.a = memory.data(), .b = b, .d = b + 32}).error().argument, "d");
}

TEST(OperandPointers, RowIdsOfNoRowsMayBeNull) {
  const Device device = Device::open("emu:sm90").value();
  const auto k_plan = plan_k_grouped(device, {.groups = 3, .m = 64, .n = 64, .encoding = GroupEncoding::row_ids});
  ASSERT_TRUE(k_plan) << k_plan.error().message;
  std::vector<float> d(3 * 64 * 64, 7.0f);
  const Buffer memory = device.allocate(4 * d.size()).value();
  ASSERT_TRUE(device.upload(memory.data(), d.data(), memory.bytes()));
  const auto multiplied = k_plan->run({.d = memory.data()});
  ASSERT_TRUE(multiplied) << multiplied.error().message;
  ASSERT_TRUE(device.download(d.data(), memory.data(), memory.bytes()));
  EXPECT_EQ(std::count(d.begin(), d.end(), 0.0f), static_cast<std::ptrdiff_t>(d.size()));

  QuantizeProblem problem{.m = 0, .k = 64, .rows = false, .transposed = true, .groups = 3};
  problem.encoding = GroupEncoding::row_ids;
  const auto cast = plan_quantize(device, problem);
  ASSERT_TRUE(cast) << cast.error().message;
  std::vector<std::int32_t> ends(3, 7);
  ASSERT_TRUE(device.upload(memory.data(), ends.data(), 12));
  const auto padded_ends = static_cast<std::int32_t*>(memory.data());
  const auto ran = cast->run({.transposed = moved(memory.data(), 256),
                              .transposed_scales = static_cast<float*>(memory.data()) + 1024,
                              .padded_ends = padded_ends});
  ASSERT_TRUE(ran) << ran.error().message;
  ASSERT_TRUE(device.download(ends.data(), padded_ends, 12));
  EXPECT_EQ(ends, (std::vector<std::int32_t>{0, 0, 0}));
}

TEST(OperandPointers, RowIdsAreAskedForAndNamed) {
  const Device device = Device::open("emu:sm90").value();
  const Buffer memory = device.allocate(1 << 16).value();
  for (const auto encoding : {GroupEncoding::row_ids, GroupEncoding::offsets}) {
    const std::int64_t k = encoding == GroupEncoding::row_ids ? 8 : 0;  // offsets of no rows are there all the same
    const auto plan = plan_k_grouped(device, {.groups = 3, .m = 64, .n = 64, .k = k, .encoding = encoding});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto ran = plan->run({.a = memory.data(), .b = moved(memory.data(), 4096), .d = moved(memory.data(), 8192)});
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().argument, "sizes");
  }
}

}  // namespace
}  // namespace ww
