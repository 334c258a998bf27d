// SPDX-License-Identifier: Apache-2.0
// Tensor maps of earlier runs: a table that never returns the map of another operand or address, whatever it has
// forgotten and whoever else uses it; and plans whose pointers change one by one, which access nothing else.
#include "launch/map_cache.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "problems/random_grouped.hpp"

namespace ww {
namespace {

using namespace ww::testing;
using adapters::MapCache;

const void* address(std::uint64_t i) { return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(i)); }

/// In every word of the map of operand `which` at `base`.
u64 word_of(unsigned which, const void* base) { return reinterpret_cast<std::uintptr_t>(base) * 8 + which; }
arch::TensorMap map_of(unsigned which, const void* base) {
  arch::TensorMap map{};
  for (u64& word : map.words) word = word_of(which, base);
  return map;
}

/// One run that wants maps 0 to 2 at `bases`; how many it had to encode.
int encoded_in(MapCache& cache, const void* const (&bases)[3]) {
  int encoded = 0;
  MapCache::Run run(cache);
  for (unsigned which = 0; which < 3; ++which) {
    arch::TensorMap map{};
    const Result<void> stored = run.get(which, bases[which], map, [&]() -> Result<arch::TensorMap> {
      ++encoded;
      return map_of(which, bases[which]);
    });
    EXPECT_TRUE(stored);
    EXPECT_EQ(std::count(std::begin(map.words), std::end(map.words), word_of(which, bases[which])), 16) << which;
  }
  return encoded;
}

TEST(MapCache, EncodesWhatChanged) {
  const auto cache = std::make_unique<MapCache>();
  EXPECT_EQ(encoded_in(*cache, {address(0x1000), address(0x2000), address(0x3000)}), 3);
  EXPECT_EQ(encoded_in(*cache, {address(0x1000), address(0x2000), address(0x3000)}), 0);
  EXPECT_EQ(encoded_in(*cache, {address(0x1010), address(0x2000), address(0x3000)}), 1);
  EXPECT_EQ(encoded_in(*cache, {address(0x1000), address(0x2010), address(0x3000)}), 1);
  EXPECT_EQ(encoded_in(*cache, {address(0x1010), address(0x2010), address(0x3010)}), 1);
  EXPECT_EQ(encoded_in(*cache, {address(0x3000), address(0x1000), address(0x2000)}), 3) << "other operands";
  EXPECT_EQ(encoded_in(*cache, {address(0x1000), address(0x2000), address(0x3000)}), 0);
}

TEST(MapCache, ServesTheLayersOfAModel) {  // weights of 48 layers and two buffers of activations, taken in turns
  const auto cache = std::make_unique<MapCache>();
  int encoded = 0;
  for (int token = 0; token < 4; ++token)
    for (std::uint64_t layer = 0; layer < 48; ++layer) {
      const std::uint64_t from = 0x7f00'0000'0000 + layer % 2 * 0x20'0000,
                          to = 0x7f00'0080'0000 + layer % 2 * 0x20'0000;
      const int now = encoded_in(*cache, {address(from), address(0x7e00'0000'0000 + layer * 0x380'0000), address(to)});
      if (token > 0) encoded += now;
    }
  EXPECT_LE(encoded, 3 * 48 * 3 / 10) << "of " << 3 * 48 * 3;
}

TEST(MapCache, NeverAnswersWithAnotherMap) {
  const auto cache = std::make_unique<MapCache>();
  std::mt19937_64 rng(3);
  int encoded = 0;
  for (int i = 0; i < 200'000; ++i) {  // more maps than there is room for, near each other and far apart
    const std::uint64_t far = rng() % 3, near = 16 * (1 + rng() % 100);
    encoded += encoded_in(*cache, {address(near), address(near + (far << 40)), address(near + 16 * (rng() % 4))});
  }
  EXPECT_GT(encoded, 10'000) << "nothing was forgotten";
  EXPECT_LT(encoded, 590'000) << "nothing was kept";
}

TEST(MapCache, FailuresAreNotKept) {
  const auto cache = std::make_unique<MapCache>();
  MapCache::Run run(*cache);
  const auto fails = [&]() -> Result<arch::TensorMap> { return failure(ErrorCode::invalid, "a", "another", "one"); };
  arch::TensorMap map{};
  EXPECT_FALSE(run.get(0, address(64), map, fails));
  EXPECT_TRUE(run.get(0, address(64), map, [&]() -> Result<arch::TensorMap> { return map_of(0, address(64)); }));
  EXPECT_TRUE(run.get(0, address(64), map, fails)) << "it is there now";
}

TEST(MapCache, ThreadsNeitherWaitNorSeeHalfAMap) {
  const auto cache = std::make_unique<MapCache>();
  {
    MapCache::Run held(*cache);
    std::thread([&] { EXPECT_EQ(encoded_in(*cache, {address(16), address(32), address(48)}), 3); }).join();
  }
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::mt19937_64 rng(t);
      for (int i = 0; i < 20'000; ++i)
        encoded_in(*cache, {address(16 + 16 * (rng() % 90)), address(16 + 16 * (rng() % 90)), address(1 << 20)});
    });
  for (std::thread& thread : threads) thread.join();
}

/// Three buffers with the bytes of `one`, then of `other`, and nothing behind them.
struct Pair {
  Pair(const Device& device, const std::vector<std::uint8_t>& one, const std::vector<std::uint8_t>& other) {
    for (const auto* bytes : {&one, &other}) {
      buffers.push_back(device.allocate(std::max<std::size_t>(bytes->size(), 16)).value());
      if (!device.upload(buffers.back().data(), bytes->data(), bytes->size())) throw std::runtime_error("upload");
    }
  }
  void* operator[](int i) const { return buffers[static_cast<std::size_t>(i)].data(); }
  std::vector<Buffer> buffers;
};

/// Runs `made` on every choice of one of two As, Bs and Ds, each twice and in an order that changes one, two or all of
/// them: D of a run is `want(a, b)`, and the other D stays as it was.
template <class Operands, class Plan, class Want>
void expect_no_stale_map(const Device& device, const Plan& made, Operands operands, const Pair& a, const Pair& b,
                         std::size_t d_bytes, const Want& want) {
  const std::vector<std::uint8_t> pattern(d_bytes, kUntouched);
  const Pair d(device, pattern, pattern);
  std::mt19937 rng(17);
  for (int i = 0; i < 32; ++i) {
    const int pick = i < 16 ? i / 2 ^ i / 4 : static_cast<int>(rng() % 8);  // one after the other, each twice; then any
    const int of_a = pick & 1, of_b = pick >> 1 & 1, of_d = pick >> 2 & 1;
    for (int which : {0, 1}) ASSERT_TRUE(device.upload(d[which], pattern.data(), d_bytes));
    operands.a = a[of_a], operands.b = b[of_b], operands.d = d[of_d];
    const auto ran = made.run(operands);
    ASSERT_TRUE(ran) << ran.error().message;
    std::vector<std::uint8_t> got(d_bytes), other(d_bytes);
    ASSERT_TRUE(device.download(got.data(), d[of_d], d_bytes) && device.download(other.data(), d[1 - of_d], d_bytes));
    EXPECT_EQ(got, want(of_a, of_b)) << "run " << i << ": A " << of_a << ", B " << of_b << ", D " << of_d;
    EXPECT_EQ(other, pattern) << "run " << i << " wrote to the other D";
  }
}

Device open_emu() { return Device::open("emu:sm90").value(); }

TEST(MapsOfPlans, FollowThePointersOfADenseRun) {
  const Device device = open_emu();
  GemmProblem one{.m = 72, .n = 72, .k = 96, .a = bf16, .b = bf16};
  GemmProblem batch = one;
  batch.batch = 3, batch.batch_a = one.m * one.k, batch.batch_b = one.n * one.k, batch.batch_d = one.m * one.n;
  for (const GemmProblem& p : {one, batch}) {
    const GemmConfig config{.tile = {64, 64}, .cluster = {1, 1}};
    const HostProblem host[2] = {make_problem(p, config, 1), make_problem(p, config, 2)};
    const auto made = plan_gemm(device, host[0].problem, options_of(host[0]));
    ASSERT_TRUE(made) << made.error().message;
    const Pair a(device, host[0].a, host[1].a), b(device, host[0].b, host[1].b);
    expect_no_stale_map(device, *made, GemmOperands{}, a, b, elements_of(p.batch, p.batch_d, p.m, p.n) * 2,
                        [&](int of_a, int of_b) {
                          HostProblem mixed = host[of_a];
                          mixed.b = host[of_b].b;
                          return reference(mixed);
                        });
  }
}

TEST(MapsOfPlans, FollowThePointersOfAGroupedRun) {
  const Device device = open_emu();
  for (GroupedVariant variant : {GroupedVariant::ragged, GroupedVariant::contiguous, GroupedVariant::descriptors}) {
    HostGrouped host[2];
    for (std::uint64_t i : {0, 1}) {
      HostGrouped& h = host[i];
      GroupedProblem& p = h.problem;
      p = {.groups = 3, .n = 72, .k = 96, .a = bf16, .b = bf16};
      h.config = {.tile = {variant == GroupedVariant::contiguous ? 128 : 64, 128}, .row_groups = {.variant = variant}};
      std::mt19937_64 groups(1), operands(i);
      encode_groups(h, groups, {9, 0, 70});
      p.lda = p.ldb = p.k, p.ldd = p.n, p.stride_b_group = p.n * p.k;
      fill_grouped(h, operands);
    }
    const GroupedProblem& p = host[0].problem;
    const auto made = plan_grouped(device, p, {.config = host[0].config});
    ASSERT_TRUE(made) << made.error().message;
    const Pair a(device, host[0].a, host[1].a), b(device, host[0].b, host[1].b);
    std::vector<std::uint8_t> sizes(host[0].sizes.size() * 4), zeros(made->workspace_bytes());
    std::memcpy(sizes.data(), host[0].sizes.data(), sizes.size());
    const Pair rest(device, sizes, zeros);
    GroupedOperands operands{.sizes = static_cast<const std::int32_t*>(rest[0])};
    operands.workspace = rest[1], operands.workspace_bytes = zeros.size();
    expect_no_stale_map(device, *made, operands, a, b, static_cast<std::size_t>(p.rows * p.n) * 2,
                        [&](int of_a, int of_b) {
                          HostGrouped mixed = host[of_a];
                          mixed.b = host[of_b].b;
                          return reference(mixed);
                        });
  }
}

TEST(MapsOfPlans, ExtentsAndStridesAreThoseOfTheirOwnPlan) {  // the same three pointers for every plan
  const Device device = open_emu();
  const GemmConfig config{.tile = {64, 64}, .cluster = {1, 1}};
  const GemmProblem first{.m = 72, .n = 72, .k = 96, .a = bf16, .b = bf16, .lda = 96, .ldb = 96, .ldd = 72};
  std::vector<GemmProblem> problems(7, first);
  problems[1].m = 64, problems[2].n = 64, problems[3].k = 88;
  problems[4].lda = 104, problems[5].ldb = 104, problems[6].ldd = 80;
  const Buffer a = device.allocate(1 << 15).value(), b = device.allocate(1 << 15).value(),
               d = device.allocate(1 << 15).value();
  std::vector<GemmPlan> plans;
  for (const GemmProblem& p : problems) plans.push_back(plan_gemm(device, p, {.config = config}).value());
  for (int round = 0; round < 2; ++round)
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const HostProblem host = make_problem(problems[i], config, 10 * i + static_cast<std::uint64_t>(round));
      const GemmProblem& p = host.problem;
      std::vector<std::uint8_t> got(static_cast<std::size_t>(p.m * p.ldd) * 2, 0xa5);
      ASSERT_TRUE(device.upload(a.data(), host.a.data(), host.a.size()));
      ASSERT_TRUE(device.upload(b.data(), host.b.data(), host.b.size()));
      ASSERT_TRUE(device.upload(d.data(), got.data(), got.size()));
      ASSERT_TRUE(plans[i].run({.a = a.data(), .b = b.data(), .d = d.data()}));
      ASSERT_TRUE(device.download(got.data(), d.data(), got.size()));
      const auto packed = packed_output(p, got);
      ASSERT_TRUE(packed) << packed.error().message << host.replay();
      EXPECT_EQ(difference(host, *packed, reference(host)), "");
    }
}

}  // namespace
}  // namespace ww
