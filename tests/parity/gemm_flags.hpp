// SPDX-License-Identifier: Apache-2.0
// The flags of `warpwright gemm` that run one problem by one config.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "config/config_text.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

/// Returns the flags for a resolved config and a problem that it is for. `epilogue` is the text of its tree, or empty.
inline std::string gemm_flags(GemmConfig config, const GemmProblem& p, const char* epilogue) {
  const int cluster = config.cluster.m * config.cluster.n * std::max(1, config.cluster.k);
  config.epilogue = {};  // said by --epilogue
  std::string text =
      fmt::format("--m {} --n {} --k {} --dtype {} --b-dtype {} --scale {} --layout {} --sms {} --config {}", p.m, p.n,
                  p.k, name_of(p.a), name_of(p.b), name_of(p.scale), name_of(MatrixLayout{p.a_major, p.b_major}),
                  std::max(4, cluster), to_text(config));
  if (p.d != e4m3) text += fmt::format(" --out-dtype {}", name_of(p.d));  // e4m3 follows from the epilogue
  if (p.d_layout == OutputLayout::column) text += " --d-layout column";
  if (p.batch > 1) text += fmt::format(" --batch {}", p.batch);
  if (p.pointer_array) text += " --pointer-array";
  if (*epilogue) text += fmt::format(" --epilogue {}", epilogue);
  return text;
}

}  // namespace ww::testing
