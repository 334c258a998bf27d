// SPDX-License-Identifier: Apache-2.0
// A small warp-specialised GEMM against the bare table: one producer warpgroup, two consumer warpgroups, TMA with
// multicast of B over a cluster of two, mbarrier pipeline, wgmma, promotion every 128 of K, TMA store. D (f32) = A
// (e4m3, M x K) B (e4m3, N x K)^T.
#pragma once

#include "harness.hpp"

namespace ww::emu::test {

inline constexpr u32 kTile = 128, kStages = 4, kTileBytes = kTile * kTile;
inline constexpr u32 kGemmThreads = 384;

struct GemmParams {
  arch::TensorMap a, b, d;
  u32 tiles_m, tiles_n, blocks_k, cluster;
  bool promote;       // add every 128 of K to registers, as block scales do
  bool skip_release;  // planted mistakes
  bool release_early;
};

struct GemmShared {
  u32 a, b, d, full, empty;
  explicit GemmShared(u32 base)
      : a(base),
        b(a + kStages * kTileBytes),
        d(b + kStages * kTileBytes),
        full(d + kTileBytes * 4),
        empty(full + 8 * kStages) {}
  static constexpr u32 kBytes = 2 * kStages * kTileBytes + kTileBytes * 4 + 16 * kStages;
};

inline u64 matrix_descriptor(u32 address) { return (address & 0x3FFFF) >> 4 | u64{1024 >> 4} << 32 | u64{1} << 62; }

struct PipelineState {
  u32 index = 0, phase = 0;
  void advance() {
    if (++index == kStages) index = 0, phase ^= 1;
  }
};

inline void gemm_producer(const GemmParams& p, const GemmShared& s, u32 tile_m, u32 tile_n, PipelineState& state) {
  const u32 rows_b = kTile / p.cluster;
  for (u32 k = 0; k < p.blocks_k; ++k, state.advance()) {
    t().mbarrier_wait(s.empty + 8 * state.index, state.phase ^ 1, arch::kAcquireCta, here());
    const u32 full = s.full + 8 * state.index;
    t().mbarrier_arrive_expect_tx(full, 2 * kTileBytes, here());
    const int x = static_cast<int>(k * kTile);
    t().tma_load(&p.a, 2, full, s.a + state.index * kTileBytes, {{x, static_cast<int>(tile_m * kTile)}}, 0, here());
    const u32 slice = cluster_rank() * rows_b;
    t().tma_load(&p.b, 2, full, s.b + state.index * kTileBytes + slice * kTile,
                 {{x, static_cast<int>(tile_n * kTile + slice)}}, p.cluster == 1 ? 0 : (1u << p.cluster) - 1, here());
  }
}

inline void gemm_release(const GemmParams& p, const GemmShared& s, u32 stage) {
  t().sync_warp(~0u, here());
  const u32 lane = thread_index() % 32;
  if (lane < p.cluster && !p.skip_release)
    t().mbarrier_arrive(t().cluster_map(s.empty + 8 * stage, lane, here()), 1, arch::kReleaseCta, here());
}

inline void gemm_multiply(const GemmParams& p, const GemmShared& s, PipelineState& state, float* sum) {
  float acc[64];
  float* accumulators[] = {acc};
  const u32 row = thread_index() / 128 * 64 - 64;
  for (int v = 0; v < 64; ++v) sum[v] = 0;
  for (u32 k = 0; k < p.blocks_k; ++k, state.advance()) {
    t().mbarrier_wait(s.full + 8 * state.index, state.phase, arch::kAcquireCta, here());
    if (p.release_early) gemm_release(p, s, state.index);
    sm90::instructions().fence(here());
    for (u32 i = 0; i < 4; ++i)
      wgmma({{e4m3, e4m3, Major::k, Major::k, 128, 1, 1},
             matrix_descriptor(s.a + state.index * kTileBytes + row * kTile + 32 * i),
             matrix_descriptor(s.b + state.index * kTileBytes + 32 * i),
             i != 0 || (k != 0 && !p.promote)},
            acc, here());
    sm90::instructions().commit(here());
    sm90::instructions().wait(0, accumulators, 1, here());
    if (!p.release_early) gemm_release(p, s, state.index);
    if (p.promote)
      for (int v = 0; v < 64; ++v) sum[v] += acc[v];
  }
  if (!p.promote)
    for (int v = 0; v < 64; ++v) sum[v] = acc[v];
}

/// Writes the accumulators to shared memory as four blocks of 32 columns, unswizzled; one thread stores them.
inline void gemm_epilogue(const GemmParams& p, const GemmShared& s, const float* acc, u32 tile_m, u32 tile_n) {
  const u32 thread = thread_index() - 128;
  if (thread == 0) t().bulk_wait(0, true, here());
  t().named_barrier_sync(1, 256, here());
  for (u32 v = 0; v < 64; ++v) {
    const u32 row = 16 * (thread / 32) + thread % 32 / 4 + 8 * (v / 2 % 2),
              column = 2 * (thread % 4) + v % 2 + 8 * (v / 4);
    shared<float>(s.d + column / 32 * kTile * 128 + row * 128 + column % 32 * 4) = acc[v];
  }
  t().fence(arch::Fence::proxy_async_shared, here());
  t().named_barrier_sync(1, 256, here());
  if (thread != 0) return;
  for (u32 block = 0; block < 4; ++block)
    t().tma_store(&p.d, 2, s.d + block * kTile * 128,
                  {{static_cast<int>(tile_n * kTile + 32 * block), static_cast<int>(tile_m * kTile)}}, here());
  t().bulk_commit(here());
}

inline void gemm_setup(const GemmParams& p, const GemmShared& s) {
  if (thread_index() == 0)
    for (u32 i = 0; i < kStages; ++i) {
      t().mbarrier_init(s.full + 8 * i, 1, here());
      t().mbarrier_init(s.empty + 8 * i, 8 * p.cluster, here());
    }
  t().fence(arch::Fence::mbarrier_init, here());
  sync_cluster();
}

inline void gemm_kernel(const GemmParams& p) {
  const GemmShared s(shared_base());
  gemm_setup(p, s);
  const u32 clusters = t().special(arch::Special::grid_size) / p.cluster,
            first = t().special(arch::Special::block_index) / p.cluster;
  const u32 tiles = p.tiles_m / p.cluster * p.tiles_n;
  PipelineState state;
  if (thread_index() < 128) {
    t().set_max_registers(40, false, here());
    if (thread_index() == 0) {
      for (u32 tile = first; tile < tiles; tile += clusters)
        gemm_producer(p, s, tile / p.tiles_n * p.cluster + cluster_rank(), tile % p.tiles_n, state);
      for (u32 i = 0; i < kStages; ++i, state.advance())
        t().mbarrier_wait(s.empty + 8 * state.index, state.phase ^ 1, arch::kAcquireCta, here());
    }
  } else {
    t().set_max_registers(232, true, here());
    for (u32 tile = first; tile < tiles; tile += clusters) {
      float sum[64];
      gemm_multiply(p, s, state, sum);
      gemm_epilogue(p, s, sum, tile / p.tiles_n * p.cluster + cluster_rank(), tile % p.tiles_n);
    }
    if (thread_index() == 128) t().bulk_wait(0, true, here());
  }
}

/// Operands, maps and result of one problem; sizes are multiples of 128.
struct GemmProblem {
  u32 m, n, k;
  std::vector<u8> a, b;
  std::vector<float> d;
  GemmParams params{};

