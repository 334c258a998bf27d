// SPDX-License-Identifier: Apache-2.0
// Lists kernels by config and problem, and compiles those that are missing on one thread each.
#include "launch/plan_sources.hpp"

#include <algorithm>
#include <exception>
#include <thread>

#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "launch/pointer_arrays.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::adapters {

using runtime::KernelSource;

namespace {

bool uses_descriptors(const GemmConfig& config) {
  return config.grouping == Grouping::row_groups && config.row_groups.variant == GroupedVariant::descriptors;
}

}  // namespace

std::vector<KernelSource> plan_sources(const GemmConfig& config, const GemmProblem& p) {
  if (p.m == 0 || p.n == 0 || p.batch == 0) return {};
  std::vector<KernelSource> sources = {gemm_source(config)};
  if (p.pointer_array) sources.push_back(pointer_maps_source());
  if (config::maps_groups(config) && p.k > 0) sources.push_back(k_group_maps_source());
  return sources;
}

std::vector<KernelSource> plan_sources(const GemmConfig& config, const GroupedProblem& p) {
  std::vector<KernelSource> sources;
  if (p.total_rows() == 0 || p.n == 0) return sources;
  if (p.groups > 0) sources.push_back(grouped_source(config));
  if (p.groups > 0 && uses_descriptors(config)) sources.push_back(descriptor_update_source());
  if (p.zero_outside) sources.push_back(zero_rows_source());
  return sources;
}

std::vector<KernelSource> plan_sources(const GemmConfig& config) {
  const bool rows = config.grouping == Grouping::row_groups;
  std::vector<KernelSource> sources = {rows ? grouped_source(config) : gemm_source(config)};
  if (uses_descriptors(config)) sources.push_back(descriptor_update_source());
  if (rows) sources.push_back(zero_rows_source());
  if (config.operands.pointer_array) sources.push_back(pointer_maps_source());
  if (config::maps_groups(config)) sources.push_back(k_group_maps_source());
  return sources;
}

void make_at_once(Device::Backend& backend, const std::vector<KernelSource>& sources) {
  if (sources.size() < 2) return;
  std::vector<const KernelSource*> missing;
  for (const KernelSource& source : sources)
    if (!backend.has_kernel(source)) missing.push_back(&source);
  if (missing.size() < 2) return;
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < missing.size(); ++i) {
    const auto make = [&backend, source = missing[i]] {
      try {
        (void)backend.kernel(*source);
      } catch (const std::exception&) {  // the caller asks again, and meets it there
      }
    };
    try {
      threads.emplace_back(make);
    } catch (const std::exception&) {  // no thread: the caller makes the rest
      break;
    }
  }
  (void)backend.kernel(*missing[0]);
}

}  // namespace ww::adapters
