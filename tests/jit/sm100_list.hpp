// SPDX-License-Identifier: Apache-2.0
// The configs of sm_100a that ptxas assembles without a GPU: every recipe with each of its output types on the tiles
// and clusters of one CTA and of pairs; every tile scheduler, swap-AB, batches, epilogues, groups of rows and of K.
#pragma once

#include <fmt/format.h>

#include <string>
#include <vector>

#include "config/config_text.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/result.hpp"

namespace ww::test {

struct Sm100Candidate {
  std::string text;      // of a config, with open fields
  std::string epilogue;  // expression; empty: none
};

/// Returns the shapes that every recipe is assembled for.
inline const std::vector<const char*>& sm100_shapes() {
  static const std::vector<const char*> shapes = {
      "tile=128x256x0,cluster=2x1,pair=1", "tile=128x128x0,cluster=2x1,pair=1", "tile=128x128x0,cluster=1x1",
      "tile=64x64x0,cluster=1x1",          "tile=128x256x0,cluster=1x1",        "tile=128x128x0,cluster=4x1,pair=1",
      "tile=128x128x0,cluster=4x2,pair=1", "tile=128x128x0,cluster=4x4,pair=1", "tile=128x64x0,cluster=4x4",
      "tile=64x128x0,cluster=2x1"};
  return shapes;
}

inline std::vector<Sm100Candidate> sm100_candidates() {
  std::vector<Sm100Candidate> all;
  const char* const recipes[] = {
      "a=bf16,b=bf16,scale=none",   "a=f16,b=f16,scale=none",        "a=tf32,b=tf32,scale=none",
      "a=e4m3,b=e4m3,scale=tensor", "a=e5m2,b=e4m3,scale=tensor",    "a=e4m3,b=e4m3,scale=row-column",
      "a=e4m3,b=e4m3,scale=block",  "a=e4m3,b=e4m3,scale=block-1d",  "a=e4m3,b=e4m3,scale=mx",
      "a=e4m3,b=e5m2,scale=mx",     "a=e2m1,b=e2m1,scale=mx",        "a=e2m1,b=e2m1,scale=nv",
      "a=e4m3,b=e2m1,scale=mx",     "a=bf16,b=bf16,scale=row-column"};
  for (const char* recipe : recipes)
    for (const char* d : {"bf16", "f16", "f32"})
      for (const char* shape : sm100_shapes()) all.push_back({fmt::format("{},d={},{}", recipe, d, shape), {}});
  for (const char* layout : {"nn", "tn", "tt"})
    for (const char* shape : sm100_shapes()) {
      all.push_back({fmt::format("a=tf32,b=tf32,d=f32,layout={},{}", layout, shape), {}});
      all.push_back({fmt::format("a=e4m3,b=e4m3,scale=mx,d=bf16,layout={},{}", layout, shape), {}});
    }
  for (const char* recipe : {"a=bf16,b=bf16", "a=e4m3,b=e4m3,scale=block", "a=e4m3,b=e4m3,scale=mx"}) {
    const auto add = [&](const std::string& rest, const char* epilogue = "") {
      all.push_back({fmt::format("{},{}", recipe, rest), epilogue});
    };
    for (const char* shape : {"tile=128x128x0,cluster=1x1", "tile=128x128x0,cluster=2x1,pair=1"}) {
      for (const char* scheduler : {"single", "dynamic", "stream-k", "clc", "split-k,split=2"})
        add(fmt::format("{},tile_scheduler={}", shape, scheduler));
      for (const char* more : {"batched=1", "batched=1,pointers=1", "layout=nn", "layout=tt", "d_layout=column"})
        add(fmt::format("{},{}", shape, more));
      for (const char* epilogue : {"acc*alpha+c*beta+bias", "gelu(acc+bias)", "swiglu(acc)", "row_amax(acc, out0)"})
        add(shape, epilogue);
      for (const char* epilogue : {"quantise(acc)", "quantise_block(acc)", "quantise_mx(acc)"})
        add(fmt::format("{},d=e4m3", shape), epilogue);
      for (const char* epilogue : {"quantise_mx(silu(acc))", "quantise_nv(acc)"})
        add(fmt::format("{},d=e2m1", shape), epilogue);
    }
    for (const char* tile : {"64x8x0", "64x16x0", "128x16x0", "128x32x0"})
      add(fmt::format("tile={},cluster=1x1,swap_ab=on", tile));
  }
  for (const char* recipe : {"a=bf16,b=bf16", "a=e4m3,b=e4m3,scale=block", "a=e4m3,b=e4m3,scale=tensor"})
    for (const char* shape : {"tile=128x128x0,cluster=1x1", "tile=64x128x0,cluster=1x1", "tile=128x256x0,cluster=1x1",
                              "tile=128x128x0,cluster=2x1,pair=1"})
      for (const char* variant : {"contiguous", "masked"})
        all.push_back({fmt::format("{},{},grouping=row-groups,variant={},groups=128", recipe, shape, variant), {}});
  for (const char* recipe : {"a=bf16,b=bf16", "a=e4m3,b=e4m3,scale=block", "a=e4m3,b=e4m3,scale=mx"})
    for (const char* shape : {"tile=128x128x0,cluster=1x1", "tile=128x256x0,cluster=2x1,pair=1"}) {
      for (const char* variant : {"contiguous", "masked"})
        all.push_back(
            {fmt::format("{},{},tile_scheduler=clc,grouping=row-groups,variant={},groups=128", recipe, shape, variant),
             {}});
      all.push_back(
          {fmt::format("{},d=f32,{},tile_scheduler=clc,batched=1,grouping=k-groups,k_groups=128", recipe, shape), {}});
    }
  for (const char* recipe : {"a=bf16,b=bf16", "a=e4m3,b=e4m3,scale=block-1d"})
    for (const char* shape : {"tile=128x128x0,cluster=1x1", "tile=128x128x0,cluster=2x1,pair=1"})
      for (const char* packing : {"", ",k_packing=per-group"})
        all.push_back(
            {fmt::format("{},d=f32,{},{}batched=1,grouping=k-groups,k_groups=128{}", recipe, shape,
                         std::string_view(recipe).find("bf16") != std::string_view::npos ? "layout=tn," : "", packing),
             {}});
  for (const char* recipe : {"a=e4m3,b=e4m3,scale=mx", "a=e4m3,b=e2m1,scale=mx", "a=e2m1,b=e2m1,scale=nv"}) {
    for (const char* shape : {"tile=128x128x0,cluster=1x1", "tile=128x256x0,cluster=2x1", "tile=128x96x0,cluster=1x1",
                              "tile=128x256x0,cluster=2x1,pair=1"})
      for (const char* variant : {"contiguous", "masked"})
        all.push_back({fmt::format("{},{},grouping=row-groups,variant={},groups=128", recipe, shape, variant), {}});
    for (const char* shape : {"tile=128x128x0,cluster=1x1", "tile=128x256x0,cluster=2x1,pair=1"})
      all.push_back({fmt::format("{},d=f32,{},batched=1,grouping=k-groups,k_groups=128", recipe, shape), {}});
    for (const char* more : {"tile=128x128x0,cluster=1x1", "tile=128x256x0,cluster=2x1,pair=1",
                             "tile=128x256x0,cluster=1x1,grouping=row-groups,variant=contiguous,groups=128"})
      all.push_back({fmt::format("{},{}", recipe, more), "swiglu_halves(acc)"});
  }
  return all;
}

/// Returns `candidate` resolved, or why the library refuses it.
inline Result<GemmConfig> resolved(const Sm100Candidate& candidate) {
  Result<GemmConfig> parsed = parse_config(candidate.text, {.arch = Arch::sm100});
  if (!parsed) return parsed;
  if (!candidate.epilogue.empty()) {
    const Result<EpilogueTree> tree = parse_epilogue(candidate.epilogue);
    if (!tree) return failure(tree.error());
    parsed->epilogue = *tree;
  }
  const Grouping grouping = parsed->grouping;
  const GemmConfig c = grouping == Grouping::row_groups ? config::resolve_grouped(*parsed)
                       : grouping == Grouping::k_groups ? config::resolve_k_grouped(*parsed)
                                                        : config::resolve(*parsed);
  const config::ConfigFault fault = grouping == Grouping::row_groups ? config::fault_of_grouped(c)
                                    : grouping == Grouping::k_groups ? config::fault_of_k_grouped(c)
                                                                     : config::fault_of(c);
  if (fault) return failure(ErrorCode::unsupported, fault.field, fault.expected, to_text(c));
  return c;
}

}  // namespace ww::test
