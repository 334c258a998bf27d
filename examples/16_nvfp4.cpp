// SPDX-License-Identifier: Apache-2.0
// Block scaling: D (128, 128) = (A * its scales) (B * its scales)^T in NVFP4: elements of 4 bits (E2M1), a scale of
// UE4M3 for each 16 of K, FP32 out.
// TMA brings packed nibbles, 256 of K in the 128 bytes of a row, and scales in chunks of 512 bytes: 128 rows by 4
// scales, scale j of row r at 16 (r % 32) + 4 (r / 32) + j. tcgen05.cp copies a chunk to 4 columns of tensor memory,
// where an MMA of 64 of K finds its scales. Copies and MMAs of one thread need no wait between them, but the copies of
// the next block do: they overwrite what MMAs read.
//   example_16_nvfp4 [device] [schedules|timeline]
#include "umma.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"
#include "warpwright/arch/sm100/tensor_memory.hpp"
#include "warpwright/arch/sm100/umma.hpp"

using namespace ww;

struct Params {
  arch::TensorMap a, b, scale_a, scale_b;
  float* d;
  u32 k_blocks;
};

constexpr u32 kM = 128, kN = 128, kK = 256;        // of K: 128 bytes
constexpr u32 kBytes = 128 * 128, kScales = 2048;  // of each operand: 4 chunks of scales, one for each MMA
constexpr u32 kScaleA = kN, kScaleB = kN + 16, kColumns = 256;  // of tensor memory, after those of D
constexpr arch::CtaGroup kOne = arch::CtaGroup::one;
constexpr arch::InstructionDescriptor kInstruction = arch::sm100::encode(
    {.kind = arch::MmaKind::mxf4nvf4, .a = arch::MmaFormat::e2m1, .b = arch::MmaFormat::e2m1,
     .d = arch::MmaResult::f32, .m = kM, .n = kN, .scale = arch::ScaleFormat::ue4m3});

WW_KERNEL(nvfp4, 128, Params, params) {
  const arch::SharedAddress sA = arch::dynamic_shared(), sB = sA + kBytes, sScaleA = sB + kBytes,
                            sScaleB = sScaleA + kScales;
  const arch::MBarrier full{sScaleB + kScales}, done{full.address + 8};
  const arch::SharedAddress allocated = done.address + 8;
  const u32 thread = arch::thread_index(), warp = thread / 32;

  if (warp == 0) arch::tensor::alloc<kOne>(allocated, kColumns);
  if (thread == 0) {
    arch::mbarrier::init(full, 1);
    arch::mbarrier::init(done, 1);
    arch::fence::mbarrier_init();
  }
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  const arch::TensorAddress acc{arch::shared::load(allocated)};

  using arch::sm100::make_descriptor, arch::sm100::MatrixSwizzle;
  const auto a = make_descriptor(sA, MatrixSwizzle::b128, 0, 1024);
  const auto b = make_descriptor(sB, MatrixSwizzle::b128, 0, 1024);
  // A chunk is 32 rows of 16 bytes without a swizzle: groups of 8 rows are 128 bytes apart.
  const auto scale_a = make_descriptor(sScaleA, MatrixSwizzle::none, 0, 128);
  const auto scale_b = make_descriptor(sScaleB, MatrixSwizzle::none, 0, 128);
  if (warp == 0) {
    if (arch::warp::elect())
      for (u32 block = 0; block < params.k_blocks; ++block) {
        const int k = static_cast<int>(block * kK), chunk = static_cast<int>(block * 16);
        arch::mbarrier::arrive_expect_tx(full, 2 * (kBytes + kScales));
        arch::tma::load_2d(params.a, full, sA, k, 0);
        arch::tma::load_2d(params.b, full, sB, k, 0);
        arch::tma::load_2d(params.scale_a, full, sScaleA, 0, chunk);
        arch::tma::load_2d(params.scale_b, full, sScaleB, 0, chunk);
        arch::mbarrier::wait(full, block % 2);
        for (u32 i = 0; i < 4; ++i) {
          arch::tensor::copy<kOne, arch::CopyShape::rows32_bits128_all>(acc + kScaleA + 4 * i, scale_a + 512 * i);
          arch::tensor::copy<kOne, arch::CopyShape::rows32_bits128_all>(acc + kScaleB + 4 * i, scale_b + 512 * i);
        }
        for (u32 i = 0; i < 4; ++i)
          arch::umma::mma_scaled<arch::MmaKind::mxf4nvf4, kOne, 4>(acc, a + 32 * i, b + 32 * i, kInstruction,
                                                                   acc + kScaleA + 4 * i, acc + kScaleB + 4 * i,
                                                                   block + i > 0);
        arch::umma::commit<kOne>(done);
        arch::mbarrier::wait(done, block % 2);  // A and B may be overwritten, and after the last block D be read
      }
    arch::warp::sync();
  }
  // Other threads do not wait on the barrier, because a slow one would miss a phase that two others follow.
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  for (u32 n = 0; n < kN; n += 32) {
    arch::TensorRegisters<32> values;
    arch::tensor::load<arch::TensorShape::lanes32_bits32, 32>(values, acc.down(32 * warp) + n);
    arch::tensor::wait_load(values);
    WW_UNROLL
    for (int v = 0; v < 32; ++v) arch::global::store(params.d + thread * kN + n + v, values[v]);
  }
  arch::umma::fence_before();
  arch::named_barrier::sync_cta();
  arch::umma::fence_after();
  if (warp == 0) {
    arch::tensor::relinquish<kOne>();
    arch::tensor::dealloc<kOne>(acc, kColumns);
  }
}
WW_MODULE()
)";

