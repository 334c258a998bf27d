// SPDX-License-Identifier: Apache-2.0
// Tensor maps, grid and parameters of a GEMM launch.
#include "launch/gemm_adapter.hpp"

#include <fmt/format.h>

#include <cstddef>

#include "launch/gemm_source.hpp"
#include "launch/operand_maps.hpp"
#include "launch/plan_sources.hpp"
#include "select/overlap.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::adapters {

using runtime::MemoryRange;
using runtime::SmemSwizzle;

namespace {
/// Returns the pointers as the kernel names them. Those of the epilogue are exchanged where they are bound.
KernelPointers kernel_pointers(const GemmOperands& o, bool swaps) {
  return swaps ? KernelPointers{o.b, o.a, o.d, o.scale_b, o.scale_a, o.workspace}
               : KernelPointers{o.a, o.b, o.d, o.scale_a, o.scale_b, o.workspace};
}

}  // namespace

GemmAdapter::GemmAdapter(const Device& device, const GemmProblem& problem, const GemmConfig& config)
    : device_(device),
      problem_(problem),
      config_(config),
      product_(select::kernel_problem(problem, config)),
      made_(config::kernel_config(config)),
      epilogue_(problem, config) {}

Result<std::shared_ptr<const GemmAdapter>> GemmAdapter::create(const Device& device, const GemmProblem& given,
                                                               const GemmConfig& chosen, const GemmOptions& options,
                                                               const std::optional<KGroups>& k_groups) {
  std::shared_ptr<GemmAdapter> adapter(new GemmAdapter(device, given, chosen));
  adapter->k_groups_ = k_groups;
  const GemmProblem& problem = adapter->product_;
  const GemmConfig& config = adapter->made_;
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return adapter;

  make_at_once(device.backend(), plan_sources(config, problem));
  WW_TRY(adapter->kernel_, device.backend().kernel(gemm_source(config)));

  const int sms = options.sms > 0 ? min(options.sms, device.info().sms) : device.info().sms;
  runtime::Launch& launch = adapter->launch_;
  const int cluster = config::cluster_of(config).size();
  launch.kernel = adapter->kernel_.get();
  launch.cluster = static_cast<std::uint32_t>(cluster);
  launch.threads = static_cast<std::uint32_t>(config::threads_of(config));
  launch.shared_bytes = static_cast<std::uint32_t>(k_groups ? config::raster_shared_plan(config).total
                                                            : config::shared_plan(config).total);
  const bool scaled = config::scales_in_mma(config);
  launch.params_bytes = k_groups ? scaled ? sizeof(kernel::ScaledKGroupedParams) : sizeof(kernel::KGroupedParams)
                        : scaled ? sizeof(kernel::ScaledGemmParams)
                                 : sizeof(kernel::GemmParams);
  launch.pdl = select::overlaps(options.pdl, !k_groups && select::overlap_pays(given, chosen, sms));
  launch.cross_cta = config::reduces(config.epilogue);  // tiles read each other's partial results

  kernel::KGroupedParams& params = adapter->params_;
  config::GemmArguments& p = params.gemm;
  p.m = static_cast<i32>(problem.m);
  p.n = static_cast<i32>(problem.n);
  p.k = static_cast<i32>(problem.k);
  p.k_blocks = static_cast<i32>(ceil_div(problem.k, config.tile.k));
  scheduler::TileGrid& grid = params.scheduler.grid;
  grid.cluster_tiles_m = static_cast<int>(ceil_div(problem.m, config.tile.m * config.cluster.m));
  grid.cluster_tiles_n = static_cast<int>(ceil_div(problem.n, config.tile.n * config.cluster.n));
  grid.band = config.raster.band;
  grid.raster =
      min(config.raster.width, grid.band == RasterBand::along_m ? grid.cluster_tiles_m : grid.cluster_tiles_n);
  if (config.operands.batched) {
    p.tiles_m = grid.cluster_tiles_m * config.cluster.m;
    if (!k_groups) grid.cluster_tiles_m *= static_cast<int>(problem.batch);
    p.batches = static_cast<i32>(problem.batch);
    p.a_steps = problem.batch_a != 0, p.b_steps = problem.batch_b != 0;
    p.scale_a_batch = problem.batch_scale_a, p.scale_b_batch = problem.batch_scale_b;
  }
  p.scale_a_row = problem.scale_a_row;
  p.scale_a_k = problem.scale_a_k;
  p.scale_b_n = problem.scale_b_n;
  p.scale_b_k = problem.scale_b_k;

  WW_CHECK(adapter->share_out(options));
  if (problem.pointer_array) {
    WW_TRY(adapter->pointers_, PointerArrays::create(device, problem, device.info().sms, launch.pdl));
    launch.pdl = true;  // the kernel before this one makes its maps, and lets it start early
  }
  if (config::maps_groups(config) && problem.k > 0) {
    WW_TRY(adapter->group_maps_, KGroupMaps::create(device, problem, *k_groups, sms, launch.pdl));
    launch.pdl = true;  // likewise
  }
  adapter->lay_out_workspace();
  adapter->spans_ = adapter->spans();
  return adapter;
}

