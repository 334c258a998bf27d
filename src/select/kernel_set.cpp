// SPDX-License-Identifier: Apache-2.0
// Adds kernels greedily and exchanges them.
#include "select/kernel_set.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace ww::select {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Unsolved problems first, then the sum of losses.
using Score = std::pair<std::size_t, double>;

class Search {
 public:
  explicit Search(const KernelTimes& times) : kernels_(times.empty() ? 0 : times.front().size()) {
    for (const std::vector<double>& us : times) {
      const double best = us.empty() ? kNever : *std::min_element(us.begin(), us.end());
      if (best == kNever) continue;  // nothing helps this problem
      std::vector<double>& ratios = ratios_.emplace_back(us);
      for (double& ratio : ratios) ratio /= best;
    }
  }

  /// The ratio of each problem under `chosen` without the kernel at position `without`.
  std::vector<double> ratios_of(const std::vector<std::size_t>& chosen, std::optional<std::size_t> without = {}) const {
    std::vector<double> least(ratios_.size(), kNever);
    for (std::size_t c = 0; c < chosen.size(); ++c)
      if (c != without)
        for (std::size_t p = 0; p < ratios_.size(); ++p) least[p] = std::min(least[p], ratios_[p][chosen[c]]);
    return least;
  }

  static Score score_of(const std::vector<double>& least) {
    Score score;
    for (const double ratio : least) ratio == kNever ? ++score.first : score.second += ratio - 1;
    return score;
  }

  /// The kernel that lowers the score of `least` the most, with that score; none if no kernel lowers it below `bound`.
  std::optional<std::pair<std::size_t, Score>> best_addition(const std::vector<double>& least, Score bound) const {
    std::optional<std::pair<std::size_t, Score>> best;
    std::vector<double> with(least.size());
    for (std::size_t kernel = 0; kernel < kernels_; ++kernel) {
      for (std::size_t p = 0; p < least.size(); ++p) with[p] = std::min(least[p], ratios_[p][kernel]);
      const Score score = score_of(with);
      if (is_lower(score, bound)) best.emplace(kernel, score), bound = score;
    }
    return best;
  }

  /// Exchanges one kernel of `chosen` for a better one; false if none is better.
  bool exchange(std::vector<std::size_t>& chosen) const {
    for (std::size_t c = 0; c < chosen.size(); ++c) {
      const auto better = best_addition(ratios_of(chosen, c), score_of(ratios_of(chosen)));
      if (!better) continue;
      chosen[c] = better->first;
      return true;
    }
    return false;
  }

  KernelLoss loss_of(const std::vector<std::size_t>& chosen) const {
    KernelLoss loss{.kernels = chosen.size()};
    const std::vector<double> least = ratios_of(chosen);
    const Score score = score_of(least);
    loss.unsolved = score.first;
    if (least.size() > score.first) loss.mean = score.second / static_cast<double>(least.size() - score.first);
    for (const double ratio : least)
      if (ratio != kNever) loss.worst = std::max(loss.worst, ratio - 1);
    return loss;
  }

 private:
  /// Rounding of sums must not make an exchange look better for ever.
  static bool is_lower(const Score& a, const Score& b) {
    return a.first != b.first ? a.first < b.first : a.second < b.second - 1e-9;
  }

  std::size_t kernels_;
  KernelTimes ratios_;
};

}  // namespace

KernelSet choose_kernels(const KernelTimes& times, std::size_t limit) {
  const Search search(times);
  KernelSet set;
  while (set.kernels.size() < limit) {
    const std::vector<double> least = search.ratios_of(set.kernels);
    const auto next = search.best_addition(least, Search::score_of(least));
    if (!next) break;
    set.kernels.push_back(next->first);
    while (search.exchange(set.kernels)) {
    }
    set.losses.push_back(search.loss_of(set.kernels));
  }
  std::sort(set.kernels.begin(), set.kernels.end());
  return set;
}

}  // namespace ww::select
