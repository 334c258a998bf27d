// SPDX-License-Identifier: Apache-2.0
// One TMA load: a box of a matrix goes to shared memory, and from there to another matrix. No thread copies: one thread
// issues the load, the hardware reads the box, and an mbarrier signals when its bytes have landed.
//   matrix (6, 20)  --box (8, 8) at row 2, column 16-->  shared memory  --store-->  tile (8, 8)
// The box exceeds two edges of the matrix; elements outside arrive as zeros.
//   example_01_one_tma_load [device]        device: emu:sm90 (default) or cuda:0
#include <cstdio>

#include "on_device.hpp"
#include "warpwright/host/kernel.hpp"

namespace {

// The kernel, as text: the library compiles it with NVRTC for a GPU and with the host's compiler for the emulated one.
constexpr const char* kKernel = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tma.hpp"

using namespace ww;

// Tensor maps travel inside the kernel's parameter, where TMA can read them.
struct Params {
  arch::TensorMap matrix, tile;
  int column, row;
};

WW_KERNEL(one_tma_load, 32, Params, params) {
  constexpr u32 kBoxBytes = 8 * 8 * 4;
  const arch::SharedAddress box = arch::dynamic_shared();  // (8, 8) float, rows of 32 bytes
  const arch::MBarrier full{box + kBoxBytes};              // 8 bytes behind it

  // 1. A barrier that one arrival and the announced bytes complete. The fence lets the async proxy see it.
  if (arch::thread_index() == 0) {
    arch::mbarrier::init(full, 1);
    arch::fence::mbarrier_init();
  }
  arch::named_barrier::sync_cta();

  // 2. One thread announces the bytes and asks for the box. Bytes outside the matrix count as well.
  if (arch::thread_index() == 0) {
    arch::mbarrier::arrive_expect_tx(full, kBoxBytes);
    arch::tma::load_2d(params.matrix, full, box, params.column, params.row);
  }

  // 3. Everybody waits for phase 0 of the barrier: arrival and bytes are all there, and visible.
  arch::mbarrier::wait(full, 0);

  // 4. The way out: no barrier but groups, which belong to the thread that asked. An ordinary write to `box` would need
  //    fence::proxy_async_shared() before this; here only TMA has written it.
  if (arch::thread_index() == 0) {
    arch::tma::store_2d(params.tile, box, 0, 0);
    arch::tma::commit();
    arch::tma::wait<0>();  // shared memory must live until it has been read
  }
}
WW_MODULE()
)";

// The host's view of the same parameter.
struct Params {
  ww::arch::TensorMap matrix, tile;
  int column, row;
};

constexpr int kRows = 6, kColumns = 20, kBox = 8, kRow = 2, kColumn = 16;

/// A row-major (rows, columns) float tensor and the (8, 8) box that TMA takes from it.
ww::arch::TensorMap tensor(const ww::Device& device, const ww::Buffer& buffer, int rows, int columns) {
  return example::require(device.tensor_map(
      ww::TensorMapSpec::matrix(buffer.data(), ww::f32, rows, columns, columns, kBox, kBox, ww::SmemSwizzle::none)));
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = example::open(argc, argv);
  std::vector<float> matrix(kRows * kColumns), tile(kBox * kBox, -1.0f);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
  const ww::Buffer in = example::upload(device, matrix), out = example::upload(device, tile);

  const Params params{tensor(device, in, kRows, kColumns), tensor(device, out, kBox, kBox), kColumn, kRow};
  const ww::Kernel kernel = example::require(ww::Kernel::compile(device, {"one_tma_load", kKernel}));
  // The emulated device checks every access against these ranges.
  const ww::MemoryRange memory[] = {{"matrix", in.data(), in.bytes(), false}, {"tile", out.data(), out.bytes(), true}};
  example::require(
      kernel.launch(params, {.threads = 32, .shared_bytes = kBox * kBox * sizeof(float) + 8, .memory = memory}));
  example::require(device.synchronize());
  tile = example::download<float>(device, out, tile.size());

  int wrong = 0;
  for (int row = 0; row < kBox; ++row) {
    for (int column = 0; column < kBox; ++column) {
      const int y = kRow + row, x = kColumn + column;
      const float expected = y < kRows && x < kColumns ? static_cast<float>(y * kColumns + x + 1) : 0.0f;
      const float got = tile[static_cast<std::size_t>(row * kBox + column)];
      wrong += got != expected;
      std::printf("%5.0f", static_cast<double>(got));
    }
    std::printf("\n");
  }
  std::printf("%s: %d of %d elements wrong\n", device.info().description.c_str(), wrong, kBox * kBox);
  return wrong == 0 ? 0 : 1;
}
