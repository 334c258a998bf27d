// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/warp.hpp, matrix.hpp, memory.hpp, scan.hpp and arithmetic.hpp. The results of conversions and
// functions are checked against neighbours and long double elsewhere (convert_test.cpp, math_test.cpp); here both
// executors must return them.
#include <bit>

#include "case.hpp"
#include "warpwright/arch/common/math.hpp"

namespace ww::arch_test {
namespace {

Case warp() {
  Case c{"warp", "warp", "arch_warp"};
  c.threads = 64;
  c.shared_bytes = 256;
  c.in = random_words(64, 20);
  for (u32 t = 0; t < 64; ++t) {
    const u32 lane = t % 32, *v = &c.in[t - lane];
    u32 ballot = 0, sum = 0, below = 0;
    for (u32 i = 0; i < 32; ++i) {
      ballot |= (v[i] & 1) << i;
      sum += v[i];
      if (i <= lane) below += v[i];
    }
    for (u32 word :
         {1u, v[(5 * lane + 1) % 32], lane >= 3 ? v[lane - 3] : v[lane], lane + 5 < 32 ? v[lane + 5] : v[lane],
          v[lane ^ 9], ballot, 1u, 0u, 1u, 0u, sum, below, v[0], v[lane ^ 1]})
      c.expected.push_back(word);
  }
  return c;
}

u32 place_of_row(u32 lane) { return 4 * ((7 * lane + 3) % 32); }  // in words

/// Item (row, column) of matrix i is half (column % 2) of register i of lane 4 row + column / 2.
u16 item(const std::vector<u32>& registers, u32 matrix, u32 row, u32 column) {
  return static_cast<u16>(registers[4 * (4 * row + column / 2) + matrix] >> (16 * (column % 2)));
}

Case stmatrix(i32 count, bool transposed) {
  Case c{(transposed ? "stmatrix_transposed_x" : "stmatrix_x") + std::to_string(count), "matrix", "arch_stmatrix"};
  c.threads = 32;
  c.shared_bytes = 512;
  c.arg = {count, transposed};
  c.in = random_words(128, 21);
  c.expected.assign(128, 0);
  for (u32 matrix = 0; matrix < static_cast<u32>(count); ++matrix)
    for (u32 row = 0; row < 8; ++row)
      for (u32 column = 0; column < 8; ++column) {
        const u16 value = transposed ? item(c.in, matrix, column, row) : item(c.in, matrix, row, column);
        c.expected[place_of_row(8 * matrix + row) + column / 2] |= u32{value} << (16 * (column % 2));
      }
  return c;
}

Case ldmatrix(bool transposed) {
  Case c{transposed ? "ldmatrix_x4_transposed" : "ldmatrix_x4", "matrix", "arch_ldmatrix"};
  c.threads = 32;
  c.shared_bytes = 512;
  c.arg = {0, transposed};
  c.in = random_words(128, 22);
  const auto item_of = [&](u32 matrix, u32 row, u32 column) {
    return c.in[place_of_row(8 * matrix + row) + column / 2] >> (16 * (column % 2)) & 0xFFFF;
  };
  for (u32 lane = 0; lane < 32; ++lane)
    for (u32 matrix = 0; matrix < 4; ++matrix) {
      const u32 row = lane / 4, column = 2 * (lane % 4);
      c.expected.push_back(transposed ? item_of(matrix, column, row) | item_of(matrix, column + 1, row) << 16
                                      : item_of(matrix, row, column) | item_of(matrix, row, column + 1) << 16);
    }
  return c;
}

Case global() {
  Case c{"global", "memory", "arch_global"};
  c.in = c.expected = random_words(256 + 512, 23);
  for (u32 t = 0; t < 128; ++t)
    for (u32 i = 0; i < 4; ++i) c.expected[256 + 4 * t + i] = c.in[256 + 4 * t + 3 - i];
  return c;
}

Case global_predicated() {
  Case c{"global_predicated", "memory", "arch_global_predicated"};
  c.in = random_words(512 + 4, 30);
  c.out = c.expected = random_words(128 + 512 + 64, 31);
  for (u32 t = 0; t < 128; ++t) {
    if (!(c.in[512 + t / 32] >> t % 32 & 1)) continue;
    const u32 *a = &c.in[2 * t], *b = &c.in[256 + 2 * t];
    c.expected[t] = a[0] ^ a[1];
    const u32 words[] = {a[1], a[0], b[1], b[0]};
    std::copy(words, words + 4, &c.expected[128 + 4 * t]);
    const u32 half = c.in[3 * t / 2] >> 16 * (3 * t % 2) & 0xffff;
    u32& word = c.expected[640 + t / 2];
    word = t % 2 == 0 ? (word & 0xffff0000u) | half : (word & 0xffffu) | half << 16;
  }
  return c;
}

Case global_bytes() {
  Case c{"global_bytes", "memory", "arch_global_bytes"};
  c.in = random_words(128 + 256, 32);
  c.expected.assign(32 + 256, 0);
  for (u32 t = 0; t < 128; ++t) {
    c.expected[t / 4] |= (c.in[3 * t / 4] >> 8 * (3 * t % 4) & 0xff) << 8 * (t % 4);
    c.expected[32 + 2 * t] = c.in[128 + 2 * t + 1], c.expected[32 + 2 * t + 1] = c.in[128 + 2 * t];
  }
  return c;
}

Case shared_atomics() {
  Case c{"shared_atomics", "memory", "arch_shared_atomics"};
  c.shared_bytes = 32;
  c.in = random_words(128 + 8, 32);
  const u32* start = &c.in[128];
  c.in[128 + 3] = 0;  // the union starts empty
  c.in[128 + 4] = 0;
  u32 word[8];
  std::copy(start, start + 8, word);
  word[4] = 128;
  for (u32 t = 0; t < 128; ++t) {
    c.expected.push_back(t);
    word[0] += c.in[t];
    word[1] = min(word[1], c.in[t]);
    word[2] = max(word[2], c.in[t]);
    word[3] |= c.in[t] & 0x01010101u << t % 8;
  }
  word[5] = min(word[5], c.in[0]);
  word[6] = max(word[6], c.in[1]);
  word[7] |= c.in[2];
  c.expected.insert(c.expected.end(), start + 5, start + 8);
  c.expected.insert(c.expected.end(), word, word + 8);
  return c;
}

/// Two words a thread, before and total, of threads [first, last).
template <class Operator> void push_scan(Case& c, const std::vector<u32>& values, u32 first, u32 last, Operator op) {
  u32 total = 0;
  for (u32 t = first; t < last; ++t) total = op(total, values[t]);
  for (u32 t = first, before = 0; t < last; before = op(before, values[t++])) {
    c.expected.push_back(before);
    c.expected.push_back(total);
  }
}

constexpr auto kSum = [](u32 a, u32 b) { return a + b; };
constexpr auto kMaximum = [](u32 a, u32 b) { return max(a, b); };
constexpr auto kLastSet = [](u32 a, u32 b) { return b != 0 ? b : a; };

Case scan() {
  Case c{"scan", "scan", "arch_scan"};
  c.threads = 384;
  c.shared_bytes = 48;
  c.in = random_words(384, 33);
  std::vector<u32> sparse = c.in, sums(384);
  for (u32& v : sparse) v = v % 8 == 0 ? v : 0;
  for (u32 t = 1; t < 384; ++t) sums[t] = sums[t - 1] + c.in[t - 1];
  push_scan(c, c.in, 0, 384, kSum);
  push_scan(c, c.in, 0, 384, kMaximum);
  push_scan(c, sparse, 0, 384, kLastSet);
  push_scan(c, sums, 0, 384, kSum);
  return c;
}

Case scan_groups() {
  Case c{"scan_groups", "scan", "arch_scan_groups"};
  c.threads = 256;
  c.shared_bytes = 32;
  c.in = random_words(256, 34);
  push_scan(c, c.in, 0, 128, kSum);
  push_scan(c, c.in, 128, 224, kMaximum);
  push_scan(c, c.in, 224, 256, kSum);
  return c;
}

Case scan_1024() {
  Case c{"scan_1024", "scan", "arch_scan_1024"};
  c.threads = 1024;
  c.shared_bytes = 128;
  c.in = random_words(1024, 35);
  push_scan(c, c.in, 0, 1024, kSum);
  return c;
}

Case shared() {
  Case c{"shared", "memory", "arch_shared"};
  c.threads = 32;
  c.shared_bytes = 3 * 512;
  c.in = random_words(128, 24);
  for (u32 t = 0; t < 32; ++t) {
    const u32* v = &c.in[4 * (31 - t)];
    for (u32 word : {v[0], v[1], v[2], v[3], v[2], v[3], v[0], v[1], v[3], v[2], v[1], v[0]})
      c.expected.push_back(word);
  }
  return c;
}

Case atomics() {
  Case c{"atomics", "memory", "arch_atomics"};
  c.threads = 64;
  c.grid = 4;
  c.in = random_words(256, 25);
  c.out.assign(4 + 256 + 8, 0);
  c.expected.assign(4 + 256 + 8, 1);
  c.expected[0] = 256;
  c.expected[1] = 0;
  for (u32 word : c.in) c.expected[1] += word;
  c.expected[2] = 0xffffffffu;
  for (u32 i = 0; i < 4; ++i) c.expected[260 + i] = 0xffffffffu, c.expected[264 + i] = 32;
  return c;
}

Case turns() {
  Case c{"turns", "memory", "arch_turns"};
  c.threads = 64;
  c.grid = 4;
  c.cross_cta = true;
  c.in.assign(4, 0);
  c.out = random_words(16 + 64, 26);
  c.out[0] = 0;
  c.expected = c.out;
  for (u32 turn = 0; turn < 4; ++turn) {
    const std::vector<u32> before = c.expected;
    for (u32 t = 0; t < 64; ++t) c.expected[16 + t] = before[16 + (t + 1) % 64] * 3 + turn;
  }
  c.expected[0] = 4;
  return c;
}

/// The operations of arch_strong_global and arch_strong_shared, one after another in one thread.
Case strong(const char* name, const char* kernel, bool shared) {
  Case c{name, "strong", kernel};
  c.threads = 64;
  c.shared_bytes = shared ? 512 : 0;
  c.in = random_words(64, 33);
  for (u32 t = 0; t < 64; ++t) {
    u32 v = c.in[t], low = 0, high = 0;
    for (int scope = 0; scope < 4; ++scope) {
      low = v;
      v += 3 * low;
      low = 5, high = v;
      v += high;
      low = v + 1;
      v += low;
      for (int order = 0; order < 4; ++order) {
        u32 old = low;
        low += v, v += old;
        old = low;
        low |= v, v += old;
        old = low;
        low = v, v += old;
        old = low;
        if (low == v) low = 1;
        v += old;
      }
    }
    low = v + 1;
    v = v * 5 + low;
    c.expected.push_back(v);
    c.expected.push_back(low);
    c.expected.push_back(high);
  }
  std::vector<u32> hashes, pairs;
  for (u32 i = 0; i < 3 * 64; ++i) (i % 3 == 0 ? hashes : pairs).push_back(c.expected[i]);
  c.expected = hashes;
  c.expected.insert(c.expected.end(), pairs.begin(), pairs.end());
  return c;
}

/// Floats of every exponent and sign, the edges of formats, and plain numbers of the size that functions meet.
std::vector<u32> sample_floats(std::size_t count, u64 seed) {
  std::vector<u32> words = random_words(count, seed);
  std::mt19937_64 generator(seed + 1);
  constexpr u32 kEdges[] = {0x00000000, 0x80000000, 0x00000001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x7f800000,
                            0xff800000, 0x7f800001, 0x7fffffff, 0xffc00000, 0x43e00000, 0x43e80000, 0x43f00000,
                            0x477fefff, 0x477ff000, 0x33000000, 0x33000001, 0x3a800000, 0xc3200000, 0x42b17218};
  for (std::size_t i = 0; i < count; ++i) {
    if (i < std::size(kEdges)) words[i] = kEdges[i];
    else if (i % 4 == 1) words[i] = std::bit_cast<u32>(static_cast<float>(static_cast<i32>(words[i])) * 0x1p-24f);
    else if (i % 4 == 3) words[i] = (words[i] & 0x80ffffffu) + ((100 + static_cast<u32>(generator() % 50)) << 23);
  }
  return words;
}

Case convert() {
  constexpr u32 kCount = 60000;
  Case c{"convert", "arithmetic", "arch_convert"};
  c.grid = 8;
  c.arg[0] = kCount;
  c.in = sample_floats(kCount + 1, 27);
  for (u32 i = 0; i < kCount; ++i) {
    const float v = arch::float_of(c.in[i]), w = arch::float_of(c.in[i + 1]);
    for (u32 word :
         {arch::to_bf16(v) | u32{arch::to_bf16(w)} << 16, arch::to_f16(v) | u32{arch::to_f16(w)} << 16,
          arch::to_e4m3(v) | u32{arch::to_e4m3(w)} << 8 | u32{arch::to_e4m3(v)} << 16,
          arch::to_bf16(v) | u32{arch::to_f16(v)} << 16, arch::bits_of(arch::from_bf16(static_cast<u16>(c.in[i]))),
          arch::bits_of(arch::from_f16(static_cast<u16>(c.in[i]))),
          arch::bits_of(arch::from_e4m3(static_cast<u8>(c.in[i]))),
          arch::to_e5m2(v) | u32{arch::to_e5m2(w)} << 8 | u32{arch::to_e5m2(v)} << 16,
          arch::bits_of(arch::from_e5m2(static_cast<u8>(c.in[i])))})
      c.expected.push_back(word);
  }
  return c;
}

u32 one_nan(float v) { return v != v ? arch::kNanBits : arch::bits_of(v); }

Case math() {
  constexpr u32 kCount = 60000;
  Case c{"math", "arithmetic", "arch_math"};
  c.grid = 8;
  c.arg[0] = kCount;
  c.in = sample_floats(kCount + 2, 28);
  for (u32 i = 0; i < kCount; ++i) {
    const float x = arch::float_of(c.in[i]), y = arch::float_of(c.in[i + 1]), z = arch::float_of(c.in[i + 2]);
    for (float v : {__builtin_fmaf(x, y, z), x * y, x + y, arch::exp2(x), arch::exp(x), arch::tanh(x), arch::sigmoid(x),
                    arch::reciprocal(x), arch::rsqrt(x), x / y, arch::gelu_erf(x)})
      c.expected.push_back(one_nan(v));
  }
  return c;
}

Case counted() {
  Case c{"counted", "arithmetic", "arch_counted"};
  c.threads = 32;
  c.in = sample_floats(64 + 40, 29);
  c.in.erase(c.in.begin(), c.in.begin() + 40);
  for (u32 t = 0; t < 32; ++t) {
    const float a = arch::float_of(c.in[t]), b = arch::float_of(c.in[32 + t]);
    float v = __builtin_fmaf(a, b, a);
    v = v * b + a;  // two roundings, because the tests are compiled without contraction too
    v = v * a + b;
    v = __builtin_fmaf(v, v, __builtin_fmaf(a, a, b));
    const float square = b * b;
    c.expected.push_back(one_nan(v + (a + square)));
  }
  return c;
}

}  // namespace

std::vector<Case> data_cases() {
  return {warp(),
          stmatrix(1, false),
          stmatrix(2, false),
          stmatrix(4, false),
          stmatrix(1, true),
          stmatrix(2, true),
          stmatrix(4, true),
          ldmatrix(false),
          ldmatrix(true),
          global(),
          global_predicated(),
          global_bytes(),
          shared(),
          shared_atomics(),
          atomics(),
          turns(),
          convert(),
          math(),
          strong("strong_global", "arch_strong_global", false),
          strong("strong_shared", "arch_strong_shared", true),
          counted(),
          scan(),
          scan_groups(),
          scan_1024()};
}

}  // namespace ww::arch_test
