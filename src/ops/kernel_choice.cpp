// SPDX-License-Identifier: Apache-2.0
// Finds the kernel of each ranked config by its source, and the fastest config of each kernel.
#include "ops/kernel_choice.hpp"

#include <limits>
#include <set>

#include "config/config_text.hpp"
#include "launch/plan_sources.hpp"

namespace ww::ops {

KernelChoice::Entry KernelChoice::known(const GemmConfig& config) {
  const auto [at, fresh] = configs_.try_emplace(to_text(config), Known{config});
  if (fresh)
    at->second.kernel =
        kernels_.try_emplace(adapters::plan_sources(config).front().text, kernels_.size()).first->second;
  return at;
}

void KernelChoice::add(const std::vector<RankedConfig>& ranking) {
  Problem& problem = problems_.emplace_back();
  for (const RankedConfig& ranked : ranking) {
    const Entry entry = known(ranked.config);
    const auto [at, fresh] = problem.by_kernel.try_emplace(entry->second.kernel, Best{ranked.us, entry});
    if (!fresh && ranked.us < at->second.us) at->second = {ranked.us, entry};
    if (!problem.automatic) problem.automatic = entry->second.kernel;
  }
}

std::size_t KernelChoice::automatic() const {
  std::set<std::size_t> kernels;
  for (const Problem& problem : problems_)
    if (problem.automatic) kernels.insert(*problem.automatic);
  return kernels.size();
}

KernelChoice::Chosen KernelChoice::choose(std::size_t limit) const {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  select::KernelTimes times(problems_.size(), std::vector<double>(kernels_.size(), kNever));
  for (std::size_t p = 0; p < problems_.size(); ++p)
    for (const auto& [kernel, best] : problems_[p].by_kernel) times[p][kernel] = best.us;
  const select::KernelSet set = select::choose_kernels(times, limit);
  Chosen chosen{set.losses, {}};
  for (const Problem& problem : problems_) {
    std::optional<Served>& served = chosen.problems.emplace_back();
    for (const std::size_t kernel : set.kernels) {
      const auto at = problem.by_kernel.find(kernel);
      if (at == problem.by_kernel.end() || (served && served->us <= at->second.us)) continue;
      served = Served{kernel, &at->second.config->second.config, at->second.us};
    }
  }
  return chosen;
}

}  // namespace ww::ops
