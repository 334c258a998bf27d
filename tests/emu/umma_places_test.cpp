// SPDX-License-Identifier: Apache-2.0
// Where tcgen05 finds operands, accumulators and block scales: against tests/data/umma_cases.json, whose rows a public
// implementation's host functions printed, and against a model that places one element at a time.
// Rows for .ws and for 8-bit integers are counted and left out, because the library refuses both.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "emu/sm100/operands.hpp"
#include "emu/sm100/places.hpp"
#include "warpwright/atom/tensor_accumulator.hpp"

namespace ww::emu::sm100 {
namespace {

using arch::CopyShape;
using arch::CopyUnpack;
using arch::CtaGroup;
using arch::MmaFormat;
using arch::MmaKind;
using arch::TensorShape;
using nlohmann::json;

const json& cases() {
  static const json all = [] {
    std::ifstream file(WW_UMMA_CASES);
    return json::parse(file);
  }();
  return all;
}

u64 number(const json& text) { return std::strtoull(text.get<std::string>().c_str(), nullptr, 16); }

/// FNV-1a from the offset basis of the program that printed the cases, which lacks the last digit of the usual one.
u64 fnv1a(const std::vector<u64>& words) {
  u64 hash = 1469598103934665603ull;
  for (const u64 word : words)
    for (int byte = 0; byte < 8; ++byte) hash = (hash ^ (word >> (8 * byte) & 0xFF)) * 0x100000001b3ull;
  return hash;
}

/// Returns the integer before or after a mark of a case's name: "M128", "2SM".
int in_name(const std::string& name, const std::string& pattern, int otherwise = 0) {
  std::smatch match;
  return std::regex_search(name, match, std::regex(pattern)) ? std::stoi(match[1]) : otherwise;
}

MmaExtent extent_of(const std::string& name) {
  return {in_name(name, "(\\d)SM") == 2 ? CtaGroup::pair : CtaGroup::one, in_name(name, "M(\\d+)"),
          in_name(name, "N(\\d+)", 64)};
}

struct Type {
  MmaKind kind;
  MmaFormat format;
};
const std::map<std::string, Type> kTypes = {
    {"f16", {MmaKind::f16, MmaFormat::f16}},        {"bf16", {MmaKind::f16, MmaFormat::bf16}},
    {"tf32", {MmaKind::tf32, MmaFormat::tf32}},     {"e4m3", {MmaKind::f8f6f4, MmaFormat::e4m3}},
    {"e5m2", {MmaKind::f8f6f4, MmaFormat::e5m2}},   {"e2m3", {MmaKind::mxf8f6f4, MmaFormat::e2m3}},
    {"e3m2", {MmaKind::mxf8f6f4, MmaFormat::e3m2}}, {"e2m1", {MmaKind::mxf4, MmaFormat::e2m1}},
};

std::vector<u32> chunks_of(u64 descriptor, const OperandRead& read, u32 end = 228 * 1024) {
  EXPECT_EQ(operand_fault(descriptor, read), "");
  std::vector<u32> offsets(static_cast<std::size_t>(read.chunks()));
  const MatrixRead matrix{read.major, read.rows, max(bits_in_shared(read.kind, read.format), 8) / 8};
  EXPECT_EQ(find_chunks(matrix_place(descriptor), matrix, 1024, end, offsets.data()), read.chunks());
  return offsets;
}

/// Sets the bits of one element in otherwise empty shared memory, gathers the operand, and checks that this element
/// alone arrives, at (row, k).
void expect_element(u64 descriptor, const OperandRead& read, int row, int k, u64 bit_offset, std::vector<u8>& shared) {
  const int bits = bits_in_shared(read.kind, read.format);
  const std::vector<u32> offsets = chunks_of(descriptor, read);
  std::vector<u8> out(static_cast<std::size_t>(read.rows) * 32);
  const auto set = [&](std::vector<u8>& bytes, u64 at) {
    for (int i = 0; i < bits; ++i) bytes[(at + i) / 8] ^= static_cast<u8>(1u << (at + i) % 8);
  };
  set(shared, bit_offset);
  gather(shared.data(), read, offsets.data(), out.data());
  set(shared, bit_offset);
  std::vector<u8> expected(out.size());
  set(expected, (static_cast<u64>(row) * 256 + static_cast<u64>(k * bits)));
  EXPECT_EQ(out, expected) << "row " << row << ", k " << k;
}

TEST(UmmaCases, SharedMemoryDescriptors) {
  int checked = 0, refused = 0;
  std::vector<u8> shared(228 * 1024);
  for (const json& test : cases()["smem_descriptors"]) {
    if (test["element"] == "s8") {
      ++refused;
      continue;
    }
    const Type type = kTypes.at(test["element"]);
    const Major major = test["major"] == "K" ? Major::k : Major::mn;
    const int inst_mn = test["inst"][0], inst_k = test["inst"][1];
    const OperandRead read{type.kind, type.format, major, inst_mn};
    std::map<std::pair<int, int>, u64> steps;
    for (const json& step : test["start_steps_bytes"]) steps[{step["mn"], step["k"]}] = step["add"];
    for (const u64 base : {1024u, 101u * 1024u})
      for (const json& sample : test["element_bit_offset"]) {
        SCOPED_TRACE(test["element"].get<std::string>() + " " + test["major"].get<std::string>() + " " +
                     test["swizzle"].get<std::string>() + " " + test["tile"].dump());
        const int row = sample[0], k = sample[1];
        const u64 start = base + steps.at({row / inst_mn, k / inst_k});
        const u64 descriptor = number(test["desc"]) + (start >> 4 & 0x3FFF);
        expect_element(descriptor, read, row % inst_mn, k % inst_k, base * 8 + sample[2].get<u64>(), shared);
        ++checked;
      }
  }
  EXPECT_GT(checked, 3000);
  EXPECT_EQ(refused, 15) << "rows of 8-bit integers";
}

TEST(UmmaCases, Accumulators) {
  int refused = 0;
  for (const json& test : cases()["accumulators"]) {
    if (test["case"] == ".ws") {
      ++refused;
      continue;
    }
    const std::string name = test["name"];
    const MmaExtent of = extent_of(name);
    const int rows = test["rows"], columns = test["cols"], m_tiles = rows / of.rows();
    std::vector<u64> words;
    for (int row = 0; row < rows; ++row)
      for (int column = 0; column < columns; ++column) {
        const Place place = tiled_accumulator_place(of, m_tiles, row, column);
        words.push_back(static_cast<u64>(place.lane) << 24 | static_cast<u64>(place.column) << 4);
      }
    EXPECT_EQ(fnv1a(words), number(test["fnv64"])) << name;
    for (const json& sample : test["samples"])
      EXPECT_EQ(tiled_accumulator_place(of, m_tiles, sample[0], sample[1]), (Place{sample[2], sample[3]})) << name;
  }
  EXPECT_EQ(refused, 4) << "rows of .ws";
}

TEST(UmmaCases, AInTensorMemory) {
  for (const json& test : cases()["a_in_tmem"]) {
    const std::string name = test["name"];
    const MmaExtent of = extent_of(name);
    const int bits = test["bits"];
    EXPECT_EQ(of.rows(), test["rows"].get<int>()) << name;
    std::vector<u64> words;
    for (int row = 0; row < of.rows(); ++row)
      for (int k = 0; k < test["cols"].get<int>(); ++k) {
        const BytePlace place = operand_a_place(of, row, k, bits);
        words.push_back(static_cast<u64>(place.lane) << 24 | static_cast<u64>(place.column) << 4 |
                        static_cast<u64>(place.byte));
      }
    EXPECT_EQ(fnv1a(words), number(test["fnv64"])) << name;
    for (const json& sample : test["samples"])
      EXPECT_EQ(operand_a_place(of, sample[0], sample[1], bits), (BytePlace{sample[2], sample[3], sample[4]})) << name;
  }
}

TEST(UmmaCases, ScaleFactorsInTensorMemory) {
  for (const json& test : cases()["scale_factors_tmem"]) {
    const ScaleRows of{test["rows"], test["case"] == "2x2"};
    for (const json& sample : test["samples"]) {
      EXPECT_LT(sample[1].get<int>(), of.replicas());
      EXPECT_EQ(scale_place(of, sample[0], sample[2], sample[1]), (BytePlace{sample[3], sample[4], sample[5]}))
          << test["name"];
    }
  }
}

TEST(UmmaCases, TensorLoads) {
  const std::map<std::string, TensorShape> shapes = {{"32x32b", TensorShape::lanes32_bits32},
                                                     {"16x64b", TensorShape::lanes16_bits64},
                                                     {"16x128b", TensorShape::lanes16_bits128},
                                                     {"16x256b", TensorShape::lanes16_bits256},
                                                     {"16x32bx2", TensorShape::lanes16_bits32_split}};
  for (const json& test : cases()["tmem_load"]) {
    const std::string name = test["name"];
    const TensorAccess of{shapes.at(name.substr(0, name.find('.'))), in_name(name, "\\.x(\\d+)")};
    EXPECT_TRUE(of.exists()) << name;
    EXPECT_EQ(of.registers(), test["registers"].get<int>()) << name;
    for (const json& sample : test["map"])
      EXPECT_EQ(register_place(of, sample[0], sample[1]), (Place{sample[2], sample[3]})) << name;
  }
}

// --- models --------------------------------------------------------------------------------------------------------
/// One random operand in shared memory. Its element (row, k) is at `bit` from the pattern's start, before the swizzle.
struct Operand {
  OperandRead read;
  u64 descriptor = 0;
  u32 pattern = 0;  // where the swizzle's pattern begins: a multiple of 128
  u32 start = 0;    // of the operand, from there: inside an atom, if that is K-major
  u32 leading = 0, stride = 0;
  int span = 16;  // bytes of a swizzled row
  int unit = 16;  // bytes that the swizzle keeps together

