// SPDX-License-Identifier: Apache-2.0
// Arguments and memory of the launch that makes maps of groups of K.
#include "launch/k_group_maps.hpp"

#include <span>

#include "launch/gemm_source.hpp"
#include "launch/start.hpp"

namespace ww::adapters {
namespace {

/// Returns the bytes from the matrix of a group to that of a group that starts one row of K later.
i64 step_bytes(Major major, std::int64_t rows, std::int64_t ld, DType type) {
  return (major == Major::k ? rows : ld) * bytes_of(type);
}
i32 k_bytes(Major major, DType type) { return major == Major::k ? bytes_of(type) : 0; }

}  // namespace

Result<KGroupMaps> KGroupMaps::create(const Device& device, const GemmProblem& problem, const KGroups& groups, int sms,
                                      bool pdl) {
  using Kernel = kernel::KGroupMaps;
  KGroupMaps made;
  made.problem_ = problem, made.groups_ = groups;
  WW_TRY(made.kernel_, device.backend().kernel(k_group_maps_source()));
  runtime::Launch& launch = made.launch_;
  launch.kernel = made.kernel_.get();
  launch.threads = Kernel::kThreads;
  launch.shared_bytes = static_cast<std::uint32_t>(Kernel::shared_bytes(static_cast<int>(groups.groups)));
  launch.params_bytes = sizeof(kernel::KGroupMapsArguments);
  launch.grid =
      static_cast<std::uint32_t>(min<std::int64_t>(ceil_div(groups.groups, std::int64_t{Kernel::kGroupsAtOnce}), sms));
  launch.pdl = pdl;
  return made;
}

std::size_t KGroupMaps::bytes() const {
  return static_cast<std::size_t>(groups_.groups * config::kMapsOfGroup) * arch::tensor_map::kBytes;
}

Result<void> KGroupMaps::launch(const Device& device, const void* rows_of_a, const void* rows_of_b,
                                const KGroupPointers& pointers, const arch::TensorMap& a, const arch::TensorMap& b,
                                arch::TensorMap* to, Stream stream) const {
  const GemmProblem& p = problem_;
  KGroupPointers silent = pointers;
  silent.status = nullptr;  // the product reports
  kernel::KGroupMapsArguments arguments{
      {a, b},
      {rows_of_a, rows_of_b},
      {step_bytes(p.a_major, p.m, p.lda, p.a), step_bytes(p.b_major, p.n, p.ldb, p.b)},
      {k_bytes(p.a_major, p.a), k_bytes(p.b_major, p.b)},
      to,
      group_sizes(groups_, silent)};
  MemoryRanges memory;
  if (device.info().emulated) {
    memory.add({"tensor maps", to, bytes(), true});
    for (const runtime::MemoryRange& range : memory_of(groups_, silent)) memory.add(range);
  }
  return start(device, launch_, &arguments, memory, stream);
}

}  // namespace ww::adapters
