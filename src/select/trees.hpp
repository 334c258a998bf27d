// SPDX-License-Identifier: Apache-2.0
// Evaluates sums of regression trees, which tools/fit_correction.py writes as tables of nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <span>
#include <vector>

namespace ww::select {

/// A node of a tree in preorder: its left subtree follows, for features up to `value`, and `right` nodes from here
/// begins the other. A leaf has no right subtree; its value is a summand.
struct TreeNode {
  std::uint8_t feature, right;
  float value;
};

template <std::size_t kNodes> constexpr std::size_t end_of_tree(const TreeNode (&nodes)[kNodes], std::size_t root) {
  while (nodes[root].right) root += nodes[root].right;
  return root + 1;
}

template <const auto& kNodes>
constexpr std::size_t kTreesOf = [] {
  std::size_t trees = 0;
  for (std::size_t root = 0; root < std::size(kNodes); root = end_of_tree(kNodes, root)) ++trees;
  return trees;
}();

template <const auto& kNodes>
constexpr auto kRootsOf = [] {
  static_assert(std::size(kNodes) <= std::numeric_limits<std::uint16_t>::max());
  std::array<std::uint16_t, kTreesOf<kNodes>> roots{};
  std::size_t next = 0;
  for (std::uint16_t& root : roots) root = static_cast<std::uint16_t>(next), next = end_of_tree(kNodes, next);
  return roots;
}();

template <std::size_t kNodes> constexpr int depth_of_tree(const TreeNode (&nodes)[kNodes], std::size_t root) {
  if (nodes[root].right == 0) return 0;
  return 1 + std::max(depth_of_tree(nodes, root + 1), depth_of_tree(nodes, root + nodes[root].right));
}
template <const auto& kNodes>
constexpr int kDepthOf = [] {
  int depth = 0;
  for (const std::size_t root : kRootsOf<kNodes>) depth = std::max(depth, depth_of_tree(kNodes, root));
  return depth;
}();

/// Returns, for each element of `all`, the sum of the leaves that its features lead to. kNodes has the trees one after
/// the other. Many elements at once take a fraction of their time one by one: a tree then stays in the cache, and
/// several elements descend it together, which hides the latency of their loads.
template <const auto& kNodes, std::size_t kFeatures>
std::vector<double> sums_of_trees(const std::vector<std::array<float, kFeatures>>& all) {
  constexpr std::size_t kTogether = 8;
  const std::size_t groups_end = all.size() / kTogether * kTogether;
  std::vector<double> sums(all.size());
  for (const std::size_t root : kRootsOf<kNodes>) {
    const TreeNode* const tree = kNodes + root;
    for (std::size_t first = 0; first < groups_end; first += kTogether) {
      std::uint32_t at[kTogether] = {};
      // A leaf leads to itself, so that all elements take the same number of steps. The step is arithmetic, because
      // branches on features are mispredicted: 1 or 0 to the left, `right` to the right.
      for (int step = 0; step < kDepthOf<kNodes>; ++step)
        for (std::size_t i = 0; i < kTogether; ++i) {
          const TreeNode node = tree[at[i]];
          const std::uint32_t left = all[first + i][node.feature] <= node.value, right = node.right;
          at[i] += right - ((right - (right != 0)) & -left);
        }
      for (std::size_t i = 0; i < kTogether; ++i) sums[first + i] += tree[at[i]].value;
    }
    for (std::size_t i = groups_end; i < all.size(); ++i) {
      const TreeNode* node = tree;
      while (node->right) node += all[i][node->feature] <= node->value ? 1 : node->right;
      sums[i] += node->value;
    }
  }
  return sums;
}

}  // namespace ww::select
