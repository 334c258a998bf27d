// SPDX-License-Identifier: Apache-2.0
// The covering array covers what it says: every pair of values that an accepted config has is in a row.
#include "covering_array.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace ww {
namespace {

using namespace ww::testing;

TEST(CoveringArray, HasEveryPairThatIsAccepted) {
  const std::vector<Row> rows = accepted_rows();
  ASSERT_GT(rows.size(), 10000u);
  const std::vector<Row> array = covering_array(rows);
  fmt::print("{} accepted rows, {} in the array\n", rows.size(), array.size());
  EXPECT_LE(array.size(), 200u);
  EXPECT_EQ(covering_array(rows), array) << "the same in every run";
  Pairs covered;
  for (const Row& row : array) {
    EXPECT_TRUE(accepted(row)) << to_text(config_of(row));
    covered.add(row);
  }
  for (const Row& row : rows) ASSERT_TRUE(covered.covers(row)) << to_text(config_of(row));

  // rows of all combinations, drawn without the shortcut of accepted_rows()
  std::mt19937_64 rng(1);
  int drawn = 0;
  for (int i = 0; i < 100000; ++i) {
    Row row;
    for (int axis = 0; axis < kAxes; ++axis) row[axis] = static_cast<unsigned char>(rng() % kValues[axis]);
    if (config::fault_of(config_of(row)) || !accepted(row)) continue;
    ++drawn;
    ASSERT_TRUE(covered.covers(row)) << "accepted, and a pair of it is in no row: " << to_text(config_of(row));
  }
  EXPECT_GT(drawn, 5);

  // the axes are not there for nothing: each value is in some row
  for (int axis = 0; axis < kAxes; ++axis)
    for (int value = 0; value < kValues[axis]; ++value)
      EXPECT_TRUE(std::any_of(array.begin(), array.end(), [&](const Row& row) { return row[axis] == value; }))
          << "axis " << axis << ", value " << value;
}

}  // namespace
}  // namespace ww
