// SPDX-License-Identifier: Apache-2.0
// A tensor map that the kernel changes: each group of rows gets its own map, made from one template of the host.
//   matrix (20, 8) = rows of group 0 | group 1 | group 2 | group 3, none a multiple of the box of 8 rows
//   CTA g:  template -> shared memory -> replace address and rows -> release to global memory -> acquire -> load box
// A box that exceeds the end of its group then reads zeros, not the first rows of the next group. Nothing is padded,
// and the host never learns where groups start. This is how ragged groups use TMA.
//   example_03_tensor_map_update [device]        device: emu:sm90 (default) or cuda:0
#include <array>
#include <cstdio>

#include "on_device.hpp"
#include "warpwright/host/kernel.hpp"

namespace {

constexpr const char* kKernel = R"(
#include "warpwright/arch/common/fence.hpp"
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/arch/common/tma.hpp"
#include "warpwright/arch/common/warp.hpp"

using namespace ww;

struct Params {
  arch::TensorMap any_group, tiles;
  const float* matrix;
  const int* ends;        // (G): where each group of rows ends
  arch::TensorMap* maps;  // (G): room for the maps that are made here, 128 bytes each
};

WW_KERNEL(tensor_map_update, 32, Params, params) {
  constexpr u32 kColumns = 8, kBoxBytes = 8 * kColumns * 4;
  const arch::SharedAddress copy = arch::dynamic_shared();  // the map being changed, 128 bytes
  const arch::SharedAddress box = copy + arch::tensor_map::kBytes;  // (8, 8) float
  const arch::MBarrier full{box + kBoxBytes};
  const u32 group = arch::block_index(), lane = arch::lane_index();
  const u32 start = group == 0 ? 0 : u32(arch::global::load(params.ends + group - 1));
  const u32 rows = u32(arch::global::load(params.ends + group)) - start;
  if (rows == 0) return;  // a tensor map has at least one row

  if (lane == 0) {
    arch::mbarrier::init(full, 1);
    arch::fence::mbarrier_init();
  }
  // 1. A map is 128 opaque bytes. tensormap.replace changes a field of a copy in shared memory: one lane, two fields.
  arch::tensor_map::copy_to_shared(params.any_group, copy);
  arch::warp::sync();
  if (lane == 0) {
    arch::tensor_map::replace_address(copy, params.matrix + start * kColumns);
    arch::tensor_map::replace_extent<1>(copy, rows);
  }
  arch::warp::sync();

  // 2. TMA reads maps through a cache of its own. Release copies the map to global memory and publishes it there;
  //    acquire, by whoever is going to use it, drops what that cache still holds of this address.
  arch::TensorMap* const map = params.maps + group;
  arch::tensor_map::release(map, copy);
  arch::tensor_map::acquire(*map);

  // 3. From here on it is a map like any other. Coordinates count from the group's first row.
  if (lane == 0) {
    arch::mbarrier::arrive_expect_tx(full, kBoxBytes);
    arch::tma::load_2d(*map, full, box, 0, 0);
  }
  arch::mbarrier::wait(full, 0);
  if (lane == 0) {
    arch::tma::store_2d(params.tiles, box, 0, int(8 * group));
    arch::tma::commit();
    arch::tma::wait<0>();
  }
}
WW_MODULE()
)";

// The host's view of the same parameter.
struct Params {
  ww::arch::TensorMap any_group, tiles;
  const void* matrix;
  const void* ends;
  void* maps;
};

constexpr int kColumns = 8, kBoxRows = 8;
constexpr std::array<int, 4> kEnds{5, 5, 13, 16};  // rows of the groups: 5, 0, 8, 3; four rows belong to nobody
constexpr int kRows = 20, kGroups = static_cast<int>(kEnds.size());

/// A (rows, 8) float matrix and the (8, 8) box that TMA takes from it.
ww::arch::TensorMap matrix_of(const ww::Device& device, const ww::Buffer& buffer, int rows) {
  return example::require(device.tensor_map(ww::TensorMapSpec::matrix(buffer.data(), ww::f32, rows, kColumns, kColumns,
                                                                      kBoxRows, kColumns, ww::SmemSwizzle::none)));
}

}  // namespace

int main(int argc, char** argv) {
  // without step 2's acquire the checker reports it
  const ww::Device device = example::open(argc, argv, {.check = true});
  std::vector<float> matrix(kRows * kColumns), tiles(kGroups * kBoxRows * kColumns, -1.0f);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i + 1);
  const std::vector<int> row_ends(kEnds.begin(), kEnds.end());
  const ww::Buffer in = example::upload(device, matrix), out = example::upload(device, tiles);
  const ww::Buffer ends = example::upload(device, row_ends);
  const ww::Buffer maps = example::require(device.allocate(kGroups * sizeof(ww::arch::TensorMap)));

  const Params params{matrix_of(device, in, 1),  // address and rows are going to be replaced
                      matrix_of(device, out, kGroups * kBoxRows), in.data(), ends.data(), maps.data()};
  const ww::Kernel kernel = example::require(ww::Kernel::compile(device, {"tensor_map_update", kKernel}));
  const ww::MemoryRange memory[] = {{"matrix", in.data(), in.bytes(), false},
                                    {"ends", ends.data(), ends.bytes(), false},
                                    {"maps", maps.data(), maps.bytes(), true},
                                    {"tiles", out.data(), out.bytes(), true}};
  example::require(kernel.launch(params, {.grid = kGroups,
                                          .threads = 32,
                                          .shared_bytes = 128 + kBoxRows * kColumns * sizeof(float) + 8,
                                          .memory = memory}));
  example::require(device.synchronize());
  tiles = example::download<float>(device, out, tiles.size());

  int wrong = 0;
  for (int group = 0, start = 0; group < kGroups; start = kEnds[static_cast<std::size_t>(group++)]) {
    const int rows = kEnds[static_cast<std::size_t>(group)] - start;
    std::printf("group %d, %d rows; first column of its box:", group, rows);
    for (int i = 0; i < kBoxRows * kColumns; ++i) {
      const bool inside = i / kColumns < rows;
      const float expected = rows == 0 ? -1.0f : inside ? static_cast<float>(start * kColumns + i + 1) : 0.0f;
      const float got = tiles[static_cast<std::size_t>(group * kBoxRows * kColumns + i)];
      wrong += got != expected;
      if (i % kColumns == 0) std::printf(" %4.0f", static_cast<double>(got));
    }
    std::printf("\n");
  }
  std::printf("%s: %d of %zu elements wrong\n", device.info().description.c_str(), wrong, tiles.size());
  return wrong == 0 ? 0 : 1;
}
