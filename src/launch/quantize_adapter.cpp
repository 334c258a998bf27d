// SPDX-License-Identifier: Apache-2.0
// Arguments and memory of the kernels in kernel/quantize.hpp.
#include "launch/quantize_adapter.hpp"

#include <fmt/format.h>

#include <span>

#include "config/quantize_text.hpp"
#include "launch/operand_maps.hpp"
#include "launch/start.hpp"
#include "launch/task_launch.hpp"
#include "warpwright/scheduler/padded_groups.hpp"

namespace ww::adapters {
namespace {

using config::kQuantizeTile;
using config::QuantizeKind;
using Groups = scheduler::PaddedGroups<config::kQuantizeThreads>;

constexpr std::int64_t kStripRows = 16;  // rows of a tile of QuantizeKind::by_warp()

}  // namespace

QuantizeKind quantize_kind(const QuantizeProblem& p) {
  return {p.x, p.q, p.rows, p.transposed, p.block == QuantizeBlock::b128x128};
}

runtime::KernelSource quantize_source(QuantizeKind kind) {
  const auto yes = [](bool on) { return on ? "true" : "false"; };
  const std::string name = fmt::format("ww_quantize_{}_{}{}{}{}", name_of(kind.x), name_of(kind.q),
                                       kind.rows ? "_rows" : "", kind.transposed ? "_transposed" : "",
                                       kind.copies() ? ""
                                       : kind.blocks ? "_128x128"
                                                     : "_1x128");
  return {name, fmt::format(R"(// {}
#include "warpwright/kernel/quantize.hpp"
using Kernel = ww::kernel::Quantize<ww::config::QuantizeKind{{ww::DType::{}, ww::DType::{}, {}, {}, {}}}>;
WW_RESIDENT_KERNEL({}, Kernel::kThreads, Kernel::kCtas, ww::config::QuantizeArguments, params) {{
  Kernel::run(params);
}}
WW_MODULE()
)",
                            to_text(kind), name_of(kind.x), name_of(kind.q), yes(kind.rows), yes(kind.transposed),
                            yes(kind.blocks), name)};
}

std::int64_t quantize_tiles(const QuantizeProblem& p) {
  const std::int64_t rows = p.groups > 0 ? transposed_columns(p) : p.m;
  const std::int64_t step = quantize_kind(p).by_warp() ? kStripRows : kQuantizeTile;
  // A product in double, which cannot overflow and is exact where it matters.
  const double tiles = static_cast<double>(p.batch) * static_cast<double>(ceil_div(rows, step)) *
                       static_cast<double>(ceil_div(p.k, std::int64_t{kQuantizeTile}));
  return tiles < 0x1p62 ? static_cast<std::int64_t>(tiles) : std::int64_t{1} << 62;
}

Result<std::shared_ptr<const QuantizeAdapter>> QuantizeAdapter::create(const Device& device,
                                                                       const QuantizeProblem& problem,
                                                                       const QuantizeOptions& options) {
  std::shared_ptr<QuantizeAdapter> made(new QuantizeAdapter(device, problem));
  const std::int64_t tiles = quantize_tiles(problem);
  if (tiles == 0 && problem.groups == 0) return made;  // with groups, their ends remain to be written
  const QuantizeKind kind = quantize_kind(problem);
  WW_TRY(made->kernel_, device.backend().kernel(quantize_source(kind)));
  const int groups = static_cast<int>(problem.groups);
  made->launch_ = task_launch<config::QuantizeArguments>(device, *made->kernel_, options, config::kQuantizeThreads,
                                                         tiles, config::quantize_ctas(kind));
  made->launch_.shared_bytes = static_cast<std::uint32_t>(config::quantize_memory(kind).groups +
                                                          (groups > 0 ? Groups::shared_bytes(groups) : 0));
  made->groups_ = {problem.encoding, problem.groups, problem.m, problem.alignment, 1};
  made->fill_arguments();
  return made;
}

void QuantizeAdapter::fill_arguments() {
  const QuantizeProblem& p = problem_;
  config::QuantizeArguments& a = arguments_;
  a.ldx = p.ldx, a.ldq = p.ldq, a.ld_transposed = p.ld_transposed;
  a.scale_m = p.scale_m, a.scale_k = p.scale_k;
  a.transposed_scale_k = p.transposed_scale_k, a.transposed_scale_m = p.transposed_scale_m;
  a.batch_x = p.batch_x, a.batch_q = p.batch_q, a.batch_transposed = p.batch_transposed;
  a.batch_scales = p.batch_scales, a.batch_transposed_scales = p.batch_transposed_scales;
  a.m = static_cast<i32>(p.m), a.k = static_cast<i32>(p.k);
  const bool by_warp = quantize_kind(p).by_warp();
  a.tiles_m = static_cast<u32>(ceil_div(p.m, by_warp ? kStripRows : std::int64_t{kQuantizeTile}));
  a.tiles_k = static_cast<u32>(ceil_div(p.k, std::int64_t{kQuantizeTile}));
  a.tiles = p.groups > 0 ? 0 : static_cast<u32>(quantize_tiles(p));
  a.min_amax = p.min_amax;
  a.power_of_two = p.power_of_two ? 1 : 0;
  a.padding = static_cast<i32>(p.padding);
  a.one_by_one = p.one_by_one ? 1 : 0;

  const std::int64_t vector = 16 / bytes_of(p.x);
  const auto all = [](std::int64_t step, auto... values) { return ((values % step == 0) && ...); };
  wide_x_ = all(vector, p.k, p.ldx, p.batch_x);
  wide_q_ = all(vector, p.k, p.ldq, p.batch_q);
  wide_transposed_ = p.one_by_one || all(std::int64_t{16}, p.ld_transposed, p.batch_transposed);
}

