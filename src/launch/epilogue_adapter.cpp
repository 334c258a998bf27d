// SPDX-License-Identifier: Apache-2.0
// Operands are bound node by node; one that is named twice is bound once.
//   workspace: row partials | column partials | amax partials | counters of rows, columns and amax; in a batch, each of
//   them is one set for each matrix
#include "launch/epilogue_adapter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "launch/operand_maps.hpp"
#include "select/swap_ab.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::adapters {
namespace {

using runtime::MemoryRange;

// Literals, because memory ranges keep the pointer.
constexpr const char* kRowNames[] = {"bias", "row1", "row2", "row3"};
constexpr const char* kColumnNames[] = {"col0", "col1", "col2", "col3"};
constexpr const char* kAuxiliaryNames[] = {"aux0", "aux1", "aux2", "aux3"};
constexpr const char* kOutNames[] = {"out0", "out1", "out2", "out3"};
constexpr const char* kScalarNames[] = {"alpha", "beta", "scalar2", "scalar3"};

/// `p` and `c` are the kernel's.
EpiloguePartials partials_of(const GemmProblem& p, const GemmConfig& c) {
  EpiloguePartials made;
  if (p.m == 0 || p.n == 0) return made;
  std::int64_t rows = 0, columns = 0;
  for (int i = 0; i < c.epilogue.size(); ++i) {
    rows += config::is_row_reduction(c.epilogue.node(i).op);
    columns += config::is_column_reduction(c.epilogue.node(i).op);
  }
  const std::int64_t tiles_m = ceil_div(p.m, c.tile.m), tiles_n = ceil_div(p.n, c.tile.n);
  const std::int64_t warps = tiles_m * 4 * config::warpgroups_of_tile(c);
  if (rows > 0) made.rows = rows * tiles_n * p.m, made.row_counters = warps;
  if (columns > 0) made.columns = columns * warps * p.n, made.column_counters = tiles_n;
  if (c.epilogue.has(EpilogueOp::quantise)) made.amax = warps * tiles_n, made.amax_counter = 1;
  return made;
}

/// The elements of one matrix of an operand: a run, which may repeat. A vector is one run.
struct Elements {
  std::int64_t run;
  Repeat rows{1, 0}, columns{1, 0};  // strides in elements
  /// Returns the elements from the first to the last.
  std::int64_t extent() const { return run + (rows.count - 1) * rows.stride + (columns.count - 1) * columns.stride; }
};

/// What receives the operands of the nodes.
struct BoundOperands {
  MemoryRanges& memory;
  OperandList& list;
};

/// Returns the bytes from one matrix of a batch to the next, of `elements` each. Inputs may be shared (0); outputs are
/// then packed and never overlap.
Result<std::int64_t> step_of(const GemmProblem& p, const char* name, std::int64_t elements, std::int64_t stride,
                             DType type, int alignment, bool writable) {
  const int size = bytes_of(type);
  if (p.batch > 1 && writable && stride == 0) stride = round_up<std::int64_t>(elements, alignment / size);
  std::int64_t last = 0;
  if (stride < 0 || stride * size % alignment != 0 || (writable && p.batch > 1 && stride < elements) ||
      __builtin_mul_overflow(max<std::int64_t>(p.batch - 1, 0), stride, &last) || last > (std::int64_t{1} << 56))
    return failure(ErrorCode::invalid, fmt::format("{} (batch stride)", name),
                   fmt::format("a multiple of {} elements{}", alignment / size,
                               writable ? fmt::format(", at least the {} of one matrix", elements) : ", at least 0"),
                   fmt::format("{}", stride));
  return p.batch > 1 ? stride * size : 0;
}

/// What a launch passes for one operand of a tree.
struct Operand {
  const char* name;
  const void* base;
  std::int64_t stride;  // of a batch
  DType type;
  int alignment;  // in bytes
  bool writable;
  bool is_d = false;  // C in place: D stands for it where overlaps are looked for
};

/// Binds `elements` of each matrix; `step` receives the distance between matrices.
Result<void> bind(const GemmProblem& p, const Operand& operand, const Elements& elements, i64& step,
                  BoundOperands& to) {
  WW_CHECK(check_pointer(operand.name, operand.base, operand.alignment));
  WW_TRY(step, step_of(p, operand.name, elements.extent(), operand.stride, operand.type, operand.alignment,
                       operand.writable));
  const std::int64_t size = bytes_of(operand.type);
  const auto in_bytes = [size](const Repeat& repeat) { return Repeat{repeat.count, size * repeat.stride}; };
  const OperandSpan span = OperandSpan::of(
      size * elements.run, {in_bytes(elements.rows), in_bytes(elements.columns), Repeat{max<i64>(p.batch, 1), step}});
  to.memory.add({operand.name, operand.base, span.bytes, operand.writable});
  if (!operand.is_d) to.list.add(operand.name, operand.base, span, operand.writable);
  return {};
}

bool by_column(const GemmProblem& p) { return p.c_layout == OutputLayout::column; }

/// Checks rows of (M, N) in memory: two neighbouring elements are moved at once, so rows start at even ones. (N, M) is
/// moved one at a time.
Result<void> check_row(const GemmProblem& p, const char* name, std::int64_t ld, i64& row) {
  const std::int64_t width = by_column(p) ? p.m : p.n;
  if (ld == 0) ld = width;
  if (ld < width || (!by_column(p) && ld % 2 != 0))
    return failure(ErrorCode::invalid, fmt::format("{} ({} stride)", name, by_column(p) ? "column" : "row"),
                   by_column(p) ? fmt::format("at least M = {} elements", width)
                                : fmt::format("an even number of at least N = {} elements", width),
                   fmt::format("{}", ld));
  row = ld;
  return {};
}

Result<void> bind_matrix(const GemmProblem& p, const Operand& operand, std::int64_t ld, i64& row, i64& step,
                         BoundOperands& to) {
  WW_CHECK(check_row(p, operand.name, ld, row));
  return bind(p, operand, by_column(p) ? Elements{p.m, {p.n, row}} : Elements{p.n, {p.m, row}}, step, to);
}

/// Checks C in place: the thread that reads it then writes D, so each element must have the same memory.
Result<void> check_in_place(const GemmProblem& p, const EpilogueNode& node, const EpilogueOperands& from,
                            std::int64_t ldc) {
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  if (columns != p.n)
    return failure(ErrorCode::invalid, "c", fmt::format("another matrix than D, which has {} columns", columns),
                   fmt::format("D itself, with {} columns", p.n));
  const bool strided = p.batch > 1 && !p.pointer_array;
  if (node.type == p.d && p.c_layout == p.d_layout && ldc == p.ldd && (!strided || from.batch_c == p.batch_d))
    return {};
  const auto place = [&](DType type, OutputLayout layout, std::int64_t ld, std::int64_t batch) {
    return fmt::format("{} by {}, {} elements apart{}", name_of(type), name_of(layout), ld,
                       strided ? fmt::format(", matrices {} apart", batch) : "");
  };
  return failure(ErrorCode::invalid, "c", place(p.d, p.d_layout, p.ldd, p.batch_d) + ", because C is D",
                 place(node.type, p.c_layout, ldc, from.batch_c));
}

Result<void> bind_scalar(const GemmProblem& p, int slot, const EpilogueOperands& from, config::EpilogueArguments& to,
                         BoundOperands& bound) {
  to.scalar[slot] = from.scalar[slot];
  to.scalar_pointer[slot] = from.scalar_pointer[slot];
  if (!from.scalar_pointer[slot]) return {};
  return bind(p, {kScalarNames[slot], from.scalar_pointer[slot], from.batch_scalar[slot], f32, 4, false}, Elements{1},
              to.steps.scalar[slot], bound);
}

/// Binds the scales of D, `blocks` times 128 rows of each matrix.
Result<void> bind_chunks(const GemmProblem& p, const EpilogueOperands& from, EpilogueOp op, std::int64_t blocks,
                         config::EpilogueArguments& to, BoundOperands& bound) {
  if (op == EpilogueOp::quantise_nv) WW_CHECK(bind_scalar(p, kScalarOutScale, from, to, bound));
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  const std::int64_t chunks = scale_chunks(columns, config::columns_of_out_scale(op));
  to.out_scales = static_cast<float*>(from.out_scale_chunks);  // the kernel writes bytes
  return bind(p, {"out_scale_chunks", from.out_scale_chunks, from.batch_out_scale_chunks, DType::e8m0, 16, true},
              Elements{blocks * chunks * kScaleChunkBytes}, to.steps.out_scales, bound);
}

Result<void> bind_quantised(const GemmProblem& p, const EpilogueOperands& from, EpilogueOp op,
                            config::EpilogueArguments& to, BoundOperands& bound) {
  if (op == EpilogueOp::quantise) {
    WW_CHECK(bind_scalar(p, kScalarOutScale, from, to, bound));
    to.amax = from.amax;
    return bind(p, {"amax", from.amax, from.batch_amax, f32, 4, true}, Elements{1}, to.steps.amax, bound);
  }
  const std::int64_t blocks = ceil_div(config::output_columns(p.epilogue, p.n), 128);
  std::int64_t row = from.out_scales_row, block = from.out_scales_block;
  if (row == 0 && block == 0) row = blocks, block = 1;
  if (row < 0 || block < 0)
    return failure(ErrorCode::invalid, "out_scales (strides)", "at least 0", fmt::format("{}, {}", row, block));
  to.out_scales = from.out_scales, to.out_scales_row = row, to.out_scales_block = block;
  return bind(p, {"out_scales", from.out_scales, from.batch_out_scales, f32, 4, true},
              Elements{1, {p.m, row}, {blocks, block}}, to.steps.out_scales, bound);
}

/// `in_place`: C is D.
Result<void> bind_node(const GemmProblem& p, const EpilogueNode& node, const EpilogueOperands& from, bool in_place,
                       std::int64_t scale_blocks, config::EpilogueArguments& to, BoundOperands& bound) {
  const int slot = node.slot, two = 2 * bytes_of(node.type);
  config::EpilogueSteps& steps = to.steps;
  if (node.op == EpilogueOp::scalar) return bind_scalar(p, slot, from, to, bound);
  // each has its own address
  if (node.op == EpilogueOp::c && p.pointer_array) return check_row(p, "c", from.ldc, to.ldc);
  if (node.op == EpilogueOp::c) {
    to.c = from.c;
    return bind_matrix(p, {"c", from.c, from.batch_c, node.type, two, false, in_place}, from.ldc, to.ldc, steps.c,
                       bound);
  }
  if (node.op == EpilogueOp::row_vector) {
    to.row_vector[slot] = from.row_vector[slot];
    return bind(p, {kRowNames[slot], from.row_vector[slot], from.batch_row_vector[slot], node.type, two, false},
                Elements{p.n}, steps.row_vector[slot], bound);
  }
  if (node.op == EpilogueOp::column_vector) {
    to.column_vector[slot] = from.column_vector[slot];
    return bind(p, {kColumnNames[slot], from.column_vector[slot], from.batch_column_vector[slot], f32, 4, false},
                Elements{p.m}, steps.column_vector[slot], bound);
  }
  if (node.op == EpilogueOp::auxiliary) {
    to.auxiliary[slot] = from.auxiliary[slot];
    return bind_matrix(p,
                       {kAuxiliaryNames[slot], from.auxiliary[slot], from.batch_auxiliary[slot], node.type, two, false},
                       from.ld_auxiliary[slot], to.ld_auxiliary[slot], steps.auxiliary[slot], bound);
  }
  if (node.op == EpilogueOp::store) {
    to.out[slot] = from.out[slot];
    return bind_matrix(p, {kOutNames[slot], from.out[slot], from.batch_out[slot], node.type, two, true},
                       from.ld_out[slot], to.ld_out[slot], steps.out[slot], bound);
  }
  if (config::is_reduction(node.op)) {
    to.out[slot] = from.out[slot];
    return bind(p, {kOutNames[slot], from.out[slot], from.batch_out[slot], f32, 4, true},
                Elements{config::is_row_reduction(node.op) ? p.m : p.n}, steps.out[slot], bound);
  }
  if (config::is_microscale(node.op)) return bind_chunks(p, from, node.op, scale_blocks, to, bound);
  if (config::is_quantise(node.op)) return bind_quantised(p, from, node.op, to, bound);
  return {};
}

/// Exchanges the kernel's row vectors and column vectors.
void exchange_vectors(config::EpilogueArguments& arguments) {
  for (int i = 0; i < kEpilogueSlots; ++i) {
    std::swap(arguments.row_vector[i], arguments.column_vector[i]);
    std::swap(arguments.steps.row_vector[i], arguments.steps.column_vector[i]);
  }
}

/// Returns the nodes of `tree` for which a launch has operands; one that is named twice appears once.
std::vector<EpilogueNode> operand_nodes(const EpilogueTree& tree) {
  std::vector<EpilogueNode> nodes;
  for (int i = 0; i < tree.size(); ++i) {
    const EpilogueNode node = tree.node(i);
    const bool loads = node.op >= EpilogueOp::scalar && node.op <= EpilogueOp::auxiliary;
    const bool known = std::find(nodes.begin(), nodes.end(), node) != nodes.end();
    if (!known && (loads || config::is_output(node.op) || config::is_quantise(node.op))) nodes.push_back(node);
  }
  return nodes;
}

/// Refuses steps between groups for operands that have the rows of D.
Result<void> check_no_steps(const EpilogueOperands& operands) {
  const auto refuse = [](const char* name, std::int64_t step) -> Result<void> {
    if (step == 0) return {};
    return failure(ErrorCode::invalid, fmt::format("{} (batch stride)", name),
                   "0 with groups of rows: it has the rows of D, all groups in one tensor", fmt::format("{}", step));
  };
  WW_CHECK(refuse("c", operands.batch_c));
  WW_CHECK(refuse("out_scales", operands.batch_out_scales));
  WW_CHECK(refuse("out_scale_chunks", operands.batch_out_scale_chunks));
  for (int i = 0; i < kEpilogueSlots; ++i) {
    WW_CHECK(refuse(kColumnNames[i], operands.batch_column_vector[i]));
    WW_CHECK(refuse(kAuxiliaryNames[i], operands.batch_auxiliary[i]));
    WW_CHECK(refuse(kOutNames[i], operands.batch_out[i]));
  }
  return {};
}

}  // namespace

