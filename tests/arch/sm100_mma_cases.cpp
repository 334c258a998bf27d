// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/sm100_mma.hpp: operands of small values, whose sums are exact in any order, against one scalar loop.
// The layouts of operands in shared memory, of accumulators and of A in tensor memory are written out here from the PTX
// ISA; the bits of numbers have tests of their own.
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "case.hpp"
#include "warpwright/arch/sm100/instruction_descriptor.hpp"

namespace ww::arch_test {
namespace {

using arch::CtaGroup;
using arch::MmaFormat;
using arch::MmaKind;
using arch::MmaResult;
using arch::ScaleFormat;
using arch::sm100::MmaInstruction;

// --- numbers ---------------------------------------------------------------------------------------

struct Float {
  int exponent_bits, mantissa_bits, bias;
};
Float float_of(MmaFormat format) {
  switch (format) {
    case MmaFormat::f16: return {5, 10, 15};
    case MmaFormat::bf16: return {8, 7, 127};
    case MmaFormat::tf32: return {8, 23, 127};
    case MmaFormat::e4m3: return {4, 3, 7};
    case MmaFormat::e5m2: return {5, 2, 15};
    case MmaFormat::e2m3: return {2, 3, 1};
    case MmaFormat::e3m2: return {3, 2, 3};
    case MmaFormat::e2m1: return {2, 1, 1};
  }
  return {};
}
double value_of(MmaFormat format, u32 code) {
  const Float f = float_of(format);
  const u32 mantissa = code & ((1u << f.mantissa_bits) - 1),
            exponent = code >> f.mantissa_bits & ((1u << f.exponent_bits) - 1);
  const double fraction = std::ldexp(mantissa, -f.mantissa_bits);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, 1 - f.bias) : std::ldexp(1 + fraction, static_cast<int>(exponent) - f.bias);
  return code >> (f.exponent_bits + f.mantissa_bits) & 1 ? -magnitude : magnitude;
}
/// Returns the bits of a small integer, which must be a value of the type.
u32 code_of(MmaFormat format, int value) {
  const Float f = float_of(format);
  if (value == 0) return 0;
  const int exponent = std::ilogb(value);
  const double fraction = std::ldexp(std::abs(value), -exponent) - 1;
  return static_cast<u32>(value < 0) << (f.exponent_bits + f.mantissa_bits) |
         static_cast<u32>(exponent + f.bias) << f.mantissa_bits |
         static_cast<u32>(std::ldexp(fraction, f.mantissa_bits));
}
/// Returns bits of the type: all of those of 4 bits, small values of wider types.
u32 random_code(MmaFormat format, std::mt19937_64& random) {
  if (arch::bits_of(format) == 4) return static_cast<u32>(random() % 16);
  return code_of(format, static_cast<int>(random() % 7) - 3);
}

// --- operands in shared memory ---------------------------------------------------------------------

enum class Layout { k_none, k_32, k_64, k_128, mn_128, mn_128_unit32 };

/// One operand of one CTA: (rows, k) elements, and how they lie in shared memory.
struct Operand {
  MmaKind kind{};
  MmaFormat format{};
  Layout layout{};
  u32 rows = 0, steps = 0;  // instructions along K
  std::vector<u32> codes = {};
  std::vector<double> values = {};