/// The scheduler's workspace, then the epilogue's, then tensor maps.
void GemmAdapter::lay_out_workspace() {
  const std::size_t epilogue = epilogue_.workspace_bytes();
  epilogue_offset_ = static_cast<std::size_t>(round_up(workspace_.bytes, scheduler::kWorkspaceAlignment));
  maps_offset_ = round_up(epilogue_offset_ + epilogue, kMapsAlignment);
  workspace_bytes_ = pointers_       ? maps_offset_ + pointer_map_bytes(product_)
                     : group_maps_   ? maps_offset_ + group_maps_->bytes()
                     : epilogue == 0 ? static_cast<std::size_t>(workspace_.bytes)
                                     : epilogue_offset_ + epilogue;
}

/// Sets grid, scheduler and workspace.
Result<void> GemmAdapter::share_out(const GemmOptions& options) {
  const int cluster = static_cast<int>(launch_.cluster), k_blocks = params_.gemm.k_blocks;
  const int sms = options.sms > 0 ? min(options.sms, device_.info().sms) : device_.info().sms;
  launch_.grid = launch_.cluster;
  launch_.params = &params_;  // for the query below; run() has its own
  WW_TRY(const int resident, device_.backend().max_active_clusters(launch_));
  if (resident < 1)
    return failure(ErrorCode::unsupported, "config, key cluster", "a cluster that the device has room for",
                   fmt::format("{} CTAs with {} bytes of shared memory each", cluster, launch_.shared_bytes));
  const scheduler::TileGrid grid = params_.scheduler.grid;
  const i64 useful = scheduler::useful_clusters(made_, grid, k_blocks) * (k_groups_ ? k_groups_->groups : 1);
  if (useful > scheduler::kLargestGrid)
    return failure(ErrorCode::unsupported, "m, n, split", "at most 2^30 splits of tiles", fmt::format("{}", useful));
  const i64 clusters =
      config::launches_all_tiles(made_) ? useful : min<i64>(useful, max(1, min(sms / cluster, resident)));
  if (clusters * cluster > scheduler::kLargestGrid)
    return failure(ErrorCode::unsupported, "m, n", "at most 2^30 CTAs", fmt::format("{}", clusters * cluster));
  launch_.grid = static_cast<std::uint32_t>(clusters * cluster);
  params_.scheduler = scheduler::scheduler_params(made_, grid, k_blocks, clusters);
  if (k_groups_) params_.scheduler.groups = static_cast<i32>(k_groups_->groups);
  workspace_ = scheduler::workspace_plan(made_, params_.scheduler, clusters);
  launch_.cross_cta = workspace_.waits || config::reduces(made_.epilogue);
  return {};
}

Result<void> GemmAdapter::check_pointers(const GemmOperands& operands) const {
  if (problem_.scale != Scale::nv) WW_CHECK(check_global_scale(operands.global_scale));
  else if (operands.global_scale != nullptr)
    WW_CHECK(check_pointer("global_scale", operands.global_scale, alignof(float)));
  if (!pointers_) WW_CHECK(check_pointer("d", operands.d, kMapAlignment));
  if (workspace_bytes() > 0) {
    WW_CHECK(check_pointer("workspace", operands.workspace, scheduler::kWorkspaceAlignment));
    if (operands.workspace_bytes < workspace_bytes())
      return failure(ErrorCode::invalid, "workspace_bytes", fmt::format("at least {}", workspace_bytes()),
                     fmt::format("{}", operands.workspace_bytes));
  }
  if (pointers_) WW_CHECK(pointers_->check(operands));
  if (problem_.k == 0) return {};
  if (!pointers_) WW_CHECK(check_pointer("a", operands.a, alignment_of(config_, problem_.a)));
  if (!pointers_) WW_CHECK(check_pointer("b", operands.b, alignment_of(config_, problem_.b)));
  if (problem_.scale != Scale::none) {
    const std::uint64_t alignment = is_microscaled(problem_.scale) ? kMapAlignment : alignof(float);
    WW_CHECK(check_pointer("scale_a", operands.scale_a, alignment));
    WW_CHECK(check_pointer("scale_b", operands.scale_b, alignment));
  }
  return {};
}