EpilogueAdapter::EpilogueAdapter(const GemmProblem& problem, const GemmConfig& config)
    : rows_(problem),
      groups_(problem),
      nodes_(operand_nodes(config.epilogue)),
      partials_(partials_of(select::kernel_problem(problem, config), config::kernel_config(config))),
      swaps_(config::swaps(config)),
      scale_blocks_(ceil_div(problem.m, std::int64_t{kScaleChunkRows})) {}

EpilogueAdapter::EpilogueAdapter(const GroupedProblem& problem)
    : rows_{.m = problem.total_rows(), .n = problem.n, .d = problem.d},
      nodes_(operand_nodes(problem.epilogue)),
      grouped_(!problem.epilogue.empty()) {
  rows_.ldd = problem.ldd;
  rows_.epilogue = problem.epilogue;
  groups_ = rows_;
  groups_.batch = problem.groups;
  scale_blocks_ = problem.encoding == GroupEncoding::masked
                      ? problem.groups * ceil_div(problem.rows, std::int64_t{kScaleChunkRows})
                      : most_scale_blocks(problem.rows, problem.groups);
}

std::size_t EpilogueAdapter::workspace_bytes() const {
  return static_cast<std::size_t>(rows_.batch * partials_.words()) * 4;
}

Result<void> EpilogueAdapter::bind_nodes(const EpilogueOperands& operands, bool in_place, void* workspace,
                                         config::EpilogueArguments& arguments, MemoryRanges& memory,
                                         OperandList& list) const {
  if (grouped_) WW_CHECK(check_no_steps(operands));
  BoundOperands bound{memory, list};
  for (const EpilogueNode& node : nodes_) {
    const bool of_group = node.op == EpilogueOp::row_vector || node.op == EpilogueOp::scalar;
    WW_CHECK(bind_node(of_group ? groups_ : rows_, node, operands, in_place, scale_blocks_, arguments, bound));
    if (in_place && node.op == EpilogueOp::c) WW_CHECK(check_in_place(rows_, node, operands, arguments.ldc));
  }
  if (swaps_) exchange_vectors(arguments);
  return partials_.words() == 0 ? Result<void>() : bind_partials(workspace, arguments, memory);
}