  u32 k() const { return steps * static_cast<u32>(arch::sm100::mma_k(kind)); }
  bool contained() const { return kind == MmaKind::f8f6f4 || kind == MmaKind::mxf8f6f4; }
  /// Returns the bits of an element in shared memory; those of 4 and 6 bits share containers of 16 bytes.
  u32 bits() const { return contained() ? 8 : static_cast<u32>(arch::bits_of(format)); }
  u32 span() const { return layout == Layout::k_32 ? 32 : layout == Layout::k_64 ? 64 : 128; }
  u32 swizzle() const {
    const u32 of[] = {0, 6, 4, 2, 2, 1};
    return of[static_cast<int>(layout)];
  }
  bool mn_major() const { return layout == Layout::mn_128 || layout == Layout::mn_128_unit32; }
  u32 period() const { return layout == Layout::mn_128_unit32 ? 4 : 8; }  // of the swizzle, in spans
  u32 row_bytes() const { return 32 * steps; }
  u32 groups() const { return (rows + 7) / 8; }
  u32 leading() const {  // from one chunk of K to the next, or from one span of rows to the next
    if (layout == Layout::k_none) return 128 * groups();
    return mn_major() ? 128 * k() : 16;
  }
  u32 stride() const { return layout == Layout::k_none ? 128 : period() * span(); }
  u32 step() const {
    if (layout == Layout::k_none) return 2 * leading();
    return mn_major() ? static_cast<u32>(arch::sm100::mma_k(kind)) * 128 : 32;
  }
  u32 bytes() const {
    const u32 all = layout == Layout::k_none ? 2 * steps * leading()
                    : mn_major()             ? (rows * bits() / 8 + 127) / 128 * leading()
                                             : groups() * stride();
    return (all + 1023) / 1024 * 1024;
  }
  /// Returns the byte of a row's byte of K, K-major.
  u32 place(u32 row, u32 byte) const {
    const u32 chunk = byte / 16, r = row % 8, in = byte % 16, group = row / 8 * stride();
    switch (layout) {
      case Layout::k_none: return group + r * 16 + chunk * leading() + in;
      case Layout::k_32: return group + r * 32 + (chunk ^ r / 4) * 16 + in;
      case Layout::k_64: return group + r * 64 + (chunk ^ r / 2) * 16 + in;
      default: return group + r * 128 + (chunk ^ r) * 16 + in;
    }
  }
  /// Returns the byte of an element of `size` bytes, MN-major.
  u32 place_mn(u32 row, u32 at, u32 size) const {
    const u32 elements = 128 / size, byte = row % elements * size, r = at % period(), unit = 128 / period();
    return row / elements * leading() + at / period() * stride() + r * 128 + (byte / unit ^ r) * unit + byte % unit;
  }
  u32 code(u32 row, u32 at) const { return codes[row * k() + at]; }

  std::vector<u32> image() const {
    std::vector<u8> bytes_of_image(bytes());
    const u32 own = static_cast<u32>(arch::bits_of(format));
    for (u32 row = 0; row < rows; ++row)
      for (u32 at = 0; at < k(); ++at) {
        if (mn_major()) {
          std::memcpy(&bytes_of_image[place_mn(row, at, own / 8)], &codes[row * k() + at], own / 8);
          continue;
        }
        // An element's first bit within its row of K; of containers, 16 elements each.
        const u32 first = contained() ? at / 16 * 128 + at % 16 * own : at * own;
        for (u32 bit = 0; bit < own; ++bit)
          if (code(row, at) >> bit & 1)
            bytes_of_image[place(row, (first + bit) / 8)] |= static_cast<u8>(1u << (first + bit) % 8);
      }
    std::vector<u32> words(bytes_of_image.size() / 4);
    std::memcpy(words.data(), bytes_of_image.data(), bytes_of_image.size());
    return words;
  }
};

Operand random_operand(MmaKind kind, MmaFormat format, Layout layout, u32 rows, u32 steps, u64 seed) {
  Operand o{kind, format, layout, rows, steps};
  std::mt19937_64 random(seed);
  o.codes.resize(rows * o.k());
  for (u32& code : o.codes) {
    code = random_code(format, random);
    o.values.push_back(value_of(format, code));
  }
  return o;
}

// --- one case --------------------------------------------------------------------------------------

struct Mma {
  std::string name, kernel;
  MmaInstruction i;
  CtaGroup group = CtaGroup::one;
  u32 steps = 2;
  Layout a = Layout::k_128, b = Layout::k_128;
  bool accumulate = true, a_in_tensor_memory = false;
  int scale_d = 0;   // D * 2^-scale_d
  u64 disabled = 0;  // lanes 0 to 63
  int scale_vector = 0;

