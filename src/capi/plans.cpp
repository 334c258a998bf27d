// SPDX-License-Identifier: Apache-2.0
// Plans and runs, written once for all operations.
//   ww_*_cached   key -> handle -> plan           without a lock or an allocation, unless the plan has to be made
//   ww_*_run      handle -> plan -> launch        the same
#include "capi/objects.hpp"
#include "capi/operands.hpp"
#include "capi/problems.hpp"
#include "warpwright/host/config.hpp"

namespace ww::capi {
namespace {

/// The operands of a problem's run, and the function that makes its plan.
template <class Problem> struct OperationOf;
#define WW_C_TYPES(Name, function)                \
  template <> struct OperationOf<Name##Problem> { \
    using Operands = Name##Operands;              \
    static constexpr auto* make_plan = function;  \
  }
WW_C_TYPES(Gemm, plan_gemm);
WW_C_TYPES(Grouped, plan_grouped);
WW_C_TYPES(KGrouped, plan_k_grouped);
WW_C_TYPES(Quantize, plan_quantize);
WW_C_TYPES(Transpose, plan_transpose);
WW_C_TYPES(PackScales, plan_pack_scales);
WW_C_TYPES(Microscale, plan_microscale);

bool has_elements(const GemmProblem& p) { return p.m > 0 && p.n > 0 && p.batch > 0; }
bool has_elements(const GroupedProblem& p) { return p.total_rows() > 0 && p.n > 0 && (p.groups > 0 || p.zero_outside); }
bool has_elements(const KGroupedProblem& p) { return p.m > 0 && p.n > 0 && p.groups > 0; }
bool has_elements(const QuantizeProblem& p) { return p.groups > 0 || (p.m > 0 && p.k > 0 && p.batch > 0); }
bool has_elements(const TransposeProblem& p) { return p.n > 0 && p.k > 0 && p.batch > 0; }
bool has_elements(const PackScalesProblem& p) { return p.m > 0 && p.words > 0 && p.batch > 0; }
bool has_elements(const MicroscaleProblem& p) { return p.m > 0 && p.k > 0 && p.batch > 0; }

template <class Plan> std::size_t workspace_of(const Plan& plan) {
  if constexpr (requires { plan.workspace_bytes(); }) return plan.workspace_bytes();
  else return 0;
}

const char* operation_name(std::size_t index) {
  static constexpr const char* kNames[] = {"gemm",      "grouped",     "k-grouped", "quantize",
                                           "transpose", "pack-scales", "microscale"};
  return kNames[index];
}

/// A new plan in `made`.
template <class CProblem>
ww_status new_plan(const DeviceObject& device, const CProblem* problem, const ww_options* options,
                   std::unique_ptr<PlanObject>& made) {
  Request<CProblem> request;
  WW_C_PASS(request.read(problem, options, device.state->device->info().arch));
  using Operation = OperationOf<std::decay_t<decltype(request.problem)>>;
  WW_C_TRY(auto plan, Operation::make_plan(*device.state->device, request.problem, request.options));
  made.reset(new PlanObject{.plan = plan, .device = device.state});
  if constexpr (requires { plan.config(); }) made->config = to_text(plan.config());
  made->workspace_bytes = workspace_of(plan);
  made->launches = has_elements(plan.problem());
  device.state->counts->plans.fetch_add(1, std::memory_order_relaxed);
  return WW_OK;
}

template <class CProblem>
ww_status plan(ww_device device, const CProblem* problem, const ww_options* options, ww_plan* handle) {
  WW_C_PASS(check_output("plan", handle));
  *handle = nullptr;
  DeviceUse use;
  WW_C_PASS(use_device(device, use));
  std::unique_ptr<PlanObject> made;
  WW_C_PASS(new_plan(*use, problem, options, made));
  *handle = static_cast<ww_plan>(plans().add(std::move(made)));
  return WW_OK;
}

/// Makes a plan that the cache lacks, unless the stream is capturing.
template <class CProblem>
[[gnu::noinline]] ww_status add_to_cache(DeviceObject& device, const CProblem* problem, const ww_options* options,
                                         const PlanKey& key, void* stream, ww_plan& handle) {
  WW_C_TRY(const bool capturing, device.state->device->is_capturing({stream}));
  if (capturing)
    return record(
        WW_UNDER_CAPTURE,
        make_error(ErrorCode::invalid, "stream", "one that is not capturing, because this problem has no plan yet",
                   "one that is capturing a graph", "run the problem once before the capture, or make a plan of it"));
  std::unique_ptr<PlanObject> made;
  WW_C_PASS(new_plan(device, problem, options, made));
  made->cached = true, made->key = key;
  void* const added = plans().add(std::move(made));
  void* evicted = nullptr;
  void* const kept = device.cache.add(key, added, evicted);
  const auto cached = [](const PlanObject& object) { return object.cached; };
  if (kept != added) plans().remove(added, cached);  // another thread has made the same plan
  if (evicted != nullptr) plans().remove(evicted, cached);
  handle = static_cast<ww_plan>(kept);
  return WW_OK;
}

template <class CProblem>
ww_status find_cached(DeviceObject& device, const CProblem* problem, const ww_options* options, void* stream,
                      ww_plan& handle, PlanUse& use) {
  Given<CProblem> from;
  Given<ww_options> how;
  WW_C_PASS(from.read("problem", problem));
  WW_C_PASS(how.read("options", options, true));
  const PlanKey key = key_of(*from, *how);
  handle = static_cast<ww_plan>(device.cache.find(key));
  if (handle != nullptr) {
    use = plans().find(handle);
    if (use && use->key == key) {
      device.state->counts->plan_cache_hits.fetch_add(1, std::memory_order_relaxed);
      return WW_OK;
    }
  }
  use = {};
  WW_C_PASS(add_to_cache(device, problem, options, key, stream, handle));
  return use_plan(handle, use);
}

template <class CProblem>
ww_status cached(ww_device device, const CProblem* problem, const ww_options* options, void* stream, ww_plan* plan) {
  WW_C_PASS(check_output("plan", plan));
  *plan = nullptr;
  DeviceUse on;
  WW_C_PASS(use_device(device, on));
  PlanUse use;
  ww_plan handle = nullptr;
  WW_C_PASS(find_cached(*on, problem, options, stream, handle, use));
  *plan = handle;
  return WW_OK;
}

/// The number of a plan's type in PlanObject::plan.
template <class Plan, class... Plans> constexpr std::size_t number_of(const std::variant<Plans...>*) {
  const bool same[] = {std::is_same_v<Plan, Plans>...};
  std::size_t number = 0;
  while (!same[number]) ++number;
  return number;
}

template <class Plan, class COperands>
ww_status run_plan(const PlanObject& object, const COperands* given, void* stream) {
  const Plan* const plan = std::get_if<Plan>(&object.plan);
  if (plan == nullptr) [[unlikely]] {
    constexpr std::size_t kMine = number_of<Plan>(static_cast<decltype(&object.plan)>(nullptr));
    return refuse("plan", fmt::format("a plan of {}", operation_name(kMine)),
                  fmt::format("one of {}", operation_name(object.plan.index())));
  }
  typename OperationOf<std::decay_t<decltype(plan->problem())>>::Operands operands;
  WW_C_PASS(read_operands(given, operands));
  WW_C_CHECK(plan->run(operands, {stream}));
  if (object.launches) object.device->counts->launches.fetch_add(1, std::memory_order_relaxed);
  return WW_OK;
}

template <class Plan, class COperands> ww_status run(ww_plan plan, const COperands* operands, void* stream) {
  PlanUse use;
  WW_C_PASS(use_plan(plan, use));
  return run_plan<Plan>(*use, operands, stream);
}

template <class Plan, class CProblem, class COperands>
ww_status run_cached(ww_device device, const CProblem* problem, const ww_options* options, const COperands* operands,
                     void* stream) {
  DeviceUse on;
  WW_C_PASS(use_device(device, on));
  PlanUse use;
  ww_plan handle = nullptr;
  WW_C_PASS(find_cached(*on, problem, options, stream, handle, use));
  return run_plan<Plan>(*use, operands, stream);
}

template <class CProblem> ww_status check_implementable(const CProblem* problem, const ww_options* options) {
  Request<CProblem> request;
  WW_C_PASS(request.read(problem, options));
  WW_C_CHECK(can_implement(request.problem, request.options));
  return WW_OK;
}

ww_status free_plan(ww_plan plan) {
  if (plan == nullptr) return WW_OK;
  const PlanUse use = plans().find(plan);
  if (!use) return refuse_handle("plan", "a plan that was not freed", plan);
  if (use->cached)
    return refuse("plan", "a plan that ww_*_plan() made", "one of ww_*_cached(), which its device frees");
  // In the child of a fork the driver cannot free it, so a copy keeps it alive.
  if (use->device->forks != forks_of_process()) new auto(use->plan);
  if (!plans().remove(plan, [](const PlanObject& object) { return !object.cached; }))
    return refuse_handle("plan", "a plan that was not freed", plan);
  return WW_OK;
}

ww_status widths(ww_plan plan, const void* workspace, ww_tile_width* to, std::size_t capacity, std::size_t* count) {
  WW_C_PASS(check_output("count", count));
  *count = 0;
  PlanUse use;
  WW_C_PASS(use_plan(plan, use));
  if (to == nullptr && capacity > 0) return refuse("widths", "an array", "null");
  const auto* const grouped = std::get_if<GroupedPlan>(&use->plan);
  if (grouped == nullptr)
    return refuse("plan", "a plan of grouped", fmt::format("one of {}", operation_name(use->plan.index())));
  WW_C_TRY(const std::vector<TileWidth> found, grouped->widths(workspace));
  for (std::size_t i = 0; i < std::min(capacity, found.size()); ++i)
    to[i] = {found[i].width, found[i].swapped, found[i].tiles};
  *count = found.size();
  return WW_OK;
}

ww_status quantize_columns(const ww_quantize_problem* problem, std::int64_t* columns) {
  WW_C_PASS(check_output("columns", columns));
  *columns = 0;
  Request<ww_quantize_problem> request;
  WW_C_PASS(request.read(problem, nullptr));
  WW_C_CHECK(can_implement(request.problem, request.options));
  *columns = transposed_columns(request.problem);
  return WW_OK;
}

/// Stores what `get` says of a plan.
template <class T, class Get> ww_status query(ww_plan plan, const char* name, T* value, const Get& get) {
  WW_C_PASS(check_output(name, value));
  PlanUse use;
  WW_C_PASS(use_plan(plan, use));
  *value = get(*use);
  return WW_OK;
}

}  // namespace
}  // namespace ww::capi