Result<void> EpilogueAdapter::clear_reductions(runtime::Backend& backend, const EpilogueOperands& operands,
                                               Stream stream) const {
  MemoryRanges memory;
  OperandList list;
  BoundOperands bound{memory, list};
  config::EpilogueArguments arguments{};
  const auto elements_of = [&](const EpilogueNode& node) -> std::int64_t {
    if (node.op == EpilogueOp::quantise) return rows_.batch == 0 ? 0 : 1;
    if (!config::is_reduction(node.op) || rows_.batch == 0) return 0;
    return config::is_row_reduction(node.op) ? rows_.m : rows_.n;
  };
  for (const EpilogueNode& node : nodes_)
    if (elements_of(node) > 0) WW_CHECK(bind_node(rows_, node, operands, false, scale_blocks_, arguments, bound));
  WW_CHECK(list.check_apart());
  for (const EpilogueNode& node : nodes_) {
    if (elements_of(node) == 0) continue;
    const bool whole = node.op == EpilogueOp::quantise;
    float* const output = whole ? arguments.amax : static_cast<float*>(arguments.out[node.slot]);
    const i64 step = whole ? arguments.steps.amax : arguments.steps.out[node.slot];
    const auto bytes = static_cast<std::size_t>(elements_of(node)) * sizeof(float);
    if (rows_.batch == 1 || step == static_cast<i64>(bytes)) {
      WW_CHECK(backend.clear(output, bytes * static_cast<std::size_t>(rows_.batch), stream));
      continue;
    }
    for (std::int64_t i = 0; i < rows_.batch; ++i)
      WW_CHECK(backend.clear(reinterpret_cast<std::byte*>(output) + i * step, bytes, stream));
  }
  return {};
}

