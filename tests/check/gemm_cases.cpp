// SPDX-License-Identifier: Apache-2.0
// Launches of the corpus' GEMM kernels: what launch/gemm_adapter.cpp fills in.
#include "gemm_cases.hpp"

#include "emu/sm90/model.hpp"

#include <cstdlib>
#include <stdexcept>

#include "case.hpp"
#include "gemm_configs.hpp"
#include "problems/k_cuts.hpp"
#include "warpwright/kernel/gemm_params.hpp"
#include "warpwright/scheduler/launch_plan.hpp"

namespace ww::check_test {

namespace {

using runtime::SmemSwizzle;

runtime::TensorMapSpec matrix_map(const void* base, DType type, i64 rows, i64 columns, int box_rows, int box_columns,
                                  int swizzle_bytes) {
  runtime::TensorMapSpec spec;
  spec.base = base;
  spec.element = type;
  spec.extent[0] = static_cast<u64>(columns), spec.extent[1] = static_cast<u64>(rows);
  spec.stride_bytes[1] = static_cast<u64>(columns * bytes_of(type));
  spec.box[0] = static_cast<u32>(box_columns), spec.box[1] = static_cast<u32>(box_rows);
  spec.swizzle = swizzle_bytes == 128  ? SmemSwizzle::b128
                 : swizzle_bytes == 64 ? SmemSwizzle::b64
                 : swizzle_bytes == 32 ? SmemSwizzle::b32
                                       : SmemSwizzle::none;
  return spec;
}

struct Free {
  void operator()(void* p) const { std::free(p); }
};

/// Device memory, as far as alignment goes.
struct Bytes {
  std::unique_ptr<u8[], Free> data;
  std::size_t size = 0;
  Bytes(const void* from, std::size_t bytes)
      : data(static_cast<u8*>(std::aligned_alloc(256, round_up(bytes + 1, std::size_t{256})))), size(bytes) {
    if (bytes != 0) std::memcpy(data.get(), from, bytes);
  }
};

class Gemm : public GemmCase {
 public:
  Gemm(std::string case_name, const arch::KernelEntry& entry, const GemmConfig& config, GemmProblem problem,
       u32 clusters)
      : entry_(entry),
        config_(config),
        clusters_(clusters),
        host_(make(problem, config)),
        a_(host_.a.data(), host_.a.size()),
        b_(host_.b.data(), host_.b.size()),
        scale_a_(host_.scale_a.data(), host_.scale_a.size() * 4),
        scale_b_(host_.scale_b.data(), host_.scale_b.size() * 4) {
    name = std::move(case_name);
    d_.assign(static_cast<std::size_t>(problem.batch * problem.m * problem.n * bytes_of(config.operands.d)) + 256,
              0xa5);
    d_start_ = d_.data() + (256 - reinterpret_cast<std::uintptr_t>(d_.data()) % 256) % 256;
    d_bytes_ = d_.size() - 256;
    launch_.cluster = static_cast<u32>(config::cluster_of(config).size());
    launch_.grid = clusters * launch_.cluster;
    want_ = testing::reference(host_, emu::MmaMath::exact, testing::cut_of(config, host_.problem, launch_.grid));
    fill_params();
    launch_.pdl = true;
    launch_.threads = static_cast<u32>(config::threads_of(config));
    launch_.shared_bytes = static_cast<u32>(config::shared_plan(config).total);
    launch_.params = &params_;
    launch_.params_bytes = sizeof(params_);
    memory_ = {{"a", a_.data.get(), a_.size, false},
               {"b", b_.data.get(), b_.size, false},
               {"d", d_start_, d_bytes_, true},
               {"scale_a", scale_a_.data.get(), scale_a_.size, false},
               {"scale_b", scale_b_.data.get(), scale_b_.size, false},
               {"workspace", workspace_.data(), static_cast<u64>(plan_.bytes), true}};
    launch_.memory = memory_;
  }
  Result<EmuStats> run(const EmuOptions& options) override {
    return emu::run(emu::sm90::kModel, entry_, fresh(), options, sms());
  }
  CheckReport check(const EmuOptions& options) override {
    return emu::check(emu::sm90::kModel, entry_, fresh(), options, sms(), is_hooked());
  }
  std::string difference() const override {
    // The next launch with this workspace relies on this.
    for (i64 i = 0; i < plan_.tiles; ++i)
      if (reinterpret_cast<const u8*>(workspace_.data())[i] != 0)
        return fmt::format("    wrong-workspace in byte {}: flags and counters end a launch at zero", i);
    const auto got = testing::packed_output(host_.problem, {d_start_, d_start_ + d_bytes_});
    return got ? testing::difference(host_, *got, want_) : got.error().message;
  }

