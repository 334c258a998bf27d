// SPDX-License-Identifier: Apache-2.0
// One wgmma tile: D (64, 64) = A (64, 64) B (64, 64)^T, bf16 in, FP32 out, on one warpgroup of 128 threads.
// TMA writes A and B to shared memory in rows of 128 bytes, with 16-byte chunks XORed with the row ("128B swizzle"), so
// that the tensor core reads 8 rows at once without bank conflicts. Four instructions of 16 along K accumulate into one
// accumulator in the registers of the 128 threads.
//   example_02_one_wgmma_tile [device]      device: emu:sm90 (default) or cuda:0
#include <cstdio>

#include "on_device.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/host/kernel.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/sm90/wgmma.hpp"

using namespace ww;

struct Params {
  arch::TensorMap a, b;
  float* d;
};

WW_KERNEL(one_wgmma_tile, 128, Params, params) {
  constexpr u32 kOperandBytes = 64 * 128;
  const arch::SharedAddress sA = arch::dynamic_shared();  // (64, 64) bf16, 128B swizzle: starts on 1024 bytes
  const arch::SharedAddress sB = sA + kOperandBytes;      // (64, 64)
  const arch::MBarrier full{sB + kOperandBytes};
  const u32 thread = arch::thread_index();

  if (thread == 0) {
    arch::mbarrier::init(full, 1);
    arch::fence::mbarrier_init();
  }
  arch::named_barrier::sync_cta();
  if (thread == 0) {
    arch::mbarrier::arrive_expect_tx(full, 2 * kOperandBytes);  // one barrier for both loads
    arch::tma::load_2d(params.a, full, sA, 0, 0);
    arch::tma::load_2d(params.b, full, sB, 0, 0);
  }
  arch::mbarrier::wait(full, 0);

  // A descriptor says where a block starts and how far apart its groups of 8 rows are: 8 * 128 bytes.
  const auto a = arch::make_descriptor(sA, arch::MatrixSwizzle::b128, 0, 1024);
  const auto b = arch::make_descriptor(sB, arch::MatrixSwizzle::b128, 0, 1024);
  arch::Accumulator<64> acc;                     // 64 x 64 over 128 threads: 32 values each
  arch::wgmma::fence();                          // registers are ready for the tensor core
  WW_UNROLL
  for (u32 k = 0; k < 4; ++k)                    // 16 of K are 32 bytes further into the swizzled rows
    arch::wgmma::mma<DType::bf16>(acc, a + 32 * k, b + 32 * k, k > 0);  // the first one starts from zero
  arch::wgmma::commit();
  arch::wgmma::wait<0>(acc);                     // only now may acc be read

  // Thread t holds, of each 8 columns, two neighbours in two rows.
  const u32 row = 16 * (thread / 32) + thread % 32 / 4, column = 2 * (thread % 4);
  WW_UNROLL
  for (u32 v = 0; v < 32; ++v) {
    const u32 m = row + 8 * (v / 2 % 2), n = column + v % 2 + 8 * (v / 4);
    arch::global::store(params.d + 64 * m + n, arch::bits_of(acc[v]));
  }
}
WW_MODULE()
)";

// The host's view of the same parameter.
struct Params {
  ww::arch::TensorMap a, b;
  float* d;
};

constexpr std::size_t kSize = 64, kElements = kSize * kSize;

/// A (64, 64) bf16 operand, K innermost: the whole of it is one box, its rows are the swizzle's 128 bytes.
ww::arch::TensorMap operand(const ww::Device& device, const ww::Buffer& buffer) {
  return example::require(device.tensor_map(
      ww::TensorMapSpec::matrix(buffer.data(), ww::bf16, kSize, kSize, kSize, kSize, kSize, ww::SmemSwizzle::b128)));
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  // Small integers: every product and sum is exact, so the check is an equality.
  std::vector<ww::bf16_t> a(kElements), b(kElements);
  for (std::size_t i = 0; i < kElements; ++i) {
    a[i].bits = ww::arch::to_bf16(static_cast<float>(i * 7 % 9) - 4.0f);
    b[i].bits = ww::arch::to_bf16(static_cast<float>(i * 5 % 13) - 6.0f);
  }
  const ww::Buffer device_a = example::upload(device, a), device_b = example::upload(device, b);
  const ww::Buffer device_d = example::upload(device, std::vector<float>(kElements));

  const Params params{operand(device, device_a), operand(device, device_b), static_cast<float*>(device_d.data())};
  const ww::Kernel kernel = example::require(ww::Kernel::compile(device, {"one_wgmma_tile", kKernel}));
  const ww::MemoryRange memory[] = {{"a", device_a.data(), device_a.bytes(), false},
                                    {"b", device_b.data(), device_b.bytes(), false},
                                    {"d", device_d.data(), device_d.bytes(), true}};
  example::require(kernel.launch(params, {.threads = 128, .shared_bytes = 2 * 64 * 128 + 8, .memory = memory}));
  example::require(device.synchronize());
  const std::vector<float> d = example::download<float>(device, device_d, kElements);

  int wrong = 0;
  for (std::size_t m = 0; m < kSize; ++m)
    for (std::size_t n = 0; n < kSize; ++n) {
      float sum = 0;
      for (std::size_t k = 0; k < kSize; ++k)
        sum += ww::arch::from_bf16(a[m * kSize + k].bits) * ww::arch::from_bf16(b[n * kSize + k].bits);
      wrong += d[m * kSize + n] != sum;
    }
  std::printf("%s: D[0, 0..3] = %g %g %g %g, %d of %zu elements wrong\n", device.info().description.c_str(),
              static_cast<double>(d[0]), static_cast<double>(d[1]), static_cast<double>(d[2]),
              static_cast<double>(d[3]), wrong, kElements);
  return wrong == 0 ? 0 : 1;
}
