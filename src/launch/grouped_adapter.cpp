// SPDX-License-Identifier: Apache-2.0
// Tensor maps, grids and parameters of the launches of a grouped product.
#include "launch/grouped_adapter.hpp"

#include <fmt/format.h>

#include <array>

#include "launch/grouped_memory.hpp"
#include "launch/grouped_source.hpp"
#include "launch/operand_maps.hpp"
#include "launch/plan_sources.hpp"
#include "launch/start.hpp"
#include "select/overlap.hpp"
#include "warpwright/arch/common/tensor_map_update.hpp"
#include "warpwright/config/group_encoding.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/token_widths.hpp"
#include "warpwright/core/scale_chunks.hpp"
#include "warpwright/kernel/descriptor_update.hpp"
#include "warpwright/kernel/zero_rows.hpp"
#include "warpwright/scheduler/launch_plan.hpp"

namespace ww::adapters {

using config::GroupedWorkspace;
using runtime::SmemSwizzle;

namespace {

constexpr std::uint64_t kWorkspaceAlignment = 256;
constexpr std::size_t kCounterBytes = round_up(sizeof(GroupedWorkspace), std::size_t{kWorkspaceAlignment});

// Workspace: counters | maps of A and D of every group | list of groups       the latter two for descriptors only
constexpr std::size_t kMapsOffset = kCounterBytes;
std::size_t list_offset(std::int64_t groups) {
  return kMapsOffset + 2 * static_cast<std::size_t>(groups) * arch::tensor_map::kBytes;
}
std::size_t list_bytes(std::int64_t groups) {
  return sizeof(u32) * config::kListedWords * static_cast<std::size_t>(1 + groups);
}
static_assert(sizeof(arch::TensorMap) == arch::tensor_map::kBytes && kMapsOffset % arch::tensor_map::kBytes == 0);

constexpr unsigned kMapOfB = config::kTokenBoxes, kMapOfD = kMapOfB + 1;  // behind those of A
static_assert(kMapOfD < 16, "MapCache: an operand's number fits below an address that is a multiple of 16");

bool uses_descriptors(const GemmConfig& config) { return config.row_groups.variant == GroupedVariant::descriptors; }

static_assert(config::kTokenWidthCount <= config::kWidthClasses);

/// Returns B [G, N, K], or N-major [G, K, N], as a map whose boxes are rows of one group.
runtime::TensorMapSpec weights_map(const GroupedProblem& g, const GemmConfig& c, const void* base) {
  runtime::TensorMapSpec spec = g.b_major == Major::k
                                    ? k_major_map(c, base, g.b, g.n, g.k, g.ldb, c.tile.n / config::slices_of_b(c))
                                    : mn_major_map(c, base, g.b, g.n, g.k, g.ldb);
  spec.rank = 3;
  spec.extent[2] = static_cast<std::uint64_t>(g.groups);
  spec.stride_bytes[2] = static_cast<std::uint64_t>(bytes_in(g.b, g.stride_b_group));
  spec.box[2] = 1;
  return spec;
}

}  // namespace

std::int64_t tile_bound(const GroupedProblem& problem, const GemmConfig& config) {
  // A group of r rows has ceil(r / TILE_M) <= (r + TILE_M - 1) / TILE_M tiles.
  const std::int64_t rows = problem.total_rows();
  const std::int64_t token_tiles = (rows + min(problem.groups, rows) * (config.tile.m - 1)) / config.tile.m;
  return token_tiles * ceil_div(problem.n, config.tile.n);
}

std::int64_t cluster_tile_bound(const GroupedProblem& problem, const GemmConfig& config) {
  // As above, with whole clusters; token tiles of several groups may share one unless the cluster is a pair.
  const std::int64_t ctas = config::ctas_of_mma(config), height = config.tile.m * ctas, rows = problem.total_rows();
  const std::int64_t units = problem.encoding == GroupEncoding::masked
                                 ? problem.groups * ceil_div(problem.rows, height)
                                 : (rows + min(problem.groups, rows) * (height - 1)) / height;
  return ceil_div(units * ctas, std::int64_t{config.cluster.m}) * ceil_div(problem.n, std::int64_t{config.tile.n});
}

Result<std::shared_ptr<const GroupedAdapter>> GroupedAdapter::create(const Device& device,
                                                                     const GroupedProblem& problem,
                                                                     const GemmConfig& config,
                                                                     const GemmOptions& options) {
  std::shared_ptr<GroupedAdapter> adapter(new GroupedAdapter(device, problem, config));
  if (problem.total_rows() == 0 || problem.n == 0) return adapter;
  const int sms = options.sms > 0 ? min(options.sms, device.info().sms) : device.info().sms;
  make_at_once(device.backend(), plan_sources(config, problem));
  if (problem.groups > 0) WW_CHECK(adapter->prepare_product(options, sms));
  if (problem.groups > 0 && uses_descriptors(config)) WW_CHECK(adapter->prepare_update(options, sms));
  if (problem.zero_outside) WW_CHECK(adapter->prepare_zeros(options, sms));
  if (problem.groups > 0) adapter->spans_ = operand_spans(problem, adapter->workspace_bytes());
  return adapter;
}

Result<void> GroupedAdapter::prepare_product(const GemmOptions& options, int sms) {
  const GroupedProblem& g = problem_;
  const GemmConfig& c = config_;
  WW_TRY(product_, device_.backend().kernel(grouped_source(c)));

  config::GroupedArguments& p = arguments_;
  p.ldd = g.ldd;
  p.n = static_cast<i32>(g.n);
  p.k = static_cast<i32>(g.k);
  p.k_blocks = static_cast<i32>(ceil_div(g.k, c.tile.k));
  p.tiles_n = static_cast<i32>(ceil_div(g.n, c.tile.n));
  p.raster = c.raster.width;
  p.scale_a_row = g.scale_a_row;
  p.scale_a_k = g.scale_a_k;
  p.scale_a_group = g.scale == Scale::tensor ? g.scale_a_group : g.scale_a_gap();
  p.scale_b_n = g.scale_b_n;
  p.scale_b_k = g.scale_b_k;
  p.scale_b_group = g.scale_b_group;

  runtime::Launch& launch = product_launch_;
  const int cluster = config::cluster_of(c).size();
  launch.kernel = product_.get();
  launch.cluster = static_cast<std::uint32_t>(cluster);
  launch.threads = static_cast<std::uint32_t>(config::threads_of(c));
  launch.shared_bytes = static_cast<std::uint32_t>(config::grouped_shared_bytes(c));
  launch.params_bytes =
      config::scales_in_mma(c) ? sizeof(kernel::ScaledGroupedParams) : sizeof(config::GroupedArguments);
  launch.cross_cta = c.sm90.tile_scheduler == TileScheduler::dynamic;  // CTAs share the counter of tiles
  // Always with descriptors, because the preceding kernel is their update, which lets this one start early.
  launch.pdl = select::overlaps(options.pdl, select::overlap_pays(g, c, sms)) || uses_descriptors(c);
  launch.grid = launch.cluster;
  launch.params = &p;  // for the query below; run() has its own
  WW_TRY(const int resident, device_.backend().max_active_clusters(launch));
  // Only on the whole device, because fewer CTAs would be spread over more SMs than requested.
  const int ctas = sms < device_.info().sms ? 1 : max(1, c.sm90.occupancy);
  const std::int64_t clusters = config::launches_all_tiles(c)
                                    ? min<std::int64_t>(cluster_tile_bound(g, c), scheduler::kLargestGrid / cluster)
                                    : min<std::int64_t>(tile_bound(g, c), max(1, min(sms / cluster * ctas, resident)));
  launch.grid = static_cast<std::uint32_t>(clusters) * launch.cluster;
  return {};
}

Result<void> GroupedAdapter::prepare_update(const GemmOptions& options, int sms) {
  using kernel::DescriptorUpdate;
  WW_TRY(update_, device_.backend().kernel(descriptor_update_source()));
  runtime::Launch& launch = update_launch_;
  launch.kernel = update_.get();
  launch.threads = DescriptorUpdate::kThreads;
  launch.shared_bytes = static_cast<std::uint32_t>(DescriptorUpdate::shared_bytes(static_cast<int>(problem_.groups)));
  launch.params_bytes = sizeof(kernel::DescriptorUpdateArguments);
  launch.pdl = select::overlaps(options.pdl, select::overlap_pays(problem_, config_, sms));
  launch.grid = static_cast<std::uint32_t>(
      min<std::int64_t>(sms, ceil_div(problem_.groups, std::int64_t{DescriptorUpdate::kGroupsAtOnce})));
  return {};
}

Result<void> GroupedAdapter::prepare_zeros(const GemmOptions& options, int sms) {
  WW_TRY(zeros_, device_.backend().kernel(zero_rows_source()));
  runtime::Launch& launch = zeros_launch_;
  launch.kernel = zeros_.get();
  launch.threads = kernel::ZeroRows::kThreads;
  launch.shared_bytes = static_cast<std::uint32_t>(kernel::ZeroRows::shared_bytes(static_cast<int>(problem_.groups)));
  launch.params_bytes = sizeof(kernel::ZeroRowsArguments);
  launch.pdl = select::overlaps(options.pdl, select::overlap_pays(problem_, config_, sms));
  launch.grid = static_cast<std::uint32_t>(
      min<std::int64_t>(sms, ceil_div(problem_.total_rows(), std::int64_t{kernel::ZeroRows::kWarps})));
  return {};
}

std::size_t GroupedAdapter::workspace_bytes() const {
  if (!uses_descriptors(config_)) return kCounterBytes;
  return round_up(list_offset(problem_.groups) + list_bytes(problem_.groups), std::size_t{kWorkspaceAlignment});
}

Result<void> GroupedAdapter::check_sizes(const GroupedOperands& operands) const {
  if (problem_.groups == 0) return {};
  WW_CHECK(check_pointer("sizes", operands.sizes, alignof(std::int32_t)));
  if (problem_.encoding == GroupEncoding::starts_counts)
    WW_CHECK(check_pointer("sizes2", operands.sizes2, alignof(std::int32_t)));
  if (operands.status != nullptr) WW_CHECK(check_pointer("status", operands.status, alignof(std::uint32_t)));
  return {};
}

Result<void> GroupedAdapter::check_workspace(const GroupedOperands& operands) const {
  WW_CHECK(check_pointer("workspace", operands.workspace, kWorkspaceAlignment));
  if (operands.workspace_bytes < workspace_bytes())
    return failure(ErrorCode::invalid, "workspace_bytes", fmt::format("at least {}", workspace_bytes()),
                   fmt::format("{}", operands.workspace_bytes));
  return {};
}

Result<void> GroupedAdapter::check_product(const GroupedOperands& operands) const {
  if (problem_.scale != Scale::nv) WW_CHECK(check_global_scale(operands.global_scale));
  else if (operands.global_scale != nullptr)
    WW_CHECK(check_pointer("global_scale", operands.global_scale, alignof(float)));
  WW_CHECK(check_workspace(operands));
  if (problem_.k == 0) return {};
  WW_CHECK(check_pointer("a", operands.a, alignment_of(config_, problem_.a)));
  WW_CHECK(check_pointer("b", operands.b, alignment_of(config_, problem_.b)));
  if (problem_.scale != Scale::none) {
    const std::uint64_t alignment = is_microscaled(problem_.scale) ? kMapAlignment : alignof(float);
    WW_CHECK(check_pointer("scale_a", operands.scale_a, alignment));
    WW_CHECK(check_pointer("scale_b", operands.scale_b, alignment));
  }
  return {};
}

config::GroupSizes GroupedAdapter::group_sizes(const GroupedOperands& operands) const {
  const GroupedProblem& g = problem_;
  const bool masked = g.encoding == GroupEncoding::masked;
  config::GroupSizes sizes{};
  sizes.encoding = g.groups > 0 ? g.encoding : GroupEncoding::offsets;  // without groups, row ids would be read
  sizes.groups = static_cast<i32>(g.groups);
  sizes.rows = static_cast<i32>(g.total_rows());
  sizes.alignment = static_cast<i32>(masked ? g.rows : g.alignment);
  sizes.sizes = operands.sizes;
  sizes.sizes2 = operands.sizes2;
  sizes.status = operands.status;
  return sizes;
}

Result<void> GroupedAdapter::encode_maps(const GroupedOperands& operands, config::GroupedArguments& arguments) const {
  runtime::Backend& backend = device_.backend();
  const GroupedProblem& g = problem_;
  const GemmConfig& c = config_;
  const bool ragged = c.row_groups.variant == GroupedVariant::ragged;
  MapCache::Run maps(maps_);
  const auto tokens = [&](int box_rows) {
    return backend.encode(k_major_map(c, operands.a, g.a, g.total_rows(), g.k, g.lda, box_rows));
  };
  if (g.k > 0) {  // a tensor map cannot have empty extents, and without K nothing is loaded
    // contiguous, masked: a whole tile, and the rows of one consumer warpgroup for tiles that end early.
    const int boxes = ragged ? config::kTokenBoxes : uses_descriptors(c) || !config::loads_parts(c) ? 1 : 2;
    for (int box = 0; box < boxes; ++box) {
      const int rows = ragged     ? config::token_box_rows(box)
                       : box == 0 ? c.tile.m
                                  : c.tile.m / c.sm90.consumer_warpgroups;
      WW_CHECK(maps.get(static_cast<unsigned>(box), operands.a, arguments.a[box], [&] { return tokens(rows); }));
    }
    WW_CHECK(maps.get(kMapOfB, operands.b, arguments.b, [&] { return backend.encode(weights_map(g, c, operands.b)); }));
  }
  if (!ragged) {
    const int panel = uses_descriptors(c) ? config::kRowBytes : config::panel_bytes(c);
    const int rows = uses_descriptors(c) ? c.tile.m : config::kWarpgroupRows;
    const std::int64_t columns = config::output_columns(g.epilogue, g.n);
    WW_CHECK(maps.get(kMapOfD, operands.d, arguments.d, [&] {
      const DType type = config::stored_type(g.d);
      const int packed = config::packed_columns(g.d);
      return backend.encode(TensorMapSpec::matrix(operands.d, type, g.total_rows(), columns / packed, g.ldd / packed,
                                                  rows, panel / bytes_of(type), panel_swizzle(panel)));
    }));
  }
  return {};
}

Result<void> GroupedAdapter::encode_scales(const GroupedOperands& operands, config::ScaleMaps& maps) const {
  const GroupedProblem& g = problem_;
  if (g.k == 0) return {};
  const bool masked = g.encoding == GroupEncoding::masked;
  const i64 chunks = scale_chunks(g.k, scale_vector(g.scale)), block_bytes = chunks * kScaleChunkBytes;
  const int box_chunks = config::scale_chunks_of_k(config_);
  const auto blocks_of = [](i64 rows) { return ceil_div(rows, i64{kScaleChunkRows}); };
  maps.blocks_a = masked ? static_cast<i32>(g.scale_a_group / block_bytes) : 0;
  maps.blocks_b = static_cast<i32>(g.scale_b_group / block_bytes);
  const i64 blocks_a =
      masked ? (g.groups - 1) * maps.blocks_a + blocks_of(g.rows) : most_scale_blocks(g.rows, g.groups);
  const i64 blocks_b = (g.groups - 1) * maps.blocks_b + blocks_of(g.n);
  WW_TRY(maps.a, device_.backend().encode(scale_map(operands.scale_a, blocks_a, chunks, 1, box_chunks)));
  WW_TRY(maps.b, device_.backend().encode(
                     scale_map(operands.scale_b, blocks_b, chunks, config::chunk_blocks_of_load(config_), box_chunks)));
  return {};
}

config::GroupDescriptors GroupedAdapter::descriptors(const GroupedOperands& operands) const {
  char* const workspace = static_cast<char*>(operands.workspace);
  return {reinterpret_cast<arch::TensorMap*>(workspace + kMapsOffset),
          reinterpret_cast<u32*>(workspace + list_offset(problem_.groups))};
}

Result<void> GroupedAdapter::launch_update(const config::GroupedArguments& product, const GroupedOperands& operands,
                                           Stream stream) const {
  kernel::DescriptorUpdateArguments arguments{};
  arguments.a = product.a[0];
  arguments.d = product.d;
  arguments.a_rows = problem_.k > 0 ? operands.a : nullptr;
  arguments.d_rows = operands.d;
  arguments.a_stride_bytes = problem_.lda * bytes_of(problem_.a);
  arguments.d_stride_bytes = problem_.ldd * bytes_of(problem_.d);
  arguments.tile_m = config_.tile.m;
  arguments.groups = product.groups;
  arguments.descriptors = product.descriptors;

  const auto memory = update_memory(problem_, operands, workspace_bytes());
  return start(device_, update_launch_, &arguments, memory, stream);
}

Result<void> GroupedAdapter::launch_product(const GroupedOperands& operands, const config::EpilogueArguments& epilogue,
                                            const MemoryRanges& memory, Stream stream) const {
  kernel::ScaledGroupedParams arguments{arguments_, {}};
  WW_CHECK(encode_maps(operands, arguments));
  arguments.epilogue = epilogue;
  arguments.d_rows = operands.d;
  arguments.scale_a = static_cast<const float*>(operands.scale_a);
  arguments.scale_b = static_cast<const float*>(operands.scale_b);
  if (config::scales_in_mma(config_)) {
    WW_CHECK(encode_scales(operands, arguments.scales));
    arguments.scale_a = operands.global_scale;
  }
  arguments.groups = group_sizes(operands);
  arguments.workspace = static_cast<GroupedWorkspace*>(operands.workspace);
  if (update_) {
    arguments.descriptors = descriptors(operands);
    WW_CHECK(launch_update(arguments, operands, stream));
  }

  return start(device_, product_launch_, &arguments, memory, stream);
}

Result<void> GroupedAdapter::launch_zeros(const GroupedOperands& operands, Stream stream) const {
  kernel::ZeroRowsArguments arguments{};
  arguments.d = operands.d;
  arguments.stride_bytes = bytes_in(problem_.d, problem_.ldd);
  arguments.row_bytes = bytes_in(problem_.d, config::output_columns(problem_.epilogue, problem_.n));
  arguments.groups = group_sizes(operands);
  arguments.groups.status = nullptr;  // the product reports

  const auto memory = zeros_memory(problem_, operands);
  return start(device_, zeros_launch_, &arguments, memory, stream);
}

Result<void> GroupedAdapter::run(const GroupedOperands& operands, Stream stream) const {
  if (!product_ && !zeros_) return {};
  WW_CHECK(check_pointer("d", operands.d, kMapAlignment));
  WW_CHECK(check_sizes(operands));
  config::EpilogueArguments epilogue{};
  MemoryRanges memory;
  if (product_) {
    WW_CHECK(check_product(operands));
    if (device_.info().emulated) {
      add_product_memory(problem_, operands, spans_, memory);
      memory[2].unwritten = operands.epilogue.c != operands.d;  // D
    }
    OperandList list;
    list.add_product(operands, spans_);
    list.add_global_scale(operands.global_scale);
    for (const MemoryRange& range : group_memory(problem_, operands)) list.add(range);
    WW_CHECK(epilogue_.bind(operands.epilogue, operands.epilogue.c == operands.d, nullptr, epilogue, memory, list));
    WW_CHECK(list.check_apart());
  }
  // Zeros first, so that statistics and reports of a run are those of the product.
  if (zeros_) WW_CHECK(launch_zeros(operands, stream));
  if (product_) WW_CHECK(launch_product(operands, epilogue, memory, stream));
  return {};
}

Result<std::vector<TileWidth>> GroupedAdapter::widths(const void* workspace) const {
  std::vector<TileWidth> widths;
  if (!product_ || config_.row_groups.variant != GroupedVariant::ragged) return widths;
  WW_CHECK(check_pointer("workspace", workspace, kWorkspaceAlignment));
  GroupedWorkspace counted;
  WW_CHECK(device_.download(&counted, workspace, sizeof counted));
  for (int i = 0; i < config::kTokenWidthCount; ++i) {
    const config::TokenWidth shape = config::token_shape(i);
    if (counted.widths[i] > 0) widths.push_back({shape.width, shape.swapped, counted.widths[i]});
  }
  return widths;
}

}  // namespace ww::adapters