 private:
  static testing::HostProblem make(GemmProblem problem, const GemmConfig& config) {
    problem.a = config.operands.a, problem.b = config.operands.b, problem.d = config.operands.d,
    problem.scale = config.operands.scale;
    problem.a_major = config.operands.layout.a, problem.b_major = config.operands.layout.b,
    problem.d_layout = config.operands.d_layout;
    return testing::make_problem(problem, config, 1);
  }
  int sms() const { return static_cast<int>(max(8u, launch_.grid)); }
  const runtime::Launch& fresh() {  // the workspace keeps what the last launch left
    std::memset(d_start_, 0xa5, d_bytes_);
    return launch_;
  }
  void set_map(arch::TensorMap& map, runtime::TensorMapSpec spec, i64 batch_stride) {
    if (config_.operands.batched) {
      spec.rank = 3;
      spec.extent[2] = static_cast<u64>(batch_stride == 0 ? 1 : host_.problem.batch);
      spec.stride_bytes[2] =
          batch_stride == 0 ? spec.stride_bytes[1] : static_cast<u64>(batch_stride * bytes_of(spec.element));
      spec.box[2] = 1;
    }
    auto encoded = emu::encode(spec);
    if (!encoded) throw std::runtime_error(name + ": " + encoded.error().message);
    map = *encoded;
  }
  void fill_params() {
    const GemmConfig& c = config_;
    const GemmProblem& g = host_.problem;
    config::GemmArguments& p = params_.gemm;
    const int panel = config::panel_bytes(c);
    const auto operand = [&](const void* base, DType type, Major major, i64 rows, int box) {
      return major == Major::k ? matrix_map(base, type, rows, g.k, box, c.tile.k, 128)
                               : matrix_map(base, type, g.k, rows, c.tile.k, config::mn_block(type), 128);
    };
    if (g.k > 0) {
      set_map(p.a, operand(a_.data.get(), c.operands.a, c.operands.layout.a, g.m, c.tile.m / c.cluster.n), g.batch_a);
      set_map(p.b, operand(b_.data.get(), c.operands.b, c.operands.layout.b, g.n, c.tile.n / c.cluster.m), g.batch_b);
    }
    const bool by_row = c.operands.d_layout == OutputLayout::row;
    set_map(p.d,
            by_row ? matrix_map(d_start_, c.operands.d, g.m, g.n, config::kWarpgroupRows,
                                panel / bytes_of(c.operands.d), panel)
                   : matrix_map(d_start_, c.operands.d, g.n, g.m, c.tile.n, config::column_panel_rows(c), 128),
            g.batch_d);
    p.m = static_cast<i32>(g.m), p.n = static_cast<i32>(g.n), p.k = static_cast<i32>(g.k);
    p.k_blocks = static_cast<i32>(ceil_div(g.k, static_cast<i64>(c.tile.k)));
    p.scale_a = reinterpret_cast<const float*>(scale_a_.data.get());
    p.scale_b = reinterpret_cast<const float*>(scale_b_.data.get());
    p.scale_a_k = p.scale_b_k = 1;
    p.scale_a_row = p.scale_b_n = c.operands.scale == Scale::row_column ? 1 : ceil_div(g.k, static_cast<i64>(128));
    scheduler::TileGrid grid{static_cast<int>(ceil_div(g.m, static_cast<i64>(c.tile.m * c.cluster.m))),
                             static_cast<int>(ceil_div(g.n, static_cast<i64>(c.tile.n * c.cluster.n))), c.raster.width};
    if (c.operands.batched) {
      p.tiles_m = grid.cluster_tiles_m * c.cluster.m;
      grid.cluster_tiles_m *= static_cast<int>(g.batch);
      p.batches = static_cast<i32>(g.batch);
      p.a_steps = g.batch_a != 0, p.b_steps = g.batch_b != 0;
      p.scale_a_batch = g.batch_scale_a, p.scale_b_batch = g.batch_scale_b;
    }
    share_out(grid);
  }

