// SPDX-License-Identifier: Apache-2.0
// A C interface of the dense and the grouped GEMM for benchmarks in other languages: plain integers, raw device pointers
// and a CUDA stream, so that a framework's tensors can be used in place (bench/library.py). Not part of the library:
// nothing here is stable. A function that fails returns null, -1 or 1; ww_bridge_error() then says why, for this thread.
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <variant>

#include "jit/digest.hpp"
#include "jit/embedded_headers.hpp"
#include "config/config_text.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"

#define WW_BRIDGE extern "C" __attribute__((visibility("default")))

namespace {

thread_local std::string error_text;

struct BridgePlan {
  std::variant<ww::GemmPlan, ww::GroupedPlan> plan;
  std::string config;
};

/// ww::GroupedProblem in integers; enumerations by their numeric values. library.py has the same fields in
/// order. A dense problem has groups = 0, and its rows as M; what speaks of groups is not read.
struct BridgeProblem {
  std::int64_t groups, rows, n, k;
  std::int64_t a, b, d, scale, encoding, alignment, zero_outside;
  std::int64_t scale_a_row, scale_a_k, scale_a_group;
  std::int64_t scale_b_n, scale_b_k, scale_b_group;
};

ww::GemmProblem dense_of(const BridgeProblem& p) {
  ww::GemmProblem problem;
  problem.m = p.rows, problem.n = p.n, problem.k = p.k;
  problem.a = static_cast<ww::DType>(p.a), problem.b = static_cast<ww::DType>(p.b);
  problem.d = static_cast<ww::DType>(p.d);
  problem.scale = static_cast<ww::Scale>(p.scale);
  problem.scale_a_row = p.scale_a_row, problem.scale_a_k = p.scale_a_k;
  problem.scale_b_n = p.scale_b_n, problem.scale_b_k = p.scale_b_k;
  return problem;
}

ww::GroupedProblem grouped_of(const BridgeProblem& p) {
  ww::GroupedProblem problem;
  problem.groups = p.groups, problem.rows = p.rows, problem.n = p.n, problem.k = p.k;
  problem.a = static_cast<ww::DType>(p.a), problem.b = static_cast<ww::DType>(p.b);
  problem.d = static_cast<ww::DType>(p.d);
  problem.scale = static_cast<ww::Scale>(p.scale);
  problem.encoding = static_cast<ww::GroupEncoding>(p.encoding);
  problem.alignment = p.alignment, problem.zero_outside = p.zero_outside != 0;
  problem.scale_a_row = p.scale_a_row, problem.scale_a_k = p.scale_a_k, problem.scale_a_group = p.scale_a_group;
  problem.scale_b_n = p.scale_b_n, problem.scale_b_k = p.scale_b_k, problem.scale_b_group = p.scale_b_group;
  return problem;
}

template <class T> bool noted(const ww::Result<T>& result) {
  if (!result) error_text = result.error().message;
  return static_cast<bool>(result);
}

auto plan_of(const ww::Device& device, const ww::GemmProblem& problem, const ww::GemmOptions& options) {
  return ww::plan_gemm(device, problem, options);
}
auto plan_of(const ww::Device& device, const ww::GroupedProblem& problem, const ww::GemmOptions& options) {
  return ww::plan_grouped(device, problem, options);
}

template <class Problem> void* planned(const void* device, const Problem& problem, const char* config, int pdl) {
  ww::GemmConfig base;
  base.operands.a = problem.a, base.operands.b = problem.b, base.operands.d = problem.d, base.operands.scale = problem.scale;
  const ww::Result<ww::GemmConfig> parsed = ww::parse_config(config, base);
  if (!noted(parsed)) return nullptr;
  ww::GemmOptions options;
  options.config = *parsed;
  if (pdl < 0 || pdl > static_cast<int>(ww::Pdl::on)) return error_text = "pdl: expected 0 to 2", nullptr;
  options.pdl = static_cast<ww::Pdl>(pdl);
  auto plan = plan_of(*static_cast<const ww::Device*>(device), problem, options);
  if (!noted(plan)) return nullptr;
  std::string text = ww::to_text(plan->config());
  return new (std::nothrow) BridgePlan{std::move(*plan), std::move(text)};
}

int ran(const ww::GemmPlan& plan, void* const* pointers, std::size_t workspace_bytes, void* stream) {
  ww::GemmOperands operands;
  operands.a = pointers[0], operands.b = pointers[1], operands.d = pointers[2];
  operands.scale_a = static_cast<const float*>(pointers[3]);
  operands.scale_b = static_cast<const float*>(pointers[4]);
  operands.workspace = pointers[8];
  operands.workspace_bytes = workspace_bytes;
  return noted(plan.run(operands, {stream})) ? 0 : 1;
}

int ran(const ww::GroupedPlan& plan, void* const* pointers, std::size_t workspace_bytes, void* stream) {
  ww::GroupedOperands operands;
  operands.a = pointers[0], operands.b = pointers[1], operands.d = pointers[2];
  operands.scale_a = static_cast<const float*>(pointers[3]);
  operands.scale_b = static_cast<const float*>(pointers[4]);
  operands.sizes = static_cast<const std::int32_t*>(pointers[5]);
  operands.sizes2 = static_cast<const std::int32_t*>(pointers[6]);
  operands.status = static_cast<std::uint32_t*>(pointers[7]);
  operands.workspace = pointers[8];
  operands.workspace_bytes = workspace_bytes;
  return noted(plan.run(operands, {stream})) ? 0 : 1;
}

}  // namespace

