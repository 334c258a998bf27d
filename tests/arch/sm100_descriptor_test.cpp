// SPDX-License-Identifier: Apache-2.0
// The descriptors of tcgen05.mma: their bits against tests/data/umma_cases.json, which CuTe's host functions printed,
// and their faults against the list of all instructions that exist, written out here from the tables of the PTX ISA.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "warpwright/arch/sm100/instruction_descriptor.hpp"
#include "warpwright/arch/sm100/matrix_descriptor.hpp"

namespace ww::arch {
namespace {

using nlohmann::json;
using sm100::DescriptorFault;
using sm100::MatrixSwizzle;
using sm100::MmaForm;
using sm100::MmaInstruction;

const json& facts() {
  static const json all = json::parse(std::ifstream(WW_TEST_DATA "/umma_cases.json"));
  return all;
}

u64 hex(const json& text) { return std::stoull(text.get<std::string>(), nullptr, 16); }
Major major_of(const json& text) { return text == "K" ? Major::k : Major::mn; }

MmaFormat format_of(const std::string& name) {
  const char* names[] = {"f16", "bf16", "tf32", "e4m3", "e5m2", "e2m3", "e3m2", "e2m1"};
  for (int i = 0; i < 8; ++i)
    if (name == names[i]) return static_cast<MmaFormat>(i);
  ADD_FAILURE() << name;
  return {};
}
MmaKind kind_of(const std::string& name) {
  const char* names[] = {"f16", "tf32", "f8f6f4", "mxf8f6f4", "mxf4", "mxf4nvf4"};
  for (int i = 0; i < 6; ++i)
    if (name == names[i]) return static_cast<MmaKind>(i);
  ADD_FAILURE() << name;
  return {};
}

MmaInstruction instruction_of(const json& row) {
  MmaInstruction i{.kind = kind_of(row["kind"]), .a = format_of(row["a"]), .b = format_of(row["b"])};
  i.m = row["m"], i.n = row["n"], i.major_a = major_of(row["a_major"]), i.major_b = major_of(row["b_major"]);
  i.negate_a = row["negate_a"] == 1, i.negate_b = row.value("negate_b", 0) == 1;
  if (is_block_scaled(i.kind)) {
    i.scale = row["scale"] == "ue4m3" ? ScaleFormat::ue4m3 : ScaleFormat::ue8m0;
    i.scale_id_a = row["sfa_id"], i.scale_id_b = row["sfb_id"];
  } else {
    i.d = row["d"] == "f16" ? MmaResult::f16 : MmaResult::f32;
  }
  return i;
}
MmaForm form_of(const json& row) {
  MmaForm form{row["cta_group"] == 1 ? CtaGroup::one : CtaGroup::pair};
  if (row.contains("block"))
    form.scale_vector =
        row["kind"] == "mxf8f6f4" ? 1 : static_cast<int>(row["kind"] == "mxf4" ? 2 : 64 / row["block"].get<int>());
  return form;
}

/// The part of a fault's text that names the form of the instruction; empty for rows that are supported.
std::string refusal_of(const json& row) {
  if (row["kind"] == "i8") return "kind::i8";
  if (row["sparse"] == 1) return ".sp";
  return row.value("max_shift", 0) != 0 || row["m"] == 32 ? ".ws" : "";
}

TEST(InstructionDescriptor, HasTheBitsOfTheReference) {
  int equal = 0, refused = 0;
  for (const json& row : facts()["instruction_descriptors"]) {
    const InstructionDescriptor expected{static_cast<u32>(hex(row["idesc"]))};
    if (const std::string refusal = refusal_of(row); !refusal.empty()) {
      const MmaKind kind = row["kind"] == "i8" ? MmaKind::f8f6f4 : kind_of(row["kind"]);
      const DescriptorFault fault = sm100::fault(kind, expected, form_of(row));
      ASSERT_TRUE(fault) << row;
      EXPECT_NE(std::string(fault.expected).find(refusal), std::string::npos) << fault.expected << "\n" << row;
      EXPECT_NE(std::string(fault.expected).find("not supported"), std::string::npos) << fault.expected;
      ++refused;
      continue;
    }
    const MmaInstruction i = instruction_of(row);
    EXPECT_EQ(sm100::encode(i).bits, expected.bits) << row;
    EXPECT_EQ(sm100::decode(i.kind, expected), i) << row;
    const DescriptorFault fault = sm100::fault(i.kind, expected, form_of(row));
    EXPECT_FALSE(fault) << fault.argument << ": expected " << fault.expected << ", got " << fault.actual << "\n" << row;
    ++equal;
  }
  EXPECT_EQ(refused, 6) << "the rows of .ws, sparse and i8";
  EXPECT_EQ(equal, 119);
}

// --- every instruction that exists -----------------------------------------------------------------

struct Formats {
  MmaKind kind;
  std::vector<MmaFormat> of;
  bool mix, f16_result;
};
using enum MmaFormat;
const Formats kFormats[] = {
    {MmaKind::f16, {f16}, false, true},
    {MmaKind::f16, {bf16}, false, false},
    {MmaKind::tf32, {tf32}, false, false},
    {MmaKind::f8f6f4, {e4m3, e5m2, e2m3, e3m2, e2m1}, true, true},
    {MmaKind::mxf8f6f4, {e4m3, e5m2, e2m3, e3m2, e2m1}, true, false},
    {MmaKind::mxf4, {e2m1}, false, false},
    {MmaKind::mxf4nvf4, {e2m1}, false, false},
};

template <class Visit> void each_shape(MmaInstruction i, const MmaForm& form, Visit visit) {
  const bool pair = form.group == CtaGroup::pair, scaled = is_block_scaled(i.kind),
             mn_bytes = i.major_b == Major::mn && bits_of(i.b) == 8;
  for (i.m = pair ? 128 : scaled ? 128 : 64; i.m <= (pair ? 256 : 128); i.m *= 2) {
    int step = pair ? 16 : 8;
    if (mn_bytes) step = pair ? 32 : 16;
    if (form.a_in_tensor_memory) step = pair ? 32 : i.m == 128 ? 16 : step;
    for (i.n = step; i.n <= 256; i.n += step)
      for (int negate = 0; negate < 4; ++negate) {
        i.negate_a = negate & 1, i.negate_b = negate & 2;
        visit(i);
      }
  }
}
template <class Visit> void each_scale(MmaInstruction i, const MmaForm& form, Visit visit) {
  if (!is_block_scaled(i.kind)) return each_shape(i, form, visit);
  const u32 step = static_cast<u32>(form.scale_vector);
  for (const ScaleFormat scale : {ScaleFormat::ue8m0, ScaleFormat::ue4m3})
    for (u32 a = 0; a < 4; a += step)
      for (u32 b = 0; b < 4; b += step) {
        i.scale = scale, i.scale_id_a = a, i.scale_id_b = b;
        if (scale == ScaleFormat::ue8m0 || step == 4) each_shape(i, form, visit);
      }
}
/// Calls visit(instruction) for each one of that kind and form.
template <class Visit> void each_instruction(MmaKind kind, const MmaForm& form, Visit visit) {
  for (const Formats& formats : kFormats) {
    if (formats.kind != kind) continue;
    for (const MmaFormat a : formats.of)
      for (const MmaFormat b : formats.of) {
        if (a != b && !formats.mix) continue;
        for (int majors = 0; majors < 4; ++majors) {
          MmaInstruction i{.kind = kind, .a = a, .b = b};
          i.major_a = static_cast<Major>(majors & 1), i.major_b = static_cast<Major>(majors >> 1);
          if (i.major_a == Major::mn && (bits_of(a) < 8 || form.a_in_tensor_memory)) continue;
          if (i.major_b == Major::mn && bits_of(b) < 8) continue;
          each_scale(i, form, visit);
          if (i.d = MmaResult::f16; formats.f16_result) each_scale(i, form, visit);
        }
      }
  }
}

std::vector<MmaForm> forms_of(MmaKind kind) {
  std::vector<MmaForm> forms;
  for (const CtaGroup group : {CtaGroup::one, CtaGroup::pair})
    for (const bool tensor : {false, true})
      for (const int vector : {0, 1, 2, 4}) {
        const bool exists = kind == MmaKind::mxf8f6f4   ? vector == 1
                            : kind == MmaKind::mxf4     ? vector == 2
                            : kind == MmaKind::mxf4nvf4 ? vector >= 2
                                                        : vector == 0;
        if (exists) forms.push_back({group, vector, tensor});
      }
  return forms;
}

class EveryInstruction : public testing::TestWithParam<int> {};

/// A descriptor is without fault exactly if it is one of the list: each of the list, most of its neighbours by one bit,
/// and random words.
TEST_P(EveryInstruction, HasNoFaultAndNoOtherBitsHaveNone) {
  const MmaKind kind = static_cast<MmaKind>(GetParam());
  std::mt19937 random(7);
  for (const MmaForm& form : forms_of(kind)) {
    std::unordered_set<u32> all;
    each_instruction(kind, form, [&](const MmaInstruction& i) {
      const InstructionDescriptor d = sm100::encode(i);
      const DescriptorFault fault = sm100::fault(kind, d, form);
      ASSERT_FALSE(fault) << std::hex << d.bits << ": " << fault.argument << ", " << fault.expected;
      ASSERT_EQ(sm100::decode(kind, d), i) << std::hex << d.bits;
      ASSERT_TRUE(all.insert(d.bits).second) << std::hex << d.bits << " stands for two instructions";
    });
    ASSERT_GT(all.size(), 100u);
    const auto judge = [&](u32 bits) {
      const DescriptorFault fault = sm100::fault(kind, {bits}, form);
      ASSERT_EQ(static_cast<bool>(fault), all.count(bits) == 0) << std::hex << bits << " of kind " << GetParam();
      ASSERT_TRUE(!fault || (fault.expected && *fault.expected && *fault.argument));
    };
    for (const u32 bits : all) judge(bits ^ 1u << random() % 32);
    for (int i = 0; i < 100000; ++i) judge(static_cast<u32>(random()));
  }
}
INSTANTIATE_TEST_SUITE_P(Kinds, EveryInstruction, testing::Range(0, 6));

TEST(InstructionDescriptor, FaultsNameArgumentExpectedAndActual) {
  struct Wrong {
    MmaInstruction of;
    MmaForm form;
    u32 flip;  // bits of the descriptor
    const char *argument, *expected;
    u64 actual;
  };
  const Wrong wrong[] = {
      {{}, {}, 1u << 2, "instruction descriptor: sparsity (bits 0-2)", "0: sparse MMAs (.sp) are not supported", 4},
      {{},
       {},
       1u << 30,
       "instruction descriptor: max_shift (bits 30-31)",
       "0: weight-stationary MMAs (.ws) are not supported",
       1},
      {{.m = 96}, {}, 0, "instruction descriptor: M (bits 24-28, times 16)", "64 or 128 for one CTA", 96},
      {{.m = 64},
       {CtaGroup::pair},
       0,
       "instruction descriptor: M (bits 24-28, times 16)",
       "128 or 256 for a pair of CTAs",
       64},
      {{.n = 264}, {}, 0, "instruction descriptor: N (bits 17-22, times 8)", "8 to 256 for one CTA", 264},
      {{.m = 256, .n = 24},
       {CtaGroup::pair},
       0,
       "instruction descriptor: N (bits 17-22, times 8)",
       "a multiple of 16 for a pair of CTAs",
       24},
      {{.kind = MmaKind::tf32, .a = tf32, .b = tf32, .d = MmaResult::f16},
       {},
       0,
       "instruction descriptor: type of D (bits 4-5)",
       "1 (F32) with TF32 and BF16 operands",
       0},
      {{.kind = MmaKind::mxf4, .a = e2m1, .b = e2m1, .scale_id_a = 1},
       {CtaGroup::one, 2},
       0,
       "instruction descriptor: scale id of A (bits 29-30)",
       "0 or 2 with .scale_vec::2X",
       1},
      {{.kind = MmaKind::mxf4nvf4, .a = e2m1, .b = e2m1},
       {CtaGroup::one, 1},
       0,
       "scale_vector",
       "2 or 4 (.scale_vec::2X or 4X) for mxf4nvf4",
       1},
      {{.major_a = Major::mn},
       {CtaGroup::one, 0, true},
       0,
       "instruction descriptor: major of A (bit 15)",
       "0 (K) for A in tensor memory",
       1},
  };
  for (const Wrong& w : wrong) {
    const InstructionDescriptor d{sm100::encode(w.of).bits ^ w.flip};
    const DescriptorFault fault = sm100::fault(w.of.kind, d, w.form);
    ASSERT_TRUE(fault) << w.argument;
    EXPECT_STREQ(fault.argument, w.argument);
    EXPECT_STREQ(fault.expected, w.expected);
    EXPECT_EQ(fault.actual, w.actual) << w.argument;
  }
  static_assert(!sm100::fault(MmaKind::f16, sm100::encode({.m = 128, .n = 256}), {}), "a constant expression");
}

// --- shared-memory descriptors ---------------------------------------------------------------------

TEST(MatrixDescriptor, HasTheBitsOfTheReference) {
  const std::pair<const char*, MatrixSwizzle> swizzles[] = {{"none", MatrixSwizzle::none},
                                                            {"32B", MatrixSwizzle::b32},
                                                            {"64B", MatrixSwizzle::b64},
                                                            {"128B", MatrixSwizzle::b128},
                                                            {"128B_BASE32B", MatrixSwizzle::b128_base32}};
  int equal = 0, of_i8 = 0;
  for (const json& row : facts()["smem_descriptors"]) {
    if (row["element"] == "s8") {  // an operand of kind::i8, which is refused before its descriptors are looked at
      ++of_i8;
      continue;
    }
    const auto* swizzle = std::find_if(std::begin(swizzles), std::end(swizzles),
                                       [&](const auto& one) { return row["swizzle"] == one.first; });
    ASSERT_NE(swizzle, std::end(swizzles)) << row["swizzle"];
    const sm100::MatrixDescriptor d = sm100::make_descriptor({0}, swizzle->second, row["lbo_bytes"], row["sbo_bytes"]);
    EXPECT_EQ(d.bits, hex(row["desc"])) << row;
    EXPECT_EQ(static_cast<u32>(d.swizzle()), row["layout_type"]);
    EXPECT_EQ(d.base_offset(), row["base_offset"]);
    EXPECT_EQ(d.leading_mode(), row["lbo_mode"]);
    const int bits = row["bits"];
    const MmaKind kind = bits == 16   ? MmaKind::f16
                         : bits == 32 ? MmaKind::tf32
                         : bits == 4  ? MmaKind::mxf4
                                      : MmaKind::f8f6f4;
    const DescriptorFault fault = sm100::fault(d, kind, major_of(row["major"]));
    EXPECT_FALSE(fault) << fault.argument << ": " << fault.expected << "\n" << row;
    for (const json& step : row["start_steps_bytes"]) {
      constexpr u32 kBase = 0x2400;
      const u32 add = step["add"];
      const sm100::MatrixDescriptor at =
          sm100::make_descriptor({kBase}, swizzle->second, row["lbo_bytes"], row["sbo_bytes"]) + add;
      EXPECT_EQ(at.start(), (kBase + add) & 0x3ffff);
      EXPECT_EQ(at.bits & ~u64{0x3fff}, d.bits);
    }
    ++equal;
  }
  EXPECT_EQ(of_i8, 15);
  EXPECT_EQ(equal, 70);
}

TEST(MatrixDescriptor, RandomFieldsComeBack) {
  std::mt19937 random(11);
  const MatrixSwizzle swizzles[] = {MatrixSwizzle::none, MatrixSwizzle::b128_base32, MatrixSwizzle::b128,
                                    MatrixSwizzle::b64, MatrixSwizzle::b32};
  for (int i = 0; i < 100000; ++i) {
    const u32 start = random() & 0x3fff0, leading = random() & 0x3fff0, stride = random() & 0x3fff0,
              rank = random() % 16 << 24;
    const MatrixSwizzle swizzle = swizzles[random() % 5];
    const sm100::MatrixDescriptor d = sm100::make_descriptor({start | rank}, swizzle, leading, stride);
    ASSERT_FALSE(sm100::fault(d));
    ASSERT_EQ(d.start(), start);
    ASSERT_EQ(d.leading_bytes(), leading);
    ASSERT_EQ(d.stride_bytes(), stride);
    ASSERT_EQ(d.swizzle(), swizzle);
  }
}

TEST(MatrixDescriptor, FaultsNameArgumentExpectedAndActual) {
  const u64 good = sm100::make_descriptor({0x400}, MatrixSwizzle::b128, 0, 1024).bits;
  struct Wrong {
    u64 bits;
    const char *argument, *expected;
    u64 actual;
  };
  const Wrong wrong[] = {
      {good ^ u64{1} << 46, "matrix descriptor: bits 46-48", "1, the format of tcgen05", 0},
      {good | u64{1} << 52, "matrix descriptor: lbo_mode", "0: absolute leading addresses (lbo_mode 1) are of sm_103",
       1},
      {good | u64{5} << 49, "matrix descriptor: base_offset", "0: swizzle patterns start at multiples of their size",
       5},
      {good | u64{1} << 61, "matrix descriptor: swizzle", "0 (none), 1 (128B_BASE32B), 2 (128B), 4 (64B) or 6 (32B)",
       3},
  };
  for (const Wrong& w : wrong) {
    const DescriptorFault fault = sm100::fault(sm100::MatrixDescriptor{w.bits});
    ASSERT_TRUE(fault) << w.argument;
    EXPECT_STREQ(fault.argument, w.argument);
    EXPECT_STREQ(fault.expected, w.expected);
    EXPECT_EQ(fault.actual, w.actual);
  }
  for (const int bit : {14, 15, 30, 31, 53, 60}) {
    const DescriptorFault fault = sm100::fault(sm100::MatrixDescriptor{good | u64{1} << bit});
    ASSERT_TRUE(fault) << bit;
    EXPECT_EQ(fault.actual, u64{1} << bit);
  }
  const sm100::MatrixDescriptor plain{good},
      base32 = sm100::make_descriptor({0}, MatrixSwizzle::b128_base32, 4096, 512);
  EXPECT_TRUE(sm100::fault(plain, MmaKind::tf32, Major::mn)) << "MN-major TF32 needs 128B_BASE32B";
  EXPECT_FALSE(sm100::fault(plain, MmaKind::tf32, Major::k));
  EXPECT_FALSE(sm100::fault(base32, MmaKind::tf32, Major::mn));
  EXPECT_TRUE(sm100::fault(base32, MmaKind::tf32, Major::k)) << "and no other operand may have it";
  EXPECT_TRUE(sm100::fault(base32, MmaKind::f16, Major::mn));
}

}  // namespace
}  // namespace ww::arch