  void share_out(const scheduler::TileGrid& grid) {
    params_.scheduler = scheduler::scheduler_params(config_, grid, params_.gemm.k_blocks, clusters_);
    plan_ = scheduler::workspace_plan(config_, params_.scheduler, clusters_);
    launch_.cross_cta = plan_.waits;
    workspace_.assign(static_cast<std::size_t>(plan_.bytes) / sizeof(Line) + 1, Line{});
    u8* const base = reinterpret_cast<u8*>(workspace_.data());
    params_.scheduler.work_tile_counter = reinterpret_cast<scheduler::WorkTileCounter*>(base);
    params_.gemm.partials = {reinterpret_cast<float*>(base + plan_.tiles), reinterpret_cast<u32*>(base + plan_.flags)};
  }

  struct alignas(256) Line {
    u8 bytes[256];
  };
  const arch::KernelEntry& entry_;
  GemmConfig config_;
  u32 clusters_;
  testing::HostProblem host_;
  Bytes a_, b_, scale_a_, scale_b_;
  std::vector<u8> d_, want_;
  std::vector<Line> workspace_;
  scheduler::WorkspacePlan plan_;
  u8* d_start_;
  std::size_t d_bytes_;
  kernel::GemmParams params_{};
  std::vector<runtime::MemoryRange> memory_;
  runtime::Launch launch_;
};

}  // namespace

std::vector<std::unique_ptr<GemmCase>> gemm_cases() {
  std::vector<std::unique_ptr<GemmCase>> cases;
  const auto add = [&](const char* name, const char* kernel, const GemmConfig& config, i64 m, i64 n, i64 k,
                       u32 clusters, i64 batch = 1) {
    const arch::KernelEntry* entry = find_kernel(kernel);
    if (!entry) throw std::runtime_error(std::string("no kernel ") + kernel);
    GemmProblem problem{.m = m, .n = n, .k = k, .batch = batch};
    if (batch > 1)  // one B with its scales for all
      problem.batch_a = m * k, problem.batch_d = m * n, problem.batch_scale_a = m * ceil_div(k, static_cast<i64>(128));
    cases.push_back(std::make_unique<Gemm>(name, *entry, config, problem, clusters));
  };
  add("block 2x1", "check_gemm_block_2x1", kBlock2x1, 256, 128, 640, 1);
  add("block 2x1, tails", "check_gemm_block_2x1", kBlock2x1, 200, 72, 272, 1);
  add("block 1x2", "check_gemm_block_1x2", kBlock1x2, 128, 256, 512, 1);
  add("block, two units", "check_gemm_block_units", kBlockUnits, 300, 64, 384, 2);
  add("block-1d 2x1, tails", "check_gemm_column_scales", kColumnScales, 200, 136, 400, 1);
  add("multistage, block-1d", "check_gemm_multistage_column_scales", kColumnScalesMultistage, 200, 136, 272, 1);
  add("two scales of B in a tile", "check_gemm_two_scales", kTwoScales, 260, 200, 400, 1);
  add("192 x 128, three consumer warpgroups", "check_gemm_tall", kTall, 260, 136, 528, 1);
  add("128 x 256, 2x1", "check_gemm_wide", kWide, 200, 296, 528, 1);
  add("bf16", "check_gemm_plain_bf16", kPlainBf16, 128, 192, 320, 1);
  add("D in four parts", "check_gemm_even_parts", kEvenParts, 60, 136, 80, 1);
  add("D in three parts", "check_gemm_odd_parts", kOddParts, 100, 200, 144, 1);
  add("plain 2x1", "check_gemm_plain_2x1", kPlain2x1, 256, 256, 384, 1);
  add("tensor, f32", "check_gemm_tensor_f32", kTensorF32, 200, 80, 400, 2);
  add("batch of three", "check_gemm_batched", kBatched, 200, 72, 272, 2, 3);
  add("columns of D, two of them", "check_gemm_columns", kColumns, 200, 136, 152, 1, 2);
  add("columns of D, f32, pingpong", "check_gemm_columns_f32", kColumnsF32, 200, 136, 272, 2);
  add("swap-AB, 21 rows", "check_gemm_swapped", kSwapped, 264, 21, 400, 1);
  add("swap-AB, split-k in a cluster", "check_gemm_swapped_split", kSwappedSplit, 200, 7, 912, 1);
  add("e5m2 x e4m3", "check_gemm_mixed", kMixed, 70, 200, 272, 1);
  add("tf32", "check_gemm_tf32", kTf32, 130, 72, 84, 1);
  add("MN-major", "check_gemm_mn_major", kMnMajor, 264, 136, 150, 1);
  add("tf32, MN-major", "check_gemm_tf32_mn_major", kTf32MnMajor, 260, 136, 75, 1);
  add("tf32, N-major, pingpong", "check_gemm_tf32_pingpong", kTf32Pingpong, 190, 200, 116, 1);
  add("A from registers, bf16, two units", "check_gemm_registers_bf16", kRegistersBf16, 304, 136, 200, 1);
  add("A from registers, block 1x2", "check_gemm_registers_block", kRegistersBlock, 200, 136, 400, 1);
  add("stream-k", "check_gemm_stream_k", kStreamK, 200, 136, 912, 3);
  add("stream-k, whole waves too", "check_gemm_stream_k", kStreamK, 400, 136, 304, 3);
  add("stream-k 2x1", "check_gemm_stream_k_2x1", kStreamK2x1, 200, 200, 640, 3);
  add("split-k in a cluster", "check_gemm_split_cluster", kSplitCluster, 100, 136, 912, 2);
  add("split-k in a cluster, short K", "check_gemm_split_cluster", kSplitCluster, 100, 72, 368, 1);
  add("split-k in a cluster, peers without a part", "check_gemm_split_cluster", kSplitCluster, 300, 72, 208, 1);
  add("split-k through workspace", "check_gemm_split_workspace", kSplitWorkspace, 100, 136, 912, 4);
  add("split-k both ways", "check_gemm_split_both", kSplitBoth, 100, 136, 912, 3);
  add("dynamic", "check_gemm_dynamic", kDynamic, 300, 200, 304, 3);
  add("dynamic 2x2", "check_gemm_dynamic_2x2", kDynamic2x2, 300, 296, 304, 2);
  add("plain 4x4", "check_gemm_plain_4x4", kPlain4x4, 200, 200, 400, 1);
  add("split-k, no K", "check_gemm_split_both", kSplitBoth, 100, 136, 0, 3);
  add("stream-k, no K", "check_gemm_stream_k", kStreamK, 100, 136, 0, 2);
  add("no K", "check_gemm_block_2x1", kBlock2x1, 200, 128, 0, 1);
  add("pingpong, block 2x1", "check_gemm_pingpong_block", kPingpongBlock, 300, 136, 400, 1);
  add("pingpong, row-column 1x2", "check_gemm_pingpong_plain", kPingpongPlain, 190, 200, 640, 1);
  add("pingpong, no K", "check_gemm_pingpong_block", kPingpongBlock, 300, 64, 0, 1);
  add("multistage, block 1x2", "check_gemm_multistage_block", kMultistageBlock, 300, 136, 528, 1);
  add("multistage, bf16 2x1", "check_gemm_multistage_bf16", kMultistageBf16, 300, 136, 328, 2);
  add("multistage, cluster barrier", "check_gemm_multistage_cluster_barrier", kMultistageBf16, 300, 136, 328, 1);
  add("multistage, block, cluster barrier", "check_gemm_multistage_block_cluster_barrier", kMultistageBlock, 300, 136,
      400, 1);
  return cases;
}

}  // namespace ww::check_test
