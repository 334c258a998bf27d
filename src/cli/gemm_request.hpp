// SPDX-License-Identifier: Apache-2.0
// The flags of a GEMM as a problem: numbers parsed, files opened and their headers checked, defaults decided,
// contradictions refused. Nothing is allocated and no device is touched.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>

#include "cli/array_file.hpp"
#include "cli/verbs.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::cli {

struct GemmRequest {
  GemmProblem problem;  // row strides of A and B are K rounded up to 16 bytes
  GemmOptions options;
  DeviceOptions device_options;
  std::string device = "auto";
  std::uint64_t seed = 0;
  bool verify = false;
  std::optional<std::string> out;
  std::optional<ArrayFile> a, b, scale_a, scale_b;  // operands that come from files
};

Result<GemmRequest> make_request(const GemmFlags& flags);

/// An integer in [least, most], or the error of `argument`.
Result<std::int64_t> parse_integer(const std::string& text, const std::string& argument, std::int64_t least,
                                   std::int64_t most = INT64_MAX);

/// One of `names`, as its index; `otherwise` without a flag.
Result<int> parse_choice(const Flag& flag, const std::string& argument, std::initializer_list<const char*> names,
                         int otherwise);

inline std::int64_t blocks_of(std::int64_t size) { return size / 128 + (size % 128 != 0); }

}  // namespace ww::cli