runtime::TensorMapSpec GemmAdapter::output_map(const void* d) const {
  const GemmProblem& g = product_;
  const std::int64_t columns = config::output_columns(g.epilogue, g.n);
  if (g.d_layout == OutputLayout::column)
    return TensorMapSpec::matrix(d, g.d, columns, g.m, g.ldd, config::output_columns(made_),
                                 config::column_panel_rows(made_), SmemSwizzle::b128);
  const int panel = config::panel_bytes(made_);
  const DType type = config::stored_type(g.d);
  const int packed = config::packed_columns(g.d);
  return TensorMapSpec::matrix(d, type, g.m, columns / packed, g.ldd / packed, config::kWarpgroupRows,
                               panel / bytes_of(type), panel_swizzle(panel));
}

Result<runtime::TensorMapSpec> GemmAdapter::operand_map(const char* name, const void* base, DType type, Major major,
                                                        std::int64_t rows, std::int64_t ld, int box_rows) const {
  const std::int64_t k = product_.k;
  if (major == Major::k) return k_major_map(made_, base, type, rows, k, ld, box_rows);
  runtime::TensorMapSpec map = mn_major_map(made_, base, type, rows, k, ld);
  if (!config::has_k_tails(made_)) return map;
  // (m, x, y) is row x + y - K, so that a box from x = K - count of plane y = end on ends where the group does; see
  // load_rows() of the mainloop.
  map.rank = 3;
  map.extent[2] = static_cast<std::uint64_t>(k) + 1;
  map.stride_bytes[2] = map.stride_bytes[1];
  map.box[2] = 1;
  const auto address = reinterpret_cast<std::uintptr_t>(base);
  const std::uint64_t before = static_cast<std::uint64_t>(k) * map.stride_bytes[1];
  if (address <= before)
    return failure(ErrorCode::unsupported, name, fmt::format("an address above {:#x}, the bytes of all K", before),
                   fmt::format("{:#x}", address));
  map.base = reinterpret_cast<const void*>(address - before);
  return map;
}

Result<void> GemmAdapter::encode_maps(const KernelPointers& operands, config::GemmArguments& arguments) const {
  runtime::Backend& backend = device_.backend();
  const GemmProblem& g = product_;
  const GemmConfig& c = made_;
  MapCache::Run maps(maps_);
  const auto encode = [&](const runtime::TensorMapSpec& matrix, std::int64_t stride) {
    return backend.encode(config::stacks_matrices(c) ? batch_of(matrix, g.batch, stride) : matrix);
  };
  const auto operand = [&](const char* name, const void* base, DType type, Major major, std::int64_t rows,
                           std::int64_t ld, int box_rows, std::int64_t stride) -> Result<arch::TensorMap> {
    WW_TRY(const runtime::TensorMapSpec map, operand_map(name, base, type, major, rows, ld, box_rows));
    return config::has_k_tails(c) ? backend.encode(map) : encode(map, stride);  // tails: it has its third mode
  };
  if (g.k > 0) {  // a tensor map cannot have empty extents, and without K nothing is loaded
    WW_CHECK(maps.get(0, operands.a, arguments.a, [&] {
      return operand("a", operands.a, g.a, g.a_major, g.m, g.lda, c.tile.m / c.cluster.n, g.batch_a);
    }));
    WW_CHECK(maps.get(1, operands.b, arguments.b, [&] {
      return operand("b", operands.b, g.b, g.b_major, g.n, g.ldb, c.tile.n / config::slices_of_b(c), g.batch_b);
    }));
  }
  return maps.get(2, operands.d, arguments.d,
                  [&] { return encode(output_map(operands.d), g.batch_d / config::packed_columns(g.d)); });
}

Result<void> GemmAdapter::encode_scales(const KernelPointers& operands, config::ScaleMaps& maps) const {
  const GemmProblem& g = product_;
  if (g.k == 0) return {};
  const int box_chunks = config::scale_chunks_of_k(made_), blocks_of_load = config::chunk_blocks_of_load(made_);
  const i64 chunks = scale_chunks(g.k, scale_vector(g.scale)), block_bytes = chunks * kScaleChunkBytes;
  const auto map = [&](const void* base, i64 rows, i64 stride, int box_blocks, i32& blocks) {
    const i64 blocks_of_matrix = ceil_div(rows, i64{kScaleChunkRows});
    if (k_groups_) {  // chunk after chunk, because groups differ in their chunks along K
      blocks = static_cast<i32>(blocks_of_matrix);
      return scale_map(base, 1, blocks_of_matrix * chunks, 1, box_chunks);
    }
    blocks = static_cast<i32>(stride / block_bytes);
    return scale_map(base, (g.batch - 1) * blocks + blocks_of_matrix, chunks, box_blocks, box_chunks);
  };
  WW_TRY(maps.a, device_.backend().encode(map(operands.scale_a, g.m, g.batch_scale_a, 1, maps.blocks_a)));
  WW_TRY(maps.b, device_.backend().encode(map(operands.scale_b, g.n, g.batch_scale_b, blocks_of_load, maps.blocks_b)));
  return {};
}

