// SPDX-License-Identifier: Apache-2.0
// The source, arguments, memory and launch of kernel/pack_scales.hpp.
#include "launch/pack_scales_adapter.hpp"

#include <array>

#include "launch/operand_maps.hpp"
#include "launch/operand_overlap.hpp"
#include "launch/start.hpp"
#include "launch/task_launch.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::adapters {
namespace {

struct Axis {
  std::int64_t count, stride;
};

/// Returns the elements from the first to the last.
std::int64_t span_of(std::initializer_list<Axis> axes) {
  std::int64_t last = 0;
  for (const Axis& axis : axes) {
    if (axis.count == 0) return 0;
    last += (axis.count - 1) * axis.stride;
  }
  return last + 1;
}

std::int64_t scales_span(const PackScalesProblem& p) {
  return span_of({{p.batch, p.batch_scales}, {p.m, p.scale_m}, {p.k, p.scale_k}});
}
std::int64_t packed_span(const PackScalesProblem& p) {
  return span_of({{p.batch, p.batch_packed}, {p.m, p.packed_m}, {p.words, p.packed_k}});
}

}  // namespace

runtime::KernelSource pack_scales_source() {
  return {"ww_pack_fp32_into_ue8m0", R"(// pack=ue8m0
#include "warpwright/kernel/pack_scales.hpp"
using Kernel = ww::kernel::PackScales;
WW_KERNEL(ww_pack_fp32_into_ue8m0, Kernel::kThreads, ww::config::PackScalesArguments, params) { Kernel::run(params); }
WW_MODULE()
)"};
}

std::int64_t packed_words_span(const PackScalesProblem& p) {
  return span_of({{p.m, p.packed_m}, {p.words, p.packed_k}});
}

Result<std::shared_ptr<const PackScalesAdapter>> PackScalesAdapter::create(const Device& device,
                                                                           const PackScalesProblem& p,
                                                                           const QuantizeOptions& options) {
  std::shared_ptr<PackScalesAdapter> made(new PackScalesAdapter(device, p));
  if (p.batch == 0 || p.m == 0 || p.words == 0) return made;
  WW_TRY(made->kernel_, device.backend().kernel(pack_scales_source()));
  config::PackScalesArguments& a = made->arguments_;
  a.scale_m = p.scale_m, a.scale_k = p.scale_k, a.batch_scales = p.batch_scales;
  a.packed_m = p.packed_m, a.packed_k = p.packed_k, a.batch_packed = p.batch_packed;
  a.m = static_cast<i32>(p.m), a.k = static_cast<i32>(p.k), a.words = static_cast<i32>(p.words);
  a.tiles_m = static_cast<u32>(ceil_div(p.m, std::int64_t{config::kPackThreads}));
  a.tiles_k = static_cast<u32>(ceil_div(p.words, std::int64_t{config::kPackWords}));
  a.tasks = static_cast<u32>(p.batch) * a.tiles_m * a.tiles_k;
  a.groups = static_cast<i32>(p.groups), a.span = static_cast<i32>(p.span);
  made->launch_ =
      task_launch<config::PackScalesArguments>(device, *made->kernel_, options, config::kPackThreads, a.tasks, 8);
  return made;
}

Result<void> PackScalesAdapter::run(const PackScalesOperands& o, Stream stream) const {
  if (!kernel_) return {};
  const PackScalesProblem& p = problem_;
  const bool reads = p.k > 0;
  WW_CHECK(check_pointer("packed", o.packed, alignof(std::uint32_t)));
  if (reads) WW_CHECK(check_pointer("scales", o.scales, alignof(float)));
  if (p.groups > 0) WW_CHECK(check_pointer("sizes", o.sizes, alignof(std::int32_t)));
  const std::uint64_t to = 4 * static_cast<std::uint64_t>(packed_span(p));
  const std::array<runtime::MemoryRange, 3> memory{
      runtime::MemoryRange{"packed", o.packed, to, true},
      {"scales", o.scales, reads ? 4 * static_cast<std::uint64_t>(scales_span(p)) : 0, false},
      {"sizes", o.sizes, 4 * static_cast<std::uint64_t>(p.groups), false}};
  OperandList list;
  for (const runtime::MemoryRange& range : memory) list.add(range);
  WW_CHECK(list.check_apart());
  config::PackScalesArguments a = arguments_;
  a.scales = o.scales, a.packed = o.packed, a.sizes = p.groups > 0 ? o.sizes : nullptr;
  return start(device_, launch_, &a, std::span(memory).first(p.groups > 0 ? 3 : reads ? 2 : 1), stream);
}

}  // namespace ww::adapters
