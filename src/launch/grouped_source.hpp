// SPDX-License-Identifier: Apache-2.0
// The translation units of grouped products: the kernel of a variant for one config, the one that makes tensor maps of
// groups, and the one that zeros the rows of D outside every group.
#pragma once

#include "runtime/backend.hpp"
#include "warpwright/config/gemm_config.hpp"

namespace ww::adapters {

/// `config` is resolved and of a grouped variant.
runtime::KernelSource grouped_source(const GemmConfig& config);

runtime::KernelSource descriptor_update_source();

runtime::KernelSource zero_rows_source();

}  // namespace ww::adapters
