// SPDX-License-Identifier: Apache-2.0
// Changing tensor maps on the emulated device: fields that no tensor map may hold are refused with their reason, and a
// map that is used without the acquire fence is the old one under some schedule.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "case.hpp"

namespace ww::arch_test {
namespace {

Case case_named(std::string_view name) {
  for (const Case& c : all_cases())
    if (c.name == name) return c;
  ADD_FAILURE() << "no case " << name;
  return {};
}

struct Refusal {
  const char* what;
  u32 word, value;  // of the first group's row
  const char* error;
};

TEST(TensorMapUpdate, RefusesWhatNoTensorMapMayHold) {
  const Refusal refusals[] = {
      {"address", 0, 136, "expected a multiple of 16 other than 0"},
      {"extent of x", 1, 0, "extent 0 of dimension 0"},
      {"extent of y", 2, 0, "extent 0 of dimension 1"},
      {"extent of z", 3, 0, "extent 0 of dimension 2"},
      {"stride of y", 4, 56, "stride 56 of dimension 1"},
      {"stride of z", 5, 200, "stride 200 of dimension 2"},
  };
  for (const Refusal& refusal : refusals) {
    Case c = case_named("tensor_map_3d");
    c.in[refusal.word] = refusal.value;
    const auto words = run_in_process(c, {});
    ASSERT_FALSE(words) << refusal.what << ": accepted";
    EXPECT_NE(words.error().message.find(refusal.error), std::string::npos) << words.error().message;
  }
}

TEST(TensorMapUpdate, AnUnchangedCopyIsTheSameMap) {
  // every field gets the value that the template has
  Case c = case_named("tensor_map_ragged");
  const u32 columns = 16, rows = 9;
  c.arg[5] = 1;
  c.tensors[0].byte_offset = 128;
  c.tensors[0].spec.extent[0] = columns;
  c.tensors[0].spec.extent[1] = rows;
  c.tensors[0].spec.stride_bytes[1] = 4 * columns;
  const u32 row[] = {128, columns, rows, 1, 4 * columns, 0};
  std::copy(row, row + 6, c.in.begin());
  c.expected.assign(32, 0);
  for (u32 y = 0; y < 4; ++y)
    for (u32 x = 0; x < 8; ++x) c.expected.push_back(c.in[32 + columns * y + x]);
  c.out.resize(c.expected.size());
  const auto words = run_in_process(c, {});
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_EQ(difference(*words, c.expected), "");
}

TEST(TensorMapUpdate, WithoutAcquireSomeScheduleSeesTheOldMap) {
  Case c = case_named("tensor_map_ragged");
  c.arg[6] = 1;
  int stale = 0;
  for (u64 seed = 0; seed < 16; ++seed) {
    const auto words = run_in_process(c, {.seed = seed});
    ASSERT_TRUE(words) << "seed " << seed << ": " << words.error().message;
    stale += !difference(*words, c.expected).empty();
  }
  EXPECT_GE(stale, 8);
  const auto fifo = run_in_process(c, {.schedule = EmuSchedule::fifo});
  ASSERT_TRUE(fifo) << fifo.error().message;
  EXPECT_EQ(difference(*fifo, c.expected), "");
}

}  // namespace
}  // namespace ww::arch_test
