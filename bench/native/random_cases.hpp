// SPDX-License-Identifier: Apache-2.0
// Cases that nobody chose: shapes drawn from layers of published models (bench/cases/models.json) and at random, in
// three classes of rows.
#pragma once

#include <cstdint>

#include "bench/native/case.hpp"

namespace ww::bench {

/// Returns `count` cases of operation "dense" or "grouped" for operands of `type`. The same seed gives the same cases,
/// and a smaller count the first of them. Classes take turns, so that every prefix has all of them: decode (at most 64
/// rows, or 32 a group), middle (to 1024, or 512 a group) and large; BenchCase::regime names the class.
Result<std::vector<BenchCase>> random_cases(const std::string& op, std::int64_t count, std::uint64_t seed, DType type);

}  // namespace ww::bench