WW_BRIDGE const char* ww_bridge_error() { return error_text.c_str(); }

/// A hash over the sources of all kernels, as `warpwright bench` records it.
WW_BRIDGE const char* ww_bridge_source_hash() {
  static const std::string hash = [] {
    std::vector<std::string_view> fields;
    for (const ww::jit::EmbeddedHeader& header : ww::jit::embedded_headers())
      fields.insert(fields.end(), {header.name, header.text});
    return "xxh3-128:" + ww::jit::key_of(fields);
  }();
  return hash.c_str();
}

WW_BRIDGE void* ww_bridge_open(const char* name) {
  ww::Result<ww::Device> device = ww::Device::open(name);
  return noted(device) ? new (std::nothrow) ww::Device(std::move(*device)) : nullptr;
}

WW_BRIDGE const char* ww_bridge_description(const void* device) {
  return static_cast<const ww::Device*>(device)->info().description.c_str();
}

/// `config`: key=value,... as the program prints it; "" chooses everything. `pdl`: of enum Pdl.
WW_BRIDGE void* ww_bridge_plan(const void* device, const BridgeProblem* numbers, const char* config, int pdl) {
  return numbers->groups == 0 ? planned(device, dense_of(*numbers), config, pdl)
                              : planned(device, grouped_of(*numbers), config, pdl);
}

WW_BRIDGE const char* ww_bridge_config(const void* plan) {
  return static_cast<const BridgePlan*>(plan)->config.c_str();
}

WW_BRIDGE std::int64_t ww_bridge_workspace_bytes(const void* plan) {
  return std::visit([](const auto& p) { return static_cast<std::int64_t>(p.workspace_bytes()); },
                    static_cast<const BridgePlan*>(plan)->plan);
}

/// Enqueues one run; `pointers`: a, b, d, scale_a, scale_b, sizes, sizes2, status, workspace.
WW_BRIDGE int ww_bridge_run(const void* plan, void* const* pointers, std::int64_t workspace_bytes, void* stream) {
  return std::visit([&](const auto& p) { return ran(p, pointers, static_cast<std::size_t>(workspace_bytes), stream); },
                    static_cast<const BridgePlan*>(plan)->plan);
}

/// "8:3,64n:12" into `text`: tiles of each token width of the last finished run with this workspace; "n" is normal.
WW_BRIDGE int ww_bridge_widths(const void* plan, const void* workspace, char* text, std::int64_t capacity) {
  const auto* const grouped = std::get_if<ww::GroupedPlan>(&static_cast<const BridgePlan*>(plan)->plan);
  if (grouped == nullptr) return error_text = "a dense plan has no token widths", 1;
  const ww::Result<std::vector<ww::TileWidth>> widths = grouped->widths(workspace);
  if (!noted(widths)) return 1;
  std::string line;
  for (const ww::TileWidth& w : *widths)
    if (w.tiles > 0)
      line +=
          (line.empty() ? "" : ",") + std::to_string(w.width) + (w.swapped ? "" : "n") + ":" + std::to_string(w.tiles);
  if (capacity < 1) return 1;
  const std::size_t length = std::min(line.size(), static_cast<std::size_t>(capacity - 1));
  std::memcpy(text, line.data(), length);
  text[length] = '\0';
  return 0;
}

WW_BRIDGE void ww_bridge_close_plan(void* plan) { delete static_cast<BridgePlan*>(plan); }
WW_BRIDGE void ww_bridge_close(void* device) { delete static_cast<ww::Device*>(device); }