  u32 ctas() const { return static_cast<u32>(arch::ctas_of(group)); }
  u32 rows() const { return static_cast<u32>(i.m) / ctas(); }  // of D in each CTA
  bool halves() const { return ctas() == 2 && i.m == 128; }
  u32 columns() const {
    const u32 of = static_cast<u32>(i.n) / (halves() ? 2 : 1);
    return (of + 31) / 32 * 32;  // that the kernel reads back
  }
  std::pair<u32, u32> place(u32 row, u32 column) const {
    const u32 half = static_cast<u32>(i.n) / 2;
    if (halves()) return {row + 64 * (column / half), column % half};
    if (ctas() == 1 && i.m == 64) return {row % 16 + row / 16 * 32, column};
    return {row, column};
  }
};

/// 512 bytes of scales as the instruction takes them: (row, j) at 16 (row % 32) + 4 (row / 32) + j.
struct Scales {
  ScaleFormat format;
  std::vector<u8> bytes = std::vector<u8>(512);
  double at(u32 row, u32 j) const {
    const u8 bits = bytes[row % 32 * 16 + row / 32 * 4 + j];
    return format == ScaleFormat::ue8m0 ? std::ldexp(1, bits - 127) : value_of(MmaFormat::e4m3, bits & 0x7f);
  }
};
Scales random_scales(ScaleFormat format, u64 seed) {
  Scales s{format};
  std::mt19937_64 random(seed);
  const u8 ue4m3[] = {0x30, 0x38, 0x3c, 0x40};  // 0.5, 1, 1.5, 2
  for (u8& byte : s.bytes)
    byte = format == ScaleFormat::ue8m0 ? static_cast<u8>(126 + random() % 3) : ue4m3[random() % 4];
  return s;
}

void append(std::vector<u32>& to, const std::vector<u32>& words) { to.insert(to.end(), words.begin(), words.end()); }
void append(std::vector<u32>& to, const Scales& scales) {
  const std::size_t first = to.size();
  to.resize(first + scales.bytes.size() / 4);
  std::memcpy(&to[first], scales.bytes.data(), scales.bytes.size());
}

/// A as tensor memory has it, 32 columns: (lane, column).
std::vector<u32> a_in_cells(const Mma& m, const Operand& a) {
  std::vector<u8> bytes(128 * 32 * 4);
  const u32 own = static_cast<u32>(arch::bits_of(a.format)), bits = a.bits();
  for (u32 row = 0; row < a.rows; ++row)
    for (u32 copy = 0; copy < (m.halves() ? 2u : 1u); ++copy)
      for (u32 k = 0; k < a.k(); ++k) {
        const u32 lane = m.place(row, 0).first + 64 * copy, code = a.code(row, k) << (own == 4 && bits == 8 ? 2 : 0);
        std::memcpy(&bytes[lane * 128 + k * bits / 8], &code, bits / 8);
      }
  std::vector<u32> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), bytes.size());
  return words;
}

/// The bits of a cell with this value of D, which must be exact.
u32 cell_of(MmaResult d, double value) {
  if (d == MmaResult::f32) {
    if (static_cast<double>(static_cast<float>(value)) != value) std::abort();  // the case needs smaller operands
    return std::bit_cast<u32>(static_cast<float>(value));
  }
  if (value != std::floor(value) || std::fabs(value) > 2048) std::abort();
  return code_of(MmaFormat::f16, static_cast<int>(value));
}