  GemmProblem(u32 m_, u32 n_, u32 k_, u32 cluster, u64 seed)
      : m(m_), n(n_), k(k_), a(random_bytes<u8>(m * k, seed)), b(random_bytes<u8>(n * k, seed + 1)), d(m * n, -1.0f) {
    for (auto* operand : {&a, &b})
      for (u8& item : *operand) item = (item & 0x7F) == 0x7F ? 0 : item;  // no NaN
    params.a = map(a.data(), e4m3, k, m, k, 128, kTile, SmemSwizzle::b128);
    params.b = map(b.data(), e4m3, k, n, k, 128, kTile / cluster, SmemSwizzle::b128);
    params.d = map(d.data(), f32, n, m, n * 4, 32, kTile, SmemSwizzle::none);
    params.tiles_m = m / kTile;
    params.tiles_n = n / kTile;
    params.blocks_k = k / kTile;
    params.cluster = cluster;
  }
  static arch::TensorMap map(void* base, DType type, u32 columns, u32 rows, u32 pitch, u32 box_columns, u32 box_rows,
                             SmemSwizzle swizzle) {
    TensorMapSpec spec{.base = base,
                       .element = type,
                       .rank = 2,
                       .extent = {columns, rows},
                       .stride_bytes = {0, pitch},
                       .box = {box_columns, box_rows},
                       .swizzle = swizzle};
    auto encoded = encode(spec);
    EXPECT_TRUE(encoded) << encoded.error().message;
    return encoded.value_or(arch::TensorMap{});
  }
  Result<EmuStats> run(u32 grid, EmuOptions options = {}) {
    return launch<gemm_kernel>(
        params, {.threads = kGemmThreads, .grid = grid, .cluster = params.cluster, .shared_bytes = GemmShared::kBytes},
        {range("a", a, false), range("b", b, false), range("d", d)}, options);
  }
};

}  // namespace ww::emu::test