using namespace ww::capi;

// One set of functions for each operation.
#define WW_C_OPERATION(name, Plan)                                                                              \
  ww_status ww_##name##_can_implement(const ww_##name##_problem* problem, const ww_options* options) {          \
    return guarded([&] { return check_implementable(problem, options); });                                      \
  }                                                                                                             \
  ww_status ww_##name##_plan(ww_device device, const ww_##name##_problem* problem, const ww_options* options,   \
                             ww_plan* handle) {                                                                 \
    return guarded([&] { return ww::capi::plan(device, problem, options, handle); });                           \
  }                                                                                                             \
  ww_status ww_##name##_cached(ww_device device, const ww_##name##_problem* problem, const ww_options* options, \
                               void* stream, ww_plan* handle) {                                                 \
    return guarded([&] { return cached(device, problem, options, stream, handle); });                           \
  }                                                                                                             \
  ww_status ww_##name##_run(ww_plan handle, const ww_##name##_operands* operands, void* stream) {               \
    return guarded([&] { return run<Plan>(handle, operands, stream); });                                        \
  }                                                                                                             \
  ww_status ww_##name(ww_device device, const ww_##name##_problem* problem, const ww_options* options,          \
                      const ww_##name##_operands* operands, void* stream) {                                     \
    return guarded([&] { return run_cached<Plan>(device, problem, options, operands, stream); });               \
  }