  /// Returns the byte and the bit in it of an element.
  u64 bit(int row, int k) const {
    const int bits = bits_in_shared(read.kind, read.format);
    const u32 s = static_cast<u32>(span);
    const int line = read.major == Major::k ? row : k, along = (read.major == Major::k ? k : row) * bits / 8;
    const u32 l = static_cast<u32>(line), a = static_cast<u32>(along);
    const u32 period = unit == 32 ? 4 : 8;
    u64 at = start;
    if (span == 16 && read.major == Major::k) at += l % 8 * 16 + l / 8 * stride + a / 16 * leading + a % 16;
    else if (span == 16) at += l % 8 * 16 + l / 8 * leading + a / 16 * stride + a % 16;
    else if (read.major == Major::k) at += l % 8 * s + l / 8 * stride + a;
    else at += l % period * s + l / period * stride + a % s + a / s * leading;
    if (span > 16) {  // a row of 128 bytes, or of several short rows, exchanges its units by its number
      const u64 of_row = at / 128 % static_cast<u64>(span / unit), chunk = at % 128 / static_cast<u64>(unit);
      at = at / 128 * 128 + (chunk ^ of_row) * static_cast<u64>(unit) + at % static_cast<u64>(unit);
    }
    return (pattern + at) * 8 + static_cast<u64>(bits == 4 ? k % 2 * 4 : 0);
  }
};

Operand random_operand(std::mt19937& random) {
  const auto draw = [&](int from, int to) { return std::uniform_int_distribution<int>(from, to)(random); };
  static const std::vector<Type> types = {
      {MmaKind::f16, MmaFormat::f16},       {MmaKind::f16, MmaFormat::bf16},    {MmaKind::tf32, MmaFormat::tf32},
      {MmaKind::f8f6f4, MmaFormat::e5m2},   {MmaKind::f8f6f4, MmaFormat::e2m1}, {MmaKind::mxf8f6f4, MmaFormat::e4m3},
      {MmaKind::mxf8f6f4, MmaFormat::e3m2}, {MmaKind::mxf4, MmaFormat::e2m1},   {MmaKind::mxf4nvf4, MmaFormat::e2m1}};
  Operand o;
  const Type type = types[static_cast<std::size_t>(draw(0, static_cast<int>(types.size()) - 1))];
  o.read = {type.kind, type.format, Major::k, 8 * draw(1, 16)};
  if (arch::bits_of(type.format) >= 8 && draw(0, 1) == 1) {
    o.read.major = Major::mn;
    o.read.rows = round_up(o.read.rows, 16);
  }
  const bool tf32_mn = type.kind == MmaKind::tf32 && o.read.major == Major::mn;
  const int bits = tf32_mn ? 3 : draw(0, 3);
  o.span = 16 << bits;
  o.unit = tf32_mn ? 32 : 16;
  const u64 layout = tf32_mn ? 1 : bits == 0 ? 0 : bits == 1 ? 6 : bits == 2 ? 4 : 2;
  const u64 base = bits == 0 ? 0 : static_cast<u64>(draw(0, 7));
  o.pattern = 1024 * static_cast<u32>(draw(8, 16)) + 128 * static_cast<u32>(base);
  if (o.read.major == Major::k && o.span > 32) o.start = 32 * static_cast<u32>(draw(0, o.span / 32 - 1));
  o.stride = 128 * static_cast<u32>(draw(1, 40)), o.leading = 128 * static_cast<u32>(draw(1, 40));
  o.descriptor = ((o.pattern + o.start) >> 4) | u64{o.leading >> 4} << 16 | u64{o.stride >> 4} << 32 | 1ull << 46 |
                 base << 49 | layout << 61;
  return o;
}

/// The value of element k of a row of what gather() returned.
u32 element_of(const std::vector<u8>& rows, const OperandRead& read, int row, int k) {
  const int bits = bits_in_shared(read.kind, read.format);
  u32 value = 0;
  for (int i = 0; i < max(bits, 8) / 8; ++i)
    value |= u32{rows[static_cast<std::size_t>(row * 32 + k * bits / 8 + i)]} << 8 * i;
  return bits == 4 ? value >> k % 2 * 4 & 0xF : value;
}

/// The bits of an element in memory at a bit offset, whatever its width.
u32 bits_at(const std::vector<u8>& memory, u64 at, int bits) {
  u32 value = 0;
  for (int i = 0; i < bits; ++i) value |= u32{memory[(at + i) / 8] >> ((at + i) % 8) & 1u} << i;
  return value;
}

TEST(UmmaOperands, RandomDescriptorsAgreeWithOneElementAtATime) {
  std::mt19937 random(18);
  std::vector<u8> shared(512 * 1024);
  for (u8& byte : shared) byte = static_cast<u8>(random());
  std::set<std::string> seen;
  for (int round = 0; round < 4000; ++round) {
    const Operand o = random_operand(random);
    const int bits = bits_in_shared(o.read.kind, o.read.format), own = arch::bits_of(o.read.format);
    const std::vector<u32> offsets = chunks_of(o.descriptor, o.read, 512 * 1024);
    std::vector<u8> rows(static_cast<std::size_t>(o.read.rows) * 32);
    gather(shared.data(), o.read, offsets.data(), rows.data());
    std::set<u32> touched(offsets.begin(), offsets.end());
    for (int row = 0; row < o.read.rows; ++row)
      for (int k = 0; k < 256 / bits; ++k) {
        // A container of 16 elements is 16 bytes, whose packed elements begin with it.
        const u64 at = own < bits ? o.bit(row, k / 16 * 16) + static_cast<u64>(k % 16 * own) : o.bit(row, k);
        ASSERT_EQ(element_of(rows, o.read, row, k), bits_at(shared, at, own))
            << "round " << round << ", row " << row << ", k " << k;
        ASSERT_TRUE(touched.count(static_cast<u32>(at / 8 / 16 * 16))) << "round " << round;
      }
    seen.insert(std::to_string(own) + (o.read.major == Major::k ? "k" : "m") + std::to_string(o.span));
  }
  EXPECT_GE(seen.size(), 29u) << "six widths K-major and four spans, three widths MN-major";
}

TEST(UmmaOperands, ChunksOutsideSharedMemoryAreFound) {
  const OperandRead read{MmaKind::f16, MmaFormat::f16, Major::k, 64};
  const MatrixRead matrix{Major::k, 64, 2};
  u32 offsets[128];
  const u64 descriptor = 2ull << 61 | 1ull << 46 | u64{1024 >> 4} << 32 | u64{4096 >> 4};
  ASSERT_EQ(operand_fault(descriptor, read), "");
  EXPECT_EQ(find_chunks(matrix_place(descriptor), matrix, 1024, 4096 + 8 * 1024, offsets), 128);
  const int found = find_chunks(matrix_place(descriptor), matrix, 1024, 4096 + 7 * 1024 + 512, offsets);
  EXPECT_EQ(matrix.row_of(found), 7 * 8 + 4) << "the first row of which memory lacks a chunk";
  EXPECT_EQ(find_chunks(matrix_place(descriptor), matrix, 8192, 1 << 20, offsets), 0);
}

TEST(UmmaOperands, DescriptorsThatTheInstructionDoesNotTakeAreRefused) {
  const OperandRead f16{MmaKind::f16, MmaFormat::f16, Major::k, 64},
      tf32_mn{MmaKind::tf32, MmaFormat::tf32, Major::mn, 64};
  const u64 good = 2ull << 61 | 1ull << 46 | u64{1024 >> 4} << 32 | u64{4096 >> 4};
  const auto layout = [&](u64 value) { return (good & ~(7ull << 61)) | value << 61; };
  EXPECT_EQ(operand_fault(good, f16), "");
  const auto expect = [](const std::string& fault, const char* part) {
    EXPECT_NE(fault.find(part), std::string::npos) << "fault: " << fault << ", expected part: " << part;
  };
  for (const u64 invalid : {3, 5, 7})
    expect(operand_fault(layout(invalid), f16), "expected 0 (none), 1 (128B_BASE32B)");
  expect(operand_fault(good & ~(7ull << 46), f16), "bits 46-48: expected 1, the format of tcgen05, got 0");
  expect(operand_fault(good | 1ull << 52, f16), "are of sm_103");
  for (const int bit : {14, 15, 30, 31, 53, 60}) expect(operand_fault(good | 1ull << bit, f16), "they are reserved");
  expect(operand_fault(layout(0) | 2ull << 49, f16), "base_offset: expected 0");
  EXPECT_EQ(operand_fault(good | 2ull << 49, f16), "");
  expect(operand_fault(layout(1), f16), "is for MN-major TF32 operands, got 1");
  expect(operand_fault(good, tf32_mn), "expected 1 (128B_BASE32B) for an MN-major TF32 operand, got 2");
  EXPECT_EQ(operand_fault(layout(1), tf32_mn), "");
  expect(operand_fault(layout(1), {MmaKind::f16, MmaFormat::bf16, Major::mn, 64}), "is for MN-major TF32 operands");
  for (const MmaFormat format : {MmaFormat::e2m1, MmaFormat::e2m3, MmaFormat::e3m2})
    expect(operand_fault(good, {MmaKind::f8f6f4, format, Major::mn, 64}), "got an MN-major operand");
  expect(operand_fault(good, {MmaKind::f8f6f4, MmaFormat::e4m3, Major::mn, 24}), "a multiple of 16 in each CTA");
  expect(copy_fault(layout(1)), "is for MN-major TF32 operands");
  expect(copy_fault(layout(7)), "expected 0 (none)");
  EXPECT_EQ(copy_fault(layout(0)), "");
}

TEST(UmmaOperands, ContainersAreUnpackedFromBothMemories) {
  std::mt19937 random(7);
  for (const MmaFormat format : {MmaFormat::e2m1, MmaFormat::e2m3, MmaFormat::e3m2, MmaFormat::e4m3}) {
    u8 container[16], out[16];
    for (u8& byte : container) byte = static_cast<u8>(random());
    unpack_container(format, container, out);
    const std::vector<u8> memory(container, container + 16);
    const int bits = arch::bits_of(format);
    for (int i = 0; i < 16; ++i) EXPECT_EQ(out[i], bits_at(memory, static_cast<u64>(i * bits), bits));
  }
  EXPECT_EQ(value_in_tensor_memory(MmaFormat::e2m1, 0b11'1010'11), 0b1010);
  EXPECT_EQ(value_in_tensor_memory(MmaFormat::e3m2, 0b11'101010), 0b101010);
  EXPECT_EQ(value_in_tensor_memory(MmaFormat::e4m3, 0xA5), 0xA5);
}

// --- maps: every cell once -------------------------------------------------------------------------------------------
TEST(UmmaPlaces, AccumulatorsTakeEachCellOnce) {
  for (const MmaExtent base : {MmaExtent{CtaGroup::one, 64}, MmaExtent{CtaGroup::one, 128},
                               MmaExtent{CtaGroup::pair, 128}, MmaExtent{CtaGroup::pair, 256}})
    for (int n = 16; n <= 256; n += 16) {
      const MmaExtent of{base.group, base.m, n};
      std::set<std::pair<int, int>> cells;
      for (int row = 0; row < of.rows(); ++row)
        for (int column = 0; column < n; ++column) {
          const Place place = accumulator_place(of, row, column);
          EXPECT_TRUE(cells.insert({place.lane, place.column}).second);
          EXPECT_LT(place.column, of.columns());
          EXPECT_LT(place.lane + (of.half_quarters() ? 16 : 0), 128);
          // A of the row is on the lane of D, whichever half of N that is.
          const int copy = of.halves() ? column / (n / 2) : 0;
          EXPECT_EQ(operand_a_place(of, row, 0, 16, copy).lane, place.lane);
          // The scales of a row and of a column are in the quarter of the cell.
          const int quarter = place.lane / 32;
          int found = 0;
          for (int replica = 0; replica < 4; ++replica)
            found += scale_place(scale_rows_a(of), row, 0, replica).lane / 32 == quarter;
          EXPECT_EQ(found, 1);
          found = 0;
          for (int replica = 0; replica < scale_rows_b(of).replicas(); ++replica)
            found += scale_place(scale_rows_b(of), column, 0, replica).lane / 32 == quarter;
          EXPECT_EQ(found, 1);
        }
    }
}

TEST(UmmaPlaces, ScalesTakeEachByteOnceAndRowsArePadded) {
  EXPECT_EQ((ScaleRows{192, false}.columns()), 8) << "N = 192 pads to 256";
  EXPECT_EQ((ScaleRows{8, false}.columns()), 4);
  EXPECT_EQ((ScaleRows{256, true}.columns()), 4);
  for (const ScaleRows of : {ScaleRows{128, false}, ScaleRows{192, false}, ScaleRows{64, false}, ScaleRows{128, true},
                             ScaleRows{192, true}, ScaleRows{256, true}}) {
    std::set<std::tuple<int, int, int>> bytes;
    for (int row = 0; row < of.rows; ++row)
      for (int scale = 0; scale < 16; ++scale)
        for (int replica = 0; replica < of.replicas(); ++replica) {
          const BytePlace place = scale_place(of, row, scale, replica);
          EXPECT_TRUE(bytes.insert({place.lane, place.column, place.byte}).second);
          EXPECT_LT(place.lane, 128);
          EXPECT_LT(place.column, 4 * of.columns());
        }
  }
  // 2x2: half h of N on lanes 64 h on, twice.
  EXPECT_EQ(scale_place({128, true}, 64 + 33, 2, 1), (BytePlace{64 + 32 + 1, 1, 2}));
  EXPECT_TRUE(takes_scale_id(1, 3) && takes_scale_id(2, 2) && takes_scale_id(4, 0));
  EXPECT_FALSE(takes_scale_id(2, 1) || takes_scale_id(4, 2) || takes_scale_id(1, 4) || takes_scale_id(1, -1));
}

TEST(UmmaPlaces, LoadsTakeEachCellOnce) {
  for (const TensorShape shape :
       {TensorShape::lanes32_bits32, TensorShape::lanes16_bits64, TensorShape::lanes16_bits128,
        TensorShape::lanes16_bits256, TensorShape::lanes16_bits32_split})
    for (int repetitions = 1; repetitions <= 128; repetitions *= 2)
      for (const bool packed : {false, true}) {
        const TensorAccess of{shape, repetitions, packed, 256};
        if (!of.exists()) continue;
        std::set<std::pair<int, int>> cells;
        int last = 0;
        for (int thread = 0; thread < 32; ++thread)
          for (int i = 0; i < of.registers(); ++i)
            for (int half = 0; half < (packed ? 2 : 1); ++half) {
              const Place place = register_place(of, thread, i);
              EXPECT_TRUE(!packed || shape == TensorShape::lanes16_bits32_split || place.column % 2 == 0);
              EXPECT_LT(place.lane, of.lanes());
              EXPECT_TRUE(cells.insert({place.lane, place.column + half}).second);
              last = max(last, place.column + half);
            }
        EXPECT_EQ(last + 1, of.columns());
      }
  EXPECT_FALSE((TensorAccess{TensorShape::lanes16_bits256, 64}.exists())) << "256 registers";
  EXPECT_FALSE((TensorAccess{TensorShape::lanes32_bits32, 3}.exists()));
}

/// Each value of a fragment is the element of D that its register is loaded from; pieces in their order.
template <class L> void expect_fragment(MmaExtent of, int pieces, int lane = 0) {
  using F = atom::Fragment<L>;
  const TensorAccess access{L::kShape, L::kRepetitions};
  ASSERT_TRUE(access.exists());
  const int width = access.columns();
  for (int piece = 0; piece < pieces; ++piece)
    for (int thread = 0; thread < 128; ++thread)
      for (int v = 0; v < F::kValues; ++v) {
        Place loaded = register_place(access, thread % 32, v);
        loaded.lane += lane + 32 * (thread / 32);
        loaded.column += piece * width;
        Place place = accumulator_place(of, F::row(thread, v), piece * width + F::column(thread, v));
        place.lane += lane;
        ASSERT_EQ(place, loaded) << "piece " << piece << ", thread " << thread << ", value " << v;
      }
}

TEST(UmmaPlaces, FragmentsAreWhatIsLoaded) {
  expect_fragment<atom::TensorRows<64>>({CtaGroup::one, 128, 256}, 4);
  expect_fragment<atom::TensorRows<32>>({CtaGroup::pair, 256, 192}, 6);
  expect_fragment<atom::TensorHalfRows<256, 32>>({CtaGroup::pair, 128, 256}, 4);
  expect_fragment<atom::TensorHalfRows<64>>({CtaGroup::pair, 128, 64}, 1);
  expect_fragment<atom::TensorMatrices<64>>({CtaGroup::one, 64, 128}, 2);
  expect_fragment<atom::TensorMatrices<8>>({CtaGroup::one, 64, 64}, 8, 16);
}

TEST(UmmaPlaces, CopiesReachTheLanesOfTheirShape) {
  const auto lanes = [](CopyShape shape, int row) {
    std::set<int> found;
    for (int copy = 0; copy < copies_of(shape); ++copy) found.insert(copy_lane(shape, row, copy));
    return found;
  };
  EXPECT_EQ(lanes(CopyShape::rows128_bits256, 77), (std::set<int>{77}));
  EXPECT_EQ(lanes(CopyShape::rows128_bits128, 127), (std::set<int>{127}));
  EXPECT_EQ(lanes(CopyShape::rows4_bits256, 3), (std::set<int>{96}));
  EXPECT_EQ(lanes(CopyShape::rows32_bits128_all, 5), (std::set<int>{5, 37, 69, 101}));
  EXPECT_EQ(lanes(CopyShape::rows64_bits128_02_13, 5), (std::set<int>{5, 69}));
  EXPECT_EQ(lanes(CopyShape::rows64_bits128_02_13, 40), (std::set<int>{40, 104}));
  EXPECT_EQ(lanes(CopyShape::rows64_bits128_01_23, 5), (std::set<int>{5, 37}));
  EXPECT_EQ(lanes(CopyShape::rows64_bits128_01_23, 40), (std::set<int>{72, 104}));
}

/// A chunk of scales as frameworks keep it, 512 bytes for 128 rows of 4, copied to tensor memory as an MMA reads it.
TEST(UmmaPlaces, ACopiedChunkOfScalesIsWhereTheMmaReadsIt) {
  std::mt19937 random(9);
  std::vector<u8> shared(4096);
  for (u8& byte : shared) byte = static_cast<u8>(random());
  constexpr CopyShape kShape = CopyShape::rows32_bits128_all;
  const u64 descriptor = 1ull << 46 | u64{128 >> 4} << 32 | u64{2048 >> 4};
  ASSERT_EQ(copy_fault(descriptor), "");
  u32 offsets[kCopyChunks];
  Cta cta;
  cta.shared_end = 4096;
  copy_chunks(cta, descriptor, kShape, offsets, {});
  u8 rows[32 * 16];
  gather_copy(shared.data(), kShape, CopyUnpack::none, offsets, rows);
  std::map<std::tuple<int, int, int>, u8> memory;
  for (int row = 0; row < rows_of(kShape); ++row)
    for (int copy = 0; copy < copies_of(kShape); ++copy)
      for (int byte = 0; byte < 4 * columns_of(kShape); ++byte)
        memory[{copy_lane(kShape, row, copy), byte / 4, byte % 4}] = rows[row * 16 + byte];
  for (int row = 0; row < 128; ++row)
    for (int scale = 0; scale < 4; ++scale)
      for (int replica = 0; replica < 4; ++replica) {
        const BytePlace place = scale_place({128}, row, scale, replica);
        EXPECT_EQ((memory.at({place.lane, place.column, place.byte})),
                  shared[static_cast<std::size_t>(2048 + row % 32 * 16 + row / 32 * 4 + scale)]);
      }
}

TEST(UmmaPlaces, CopiesWidenElements) {
  std::mt19937 random(10);
  std::vector<u8> shared(8192);
  for (u8& byte : shared) byte = static_cast<u8>(random());
  constexpr CopyShape kShape = CopyShape::rows128_bits256;
  const u64 descriptor = 1ull << 46 | u64{256 >> 4} << 32 | u64{128 >> 4} << 16 | u64{1024 >> 4};
  u32 offsets[kCopyChunks];
  Cta cta;
  cta.shared_end = 8192;
  copy_chunks(cta, descriptor, kShape, offsets, {});
  for (const auto& [unpack, format] : {std::pair{CopyUnpack::from4_padded64, MmaFormat::e2m1},
                                       std::pair{CopyUnpack::from6_padded32, MmaFormat::e3m2}}) {
    std::vector<u8> rows(128 * 32);
    gather_copy(shared.data(), kShape, unpack, offsets, rows.data());
    for (int row = 0; row < 128; ++row)
      for (int k = 0; k < 32; ++k) {
        const u64 container = 1024 + static_cast<u64>(row / 8 * 256 + row % 8 * 16 + k / 16 * 128);
        const int bits = arch::bits_of(format);
        const u8 byte = rows[static_cast<std::size_t>(row * 32 + k)];
        const u32 value = bits_at(shared, container * 8 + static_cast<u64>(k % 16 * bits), bits);
        EXPECT_EQ(byte, value << (bits == 4 ? 2 : 0));
        EXPECT_EQ(value_in_tensor_memory(format, byte), value);
      }
  }
}

}  // namespace
}  // namespace ww::emu::sm100
