// SPDX-License-Identifier: Apache-2.0
// What can be said about a launch before its kernel is known, and its parameters as bytes.
//   grid=8,cluster=2,threads=384,shared=65536,cross=0,pdl=0,buffer=1048576,zeros=4096,map=0:bf16:512x1024:64x128:128
#pragma once

#include "runtime/backend.hpp"
#include "warpwright/host/check.hpp"

namespace ww::campaign {

/// Whether a parameter is a pointer to memory.
constexpr bool is_pointer(CheckParameter::Kind kind) {
  using Kind = CheckParameter::Kind;
  return kind == Kind::buffer || kind == Kind::zeros || kind == Kind::kept || kind == Kind::unset;
}
/// Parameters that are pointers to memory.
std::size_t buffers_of(const CheckLaunch& launch);

/// Refuses what no device launches, and parameters that contradict themselves. Errors name "launch.<field>".
Result<void> check_launch(const CheckLaunch& launch, Arch arch);

/// The map at an address that only stands for its buffer's. Errors name `where`.
Result<runtime::TensorMapSpec> spec_of(const CheckTensorMap& map, const std::string& where);

/// Refuses maps of buffers that do not exist and forms that no device takes. Errors name `where`.
Result<void> check_maps(const CheckLaunch& launch, const std::string& where);

/// The bytes of the parameter struct: `pointers` are those of the buffers in order, `maps` has one item for each
/// parameter.
std::vector<std::byte> pack_parameters(const CheckLaunch& launch, const std::vector<void*>& pointers,
                                       const std::vector<arch::TensorMap>& maps);

}  // namespace ww::campaign