int QuantizeAdapter::tensors(const QuantizeOperands& o, const float* x_scales, Tensor (&to)[kTensors]) const {
  const QuantizeProblem& p = problem_;
  const bool copies = is_fp8(p.x), blocks = p.block == QuantizeBlock::b128x128;
  const std::int64_t columns = transposed_columns(p), blocks_k = ceil_div(p.k, std::int64_t{kQuantizeTile});
  const std::int64_t blocks_m = ceil_div(columns, std::int64_t{kQuantizeTile});
  int count = 0;
  const auto add = [&](const char* name, const void* pointer, const OperandSpan& span, std::uint64_t alignment,
                       bool written) {
    if (span.bytes > 0) to[count++] = {name, pointer, span, alignment, written};
  };
  const auto matrix = [&](const char* name, const void* pointer, DType type, std::int64_t rows, std::int64_t width,
                          std::int64_t ld, std::int64_t stride, bool written) {
    const std::int64_t size = bytes_of(type);
    add(name, pointer, OperandSpan::matrix(size * width, {rows, size * ld}, {p.batch, size * stride}),
        static_cast<std::uint64_t>(size), written);
  };
  const auto scales = [&](const char* name, const void* pointer, std::int64_t rows, std::int64_t row,
                          std::int64_t width, std::int64_t column, std::int64_t stride, bool written) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(float));
    add(name, pointer,
        OperandSpan::of(kSize, {Repeat{rows, kSize * row}, {width, kSize * column}, {p.batch, kSize * stride}}),
        alignof(float), written);
  };
  matrix(copies ? "w" : "x", o.x, p.x, p.m, p.k, p.ldx, p.batch_x, false);
  const std::int64_t rows = blocks ? blocks_m : p.m, transposed_rows = blocks ? blocks_k : p.k;
  if (copies && x_scales != nullptr)
    scales("scales", x_scales, rows, p.scale_m, blocks_k, p.scale_k, p.batch_scales, false);
  if (p.rows) {
    matrix("q", o.q, p.q, p.m, p.k, p.ldq, p.batch_q, true);
    scales("scales", o.scales, rows, p.scale_m, blocks_k, p.scale_k, p.batch_scales, true);
  }
  if (p.transposed) {
    if (p.one_by_one) matrix("transposed", o.transposed, p.q, 1, p.k * columns, p.k * columns, 0, true);
    else matrix("transposed", o.transposed, p.q, p.k, columns, p.ld_transposed, p.batch_transposed, true);
    if (!copies || x_scales != nullptr)
      scales("transposed_scales", o.transposed_scales, transposed_rows, p.transposed_scale_k, blocks_m,
             p.transposed_scale_m, p.batch_transposed_scales, true);
  }
  if (o.padded_ends != nullptr)
    add("padded_ends", o.padded_ends, OperandSpan::flat(static_cast<std::uint64_t>(p.groups) * 4),
        alignof(std::int32_t), true);
  return count;
}

Result<void> QuantizeAdapter::run(const QuantizeOperands& o, const float* x_scales, Stream stream) const {
  if (!kernel_) return {};
  Tensor tensor[kTensors];
  const int count = tensors(o, x_scales, tensor);
  MemoryRanges memory;
  OperandList list;
  for (const Tensor& t : std::span(tensor).first(static_cast<std::size_t>(count))) {
    WW_CHECK(check_pointer(t.name, t.pointer, t.alignment));
    memory.add({t.name, t.pointer, t.span.bytes, t.written});
    list.add(t.name, t.pointer, t.span, t.written);
  }
  config::QuantizeArguments a = arguments_;
  if (groups_.groups > 0) {
    const KGroupPointers pointers{o.sizes, o.sizes2, o.status};
    WW_CHECK(check_groups(groups_, pointers));
    a.groups = group_sizes(groups_, pointers);
    for (const runtime::MemoryRange& range : memory_of(groups_, pointers)) memory.add(range), list.add(range);
  }
  WW_CHECK(list.check_apart());
  const auto aligned = [](const void* p, std::uint64_t to) { return reinterpret_cast<std::uintptr_t>(p) % to == 0; };
  a.x = o.x, a.q = o.q, a.transposed = o.transposed;
  a.x_scales = x_scales, a.scales = o.scales, a.transposed_scales = o.transposed_scales;
  a.padded_ends = o.padded_ends;
  a.wide_x = wide_x_ && aligned(o.x, 16) ? 1 : 0;
  a.wide_q = wide_q_ && aligned(o.q, static_cast<std::uint64_t>(16 / bytes_of(problem_.x))) ? 1 : 0;
  a.wide_transposed = wide_transposed_ && aligned(o.transposed, 16) ? 1 : 0;
  return start(device_, launch_, &a, memory, stream);
}

}  // namespace ww::adapters
