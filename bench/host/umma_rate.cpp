// SPDX-License-Identifier: Apache-2.0
// Processor time of one emulated tcgen05.mma of 128 x 256, least of several, for every kind and engine:
//   g++ -std=c++20 -O2 -Iinclude -Isrc bench/host/umma_rate.cpp build/release/libwarpwright.a -lpthread
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <vector>

#include "emu/sm100/numerics/umma.hpp"

namespace {

using namespace ww;
using emu::sm100::UmmaArithmetic;
using Format = arch::MmaFormat;
using Kind = arch::MmaKind;

struct Instruction {
  const char* name;
  UmmaArithmetic how;
};

Instruction scaled(const char* name, Kind kind, Format format, u8 scale_vector, arch::ScaleFormat scale) {
  UmmaArithmetic how{kind, format, format};
  how.scale_vector = scale_vector, how.scale = scale;
  return {name, how};
}

double processor_seconds() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// Random bytes whose values stay near one, so that no NaN decides about the path.
std::vector<u8> operand(const UmmaArithmetic& how, int rows, std::mt19937& rng) {
  std::vector<u8> out(static_cast<size_t>(rows) * 32);
  const int depth = emu::sm100::depth_of(how.kind), bytes = std::max(1, 32 / depth);
  for (size_t i = 0; i < out.size(); ++i) {
    const bool top = i % static_cast<size_t>(bytes) == static_cast<size_t>(bytes) - 1;
    const u32 sign = rng() % 2 * 0x80;
    out[i] = static_cast<u8>(depth == 64 || !top ? rng() : bytes > 1 ? sign | 0x3F : sign | (0x20 + rng() % 0x40));
  }
  return out;
}

void measure(const Instruction& instruction, emu::MmaTarget target, const char* name) {
  constexpr int kM = 128, kN = 256;
  std::mt19937 rng(1);
  const std::vector<u8> a = operand(instruction.how, kM, rng), b = operand(instruction.how, kN, rng);
  std::vector<u8> scale_a(kM * 4), scale_b(kN * 4);
  for (std::vector<u8>* scales : {&scale_a, &scale_b})
    for (u8& x : *scales)
      x = static_cast<u8>(instruction.how.scale == arch::ScaleFormat::ue4m3 ? 0x38 : 120 + rng() % 10);
  std::vector<u32> d(kM * kN);
  double least = 1;
  for (int run = 0; run < 20; ++run) {
    const double start = processor_seconds();
    emu::sm100::multiply_on(target, instruction.how, kM, kN, a.data(), b.data(), scale_a.data(), scale_b.data(),
                            d.data(), kN, run != 0, emu::MmaMath::exact);
    least = std::min(least, processor_seconds() - start);
  }
  const double products = static_cast<double>(kM) * kN * emu::sm100::depth_of(instruction.how.kind);
  std::printf("%-6s %-8s %8.1f us  %6.2f G products/s\n", instruction.name, name, least * 1e6, products / least * 1e-9);
}

}  // namespace

int main() {
  const Instruction all[] = {{"bf16", {Kind::f16, Format::bf16, Format::bf16}},
                             {"tf32", {Kind::tf32, Format::tf32, Format::tf32}},
                             {"e4m3", {Kind::f8f6f4, Format::e4m3, Format::e4m3}},
                             scaled("mxfp8", Kind::mxf8f6f4, Format::e4m3, 1, arch::ScaleFormat::ue8m0),
                             scaled("mxfp4", Kind::mxf4, Format::e2m1, 2, arch::ScaleFormat::ue8m0),
                             scaled("nvfp4", Kind::mxf4nvf4, Format::e2m1, 4, arch::ScaleFormat::ue4m3)};
  for (const Instruction& instruction : all) {
    if (emu::mma_supports(emu::MmaTarget::avx512)) measure(instruction, emu::MmaTarget::avx512, "avx512");
    if (emu::mma_supports(emu::MmaTarget::avx2)) measure(instruction, emu::MmaTarget::avx2, "avx2");
    measure(instruction, emu::MmaTarget::portable, "portable");
  }
}
