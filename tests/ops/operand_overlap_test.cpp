// SPDX-License-Identifier: Apache-2.0
// What a kernel writes overlaps nothing else of a run: each operand of an epilogue, of groups and of the product in the
// place of every output is refused by name before anything is written, and interleaved rows are not.
#include "launch/operand_overlap.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "warpwright/warpwright.hpp"

namespace ww {
namespace {

using namespace ww::evt;
constexpr DType bf16 = DType::bf16, f32 = DType::f32;
constexpr std::size_t kPlace = 1 << 16;  // bytes, as many as most operands have at most
constexpr std::uint8_t kPattern = 0x5a;

/// Memory in which operands have places by number, all of the pattern but for those that are filled.
class Places {
 public:
  explicit Places(const Device& device) : device_(device), memory_(device.allocate(kCount * kPlace).value()) {
    std::memset(memory_.data(), kPattern, memory_.bytes());  // device memory of an emulated device is the host's
  }
  std::byte* at(std::size_t place) const { return static_cast<std::byte*>(memory_.data()) + place * kPlace; }
  void zero(std::size_t place) const { std::memset(at(place), 0, kPlace); }
  bool is_pattern(std::size_t place) const {
    return std::all_of(at(place), at(place) + kPlace, [](std::byte b) { return b == std::byte{kPattern}; });
  }

 private:
  static constexpr std::size_t kCount = 24;
  Device device_;
  Buffer memory_;
};

/// One pointer of a run.
template <class Operands> struct Pointer {
  const char* name;
  std::size_t bytes;  // of an output; 0: the kernel reads it
  std::function<void(Operands&, std::byte*)> set;
  bool zeroed = false;  // an output that has to be zero before a run
};

/// Runs `plan` with each operand in the place of every output, where its first byte meets the output's first or last
/// 256, and with all of them apart.
template <class Plan, class Operands>
void check_every_pair(const Device& device, const Plan& plan, const std::vector<Pointer<Operands>>& pointers,
                      Operands operands) {
  const Places places(device);
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    if (pointers[i].bytes == 0 || pointers[i].zeroed) places.zero(i);
    pointers[i].set(operands, places.at(i));
  }
  for (std::size_t out = 0; out < pointers.size(); ++out)
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      if (i == out || pointers[out].bytes == 0) continue;
      for (const std::size_t offset : {std::size_t{0}, (pointers[out].bytes - 1) / 256 * 256}) {
        const std::string what = fmt::format("{} at byte {} of {}", pointers[i].name, offset, pointers[out].name);
        Operands changed = operands;
        pointers[i].set(changed, places.at(out) + offset);
        const auto ran = plan.run(changed);
        ASSERT_FALSE(ran) << what;
        EXPECT_EQ(ran.error().code, ErrorCode::invalid) << ran.error().message;
        const std::string argument = ran.error().argument, of_output = pointers[out].name, other = pointers[i].name;
        EXPECT_TRUE(argument == of_output || (pointers[i].bytes > 0 && argument == other))
            << what << ": " << ran.error().message;
        EXPECT_NE(ran.error().message.find("memory that " + (argument == of_output ? other : of_output)),
                  std::string::npos)
            << what << ": " << ran.error().message;
      }
    }
  for (std::size_t i = 0; i < pointers.size(); ++i) {
    const bool untouched = pointers[i].bytes == 0 || pointers[i].zeroed || places.is_pattern(i);
    EXPECT_TRUE(untouched) << pointers[i].name;
  }
  const auto ran = plan.run(operands);
  ASSERT_TRUE(ran) << ran.error().message;
}

/// Returns `at`, or what follows it if D is there, because a C that is D has its place.
const void* beside(const void* d, const std::byte* at) { return at == d ? at + 16 : at; }
float* floats(std::byte* at) { return reinterpret_cast<float*>(at); }

