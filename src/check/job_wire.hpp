// SPDX-License-Identifier: Apache-2.0
// What a campaign asks of its workers, as bytes: targets, settings and lists of schedules. The structured bindings do
// not compile when a struct gains a member that is not sent.
#pragma once

#include <cstdint>
#include <type_traits>

#include "check/messages.hpp"
#include "check/wire.hpp"

namespace ww::campaign {

/// Structs of kernel headers as they lie in memory. Both programs were built from the same text of those headers, or
/// the worker refuses the job (fingerprint()).
template <class Wire, class T> void describe_bytes(Wire& wire, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
  wire(bytes);
  if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
}
template <class Wire> void describe(Wire& wire, GemmConfig& c) { describe_bytes(wire, c); }
template <class Wire> void describe(Wire& wire, EpilogueTree& t) { describe_bytes(wire, t); }

template <class Wire> void describe(Wire& wire, GemmProblem& p) {
  auto& [m, n, k, a, b, d, scale, scale_type, lda, ldb, ldd, scale_a_row, scale_a_k, scale_b_n, scale_b_k, a_major,
         b_major, d_layout, c_layout, batch, batch_a, batch_b, batch_d, batch_scale_a, batch_scale_b, pointer_array,
         epilogue] = p;
  wire.all(m, n, k, a, b, d, scale, scale_type, lda, ldb, ldd, scale_a_row, scale_a_k, scale_b_n, scale_b_k, a_major,
           b_major, d_layout, c_layout, batch, batch_a, batch_b, batch_d, batch_scale_a, batch_scale_b, pointer_array,
           epilogue);
}
template <class Wire> void describe(Wire& wire, GroupedProblem& p) {
  auto& [groups, rows, n, k, a, b, d, b_major, scale, scale_type, encoding, alignment, zero_outside, lda, ldb, ldd,
         stride_b_group, scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group, epilogue,
         expected_sizes] = p;
  wire.all(groups, rows, n, k, a, b, d, b_major, scale, scale_type, encoding, alignment, zero_outside, lda, ldb, ldd,
           stride_b_group, scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group, epilogue,
           expected_sizes);
}
template <class Wire> void describe(Wire& wire, KGroupedProblem& p) {
  auto& [groups, m, n, k, a, b, d, scale, scale_type, encoding, alignment, a_major, b_major, packing, accumulate, lda,
         ldb, ldd, stride_d_group, scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group] = p;
  wire.all(groups, m, n, k, a, b, d, scale, scale_type, encoding, alignment, a_major, b_major, packing, accumulate, lda,
           ldb, ldd, stride_d_group, scale_a_row, scale_a_k, scale_a_group, scale_b_n, scale_b_k, scale_b_group);
}
template <class Wire> void describe(Wire& wire, GemmOptions& o) {
  auto& [config, sms, pdl, batch_invariant, workspace_limit] = o;
  wire.all(config, sms, pdl, batch_invariant, workspace_limit);
}
template <class Wire> void describe(Wire& wire, CheckGroups& g) {
  auto& [counts, alignment, gap, sizes, sizes2, flags] = g;
  wire.all(counts, alignment, gap, sizes, sizes2, flags);
}
template <class Wire> void describe(Wire& wire, CheckTensorMap& m) {
  auto& [buffer, element, extent, box, swizzle, narrow] = m;
  wire.all(buffer, element, extent, box, swizzle, narrow);
}
template <class Wire> void describe(Wire& wire, CheckParameter& p) {
  auto& [kind, bytes, integer, number, tensor_map] = p;
  wire.all(kind, bytes, integer, number, tensor_map);
}
template <class Wire> void describe(Wire& wire, CheckLaunch& l) {
  auto& [grid, cluster, threads, shared_bytes, cross_cta, pdl, parameters] = l;
  wire.all(grid, cluster, threads, shared_bytes, cross_cta, pdl, parameters);
}
template <class Wire> void describe(Wire& wire, GemmCheck& c) { wire.all(c.problem, c.options); }
template <class Wire> void describe(Wire& wire, GroupedCheck& c) { wire.all(c.problem, c.groups, c.options); }
template <class Wire> void describe(Wire& wire, KGroupedCheck& c) { wire.all(c.problem, c.groups, c.options); }
template <class Wire> void describe(Wire& wire, std::filesystem::path& path) {
  std::string text = path.native();
  wire(text);
  path = std::move(text);
}
template <class Wire> void describe(Wire& wire, KernelCheck& c) {
  wire.all(c.source, c.text, c.entry, c.launch, c.sms, c.arch);
}

template <std::size_t I = 0> void set_alternative(CheckTarget& target, std::size_t index) {
  if constexpr (I < std::variant_size_v<CheckTarget>) {
    if (index == I) target.emplace<I>();
    else set_alternative<I + 1>(target, index);
  }
}
template <class Wire> void describe(Wire& wire, CheckTarget& target) {
  std::uint64_t index = target.index();
  wire(index);
  if (index != target.index()) set_alternative(target, index);
  std::visit([&](auto& one) { wire(one); }, target);
}

template <class Wire> void describe(Wire& wire, Error& e) {
  wire.all(e.code, e.argument, e.expected, e.actual, e.message);
}
template <class Wire> void describe(Wire& wire, ScheduleRun& r) { wire.all(r.kind, r.seed, r.traffic, r.launches); }
template <class Wire> void describe(Wire& wire, ScheduleList& l) {
  wire.all(l.count, l.seed, l.one_kind, l.kind, l.listed, l.traffic, l.launches);
}
template <class Wire> void describe(Wire& wire, SetUp& s) {
  wire.all(s.fingerprint, s.target, s.math, s.pct_depth, s.cache_dir, s.strict_rules, s.verify);
}
template <class Wire> void describe(Wire& wire, Ready& r) { wire.all(r.failed, r.error, r.target, r.sms); }
template <class Wire> void describe(Wire& wire, SequenceReport& r) { wire.all(r.report, r.launch_of, r.launches); }
template <class Wire> void describe(Wire& wire, Run& r) { wire.all(r.schedules, r.deadline); }

}  // namespace ww::campaign
