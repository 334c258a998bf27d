// SPDX-License-Identifier: Apache-2.0
// The source, arguments, memory and launch of kernel/microscale.hpp.
#include "launch/microscale_adapter.hpp"

#include <array>

#include <fmt/format.h>

#include "config/quantize_text.hpp"
#include "launch/operand_maps.hpp"
#include "launch/overlap.hpp"
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
  const int sms = options.sms > 0 ? min(options.sms, device.info().sms) : device.info().sms;
  runtime::Launch& launch = made->launch_;
  launch.kernel = made->kernel_.get();
  launch.threads = config::kMicroscaleThreads;
  launch.params_bytes = sizeof(config::MicroscaleArguments);
  launch.pdl = overlaps(options.pdl, false);
  // As many CTAs as an SM holds, unless SMs are limited: then fewer would spread over more of them.
  launch.grid = min(a.tasks, static_cast<u32>(sms) * (sms < device.info().sms ? 1 : 8));
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
  for (std::size_t i = 0; i < ranges; ++i)
    for (std::size_t j = 0; j < ranges; ++j) {
      const auto* const a = static_cast<const char*>(memory[i].base);
      const auto* const b = static_cast<const char*>(memory[j].base);
      if (i == j || !memory[i].writable || a >= b + memory[j].bytes || b >= a + memory[i].bytes) continue;
      return failure(
          ErrorCode::invalid, memory[i].name, fmt::format("memory of its own beside {}", memory[j].name),
          fmt::format("{} bytes from {} and {} from {}", memory[i].bytes, fmt::ptr(a), memory[j].bytes, fmt::ptr(b)));
    }
  config::MicroscaleArguments a = arguments_;
  a.x = static_cast<const char*>(o.x), a.q = static_cast<char*>(o.q);
  a.scales = reinterpret_cast<char*>(o.scales), a.tensor_scale = o.tensor_scale;
  a.wide_x = is_aligned(o.x, a.row_x, a.batch_x, 16) ? 1 : 0;
  a.wide_q = is_aligned(o.q, a.row_q, a.batch_q, 4) ? 1 : 0;
  runtime::Launch call = launch_;
  call.params = &a;
  call.memory = std::span(memory).first(ranges);
  call.stream = stream;
  return device_.backend().launch(call);
}

}  // namespace ww::adapters
