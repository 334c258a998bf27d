// SPDX-License-Identifier: Apache-2.0
// What the random groups with scales of mx and nv (tests/problems/scaled_groups.hpp) draw: every property that the
// kernels treat in a path of its own is among the 240 problems of `grouped_parity verify 5950000 240 emu:sm100`, or the
// 160 of `k_grouped_parity verify 3000000 160 emu:sm100`.
#include <gtest/gtest.h>

#include <functional>

#include "problems/scaled_groups.hpp"

namespace ww {
namespace {

using namespace ww::testing;

/// Returns the scales of the last chunk of 4 along K, of rows that have any.
std::int64_t last_scales(const GroupedProblem& p) {
  return (ceil_div(p.k, std::int64_t{scale_vector(p.scale)}) + 3) % 4 + 1;
}

template <class Host> struct Property {
  const char* name;
  std::function<bool(const Host&)> has;
  int drawn = 0;
};

/// Expects that at least three of the problems `draw(0)` to `draw(count - 1)` have each property.
template <class Host, std::size_t kCount, class Draw>
void expect_drawn(Property<Host> (&properties)[kCount], std::uint64_t count, const Draw& draw) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const Host h = draw(i);
    for (Property<Host>& property : properties) property.drawn += property.has(h);
  }
  for (const Property<Host>& property : properties) EXPECT_GE(property.drawn, 3) << property.name;
}

TEST(ScaledDraws, GroupsOfRowsHavePairsTailsAndHalves) {
  const auto nv_tail = [](std::int64_t scales) {
    return [=](const HostGrouped& h) {
      return h.problem.scale == Scale::nv && h.problem.k > 0 && last_scales(h.problem) == scales;
    };
  };
  const auto pair = [](const HostGrouped& h) { return h.config.sm100.pair; };
  const auto halves = [](const HostGrouped& h) { return !h.problem.epilogue.empty(); };
  const auto masked = [](const HostGrouped& h) { return h.problem.encoding == GroupEncoding::masked; };
  Property<HostGrouped> properties[] = {
      {"a pair with rows one after the other", [&](const HostGrouped& h) { return pair(h) && !masked(h); }},
      {"a pair with masked rows", [&](const HostGrouped& h) { return pair(h) && masked(h); }},
      {"nv that ends with 1 scale", nv_tail(1)},
      {"nv that ends with 2 scales", nv_tail(2)},
      {"nv that ends with 3 scales", nv_tail(3)},
      {"a pair with such an end", [&](const HostGrouped& h) { return pair(h) && (nv_tail(1)(h) || nv_tail(3)(h)); }},
      {"mx of e2m1 that ends inside an instruction",
       [](const HostGrouped& h) {
         return h.problem.scale == Scale::mx && h.problem.a == e2m1 && h.problem.b == e2m1 && h.problem.k % 64 != 0;
       }},
      {"mx of 8 bits with an odd K", [](const HostGrouped& h) { return h.problem.k % 2 == 1; }},
      {"an N-major B", [](const HostGrouped& h) { return h.problem.b_major == Major::mn; }},
      {"SwiGLU of halves on one CTA", [&](const HostGrouped& h) { return halves(h) && !pair(h); }},
      {"SwiGLU of halves on a pair", [&](const HostGrouped& h) { return halves(h) && pair(h); }},
      {"SwiGLU of halves of masked rows", [&](const HostGrouped& h) { return halves(h) && masked(h); }},
      {"SwiGLU of halves with an end of K inside a chunk of scales",
       [&](const HostGrouped& h) { return halves(h) && h.problem.k > 0 && last_scales(h.problem) != 4; }},
  };
  expect_drawn(properties, 240, [](std::uint64_t i) { return scaled_grouped(kFirstScaledGrouped + i); });
}

TEST(ScaledDraws, GroupsOfKHavePairsOfEveryRecipe) {
  const auto pair = [](Scale scale, bool accumulate) {
    return [=](const HostKGrouped& h) {
      return h.config.sm100.pair && h.problem.scale == scale && h.problem.accumulate == accumulate;
    };
  };
  Property<HostKGrouped> properties[] = {
      {"a pair with mx", pair(Scale::mx, false)},
      {"a pair with mx that adds to D", pair(Scale::mx, true)},
      {"an M-major A", [](const HostKGrouped& h) { return h.problem.a_major == Major::mn; }},
      {"an MN-major operand on a pair",
       [](const HostKGrouped& h) {
         return h.config.sm100.pair && (h.problem.a_major == Major::mn || h.problem.b_major == Major::mn);
       }},
      {"a pair with nv", pair(Scale::nv, false)},
      {"a pair with nv that adds to D", pair(Scale::nv, true)},
      {"a pair in a cluster of 8 or 16",
       [](const HostKGrouped& h) { return h.config.sm100.pair && h.config.cluster.m * h.config.cluster.n >= 8; }},
      {"a group without K", [](const HostKGrouped& h) {
         return std::any_of(h.ranges.begin(), h.ranges.end(), [](const auto& range) { return range.second == 0; });
       }}};
  expect_drawn(properties, 320, [](std::uint64_t i) { return scaled_k_grouped(kFirstScaledKGrouped + i); });
}

}  // namespace
}  // namespace ww
