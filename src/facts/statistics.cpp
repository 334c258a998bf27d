// SPDX-License-Identifier: Apache-2.0
// Statistics of an emulated run.
#include "facts/facts.hpp"

namespace ww::facts {
namespace {

Fields bytes_fields(const std::map<std::string, std::uint64_t>& bytes) {
  Fields fields;
  for (const auto& [name, count] : bytes) fields.emplace_back(name, count);
  return fields;
}

}  // namespace

Fields fields_of(const EmuStats& s) {
  Fields fields{{"ctas", s.ctas},
                {"fibers", s.fibers},
                {"switches", s.switches},
                {"tma_loads", s.tma_loads},
                {"tma_stores", s.tma_stores},
                {"wgmmas", s.wgmmas},
                {"l2_read_bytes", bytes_fields(s.l2_read_bytes)},
                {"l2_write_bytes", bytes_fields(s.l2_write_bytes)},
                {"shared_write_bytes", bytes_fields(s.shared_write_bytes)}};
  if (s.ummas > 0) fields.emplace_back("ummas", s.ummas);
  if (s.work.empty()) return fields;
  List tiles, parts, k_blocks;
  for (const CtaWork& work : s.work)
    tiles.push_back(work.tiles), parts.push_back(work.parts), k_blocks.push_back(work.k_blocks);
  const auto workspace = s.thread_write_bytes.find("workspace");
  fields.emplace_back("tiles_per_cta", tiles);
  fields.emplace_back("partial_tiles_per_cta", parts);
  fields.emplace_back("k_blocks_per_cta", k_blocks);
  fields.emplace_back("dsmem_bytes", s.dsmem_bytes);
  fields.emplace_back("workspace_write_bytes",
                      workspace == s.thread_write_bytes.end() ? std::uint64_t{0} : workspace->second);
  return fields;
}

}  // namespace ww::facts