OperandSpans GemmAdapter::spans() const {
  const GemmProblem& g = product_;
  const auto matrix = [&](DType type, std::int64_t rows, std::int64_t columns, std::int64_t ld, std::int64_t step) {
    return OperandSpan::matrix(bytes_in(type, columns), {rows, bytes_in(type, ld)}, {g.batch, bytes_in(type, step)});
  };
  const auto operand = [&](DType type, Major major, std::int64_t rows, std::int64_t ld, std::int64_t step) {
    return major == Major::k ? matrix(type, rows, g.k, ld, step) : matrix(type, g.k, rows, ld, step);
  };
  const auto scales = [&](std::int64_t rows, std::int64_t row, std::int64_t column, std::int64_t step) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(float));
    if (g.scale == Scale::none || g.k == 0) return OperandSpan::flat(0);
    if (is_microscaled(g.scale))
      return OperandSpan::flat(
          static_cast<std::uint64_t>((g.batch - 1) * step + scale_bytes(rows, g.k, scale_vector(g.scale))));
    if (g.scale == Scale::tensor) rows = 1;
    const std::int64_t blocks = is_block(g.scale) ? ceil_div(g.k, 128) : 1;
    return OperandSpan::of(kSize, {Repeat{rows, kSize * row}, {blocks, kSize * column}, {g.batch, kSize * step}});
  };
  OperandSpans spans{};
  spans.scale_a = scales(ceil_div(g.m, rows_of_scale(g.scale)), g.scale_a_row, g.scale_a_k, g.batch_scale_a);
  spans.scale_b = scales(ceil_div(g.n, columns_of_scale(g.scale)), g.scale_b_n, g.scale_b_k, g.batch_scale_b);
  spans.workspace = OperandSpan::flat(workspace_bytes());
  if (pointers_) return spans;  // the host does not know what arrays of pointers point to
  const std::int64_t columns = config::output_columns(g.epilogue, g.n);
  spans.a = operand(g.a, g.a_major, g.m, g.lda, g.batch_a);
  spans.b = operand(g.b, g.b_major, g.n, g.ldb, g.batch_b);
  spans.d = g.d_layout == OutputLayout::column ? matrix(g.d, columns, g.m, g.ldd, g.batch_d)
                                               : matrix(g.d, g.m, columns, g.ldd, g.batch_d);
  return spans;
}

void GemmAdapter::list_operands(const KernelPointers& operands, const GemmOperands& given, const KGroupPointers& groups,
                                OperandList& list) const {
  list.add_product(operands, spans_, config::swaps(config_));
  list.add_global_scale(given.global_scale);
  if (pointers_)
    for (const MemoryRange& range : pointers_->arrays(given)) list.add(range);
  if (k_groups_)
    for (const MemoryRange& range : memory_of(*k_groups_, groups)) list.add(range);
}

void GemmAdapter::add_memory(const KernelPointers& operands, MemoryRanges& memory) const {
  const bool swaps = config::swaps(config_);
  if (!pointers_) {
    memory.add({swaps ? "b" : "a", operands.a, spans_.a.bytes, false});
    memory.add({swaps ? "a" : "b", operands.b, spans_.b.bytes, false});
    memory.add({"d", operands.d, spans_.d.bytes, true});
  }
  memory.add({swaps ? "scale_b" : "scale_a", operands.scale_a, spans_.scale_a.bytes, false});
  memory.add({swaps ? "scale_a" : "scale_b", operands.scale_b, spans_.scale_b.bytes, false});
  memory.add({"workspace", operands.workspace, static_cast<std::uint64_t>(workspace_.tiles), true, false, true});
  // Partial tiles are of one run; the counter and flags before them hold between runs.
  const auto* const space = static_cast<const std::byte*>(operands.workspace);
  memory.add({"workspace", space ? space + workspace_.tiles : space,
              static_cast<std::uint64_t>(workspace_.bytes - workspace_.tiles), true, true});
}

