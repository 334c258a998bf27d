// SPDX-License-Identifier: Apache-2.0
// The operation behind a target, or none for a kernel of the user's own.
#pragma once

#include <memory>
#include <type_traits>

#include "operations/operation.hpp"

namespace ww::campaign {

using Operation = operations::Operation;

/// Null for a kernel of the user's own.
inline Result<std::unique_ptr<Operation>> operation_of(const CheckTarget& target) {
  return std::visit(
      [](const auto& check) -> Result<std::unique_ptr<Operation>> {
        if constexpr (std::is_same_v<decltype(check), const KernelCheck&>) return nullptr;
        else return operations::make_operation(check);
      },
      target);
}

}  // namespace ww::campaign