Case mma_case(const Mma& m) {
  Case c{"sm100_" + m.name, "sm100_mma", "arch_sm100_" + m.kernel};
  c.cluster = c.grid = m.ctas();
  const u32 n = static_cast<u32>(m.i.n), columns = m.columns();
  std::vector<Operand> a, b;
  std::vector<Scales> scale_a;
  const Scales scale_b = random_scales(m.i.scale, 90);
  for (u32 cta = 0; cta < m.ctas(); ++cta) {
    a.push_back(random_operand(m.i.kind, m.i.a, m.a, m.rows(), m.steps, 70 + cta));
    b.push_back(random_operand(m.i.kind, m.i.b, m.b, n / m.ctas(), m.steps, 80 + cta));
    scale_a.push_back(random_scales(m.i.scale, 91 + cta));
  }
  std::mt19937_64 random(99);
  std::vector<double> initial(m.ctas() * 128 * columns);
  for (double& d : initial) d = static_cast<double>(static_cast<int>(random() % 33) - 16) * 8;
  for (const double d : initial) c.in.push_back(cell_of(m.i.d, d));
  c.expected = c.in;
  for (u32 cta = 0; cta < m.ctas(); ++cta) {
    append(c.in, m.a_in_tensor_memory ? a_in_cells(m, a[cta]) : a[cta].image());
    append(c.in, b[cta].image());
    append(c.in, scale_a[cta]);
    append(c.in, scale_b);
  }
  for (u32 cta = 0; cta < m.ctas(); ++cta)
    for (u32 row = 0; row < m.rows(); ++row)
      for (u32 column = 0; column < n; ++column) {
        const auto [lane, at] = m.place(row, column);
        if (lane < 64 && m.disabled >> lane & 1) continue;
        const Operand& of_b = b[column / (n / m.ctas())];
        double sum = 0;
        for (u32 k = 0; k < of_b.k(); ++k) {
          double product = a[cta].values[row * of_b.k() + k] * of_b.values[column % of_b.rows * of_b.k() + k];
          if (m.scale_vector != 0) {
            const u32 scale = k * static_cast<u32>(m.scale_vector) / static_cast<u32>(arch::sm100::mma_k(m.i.kind));
            product *= scale_a[cta].at(row, scale) * scale_b.at(column, scale);
          }
          sum += product;
        }
        if (m.i.negate_a != m.i.negate_b) sum = -sum;
        const std::size_t cell = (cta * 128 + lane) * columns + at;
        // Each instruction that accumulates scales D; the first of them alone has another one's D before it.
        double d = m.accumulate ? initial[cell] : 0;
        if (m.scale_d != 0) d = std::ldexp(d, -m.scale_d);
        c.expected[cell] = cell_of(m.i.d, d + sum);
      }
  const auto arg = [](u32 value) { return static_cast<i32>(value); };
  const u32 a_bytes = m.a_in_tensor_memory ? 128 * 32 * 4 : a[0].bytes();
  c.arg = {arg(arch::sm100::encode(m.i).bits),
           arg(columns),
           m.accumulate,
           arg(m.steps),
           arg(a_bytes),
           arg(b[0].bytes()),
           arg(m.a_in_tensor_memory ? 8 : a[0].step()),
           arg(b[0].step()),
           arg(a[0].swizzle()),
           arg(a[0].leading()),
           arg(a[0].stride()),
           arg(b[0].swizzle()),
           arg(b[0].leading()),
           arg(b[0].stride()),
           arg(static_cast<u32>(m.disabled)),
           arg(static_cast<u32>(m.disabled >> 32))};
  c.shared_bytes = 1024 + a_bytes + b[0].bytes() + 1024;
  return c;
}

MmaInstruction dense(MmaKind kind, MmaFormat a, MmaFormat b, int m, int n, MmaResult d = MmaResult::f32) {
  return {.kind = kind, .a = a, .b = b, .d = d, .m = m, .n = n};
}
MmaInstruction majors(MmaInstruction i, Major a, Major b) {
  i.major_a = a, i.major_b = b;
  return i;
}
MmaInstruction negated(MmaInstruction i, bool a, bool b) {
  i.negate_a = a, i.negate_b = b;
  return i;
}
MmaInstruction scaled(MmaKind kind, MmaFormat a, MmaFormat b, int m, int n, ScaleFormat scale = ScaleFormat::ue8m0) {
  return {.kind = kind, .a = a, .b = b, .m = m, .n = n, .scale = scale};
}

}  // namespace