Result<void> EpilogueAdapter::bind_partials(void* workspace, config::EpilogueArguments& arguments,
                                            MemoryRanges& memory) const {
  WW_CHECK(check_pointer("workspace", workspace, 4));
  // Sets of everything, not of each matrix, so that counters stay together behind the partials.
  const std::int64_t sets = rows_.batch;
  config::EpilogueSteps& steps = arguments.steps;
  auto* floats = static_cast<float*>(workspace);
  const auto take = [&](auto*& pointer, i64& step, std::int64_t words) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(floats);
    floats += sets * words;
    step = 4 * words;
  };
  take(arguments.row_partials, steps.row_partials, partials_.rows);
  take(arguments.column_partials, steps.column_partials, partials_.columns);
  take(arguments.amax_partials, steps.amax_partials, partials_.amax);
  const auto partials = static_cast<std::uint64_t>(floats - static_cast<float*>(workspace)) * sizeof(float);
  take(arguments.row_counters, steps.row_counters, partials_.row_counters);
  take(arguments.column_counters, steps.column_counters, partials_.column_counters);
  take(arguments.amax_counter, steps.amax_counter, partials_.amax_counter);
  // Partials are of one run; the counters behind them hold between runs.
  memory.add({"workspace of the epilogue", workspace, partials, true, true});
  memory.add({"workspace of the epilogue", static_cast<std::byte*>(workspace) + partials, workspace_bytes() - partials,
              true, false, true});
  return {};
}

}  // namespace ww::adapters
