// SPDX-License-Identifier: Apache-2.0
// Every operation of the algebra on every small layout, against its definition and against the second implementation in
// src/layout/dynamic.cpp; random larger layouts after that. RapidCheck prints the parameters that replay a failure.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdlib>

#include "small_layouts.hpp"
#include "warpwright/layout/divide.hpp"

namespace ww::test {
namespace {

const bool kSeeded = setenv("RC_PARAMS", "seed=20250719 max_success=3000", 0) == 0;
const std::vector<i64> kStrides = {0, 1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 24, 32};

/// A set of small offsets that is emptied in no time.
struct Marks {
  std::vector<int> stamps = std::vector<int>(1 << 16, 0);
  int now = 0;
  void clear() { ++now; }
  bool insert(i64 offset) {
    if (offset >= static_cast<i64>(stamps.size())) stamps.resize(static_cast<std::size_t>(offset) + 1, 0);
    int& stamp = stamps[static_cast<std::size_t>(offset)];
    return stamp == now ? false : (stamp = now, true);
  }
  bool contains(i64 offset) const {
    return offset < static_cast<i64>(stamps.size()) && stamps[static_cast<std::size_t>(offset)] == now;
  }
};
Marks marks;

std::vector<i64> image(const FlatLayout& a) {
  std::vector<i64> offsets;
  marks.clear();
  for (i64 i = 0; i < a.size(); ++i)
    if (const i64 offset = a(i); marks.insert(offset)) offsets.push_back(offset);
  return offsets;
}
bool injective(const FlatLayout& a) {
  marks.clear();
  for (i64 i = 0; i < a.size(); ++i)
    if (!marks.insert(a(i))) return false;
  return true;
}

std::string coalesce_fault(const FlatLayout& a) {
  const FlatLayout r = coalesce(a), kept = coalesce(a, true);
  for (i64 i = 0; i < a.size(); ++i)
    if (r(i) != a(i)) return "changes offsets";
  for (i64 i = 0; i < 2 * a.size(); ++i)
    if (kept(i) != a(i)) return "changes offsets beyond the end";
  for (int i = 0; i < r.rank; ++i) {
    if (r.shape[i] == 1 && r.rank > 1) return "keeps an extent of 1";
    if (i > 0 && r.shape[i - 1] * r.stride[i - 1] == r.stride[i]) return "leaves modes to merge";
  }
  return "";
}

// The offsets of a and of its complement add up without meeting, in order, and cover everything if strides divide.
std::string complement_fault(const FlatLayout& a, i64 target) {
  const FlatLayout r = complement(a, target);
  const FlatLayout sorted = sorted_modes(a);
  bool broadcast = false, divides = true;
  i64 end = 1;
  for (int i = 0; i < sorted.rank; ++i) {
    broadcast |= sorted.stride[i] == 0;
    if (sorted.stride[i] == 0) continue;
    divides &= sorted.stride[i] % end == 0;
    end = sorted.stride[i] * sorted.shape[i];
  }
  if (!broadcast && !injective(a)) return r.valid ? "accepts an overlapping layout" : "";
  if (!r.valid) return "";
  const auto taken = image(a);
  marks.clear();
  for (i64 j = 0; j < r.size(); ++j) {
    if (j > 0 && r(j) <= r(j - 1)) return "is not ordered";
    for (const i64 offset : taken)
      if (!marks.insert(offset + r(j))) return "meets the layout";
  }
  for (i64 x = 0; divides && x < target; ++x)
    if (!marks.contains(x)) return "misses an offset";
  return "";
}

std::string inverse_fault(const FlatLayout& a) {
  const FlatLayout right = right_inverse(a), left = left_inverse(a);
  for (i64 i = 0; i < right.size(); ++i)
    if (a(right(i)) != i) return "right inverse is wrong";
  const bool bijective = injective(a) && a.cosize() == a.size();
  if (bijective && right.size() != a.size()) return "right inverse is too short";
  if (left.valid != (left.valid && injective(a))) return "left inverse of an overlapping layout";
  if (bijective && !left.valid) return "left inverse is missing";
  for (i64 i = 0; left.valid && i < a.size(); ++i)
    if (left(a(i)) != i) return "left inverse is wrong";
  return "";
}

TEST(EverySmallLayout, UnaryOperationsKeepTheirDefinitions) {
  int count = 0;
  for_each_layout(3, 64, kStrides, [&](const FlatLayout& a) {
    ++count;
    ASSERT_EQ(coalesce_fault(a), "") << text(a);
    ASSERT_EQ(inverse_fault(a), "") << text(a);
    if (a.rank == 3 && count % 7 != 0) return;  // the costliest check: all of rank 1 and 2, every seventh of rank 3
    for (const i64 target : {i64{1}, i64{24}, a.cosize() * 3 + 1})
      ASSERT_EQ(complement_fault(a, target), "") << text(a) << " to " << target;
  });
  EXPECT_GT(count, 1000000);
}

TEST(EverySmallLayout, BothImplementationsAgree) {
  int count = 0;
  for_each_layout(3, 32, {0, 1, 2, 3, 4, 6, 8, 12}, [&](const FlatLayout& a) {
    ++count;
    const auto b = dynamic_of(a);
    ASSERT_EQ(a.size(), layout::size(b));
    ASSERT_EQ(a.cosize(), layout::cosize(b));
    for (i64 i = 0; i < 2 * a.size(); ++i) ASSERT_EQ(a(i), layout::offset(b, i)) << text(a) << " at " << i;
    ASSERT_EQ(text(coalesce(a)), text(layout::coalesce(b))) << text(a);
    ASSERT_EQ(text(complement(a, 48)), text(layout::complement(b, 48))) << text(a);
    ASSERT_EQ(text(right_inverse(a)), text(layout::right_inverse(b))) << text(a);
    ASSERT_EQ(text(left_inverse(a)), text(layout::left_inverse(b))) << text(a);
  });
}

// The second implementation recovers a layout from the composed function whenever there is one, so it accepts more
// (two steps of 3 through (2,4):(1,100) are 2:101); what the rule of even steps accepts, both write alike.
TEST(EverySmallLayout, CompositionEvaluatesOneAfterTheOther) {
  int valid = 0, refused = 0;
  for_each_layout(3, 24, {0, 1, 2, 4, 5, 12}, [&](const FlatLayout& a) {
    const bool recover = a.rank < 3;
    for (i64 extent = 1; extent <= 24; ++extent) {
      for (i64 step = 0; step * extent <= 36 && step <= 24; ++step) {
        const FlatLayout r = compose(a, extent, step);
        (r.valid ? valid : refused) += 1;
        for (i64 i = 0; r.valid && i < extent; ++i)
          ASSERT_EQ(r(i), a(i * step)) << text(a) << " o " << extent << ':' << step;
        if (!recover || !r.valid) continue;
        const auto recovered = layout::composition(dynamic_of(a), layout::DynamicLayout::of(extent, step));
        ASSERT_EQ(text(r), text(recovered)) << text(a) << " o " << extent << ':' << step;
      }
    }
  });
  EXPECT_GT(valid, 1000000);
  EXPECT_GT(refused, 1000);
}

// --- run-time integers in core's Layout -------------------------------------------------------------
TEST(EverySmallLayout, RunTimeLayoutMapsCoordinatesAndIntegersAlike) {
  for_each_layout(3, 64, {0, 1, 3, 8}, [](const FlatLayout& flat) {
    if (flat.rank != 3) return;
    const int a = int(flat.shape[0]), b = int(flat.shape[1]), c = int(flat.shape[2]);
    const auto nested = make_layout(make_shape(make_shape(a, b), c),
                                    make_stride(make_stride(flat.stride[0], flat.stride[1]), flat.stride[2]));
    ASSERT_EQ(size(nested), flat.size());
    ASSERT_EQ(cosize(nested), flat.cosize());
    const auto dense = make_layout(nested.shape());
    for (int i = 0; i < a * b * c; ++i) {
      const int x = i % a, y = i / a % b, z = i / (a * b);
      ASSERT_EQ(nested(i), flat(i)) << text(flat);
      ASSERT_EQ(nested(make_coord(make_coord(x, y), z)), flat(i)) << text(flat);
      ASSERT_EQ(nested(x + a * y, z), flat(i)) << text(flat);
      ASSERT_EQ(dense(i), i);
      ASSERT_TRUE(idx2crd(i, nested.shape()) == make_coord(make_coord(x, y), z));
      ASSERT_TRUE(dense.get_hier_coord(i) == make_coord(make_coord(x, y), z));
      ASSERT_TRUE(dense.get_flat_coord(i) == make_coord(x + a * y, z));
      ASSERT_EQ(nested(_, z)(x + a * y) + nested(0, z), flat(i));
    }
  });
}

TEST(EverySmallLayout, RunTimeCompositionFollowsTheStaticOne) {
  for_each_layout(2, 24, {0, 1, 3, 12}, [](const FlatLayout& flat) {
    if (flat.rank != 2) return;
    const auto a =
        make_layout(make_shape(int(flat.shape[0]), int(flat.shape[1])), make_stride(flat.stride[0], flat.stride[1]));
    for (int extent = 1; extent <= 24; ++extent) {
      for (int step = 0; step * extent <= 24; ++step) {
        if (!compose(flat, extent, step).valid || !compose(coalesce(flat), extent, step).valid) continue;
        FlatLayout whole = flat;  // only where the modes need no merging do run-time extents have an answer
        const bool even = step == 0 || (step % whole.shape[0] == 0) || extent <= ceil_div(whole.shape[0], i64(step)) ||
                          (whole.shape[0] % step == 0 && extent % (whole.shape[0] / step) == 0);
        if (!even) continue;
        const auto r = composition(a, make_layout(extent, step));
        for (int i = 0; i < extent; ++i)
          ASSERT_EQ(r(i), flat(i64(i) * step)) << text(flat) << " o " << extent << ':' << step;
      }
    }
  });
}

TEST(EverySmallLayout, RunTimeDivisionNamesTileAndPlace) {
  for (int extent = 1; extent <= 64; ++extent) {
    for (int tile = 1; tile <= 16; ++tile) {
      const auto whole = make_layout(make_shape(extent, 5), make_stride(7, 1000));
      const auto tiles = zipped_divide(whole, make_tile(tile));
      const auto fixed = zipped_divide(whole, make_tile(Int<8>{}));
      ASSERT_EQ(size<1>(tiles), (extent + tile - 1) / tile * 5);
      for (int i = 0; i < extent; ++i) {
        ASSERT_EQ(tiles(i % tile, make_coord(i / tile, 3)), whole(i, 3));
        ASSERT_EQ(fixed(i % 8, make_coord(i / 8, 3)), whole(i, 3));
      }
    }
  }
}

// --- random larger layouts ----------------------------------------------------------------------------
FlatLayout random_layout() {
  FlatLayout layout;
  const int rank = *rc::gen::inRange(1, 6);
  for (int i = 0; i < rank; ++i) {
    const i64 extent = *rc::gen::oneOf(rc::gen::inRange<i64>(1, 9), rc::gen::element<i64>(2, 4, 8, 16));
    layout.append(extent, *rc::gen::oneOf(rc::gen::inRange<i64>(0, 200),
                                          rc::gen::map(rc::gen::inRange(0, 16), [](int e) { return i64{1} << e; })));
  }
  return layout;
}

TEST(RandomLayout, OperationsKeepTheirDefinitions) {
  EXPECT_TRUE(kSeeded);
  EXPECT_TRUE(rc::check("definitions and agreement", [] {
    const FlatLayout a = random_layout();
    RC_ASSERT(coalesce_fault(a) == "");
    RC_ASSERT(inverse_fault(a) == "");
    RC_ASSERT(text(complement(a, 100000)) == text(layout::complement(dynamic_of(a), 100000)));
    RC_ASSERT(text(left_inverse(a)) == text(layout::left_inverse(dynamic_of(a))));
    RC_ASSERT(text(right_inverse(a)) == text(layout::right_inverse(dynamic_of(a))));
  }));
}

// A layout whose modes are a shuffled mixed radix is injective and has everything.
TEST(RandomLayout, ShuffledDenseLayoutsDivideAndInvert) {
  EXPECT_TRUE(rc::check("dense", [] {
    auto extents = *rc::gen::container<std::vector<i64>>(3, rc::gen::element<i64>(1, 2, 3, 4, 8));
    const int first = *rc::gen::inRange(0, 3), turn = *rc::gen::inRange(1, 3);
    const int order[3] = {first, (first + turn) % 3, (first + 2 * turn) % 3};
    FlatLayout a;
    for (int i = 0; i < 3; ++i) a.append(extents[std::size_t(i)], 0);
    i64 stride = 1;
    for (const int i : order) a.stride[i] = stride, stride *= a.shape[i];
    const FlatLayout inverse = right_inverse(a);
    RC_ASSERT(inverse.size() == a.size());
    for (i64 i = 0; i < a.size(); ++i) RC_ASSERT(inverse(a(i)) == i && a(inverse(i)) == i);
    const i64 tile = *rc::gen::element<i64>(1, 2, 4);
    layout::Tiler tiler{false, layout::DynamicLayout::of(tile, 1), {}};
    const auto divided = layout::logical_divide(dynamic_of(a), tiler);
    if (!divided) return;  // a tile that cuts through a mode of 3
    RC_ASSERT(layout::size(divided->mode(0)) == tile);
    for (i64 i = 0; i < a.size(); ++i)
      RC_ASSERT(layout::offset(divided->mode(0), i % tile) + layout::offset(divided->mode(1), i / tile) == a(i));
  }));
}

}  // namespace
}  // namespace ww::test
