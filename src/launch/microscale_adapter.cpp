// SPDX-License-Identifier: Apache-2.0
// The source, arguments, memory and launch of kernel/microscale.hpp.
#include "launch/microscale_adapter.hpp"

#include <array>

#include <fmt/format.h>

#include "config/quantize_text.hpp"
#include "launch/operand_maps.hpp"
#include "launch/operand_overlap.hpp"
#include "launch/start.hpp"
#include "launch/task_launch.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::adapters {
namespace {

/// Returns the bytes from the first to the last element of all matrices.
std::uint64_t span_of(const MicroscaleProblem& p, DType type, std::int64_t ld, std::int64_t batch) {
  return static_cast<std::uint64_t>(bytes_in(type, (p.batch - 1) * batch + (p.m - 1) * ld + p.k));
}

bool is_aligned(const void* pointer, std::int64_t a, std::int64_t b, std::uint64_t bytes) {
  return (reinterpret_cast<std::uintptr_t>(pointer) | static_cast<std::uint64_t>(a) | static_cast<std::uint64_t>(b)) %
             bytes ==
         0;
}

}  // namespace

runtime::KernelSource microscale_source(const config::MicroscaleKind& kind) {
  const std::string name = fmt::format("ww_cast_{}_{}_{}", name_of(kind.x), name_of(kind.scale), name_of(kind.q));
  return {name, fmt::format(R"(// {}
#include "warpwright/kernel/microscale.hpp"
inline constexpr ww::config::MicroscaleKind kKind{{ww::DType::{}, ww::DType::{}, ww::Scale::{}}};
using Kernel = ww::kernel::Microscale<kKind>;
WW_KERNEL({}, Kernel::kThreads, ww::config::MicroscaleArguments, params) {{ Kernel::run(params); }}
WW_MODULE()
)",
                            to_text(kind), name_of(kind.x), name_of(kind.q), name_of(kind.scale), name)};
}

Result<std::shared_ptr<const MicroscaleAdapter>> MicroscaleAdapter::create(const Device& device,
                                                                           const MicroscaleProblem& p,
                                                                           const QuantizeOptions& options) {
  std::shared_ptr<MicroscaleAdapter> made(new MicroscaleAdapter(device, p));
  if (p.batch == 0 || p.m == 0 || p.k == 0) return made;
  WW_TRY(made->kernel_, device.backend().kernel(microscale_source({p.x, p.q, p.scale})));
  const int vector = scale_vector(p.scale);
  config::MicroscaleArguments& a = made->arguments_;
  a.row_x = bytes_in(p.x, p.ldx), a.row_q = bytes_in(p.q, p.ldq);
  a.batch_x = bytes_in(p.x, p.batch_x), a.batch_q = bytes_in(p.q, p.batch_q), a.batch_scales = p.batch_scales;
  a.m = static_cast<i32>(p.m), a.k = static_cast<i32>(p.k);
  a.row_scales = static_cast<i32>(ceil_div(p.k, std::int64_t{vector}));
  a.chunked = p.chunked ? 1 : 0;
  a.chunks_m = static_cast<i32>(ceil_div(p.m, std::int64_t{kScaleChunkRows}));
  a.chunks_k = static_cast<i32>(scale_chunks(p.k, vector));
  a.tasks = static_cast<u32>(p.batch * a.chunks_m * a.chunks_k);
  made->x_bytes_ = span_of(p, p.x, p.ldx, p.batch_x), made->q_bytes_ = span_of(p, p.q, p.ldq, p.batch_q);
  made->scales_bytes_ = static_cast<std::uint64_t>((p.batch - 1) * p.batch_scales +
                                                   (p.chunked ? scale_bytes(p.m, p.k, vector) : p.m * a.row_scales));
  made->launch_ =
      task_launch<config::MicroscaleArguments>(device, *made->kernel_, options, config::kMicroscaleThreads, a.tasks, 8);
  return made;
}

Result<void> MicroscaleAdapter::run(const MicroscaleOperands& o, Stream stream) const {
  if (!kernel_) return {};
  const MicroscaleProblem& p = problem_;
  WW_CHECK(check_pointer("x", o.x, static_cast<std::uint64_t>(bytes_of(p.x))));
  WW_CHECK(check_pointer("q", o.q, 1));
  WW_CHECK(check_pointer("scales", o.scales, 1));
  if (o.tensor_scale != nullptr && p.scale != Scale::nv)
    return failure(ErrorCode::unsupported, "tensor_scale", "null: only nv has one", "a pointer");
  if (o.tensor_scale != nullptr) WW_CHECK(check_pointer("tensor_scale", o.tensor_scale, alignof(float)));
  const std::array<runtime::MemoryRange, 4> memory{runtime::MemoryRange{"x", o.x, x_bytes_, false},
                                                   {"q", o.q, q_bytes_, true},
                                                   {"scales", o.scales, scales_bytes_, true},
                                                   {"tensor_scale", o.tensor_scale, sizeof(float), false}};
  const std::size_t ranges = o.tensor_scale != nullptr ? 4 : 3;
  OperandList list;
  for (const runtime::MemoryRange& range : std::span(memory).first(ranges)) list.add(range);
  WW_CHECK(list.check_apart());
  config::MicroscaleArguments a = arguments_;
  a.x = static_cast<const char*>(o.x), a.q = static_cast<char*>(o.q);
  a.scales = reinterpret_cast<char*>(o.scales), a.tensor_scale = o.tensor_scale;
  a.wide_x = is_aligned(o.x, a.row_x, a.batch_x, 16) ? 1 : 0;
  a.wide_q = is_aligned(o.q, a.row_q, a.batch_q, 4) ? 1 : 0;
  return start(device_, launch_, &a, std::span(memory).first(ranges), stream);
}

}  // namespace ww::adapters