TEST(OperandOverlap, OfEveryOperandOfAProductWithEveryOutput) {
  const Device device = Device::open("emu:sm90").value();
  for (const std::int64_t batch : {1, 2}) {
    GemmProblem p{.m = 64,
                  .n = 64,
                  .k = 64,
                  .a = bf16,
                  .b = bf16,
                  .d = bf16,
                  .batch = batch,
                  .batch_a = 4096,
                  .batch_b = 4096,
                  .batch_d = 4096};
    p.epilogue = row_sum(store(acc * alpha + c(bf16) + bias(f32) + column(0) + aux(0, bf16), 0, f32), 1);
    const auto plan = plan_gemm(device, p);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_GT(plan->workspace_bytes(), 0u);
    const auto all = static_cast<std::size_t>(batch);
    using O = GemmOperands;
    const std::vector<Pointer<O>> pointers{
        {"d", all * 64 * 64 * 2, [](O& o, std::byte* at) { o.d = at; }},
        {"out0", all * 64 * 64 * 4, [](O& o, std::byte* at) { o.epilogue.out[0] = at; }},
        {"out1", all * 64 * 4, [](O& o, std::byte* at) { o.epilogue.out[1] = at; }},
        {"workspace", plan->workspace_bytes(), [](O& o, std::byte* at) { o.workspace = at; }, true},
        {"a", 0, [](O& o, std::byte* at) { o.a = at; }},
        {"b", 0, [](O& o, std::byte* at) { o.b = at; }},
        {"c", 0, [](O& o, std::byte* at) { o.epilogue.c = beside(o.d, at); }},
        {"bias", 0, [](O& o, std::byte* at) { o.epilogue.row_vector[0] = at; }},
        {"col0", 0, [](O& o, std::byte* at) { o.epilogue.column_vector[0] = floats(at); }},
        {"aux0", 0, [](O& o, std::byte* at) { o.epilogue.auxiliary[0] = at; }},
        {"alpha", 0, [](O& o, std::byte* at) { o.epilogue.scalar_pointer[0] = floats(at); }}};
    O operands;
    operands.workspace_bytes = plan->workspace_bytes();
    operands.epilogue.batch_c = operands.epilogue.batch_auxiliary[0] = 64 * 64;
    check_every_pair(device, *plan, pointers, operands);
  }
}