void GemmAdapter::set_workspace(void* workspace, kernel::GemmParams& params) const {
  auto* const bytes = static_cast<std::byte*>(workspace);
  params.scheduler.work_tile_counter = reinterpret_cast<scheduler::WorkTileCounter*>(bytes);
  params.gemm.partials = {reinterpret_cast<float*>(bytes + workspace_.tiles),
                          reinterpret_cast<u32*>(bytes + workspace_.flags)};
}

Result<void> GemmAdapter::launch_pointers(const GemmOperands& given, runtime::Launch launch, arch::TensorMap* maps,
                                          const config::GemmArguments& gemm) const {
  WW_CHECK(pointers_->launch(device_, given, gemm.a, gemm.b, gemm.d, maps, launch.stream));
  std::vector<MemoryRange> everywhere;
  if (device_.info().emulated) {
    everywhere.assign(launch.memory.begin(), launch.memory.end());
    pointers_->add_memory(given, maps, everywhere);
  }
  launch.memory = everywhere;
  return device_.backend().launch(launch);
}

Result<void> GemmAdapter::run(const GemmOperands& given, Stream stream, const KGroupPointers& groups) const {
  if (!kernel_) return epilogue_.clear_reductions(device_.backend(), given.epilogue, stream);
  WW_CHECK(check_pointers(given));
  KernelPointers operands = kernel_pointers(given, config::swaps(config_));
  // Templates of maps need some address, and none of these is the caller's.
  if (pointers_) operands.a = operands.b = operands.d = operands.workspace;
  kernel::KGroupedParams params = params_;
  if (k_groups_) {
    WW_CHECK(check_groups(*k_groups_, groups));
    params.groups = group_sizes(*k_groups_, groups);
    params.keep_empty = given.epilogue.c == given.d;
  }
  WW_CHECK(encode_maps(operands, params.gemm));
  params.gemm.scale_a = static_cast<const float*>(operands.scale_a);
  params.gemm.scale_b = static_cast<const float*>(operands.scale_b);
  if (workspace_.bytes > 0) set_workspace(operands.workspace, params);

  MemoryRanges memory;
  if (device_.info().emulated) {
    add_memory(operands, memory);
    if (k_groups_)
      for (const MemoryRange& range : memory_of(*k_groups_, groups)) memory.add(range);
  }
  const bool in_place = pointers_ ? given.c_pointers == given.d_pointers : given.epilogue.c == given.d;
  if (!pointers_ && memory.size() != 0) memory[2].unwritten = !in_place;  // D
  auto* const epilogue_space = static_cast<std::byte*>(operands.workspace) + epilogue_offset_;
  OperandList list;
  list_operands(operands, given, groups, list);
  WW_CHECK(epilogue_.bind(given.epilogue, in_place, epilogue_space, params.gemm.epilogue, memory, list));
  WW_CHECK(list.check_apart());

  auto* const maps = reinterpret_cast<arch::TensorMap*>(static_cast<std::byte*>(operands.workspace) + maps_offset_);
  if (pointers_ || group_maps_) params.gemm.maps = maps;
  params.gemm.c_pointers = given.c_pointers;
  if (group_maps_) {
    WW_CHECK(group_maps_->launch(device_, operands.a, operands.b, groups, params.gemm.a, params.gemm.b, maps, stream));
    if (device_.info().emulated) memory.add({"tensor maps", maps, group_maps_->bytes(), true});
  }
  runtime::Launch launch = launch_;
  launch.params = &params;
  kernel::ScaledGemmParams scaled;
  kernel::ScaledKGroupedParams scaled_groups;
  if (config::scales_in_mma(made_)) {
    params.gemm.scale_a = given.global_scale;
    params.gemm.scale_a_batch = 0;  // one factor for all matrices; the scales of each are found by the maps
    if (device_.info().emulated && given.global_scale != nullptr)
      memory.add({"global_scale", given.global_scale, sizeof(float), false});
    config::ScaleMaps& maps_of_scales = k_groups_ ? scaled_groups.scales : scaled.scales;
    WW_CHECK(encode_scales(operands, maps_of_scales));
    if (k_groups_) static_cast<kernel::KGroupedParams&>(scaled_groups) = params, launch.params = &scaled_groups;
    else static_cast<kernel::GemmParams&>(scaled) = params, launch.params = &scaled;
  }
  launch.memory = memory;
  launch.stream = stream;
  return pointers_ ? launch_pointers(given, launch, maps, params.gemm) : device_.backend().launch(launch);
}

}  // namespace ww::adapters
