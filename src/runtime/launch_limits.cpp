// SPDX-License-Identifier: Apache-2.0
// Refusals of a launch; each names its field.
#include "runtime/launch_limits.hpp"

#include <fmt/format.h>

namespace ww::runtime {
namespace {

template <class T> auto invalid(std::string_view field, std::string expected, const T& actual) {
  return failure(ErrorCode::invalid, fmt::format("launch.{}", field), std::move(expected), fmt::format("{}", actual));
}

}  // namespace

Result<void> check_limits(const Launch& launch, Arch arch) {
  if (within_limits(launch, arch)) return {};
  constexpr std::uint32_t kWarp = MachineTraits::kWarpThreads;
  const LaunchLimits most = launch_limits(arch);
  if (launch.kernel == nullptr) return invalid("kernel", "a kernel of this device", "null");
  if (launch.cluster < 1 || launch.cluster > most.cluster)
    return invalid("cluster", fmt::format("1 to {} CTAs", most.cluster), launch.cluster);
  if (launch.grid < 1 || launch.grid % launch.cluster != 0)
    return invalid("grid", fmt::format("a positive multiple of the cluster's {} CTAs", launch.cluster), launch.grid);
  if (launch.threads < kWarp || launch.threads > most.threads || launch.threads % kWarp != 0)
    return invalid("threads", fmt::format("a multiple of {} up to {}", kWarp, most.threads), launch.threads);
  if (launch.params == nullptr) return invalid("params", "the kernel's parameter", "null");
  return invalid("shared_bytes", fmt::format("at most {}", most.shared_bytes), launch.shared_bytes);
}

Result<void> check_params(const Launch& launch, std::size_t kernel_params_bytes, std::uint32_t kernel_threads) {
  if (kernel_params_bytes != 0 && launch.params_bytes != kernel_params_bytes)
    return invalid("params_bytes", fmt::format("{}, the size with which the kernel was compiled", kernel_params_bytes),
                   launch.params_bytes);
  if (kernel_threads != 0 && launch.threads != kernel_threads)
    return invalid("threads", fmt::format("{}, the number in WW_KERNEL", kernel_threads), launch.threads);
  return {};
}

}  // namespace ww::runtime