struct Params {
  ww::arch::TensorMap a, b, scale_a, scale_b;
  void* d;
  ww::u32 k_blocks;
};

constexpr std::size_t kRows = 128, kK = 512;

/// A (128, 512) operand as it is stored, and the values that it stands for.
struct Operand {
  std::vector<std::uint8_t> nibbles = std::vector<std::uint8_t>(kRows * kK / 2);
  std::vector<std::uint8_t> scales = std::vector<std::uint8_t>(kRows * kK / 16);
  std::vector<float> values = std::vector<float>(kRows * kK);
};
Operand operand(std::size_t seed) {
  constexpr float kE2m1[] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
  constexpr struct {
    std::uint8_t bits;
    float value;
  } kUe4m3[] = {{0x30, 0.5f}, {0x38, 1}, {0x3c, 1.5f}, {0x40, 2}};
  Operand made;
  for (std::size_t i = 0; i < kRows * kK; ++i) {
    const std::size_t row = i / kK, k = i % kK, block = k / 16;
    const std::size_t nibble = (i * seed + i / 3) % 16, scale = (row + block * seed) % 4;
    made.nibbles[i / 2] |= static_cast<std::uint8_t>(nibble << (i % 2 * 4));
    // Chunks of 4 scales follow each other along K.
    made.scales[block / 4 * 512 + row % 32 * 16 + row / 32 * 4 + block % 4] = kUe4m3[scale].bits;
    made.values[i] = kE2m1[nibble % 8] * (nibble < 8 ? 1.0f : -1.0f) * kUe4m3[scale].value;
  }
  return made;
}

ww::arch::TensorMap nibbles_map(const ww::Device& device, const ww::Buffer& buffer) {
  ww::TensorMapSpec spec{.base = buffer.data(), .extent = {kK, kRows}, .stride_bytes = {0, kK / 2}, .box = {256, 128}};
  spec.narrow = ww::NarrowElements::bits4;
  return example::require(device.tensor_map(spec));
}
ww::arch::TensorMap scales_map(const ww::Device& device, const ww::Buffer& buffer) {
  return example::require(device.tensor_map(ww::TensorMapSpec::matrix(
      buffer.data(), ww::e4m3, static_cast<int>(buffer.bytes() / 128), 128, 128, 16, 128, ww::SmemSwizzle::none)));
}

}  // namespace

int main(int argc, char** argv) {
  const Operand a = operand(7), b = operand(5);
  const example::Product p{128,
                           128,
                           kK,
                           a.nibbles,
                           b.nibbles,
                           std::vector<float>(128 * 128),
                           example::product_of(a.values, b.values, std::vector<float>(128 * 128), 128, kK)};
  const ww::EmuStats stats = example::run(
      argc, argv, {"nvfp4", kKernel}, p,
      [&](const ww::Device& device, const ww::Kernel& kernel, const example::Operands& operands) {
        const ww::Buffer scale_a = example::upload(device, a.scales), scale_b = example::upload(device, b.scales);
        const Params params{nibbles_map(device, operands.a),
                            nibbles_map(device, operands.b),
                            scales_map(device, scale_a),
                            scales_map(device, scale_b),
                            operands.d.data(),
                            kK / 256};
        const ww::MemoryRange memory[] = {{"a", operands.a.data(), operands.a.bytes(), false},
                                          {"b", operands.b.data(), operands.b.bytes(), false},
                                          {"scale_a", scale_a.data(), scale_a.bytes(), false},
                                          {"scale_b", scale_b.data(), scale_b.bytes(), false},
                                          {"d", operands.d.data(), operands.d.bytes(), true}};
        example::require(
            kernel.launch(params, {.threads = 128, .shared_bytes = 2 * (128 * 128 + 2048) + 24, .memory = memory}));
      });
  example::print_traffic(stats);
  return 0;
}
