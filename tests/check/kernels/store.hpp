// SPDX-License-Identifier: Apache-2.0
// Bulk stores: threads write a buffer, one of them stores it, the buffer is used again, the CTA ends.
#pragma once

#include "params.hpp"
#include "warpwright/arch/common/stmatrix.hpp"

namespace ww::check_test {

inline constexpr u32 kTileBytes = 64 * 128;  // 64 rows of 128 bytes

WW_DEVICE void write_tile(const Params& p, arch::SharedAddress buffer, u32 tile) {
  const u32 t = arch::thread_index();
  for (u32 i = 0; i < 16; i += 4) {
    arch::Words<4> w = arch::global::load4(p.in + 16 * t + i);
    for (u32 j = 0; j < 4; ++j) w.w[j] += tile;
    arch::shared::store4(buffer + 64 * t + 4 * i, w);  // @store_write @reload_write
  }
}

/// arg[0] tiles of 64 x 32 words through one buffer. out[tile][w] = in[w] + tile.
WW_KERNEL(check_store, 128, Params, p) {
  const arch::SharedAddress buffer = arch::dynamic_shared();
  const u32 t = arch::thread_index(), committer = p.is(Edit::store_other_commits) ? 32 : 0;
  for (i32 tile = 0; tile < p.arg[0]; ++tile) {
    if (p.is(Edit::store_released_early)) arch::named_barrier::sync<1>(128);
    if (t == committer) {
      if (p.is(Edit::store_wait_one)) arch::tma::wait_read<1>();
      else if (!p.is(Edit::store_no_wait_read)) arch::tma::wait_read<0>();
    }
    if (!p.is(Edit::store_released_early)) arch::named_barrier::sync<1>(128);
    write_tile(p, buffer, static_cast<u32>(tile));
    if (!p.is(Edit::store_no_fence)) arch::fence::proxy_async_shared();
    if (!p.is(Edit::store_no_barrier)) arch::named_barrier::sync<2>(128);
    if (t == 0) arch::tma::store_2d(p.map[0], buffer, 0, 64 * tile);  // @store_issue
    if (t == committer) arch::tma::commit();
  }
  if (t == committer && !p.is(Edit::store_not_drained)) arch::tma::wait_read<0>();
}

/// stmatrix into two buffers, the store of one read while the other is written; drained only at the end.
/// out[tile][row][pair] = tile << 16 | row << 8 | pair.
WW_KERNEL(check_matrix_store, 128, Params, p) {
  const u32 t = arch::thread_index(), lane = arch::lane_index(), warp_row = 16 * arch::warp_index();
  for (i32 tile = 0; tile < p.arg[0]; ++tile) {
    const arch::SharedAddress buffer = arch::dynamic_shared() + static_cast<u32>(tile) % 2 * kTileBytes;
    if (t == 0) arch::tma::wait_read<1>();
    arch::named_barrier::sync<1>(128);
    for (u32 j = 0; j < 4; ++j) {
      arch::Words<4> m;
      for (u32 i = 0; i < 4; ++i)
        m.w[i] = static_cast<u32>(tile) << 16 | (warp_row + i % 2 * 8 + lane / 4) << 8 | (8 * j + i / 2 * 4 + lane % 4);
      arch::stmatrix(buffer + (warp_row + lane % 16) * 128 + 32 * j + lane / 16 * 16, m);
    }
    arch::fence::proxy_async_shared();
    arch::named_barrier::sync<1>(128);
    if (t == 0) {
      arch::tma::store_2d(p.map[0], buffer, 0, 64 * tile);
      arch::tma::commit();
    }
  }
  if (t == 0) arch::tma::wait_read<0>();
}

/// A tile is stored and read back from global memory. out[w] = in[w], out[2048 + w] = in[w] * 3.
WW_KERNEL(check_read_back, 128, Params, p) {
  const u32 t = arch::thread_index();
  write_tile(p, arch::dynamic_shared(), 0);
  arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  if (t == 0) {
    arch::tma::store_2d(p.map[0], arch::dynamic_shared(), 0, 0);  // @read_back_store
    arch::tma::commit();
    if (p.is(Edit::read_back_early)) arch::tma::wait_read<0>();
    else arch::tma::wait<0>();
    arch::fence::proxy_async();
  }
  arch::named_barrier::sync_cta();
  for (u32 w = t; w < 2048; w += 128)
    arch::global::store(p.out + 2048 + w, arch::global::load(p.out + w) * 3);  // @read_back
}

/// A tile that threads wrote is loaded over by TMA. out[w] = in[w] of the mirrored thread + in[2048 + w].
WW_KERNEL(check_reload, 128, Params, p) {
  const arch::SharedAddress tile = arch::dynamic_shared();
  const arch::MBarrier full{tile + kTileBytes};
  const u32 t = arch::thread_index();
  if (t == 0) arch::mbarrier::init(full, 1);
  arch::fence::mbarrier_init();
  write_tile(p, tile, 0);
  arch::named_barrier::sync_cta();
  u32 kept[16];
  for (u32 i = 0; i < 16; ++i) kept[i] = arch::shared::load(tile + 64 * (127 - t) + 4 * i);
  if (!p.is(Edit::reload_no_fence)) arch::fence::proxy_async_shared();
  arch::named_barrier::sync_cta();
  if (t == 0) {
    arch::mbarrier::arrive_expect_tx(full, kTileBytes);
    arch::tma::load_2d(p.map[0], full, tile, 0, 64);  // @reload_load
  }
  arch::mbarrier::wait(full, 0);
  for (u32 i = 0; i < 16; ++i)
    arch::global::store(p.out + 16 * t + i, kept[i] + arch::shared::load(tile + 64 * t + 4 * i));
}

}  // namespace ww::check_test