std::vector<Case> sm100_mma_cases() {
  using enum MmaFormat;
  constexpr MmaKind kF16 = MmaKind::f16, kTf32 = MmaKind::tf32, kMixed = MmaKind::f8f6f4;
  constexpr CtaGroup kOne = CtaGroup::one, kPair = CtaGroup::pair;
  using enum Layout;
  const MmaInstruction half = dense(kF16, f16, f16, 128, 64);
  const std::vector<Mma> all = {
      {"f16_m128", "mma_f16", half},
      {"bf16_m64", "mma_f16", dense(kF16, bf16, bf16, 64, 40), kOne, 4},
      {"f16_overwrite", "mma_f16", half, kOne, 1, k_128, k_128, false},
      {"f16_result", "mma_f16", dense(kF16, f16, f16, 128, 48, MmaResult::f16)},
      {"f16_negate_a", "mma_f16", negated(half, true, false)},
      {"f16_negate_both", "mma_f16", negated(half, true, true)},
      {"f16_plain", "mma_f16", half, kOne, 2, k_none, k_none},
      {"f16_b32_b64", "mma_f16", half, kOne, 1, k_32, k_64},
      {"f16_mn_major", "mma_f16", majors(half, Major::mn, Major::mn), kOne, 2, mn_128, mn_128},
      {"f16_n256", "mma_f16", dense(kF16, f16, f16, 128, 256), kOne, 1},
      {"f16_tensor", "mma_f16_tensor", half, kOne, 3, k_128, k_128, true, true},
      {"f16_tensor_m64", "mma_f16_tensor", dense(kF16, f16, f16, 64, 32), kOne, 2, k_128, k_64, true, true},
      {"tf32_m128", "mma_tf32", dense(kTf32, tf32, tf32, 128, 32)},
      {"tf32_mn_major", "mma_tf32", majors(dense(kTf32, tf32, tf32, 128, 40), Major::mn, Major::mn), kOne, 2,
       mn_128_unit32, mn_128_unit32},
      {"tf32_n_major", "mma_tf32", majors(dense(kTf32, tf32, tf32, 64, 32), Major::k, Major::mn), kOne, 2, k_64,
       mn_128_unit32},
      {"tf32_tensor", "mma_tf32_tensor", dense(kTf32, tf32, tf32, 128, 32), kOne, 2, k_128, k_128, true, true},
      {"e4m3_e5m2", "mma_f8f6f4", dense(kMixed, e4m3, e5m2, 128, 64), kOne, 4},
      {"e4m3_mn_major", "mma_f8f6f4", majors(dense(kMixed, e4m3, e4m3, 128, 64), Major::mn, Major::mn), kOne, 2, mn_128,
       mn_128},
      {"e2m3_e3m2", "mma_f8f6f4", dense(kMixed, e2m3, e3m2, 128, 24), kOne, 2},
      {"e2m1_e4m3", "mma_f8f6f4", dense(kMixed, e2m1, e4m3, 64, 32), kOne, 2},
      {"e2m1_e3m2_tensor", "mma_f8f6f4_tensor", dense(kMixed, e2m1, e3m2, 128, 32), kOne, 2, k_128, k_128, true, true},
      {"f16_scaled_d", "mma_scaled_d", half, kOne, 1, k_128, k_128, true, false, 3},
      {"f16_lanes", "mma_lanes", half, kOne, 2, k_128, k_128, true, false, 0, 0x80000001'0000ff02},
      {"tf32_lanes_scaled_d", "mma_lanes_scaled_d", dense(kTf32, tf32, tf32, 128, 32), kOne, 1, k_128, k_128, true,
       false, 2, 0x00ff0000'00000003},
      {"pair_f16_m256", "pair_mma_f16", dense(kF16, f16, f16, 256, 64), kPair},
      {"pair_f16_m128", "pair_mma_f16", dense(kF16, f16, f16, 128, 96), kPair},
      {"pair_f16_tensor_m256", "pair_mma_f16_tensor", dense(kF16, f16, f16, 256, 64), kPair, 2, k_128, k_128, true,
       true},
      {"pair_f16_tensor_m128", "pair_mma_f16_tensor", dense(kF16, f16, f16, 128, 64), kPair, 2, k_128, k_128, true,
       true},
      {"pair_tf32", "pair_mma_tf32", dense(kTf32, tf32, tf32, 256, 32), kPair},
      {"pair_tf32_mn_major", "pair_mma_tf32", majors(dense(kTf32, tf32, tf32, 256, 96), Major::mn, Major::mn), kPair, 2,
       mn_128_unit32, mn_128_unit32},
      {"pair_tf32_tensor", "pair_mma_tf32_tensor", dense(kTf32, tf32, tf32, 256, 32), kPair, 2, k_128, k_128, true,
       true},
      {"pair_e4m3", "pair_mma_f8f6f4", dense(kMixed, e4m3, e4m3, 256, 256), kPair, 2},
      {"pair_e4m3_e2m1_tensor", "pair_mma_f8f6f4_tensor", dense(kMixed, e4m3, e2m1, 256, 32), kPair, 2, k_128, k_128,
       true, true},
      {"pair_lanes", "pair_mma_lanes", dense(kMixed, e4m3, e4m3, 256, 64), kPair, 2, k_128, k_128, true, false, 0,
       0x00000000'f0f00000},
      {"mxf8f6f4", "mma_mxf8f6f4", scaled(MmaKind::mxf8f6f4, e4m3, e5m2, 128, 128), kOne, 4, k_128, k_128, true, false,
       0, 0, 1},
      {"mxf8f6f4_e2m1", "mma_mxf8f6f4", scaled(MmaKind::mxf8f6f4, e2m1, e3m2, 128, 40), kOne, 2, k_128, k_128, false,
       false, 0, 0, 1},
      {"mxf4", "mma_mxf4", scaled(MmaKind::mxf4, e2m1, e2m1, 128, 64), kOne, 2, k_128, k_128, true, false, 0, 0, 2},
      {"mxf4nvf4_2x", "mma_mxf4nvf4_2x", scaled(MmaKind::mxf4nvf4, e2m1, e2m1, 128, 64), kOne, 2, k_64, k_64, true,
       false, 0, 0, 2},
      {"nvf4", "mma_mxf4nvf4_4x", scaled(MmaKind::mxf4nvf4, e2m1, e2m1, 128, 96, ScaleFormat::ue4m3), kOne, 1, k_128,
       k_128, true, false, 0, 0, 4},
      {"pair_mxf8f6f4", "pair_mma_mxf8f6f4", scaled(MmaKind::mxf8f6f4, e4m3, e4m3, 256, 128), kPair, 4, k_128, k_128,
       true, false, 0, 0, 1},
      {"pair_mxf4", "pair_mma_mxf4", scaled(MmaKind::mxf4, e2m1, e2m1, 256, 64), kPair, 2, k_128, k_128, true, false, 0,
       0, 2},
      {"pair_mxf4nvf4_2x", "pair_mma_mxf4nvf4_2x", scaled(MmaKind::mxf4nvf4, e2m1, e2m1, 256, 64), kPair, 2, k_128,
       k_128, true, false, 0, 0, 2},
      {"pair_nvf4", "pair_mma_mxf4nvf4_4x", scaled(MmaKind::mxf4nvf4, e2m1, e2m1, 256, 128, ScaleFormat::ue4m3), kPair,
       1, k_128, k_128, true, false, 0, 0, 4},
  };
  std::vector<Case> cases;
  for (const Mma& m : all) cases.push_back(mma_case(m));
  return cases;
}

}  // namespace ww::arch_test
