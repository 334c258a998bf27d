// SPDX-License-Identifier: Apache-2.0
// The launch that makes tensor maps of groups of K that are packed one by one.
#pragma once

#include "launch/k_groups.hpp"
#include "runtime/backend.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/kernel/k_group_maps.hpp"

namespace ww::adapters {

class KGroupMaps {
 public:
  /// Loads the kernel. `problem` is a batch of as many products as there are groups; its A and B cover all of K.
  static Result<KGroupMaps> create(const Device& device, const GemmProblem& problem, const KGroups& groups, int sms,
                                   bool pdl);

  std::size_t bytes() const;  // of the maps of all groups
  /// Launches it. `a` and `b` are templates with all of K; `to` receives the maps of all groups.
  Result<void> launch(const Device& device, const void* rows_of_a, const void* rows_of_b,
                      const KGroupPointers& pointers, const arch::TensorMap& a, const arch::TensorMap& b,
                      arch::TensorMap* to, Stream stream) const;

 private:
  GemmProblem problem_;
  KGroups groups_;
  std::shared_ptr<const runtime::Kernel> kernel_;
  runtime::Launch launch_;  // without params, memory and stream
};

}  // namespace ww::adapters
