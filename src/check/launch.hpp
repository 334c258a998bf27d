// SPDX-License-Identifier: Apache-2.0
// The launch of a user's kernel as text, and its parameter block as bytes.
//   grid=8,cluster=2,threads=384,shared=65536,cross=0,pdl=0,buffer=1048576,zeros=4096,map=0:bf16:512x1024:64x128:128
// grid, cluster, threads, shared, cross and pdl (the launch may start early) describe the launch. The rest are members
// of the kernel's parameter struct, in order, each aligned as C++ aligns it:
//   buffer=BYTES  a pointer to that many bytes of noise        zeros=BYTES  the same, zeroed
//   int=N  long=N  float=X                                      a value of 4, 8 or 4 bytes
//   map=BUFFER:TYPE:EXTENTS:BOX:SWIZZLE                         a tensor map of the BUFFER-th pointer, packed rows,
//                                                               innermost extent first; SWIZZLE is 0, 32, 64 or 128
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/backend.hpp"

namespace ww::campaign {

struct LaunchParameter {
  enum class Kind { buffer, zeros, int32, int64, float32, map };
  Kind kind{};
  std::uint64_t bytes = 0;      // buffer, zeros
  std::int64_t integer = 0;     // int32, int64
  float number = 0;             // float32
  std::size_t buffer = 0;       // map: number of the pointer
  runtime::TensorMapSpec spec;  // map: all but the base
};

struct LaunchText {
  std::uint32_t grid = 1, cluster = 1, threads = 0, shared = 0;
  bool cross_cta = false, pdl = false;
  std::vector<LaunchParameter> parameters;

  std::size_t buffers() const;
};

Result<LaunchText> parse_launch(const std::string& text, const std::string& argument);
/// parse_launch(to_text(x)) == x.
std::string to_text(const LaunchText& launch);

/// The bytes of the parameter struct: `pointers` are those of the buffers in order, maps are encoded by `backend`.
Result<std::vector<std::byte>> pack_parameters(const LaunchText& launch, const std::vector<void*>& pointers,
                                               runtime::Backend& backend);

}  // namespace ww::campaign
