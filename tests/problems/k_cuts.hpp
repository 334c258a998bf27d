// SPDX-License-Identifier: Apache-2.0
// The spans in which the K of each tile is summed, as docs/numerics.md defines them for every scheduler: the
// reference's half of split-K and stream-K. It shares no code with the schedulers.
#pragma once

#include <cstdint>

#include "random_problem.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::testing {

/// Part `part` of `parts` of [from, to): equal within one, the longer ones first.
inline KSpan split_of(KSpan span, std::int64_t part, std::int64_t parts) {
  const std::int64_t count = span.second - span.first, each = count / parts, longer = count % parts;
  const auto start = [&](std::int64_t i) { return span.first + i * each + std::min(i, longer); };
  return {start(part), start(part + 1)};
}

inline std::vector<KSpan> parts_of(KSpan span, std::int64_t parts) {
  std::vector<KSpan> spans;
  for (std::int64_t i = 0; i < parts; ++i)
    if (const KSpan one = split_of(span, i, parts); one.first < one.second) spans.push_back(one);
  return spans;
}

/// docs/numerics.md, section 3a: splits through the workspace, each divided between the CTAs along K of a cluster.
inline KCut split_cut(const GemmConfig& c, std::int64_t k_blocks) {
  const std::int64_t splits = std::min<std::int64_t>(c.sm90.split / c.cluster.k, k_blocks);
  return {c.tile.m, c.tile.n, [=](std::int64_t, std::int64_t) {
            KSplits all;
            for (std::int64_t i = 0; i < splits; ++i)
              all.push_back(parts_of(split_of({0, k_blocks}, i, splits), c.cluster.k));
            return all;
          }};
}

/// docs/numerics.md, section 3a: the k-blocks of the first tiles in a line, divided into a range for each cluster. M
/// runs fastest here: one band holds all rows.
inline KCut stream_cut(const GemmConfig& c, const GemmProblem& p, std::int64_t k_blocks, std::int64_t ctas) {
  const std::int64_t rows = ceil_div(p.m, c.tile.m * c.cluster.m), columns = ceil_div(p.n, c.tile.n * c.cluster.n);
  const std::int64_t tiles = rows * columns;
  const std::int64_t clusters = std::min(ctas / (c.cluster.m * c.cluster.n), tiles * k_blocks);
  const std::int64_t left = tiles % clusters;
  const std::int64_t line = left == 0 ? 0 : tiles < clusters ? left : left + clusters;
  return {c.tile.m, c.tile.n, [=](std::int64_t row, std::int64_t column) -> KSplits {
            const std::int64_t index = column / c.cluster.n * rows + row / c.cluster.m;
            if (index >= line) return {{{0, k_blocks}}};
            const KSpan tile{index * k_blocks, (index + 1) * k_blocks};
            KSplits splits;
            for (std::int64_t i = 0; i < clusters; ++i) {
              const KSpan share = split_of({0, line * k_blocks}, i, clusters);
              const KSpan mine{std::max(share.first, tile.first), std::min(share.second, tile.second)};
              if (mine.first < mine.second) splits.push_back({{mine.first - tile.first, mine.second - tile.first}});
            }
            return splits;
          }};
}

/// The cut of a resolved config whose bands hold all of M (under swap-AB of N), on `ctas` CTAs.
inline KCut cut_of(const GemmConfig& c, const GemmProblem& p, std::int64_t ctas) {
  if (config::swaps(c)) {  // what is said of rows holds for columns
    GemmProblem transposed = p;
    std::swap(transposed.m, transposed.n);
    KCut cut = cut_of(config::exchanged(c), transposed, ctas);
    std::swap(cut.tile_m, cut.tile_n);
    if (const auto splits = cut.splits)
      cut.splits = [splits](std::int64_t row, std::int64_t column) { return splits(column, row); };
    return cut;
  }
  const std::int64_t k_blocks = ceil_div(p.k, c.tile.k);
  if (k_blocks > 0 && c.sm90.tile_scheduler == TileScheduler::split_k) return split_cut(c, k_blocks);
  if (k_blocks > 0 && c.sm90.tile_scheduler == TileScheduler::stream_k) return stream_cut(c, p, k_blocks, ctas);
  return {};
}

}  // namespace ww::testing