TEST(OperandOverlap, OfEveryOperandOfGroupsOfRowsWithEveryOutput) {
  const Device device = Device::open("emu:sm90").value();
  GroupedProblem p{.groups = 2, .rows = 64, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = bf16};
  p.encoding = GroupEncoding::starts_counts, p.zero_outside = true;
  p.epilogue = store(acc * alpha + c(bf16) + bias(f32) + column(0), 0, f32);
  const auto plan = plan_grouped(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  using O = GroupedOperands;
  const auto ints = [](std::byte* at) { return reinterpret_cast<std::int32_t*>(at); };
  const std::vector<Pointer<O>> pointers{
      {"d", 64 * 64 * 2, [](O& o, std::byte* at) { o.d = at; }},
      {"out0", 64 * 64 * 4, [](O& o, std::byte* at) { o.epilogue.out[0] = at; }},
      {"status", 4, [](O& o, std::byte* at) { o.status = reinterpret_cast<std::uint32_t*>(at); }, true},
      {"workspace", plan->workspace_bytes(), [](O& o, std::byte* at) { o.workspace = at; }, true},
      {"a", 0, [](O& o, std::byte* at) { o.a = at; }},
      {"b", 0, [](O& o, std::byte* at) { o.b = at; }},
      {"c", 0, [](O& o, std::byte* at) { o.epilogue.c = beside(o.d, at); }},
      {"bias", 0, [](O& o, std::byte* at) { o.epilogue.row_vector[0] = at; }},
      {"col0", 0, [](O& o, std::byte* at) { o.epilogue.column_vector[0] = floats(at); }},
      {"sizes", 0, [&](O& o, std::byte* at) { o.sizes = ints(at); }},
      {"sizes2", 0, [&](O& o, std::byte* at) { o.sizes2 = ints(at); }},
      {"alpha", 0, [](O& o, std::byte* at) { o.epilogue.scalar_pointer[0] = floats(at); }}};
  O operands;
  operands.workspace_bytes = plan->workspace_bytes();
  check_every_pair(device, *plan, pointers, operands);
}

TEST(OperandOverlap, OfEveryOperandOfGroupsOfKWithEveryOutput) {
  const Device device = Device::open("emu:sm90").value();
  KGroupedProblem p{.groups = 2, .m = 64, .n = 64, .k = 64, .a = bf16, .b = bf16};
  p.accumulate = true;
  const auto plan = plan_k_grouped(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  using O = KGroupedOperands;
  const std::vector<Pointer<O>> pointers{
      {"d", 2 * 64 * 64 * 4, [](O& o, std::byte* at) { o.d = at; }},
      {"status", 4, [](O& o, std::byte* at) { o.status = reinterpret_cast<std::uint32_t*>(at); }, true},
      {"a", 0, [](O& o, std::byte* at) { o.a = at; }},
      {"b", 0, [](O& o, std::byte* at) { o.b = at; }},
      {"c", 0, [](O& o, std::byte* at) { o.c = beside(o.d, at); }},
      {"sizes", 0, [](O& o, std::byte* at) { o.sizes = reinterpret_cast<std::int32_t*>(at); }}};
  check_every_pair(device, *plan, pointers, O{});
}

TEST(OperandOverlap, OfEveryOperandOfACastWithEveryOutput) {
  const Device device = Device::open("emu:sm90").value();
  QuantizeProblem p{.m = 64, .k = 128};
  p.transposed = true, p.groups = 2;
  const auto plan = plan_quantize(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  using O = QuantizeOperands;
  const auto columns = static_cast<std::size_t>(transposed_columns(p));
  const std::vector<Pointer<O>> pointers{
      {"q", 64 * 128, [](O& o, std::byte* at) { o.q = at; }},
      {"scales", 64 * 4, [](O& o, std::byte* at) { o.scales = floats(at); }},
      {"transposed", 128 * columns, [](O& o, std::byte* at) { o.transposed = at; }},
      {"transposed_scales", 128 * columns / 128 * 4, [](O& o, std::byte* at) { o.transposed_scales = floats(at); }},
      {"padded_ends", 8, [](O& o, std::byte* at) { o.padded_ends = reinterpret_cast<std::int32_t*>(at); }},
      {"status", 4, [](O& o, std::byte* at) { o.status = reinterpret_cast<std::uint32_t*>(at); }, true},
      {"x", 0, [](O& o, std::byte* at) { o.x = at; }},
      {"sizes", 0, [](O& o, std::byte* at) { o.sizes = reinterpret_cast<std::int32_t*>(at); }}};
  check_every_pair(device, *plan, pointers, O{});
}

/// Runs `plan` and says "accepted" or which argument it refuses.
template <class Plan, class Operands> std::string said_by(const Plan& plan, const Operands& operands) {
  const auto ran = plan.run(operands);
  return ran ? std::string("accepted") : ran.error().argument;
}

TEST(OperandOverlap, OutputsMayInterleaveInTheRowsOfOneMatrix) {
  const Device device = Device::open("emu:sm90").value();
  GemmProblem p{.m = 64, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = bf16, .ldd = 256, .batch = 2};
  p.batch_d = 64 * 256;
  p.epilogue = row_amax(row_sum(store(acc + c(bf16), 0, bf16), 1), 2);
  const auto plan = plan_gemm(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  const Places places(device);
  for (const std::size_t place : {0, 1, 2, 4}) places.zero(place);
  auto* const rows = reinterpret_cast<std::uint16_t*>(places.at(0));  // D, out0 and C side by side
  GemmOperands o{.a = places.at(1), .b = places.at(2), .d = rows, .workspace = places.at(4)};
  o.workspace_bytes = plan->workspace_bytes();
  EpilogueOperands& e = o.epilogue;
  e.out[0] = rows + 64, e.ld_out[0] = 256, e.batch_out[0] = 64 * 256;
  e.c = rows + 128, e.ldc = 256, e.batch_c = 64 * 256;
  float* const sums = floats(places.at(3));  // of each matrix, the sums of its rows and then their largest magnitudes
  e.out[1] = sums, e.out[2] = sums + 64, e.batch_out[1] = e.batch_out[2] = 128;
  const auto said = [&] { return said_by(*plan, o); };
  EXPECT_EQ(said(), "accepted");
  e.out[2] = sums + 63;
  EXPECT_EQ(said(), "out1");
  e.out[2] = sums + 66;
  EXPECT_EQ(said(), "out1") << "its last sums are the next matrix's first";
  e.out[2] = sums + 64, e.c = rows + 120;
  EXPECT_EQ(said(), "out0");
  e.c = rows + 200;
  EXPECT_EQ(said(), "d") << "its rows end in the next rows of D";
}

TEST(OperandOverlap, AProductWithoutElementsChecksAllOutputsBeforeItClearsOne) {
  const Device device = Device::open("emu:sm90").value();
  GemmProblem p{.m = 64, .n = 0, .k = 64, .a = bf16, .b = bf16, .d = bf16};
  p.epilogue = row_amax(row_sum(acc, 0), 1);
  const auto plan = plan_gemm(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  const Places places(device);
  GemmOperands o;
  o.epilogue.out[0] = places.at(0), o.epilogue.out[1] = places.at(0) + 16;
  EXPECT_EQ(plan->run(o).error().argument, "out0");
  o.epilogue.out[1] = nullptr;
  EXPECT_EQ(plan->run(o).error().argument, "out1");
  EXPECT_TRUE(places.is_pattern(0));
  o.epilogue.out[1] = places.at(1);
  EXPECT_TRUE(plan->run(o));
  EXPECT_EQ(floats(places.at(0))[63], 0.0f);
}

/// Runs of bytes that repeat in three levels in any order, nested unless `wild`.
struct RandomBytes {
  std::int64_t offset, width;
  std::array<adapters::Repeat, 3> repeats;

  template <class Pick> static RandomBytes draw(const Pick& pick, std::int64_t pitch, bool wild) {
    RandomBytes made{pick(0, 60), pick(1, 6), {}};
    std::int64_t extent = made.width;
    for (adapters::Repeat& repeat : made.repeats) {
      repeat = {pick(1, 3), wild ? pick(0, 20) : extent + (pick(0, 2) == 0 ? 0 : pick(0, 8))};
      if (!wild && pick(0, 1) == 0) repeat.stride = (extent + pitch - 1) / pitch * pitch;
      extent += (repeat.count - 1) * repeat.stride;
    }
    std::swap(made.repeats[0], made.repeats[static_cast<std::size_t>(pick(0, 2))]);
    std::swap(made.repeats[1], made.repeats[static_cast<std::size_t>(pick(1, 2))]);
    return made;
  }
  std::set<std::int64_t> places() const {
    std::set<std::int64_t> all;
    const auto& [x, y, z] = repeats;
    for (std::int64_t i = 0; i < x.count; ++i)
      for (std::int64_t j = 0; j < y.count; ++j)
        for (std::int64_t k = 0; k < z.count; ++k)
          for (std::int64_t b = 0; b < width; ++b) all.insert(offset + i * x.stride + j * y.stride + k * z.stride + b);
    return all;
  }
  adapters::OperandSpan span() const { return adapters::OperandSpan::of(width, repeats); }
};

TEST(OperandOverlap, IsToldExactlyForRandomRepetitions) {
  std::mt19937_64 rng(20261128);
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(to - from + 1));
  };
  static std::byte memory[4096];
  int refused = 0, interleaved = 0, wild_refused_for_nothing = 0;
  for (int i = 0; i < 40000; ++i) {
    const std::int64_t pitch = pick(4, 24);
    const bool wild = i % 8 == 0;  // copies may overlap each other, and are then covered by one run
    const RandomBytes one = RandomBytes::draw(pick, pitch, wild), other = RandomBytes::draw(pick, pitch, wild);
    const std::set<std::int64_t> mine = one.places(), theirs = other.places();
    ASSERT_EQ(one.span().bytes, static_cast<std::uint64_t>(*mine.rbegin() - *mine.begin() + 1)) << "draw " << i;
    const bool shared = std::any_of(theirs.begin(), theirs.end(), [&](auto place) { return mine.contains(place); });
    adapters::OperandList list;
    list.add("one", memory + one.offset, one.span(), true);
    list.add("other", memory + other.offset, other.span(), rng() % 2 == 0);
    const bool accepted = list.check_apart().has_value();
    ASSERT_FALSE(accepted && shared) << "draw " << i;
    ASSERT_TRUE(wild || accepted || shared) << "draw " << i;
    refused += !accepted, wild_refused_for_nothing += !accepted && !shared;
    interleaved += accepted && *mine.begin() <= *theirs.rbegin() && *theirs.begin() <= *mine.rbegin();
  }
  EXPECT_GT(refused, 4000);
  EXPECT_GT(interleaved, 2000);
  EXPECT_LT(wild_refused_for_nothing, 4000);
}

TEST(OperandOverlap, RowsOfThousandsAreToldByTheirPitch) {
  using adapters::OperandSpan, adapters::Repeat;
  const OperandSpan rows = OperandSpan::matrix(128, {1'000'000, 512}, {3, 1'000'000 * 512 + 1024});
  const auto shares = [&](std::uint64_t at, const OperandSpan& span) {
    constexpr std::uint64_t kBase = std::uint64_t{1} << 40;  // is not read
    return adapters::share_a_byte({"rows", kBase, rows.bytes, &rows, true},
                                  {"other", kBase + at, span.bytes, &span, false});
  };
  for (const std::uint64_t column : {128, 256, 384}) EXPECT_FALSE(shares(column, rows));
  for (const std::uint64_t column : {0, 1, 127, 385, 511, 512}) EXPECT_TRUE(shares(column, rows)) << column;
  EXPECT_FALSE(shares(512 * 777 + 128, OperandSpan::flat(384)));
  EXPECT_TRUE(shares(512 * 777 + 128, OperandSpan::flat(385)));
  EXPECT_FALSE(shares(1'000'000 * 512, OperandSpan::flat(1024)));
}

TEST(OperandOverlap, OneRowOfEachMatrixAndOutputsBehindEachMatrixAreApart) {
  const Device device = Device::open("emu:sm90").value();
  const Places places(device);
  for (const std::size_t place : {0, 1, 2, 3, 4}) places.zero(place);
  for (const std::int64_t m : {1, 2}) {  // D and out0 side by side in (batch, M, 128)
    GemmProblem p{.m = m, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = bf16, .batch = 2};
    p.lda = p.ldb = 64, p.batch_a = m * 64, p.batch_b = 64 * 64, p.ldd = m == 1 ? 64 : 128, p.batch_d = m * 128;
    p.epilogue = store(acc, 0, bf16);
    const auto plan = plan_gemm(device, p);
    ASSERT_TRUE(plan) << plan.error().message;
    GemmOperands o{.a = places.at(1), .b = places.at(2), .d = places.at(0)};
    o.workspace = places.at(3), o.workspace_bytes = plan->workspace_bytes();
    o.epilogue.out[0] = places.at(0) + 128, o.epilogue.ld_out[0] = m == 1 ? 64 : 128, o.epilogue.batch_out[0] = m * 128;
    EXPECT_EQ(said_by(*plan, o), "accepted") << m;
    o.epilogue.out[0] = places.at(0) + 124;
    EXPECT_EQ(said_by(*plan, o), "d") << m;
  }
  // (batch, 64 * 64 + 64) floats: D, and behind each matrix the sums of its rows.
  GemmProblem p{.m = 64, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = f32, .batch = 2};
  p.batch_a = p.batch_b = 64 * 64, p.batch_d = 64 * 64 + 64;
  p.epilogue = row_sum(acc, 0);
  const auto plan = plan_gemm(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  GemmOperands o{.a = places.at(1), .b = places.at(2), .d = places.at(0)};
  o.workspace = places.at(4), o.workspace_bytes = plan->workspace_bytes();
  o.epilogue.out[0] = floats(places.at(0)) + 64 * 64, o.epilogue.batch_out[0] = 64 * 64 + 64;
  EXPECT_EQ(said_by(*plan, o), "accepted");
  o.epilogue.out[0] = floats(places.at(0)) + 64 * 64 - 1;
  EXPECT_EQ(said_by(*plan, o), "d");
}

TEST(OperandOverlap, IsFoundWithPaddedAndPackedStridesOfABatchToo) {
  const Device device = Device::open("emu:sm90").value();
  const Places places(device);
  for (const std::int64_t step : {std::int64_t{0}, std::int64_t{64 * 128 + 8}}) {
    GemmProblem p{.m = 64, .n = 64, .k = 64, .a = bf16, .b = bf16, .d = bf16, .ldd = 128, .batch = 2};
    p.batch_a = p.batch_b = 64 * 64, p.batch_d = 64 * 128;
    p.epilogue = store(acc, 0, bf16);
    const auto plan = plan_gemm(device, p);
    ASSERT_TRUE(plan) << plan.error().message;
    GemmOperands o{.a = places.at(1), .b = places.at(2), .d = places.at(0)};
    o.workspace = places.at(3), o.workspace_bytes = plan->workspace_bytes();
    o.epilogue.ld_out[0] = 128, o.epilogue.batch_out[0] = step;
    o.epilogue.out[0] = places.at(0);
    EXPECT_EQ(said_by(*plan, o), "d");
    o.epilogue.out[0] = places.at(1);
    EXPECT_EQ(said_by(*plan, o), "out0") << "in A";
    EXPECT_TRUE(places.is_pattern(0));
  }
}

TEST(OperandOverlap, OfTheScalesOfAQuantisedDWithThoseOfA) {
  const Device device = Device::open("emu:sm90").value();
  const Places places(device);
  GemmProblem p{.m = 64, .n = 256, .k = 512, .a = DType::e4m3, .b = DType::e4m3, .d = DType::e4m3};
  p.scale = Scale::block_1x128_128x128, p.scale_a_row = 8, p.scale_a_k = 1, p.scale_b_n = 4, p.scale_b_k = 1;
  p.epilogue = quantise_block(acc);
  const auto plan = plan_gemm(device, p);
  ASSERT_TRUE(plan) << plan.error().message;
  for (const std::size_t place : {1, 3, 4, 6, 7}) places.zero(place);  // B has two places
  GemmOperands o{.a = places.at(1), .b = places.at(6), .d = places.at(0)};
  o.scale_a = places.at(3), o.scale_b = places.at(4);
  EpilogueOperands& e = o.epilogue;  // (64, 8) floats: four scales of A and two of D in each row
  e.out_scales = floats(places.at(3)) + 4, e.out_scales_row = 8, e.out_scales_block = 2;
  EXPECT_EQ(said_by(*plan, o), "accepted");
  e.out_scales = floats(places.at(3)) + 3;
  EXPECT_EQ(said_by(*plan, o), "out_scales");
  e.out_scales = floats(places.at(3)) + 6;
  EXPECT_EQ(said_by(*plan, o), "out_scales") << "the second of a row is in the next row of A's";
  e.out_scales = floats(places.at(0)) + 8;
  EXPECT_EQ(said_by(*plan, o), "d");
}

}  // namespace
}  // namespace ww