extern "C" {

WW_C_OPERATION(gemm, ww::GemmPlan)
WW_C_OPERATION(grouped, ww::GroupedPlan)
WW_C_OPERATION(k_grouped, ww::KGroupedPlan)
WW_C_OPERATION(quantize, ww::QuantizePlan)
WW_C_OPERATION(transpose, ww::TransposePlan)
WW_C_OPERATION(pack_scales, ww::PackScalesPlan)
WW_C_OPERATION(microscale, ww::MicroscalePlan)

ww_status ww_quantize_columns(const ww_quantize_problem* problem, int64_t* columns) {
  return guarded([&] { return quantize_columns(problem, columns); });
}

ww_status ww_plan_workspace_bytes(ww_plan plan, size_t* bytes) {
  return guarded(
      [&] { return query(plan, "bytes", bytes, [](const PlanObject& object) { return object.workspace_bytes; }); });
}
ww_status ww_plan_config(ww_plan plan, const char** config) {
  return guarded(
      [&] { return query(plan, "config", config, [](const PlanObject& object) { return object.config.c_str(); }); });
}
ww_status ww_plan_operation(ww_plan plan, ww_operation* operation) {
  return guarded([&] {
    return query(plan, "operation", operation, [](const PlanObject& object) {
      static constexpr ww_operation kOperations[] = {WW_GEMM,      WW_GROUPED_GEMM, WW_K_GROUPED_GEMM, WW_QUANTIZE,
                                                     WW_TRANSPOSE, WW_PACK_SCALES,  WW_MICROSCALE};
      return kOperations[object.plan.index()];
    });
  });
}
ww_status ww_plan_free(ww_plan plan) {
  return guarded([&] { return free_plan(plan); });
}
ww_status ww_grouped_widths(ww_plan plan, const void* workspace, ww_tile_width* to, size_t capacity, size_t* count) {
  return guarded([&] { return widths(plan, workspace, to, capacity, count); });
}

}  // extern "C"
