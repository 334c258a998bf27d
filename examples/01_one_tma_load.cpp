// SPDX-License-Identifier: Apache-2.0
// One TMA load: a box of a matrix goes to shared memory, and from there to another matrix. No thread copies: one thread
// issues the load, the hardware reads the box, and an mbarrier signals when its bytes have landed.
//   matrix (6, 20)  --box (8, 8) at row 2, column 16-->  shared memory  --store-->  tile (8, 8)
// The box exceeds two edges of the matrix; elements outside arrive as zeros.
//   example_01_one_tma_load [device]        device: emu:sm90 (default) or cuda:0
#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/backend.hpp"
#include "warpwright/host/device.hpp"

namespace {

// The kernel, as text: the library compiles it with NVRTC for a GPU and with the host's compiler for the emulated one.
constexpr const char* kKernel = R"(
#include "warpwright/arch/fence.hpp"
#include "warpwright/arch/named_barrier.hpp"
#include "warpwright/arch/tma.hpp"

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

template <class T> T require(ww::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// A row-major (rows, columns) float tensor and the (8, 8) box that TMA takes from it.
ww::runtime::TensorMapSpec tensor(const ww::Buffer& buffer, int rows, int columns) {
  ww::runtime::TensorMapSpec spec;
  spec.base = buffer.data();
  spec.element = ww::f32;
  spec.rank = 2;
  spec.extent[0] = static_cast<std::uint64_t>(columns);  // innermost first
  spec.extent[1] = static_cast<std::uint64_t>(rows);
  spec.stride_bytes[1] = static_cast<std::uint64_t>(columns) * sizeof(float);  // a multiple of 16
  spec.box[0] = spec.box[1] = kBox;
  spec.swizzle = ww::runtime::SmemSwizzle::none;
  return spec;
}

}  // namespace

int main(int argc, char** argv) {
  const ww::Device device = require(ww::Device::open(argc > 1 ? argv[1] : "emu:sm90"));
  ww::runtime::Backend& backend = device.backend();

  std::vector<float> matrix(kRows * kColumns), tile(kBox * kBox, -1.0f);
  for (int i = 0; i < kRows * kColumns; ++i) matrix[static_cast<std::size_t>(i)] = static_cast<float>(i + 1);
  const std::size_t matrix_bytes = matrix.size() * sizeof(float), tile_bytes = tile.size() * sizeof(float);
  const ww::Buffer in = require(device.allocate(matrix_bytes)), out = require(device.allocate(tile_bytes));
  require(device.upload(in.data(), matrix.data(), matrix_bytes));
  require(device.upload(out.data(), tile.data(), tile_bytes));

  const Params params{require(backend.encode(tensor(in, kRows, kColumns))),
                      require(backend.encode(tensor(out, kBox, kBox))), kColumn, kRow};
  const auto kernel = require(backend.kernel({"one_tma_load", kKernel}));
  // The emulated device checks every access against these ranges.
  const ww::runtime::MemoryRange memory[] = {{"matrix", in.data(), matrix_bytes, false},
                                             {"tile", out.data(), tile_bytes, true}};
  ww::runtime::Launch launch;
  launch.kernel = kernel.get();
  launch.threads = 32;
  launch.shared_bytes = kBox * kBox * sizeof(float) + 8;
  launch.params = &params;
  launch.params_bytes = sizeof(params);
  launch.memory = memory;
  require(backend.launch(launch));
  require(device.synchronize());
  require(device.download(tile.data(), out.data(), tile_bytes));

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
