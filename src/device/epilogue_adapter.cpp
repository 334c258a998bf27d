// SPDX-License-Identifier: Apache-2.0
// Operands are visited node by node; one that is named twice is bound twice, which changes nothing.
//   workspace: row partials | column partials | amax partials | counters of rows, columns and amax
#include "device/epilogue_adapter.hpp"

#include <fmt/format.h>

#include "device/operand_maps.hpp"
#include "warpwright/collective/builder.hpp"

namespace ww::device {
namespace {

using runtime::MemoryRange;

// why literals: ranges keep the pointer
constexpr const char* kRowNames[] = {"bias", "row1", "row2", "row3"};
constexpr const char* kColumnNames[] = {"col0", "col1", "col2", "col3"};
constexpr const char* kAuxiliaryNames[] = {"aux0", "aux1", "aux2", "aux3"};
constexpr const char* kOutNames[] = {"out0", "out1", "out2", "out3"};
constexpr const char* kScalarNames[] = {"alpha", "beta", "scalar2", "scalar3"};

/// Floats and counters that the reductions of a tree keep between tiles.
struct Partials {
  std::int64_t rows = 0, columns = 0, amax = 0;                          // floats
  std::int64_t row_counters = 0, column_counters = 0, amax_counter = 0;  // words
  std::int64_t words() const { return rows + columns + amax + row_counters + column_counters + amax_counter; }
};

Partials partials_of(const GemmProblem& p, const GemmConfig& c) {
  std::int64_t rows = 0, columns = 0;
  for (int i = 0; i < c.epilogue.size(); ++i) {
    rows += collective::is_row_reduction(c.epilogue.node(i).op);
    columns += collective::is_column_reduction(c.epilogue.node(i).op);
  }
  const std::int64_t tiles_m = ceil_div(p.m, c.tile_m), tiles_n = ceil_div(p.n, c.tile_n);
  const std::int64_t warps = tiles_m * 4 * collective::warpgroups_of_tile(c);
  Partials made;
  if (rows > 0) made.rows = rows * tiles_n * p.m, made.row_counters = warps;
  if (columns > 0) made.columns = columns * warps * p.n, made.column_counters = tiles_n;
  if (c.epilogue.has(EpilogueOp::quantise)) made.amax = warps * tiles_n, made.amax_counter = 1;
  return made;
}

/// (M, N) in memory: two neighbouring elements are moved at once, so rows start at even elements.
Result<i64> bind_matrix(const GemmProblem& p, const char* name, const void* base, std::int64_t ld, DType type,
                        bool writable, MemoryRanges& memory) {
  if (ld == 0) ld = p.n;
  WW_CHECK(check_pointer(name, base, 2 * bytes_of(type)));
  if (ld < p.n || ld % 2 != 0)
    return failure(ErrorCode::invalid, fmt::format("{} (row stride)", name),
                   fmt::format("an even number of at least N = {} elements", p.n), fmt::format("{}", ld));
  memory.add({name, base, span_bytes(p.m, p.n, ld, bytes_of(type)), writable});
  return i64{ld};
}

Result<void> bind_vector(const char* name, const void* base, std::int64_t count, DType type, int alignment,
                         bool writable, MemoryRanges& memory) {
  WW_CHECK(check_pointer(name, base, alignment));
  memory.add({name, base, static_cast<std::uint64_t>(count) * bytes_of(type), writable});
  return {};
}

Result<void> bind_scalar(int slot, const EpilogueOperands& from, collective::EpilogueArguments& to,
                         MemoryRanges& memory) {
  to.scalar[slot] = from.scalar[slot];
  to.scalar_pointer[slot] = from.scalar_pointer[slot];
  if (!from.scalar_pointer[slot]) return {};
  return bind_vector(kScalarNames[slot], from.scalar_pointer[slot], 1, f32, 4, false, memory);
}

Result<void> bind_quantised(const GemmProblem& p, const EpilogueOperands& from, EpilogueOp op,
                            collective::EpilogueArguments& to, MemoryRanges& memory) {
  if (op == EpilogueOp::quantise) {
    WW_CHECK(bind_scalar(kScalarOutScale, from, to, memory));
    to.amax = from.amax;
    return bind_vector("amax", from.amax, 1, f32, 4, true, memory);
  }
  const std::int64_t blocks = ceil_div(collective::output_columns(p.epilogue, p.n), 128);
  std::int64_t row = from.out_scales_row, block = from.out_scales_block;
  if (row == 0 && block == 0) row = blocks, block = 1;
  if (row < 0 || block < 0)
    return failure(ErrorCode::invalid, "out_scales (strides)", "at least 0", fmt::format("{}, {}", row, block));
  to.out_scales = from.out_scales, to.out_scales_row = row, to.out_scales_block = block;
  return bind_vector("out_scales", from.out_scales, (p.m - 1) * row + (blocks - 1) * block + 1, f32, 4, true, memory);
}

Result<void> bind_node(const GemmProblem& p, const EpilogueNode& node, const EpilogueOperands& from,
                       collective::EpilogueArguments& to, MemoryRanges& memory) {
  const int slot = node.slot;
  if (node.op == EpilogueOp::scalar) return bind_scalar(slot, from, to, memory);
  if (node.op == EpilogueOp::c) {
    to.c = from.c;
    WW_TRY(to.ldc, bind_matrix(p, "c", from.c, from.ldc, node.type, false, memory));
  } else if (node.op == EpilogueOp::row_vector) {
    to.row_vector[slot] = from.row_vector[slot];
    return bind_vector(kRowNames[slot], from.row_vector[slot], p.n, node.type, 2 * bytes_of(node.type), false, memory);
  } else if (node.op == EpilogueOp::column_vector) {
    to.column_vector[slot] = from.column_vector[slot];
    return bind_vector(kColumnNames[slot], from.column_vector[slot], p.m, f32, 4, false, memory);
  } else if (node.op == EpilogueOp::auxiliary) {
    to.auxiliary[slot] = from.auxiliary[slot];
    WW_TRY(to.ld_auxiliary[slot], bind_matrix(p, kAuxiliaryNames[slot], from.auxiliary[slot], from.ld_auxiliary[slot],
                                              node.type, false, memory));
  } else if (node.op == EpilogueOp::store) {
    to.out[slot] = from.out[slot];
    WW_TRY(to.ld_out[slot],
           bind_matrix(p, kOutNames[slot], from.out[slot], from.ld_out[slot], node.type, true, memory));
  }
  if (collective::is_reduction(node.op)) {
    to.out[slot] = from.out[slot];
    return bind_vector(kOutNames[slot], from.out[slot], collective::is_row_reduction(node.op) ? p.m : p.n, f32, 4, true,
                       memory);
  }
  if (collective::is_quantise(node.op)) return bind_quantised(p, from, node.op, to, memory);
  return {};
}

/// False for a node that an earlier one has bound.
bool is_first(const EpilogueTree& tree, int at) {
  for (int i = 0; i < at; ++i)
    if (tree.node(i) == tree.node(at)) return false;
  return true;
}

}  // namespace

std::size_t epilogue_workspace(const GemmProblem& problem, const GemmConfig& config) {
  if (problem.m == 0 || problem.n == 0) return 0;
  return static_cast<std::size_t>(partials_of(problem, config).words()) * 4;
}

Result<void> bind_epilogue(const GemmProblem& problem, const GemmConfig& config, const EpilogueOperands& operands,
                           void* workspace, collective::EpilogueArguments& arguments, MemoryRanges& memory) {
  const EpilogueTree& tree = config.epilogue;
  for (int i = 0; i < tree.size(); ++i)
    if (is_first(tree, i)) WW_CHECK(bind_node(problem, tree.node(i), operands, arguments, memory));
  const Partials partials = partials_of(problem, config);
  if (partials.words() == 0) return {};
  WW_CHECK(check_pointer("workspace", workspace, 4));
  auto* floats = static_cast<float*>(workspace);
  arguments.row_partials = floats, floats += partials.rows;
  arguments.column_partials = floats, floats += partials.columns;
  arguments.amax_partials = floats, floats += partials.amax;
  auto* counters = reinterpret_cast<u32*>(floats);
  arguments.row_counters = counters, counters += partials.row_counters;
  arguments.column_counters = counters, counters += partials.column_counters;
  arguments.amax_counter = counters;
  memory.add({"workspace of the epilogue", workspace, static_cast<std::uint64_t>(partials.words()) * 4, true});
  return {};
}

}  // namespace ww::device
