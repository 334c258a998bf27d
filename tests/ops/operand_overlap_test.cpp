// SPDX-License-Identifier: Apache-2.0
// What a kernel writes overlaps nothing else of a run: each operand of an epilogue, of groups and of the product in the
// place of every output is refused by name before anything is written, and interleaved rows are not.
#include "launch/operand_overlap.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <random>
#include <set>

#include "warpwright/warpwright.hpp"

namespace ww {
namespace {

using namespace ww::evt;
constexpr DType bf16 = DType::bf16, f32 = DType::f32;
constexpr std::size_t kPlace = 1 << 16;  // bytes of each operand, more than any of them needs
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
  p.encoding = GroupEncoding::starts_counts;
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
  const auto said = [&] {
    const auto ran = plan->run(o);
    return ran ? std::string("accepted") : ran.error().argument;
  };
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

TEST(OperandOverlap, AgreesWithTheBytesOfRandomMatrices) {
  using adapters::OperandList, adapters::OperandSpan;
  std::mt19937_64 rng(20261128);
  const auto pick = [&](std::int64_t from, std::int64_t to) {
    return from + static_cast<std::int64_t>(rng() % static_cast<std::uint64_t>(to - from + 1));
  };
  struct Matrix {
    std::int64_t rows, width, ld, batch, stride, offset;
    OperandSpan span() const {
      const std::int64_t bytes = (batch - 1) * stride + (rows - 1) * ld + width;
      return OperandSpan::matrix_with_gaps(static_cast<std::uint64_t>(bytes), width, ld, batch > 1 ? stride : 0, 1,
                                           ld == width && (batch == 1 || stride == rows * ld));
    }
    std::set<std::int64_t> places() const {
      std::set<std::int64_t> all;
      for (std::int64_t l = 0; l < batch; ++l)
        for (std::int64_t r = 0; r < rows; ++r)
          for (std::int64_t c = 0; c < width; ++c) all.insert(offset + l * stride + r * ld + c);
      return all;
    }
  };
  int apart = 0, interleaved = 0, refused = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t ld = pick(1, 12);
    const auto draw = [&] {
      Matrix m{pick(1, 4), 0, rng() % 4 == 0 ? pick(1, 12) : ld, pick(1, 3), 0, pick(0, 60)};
      m.width = pick(1, m.ld);
      m.stride = rng() % 2 == 0 ? m.rows * m.ld : m.rows * m.ld + pick(0, 8);
      return m;
    };
    const Matrix one = draw(), other = draw();
    alignas(64) static std::byte memory[1024];
    OperandList list;
    list.add("one", memory + one.offset, one.span(), true);
    list.add("other", memory + other.offset, other.span(), rng() % 2 == 0);
    const bool accepted = list.check_apart().has_value();
    bool shared = false;
    const std::set<std::int64_t> taken = one.places();
    for (const std::int64_t place : other.places()) shared = shared || taken.contains(place);
    const bool loose = one.span().loose || other.span().loose;
    ASSERT_FALSE(accepted && !loose && shared) << "draw " << i;
    if (!accepted && one.span().pitch != 0 && one.span().pitch == other.span().pitch) {
      // Of rows with one pitch only those that lie apart in rows beyond the ends are refused for nothing.
      const auto repeats = [&](const Matrix& m) {
        std::set<std::int64_t> columns;
        for (const std::int64_t place : m.places()) columns.insert(place % m.ld);
        return columns;
      };
      bool meet = false;
      const std::set<std::int64_t> columns = repeats(one);
      for (const std::int64_t column : repeats(other)) meet = meet || columns.contains(column);
      ASSERT_TRUE(meet) << "draw " << i;
    }
    apart += accepted, refused += !accepted;
    interleaved += accepted && !loose && one.offset <= other.offset &&
                   other.offset < one.offset + static_cast<std::int64_t>(one.span().bytes);
  }
  EXPECT_GT(apart, 2000);
  EXPECT_GT(refused, 2000);
  EXPECT_GT(interleaved, 200);
}

}  // namespace
}  // namespace ww
