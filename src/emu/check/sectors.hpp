// SPDX-License-Identifier: Apache-2.0
// Bytes to and from HBM, by a first-order model of L2: it is empty when the launch starts and evicts nothing until the
// end. So a sector of 32 bytes is read from HBM once, for the first line that reads it before anything has written it,
// and written back once, for the first line that wrote it. Sectors count from the start of the operand.
#pragma once

#include <algorithm>
#include <tuple>
#include <vector>

#include "emu/check/page_map.hpp"
#include "warpwright/core/dtype.hpp"

namespace ww::emu {

inline constexpr u32 kSectorBytes = 32;

/// Neighbouring sectors of one operand that one line touched first.
struct SectorRun {
  u32 range = 0, line = 0;
  u64 first = 0, count = 0;
  bool write = false;
};

/// Two lines for each sector of a few pages; zero where nothing was recorded.
class SectorPages {
 public:
  static constexpr u64 kSectors = 128;
  struct Page {
    u32 read[kSectors] = {}, written[kSectors] = {};
  };
  Page& at(u32 range, u64 sector) { return pages_.at(u64{range} << 48 | sector / kSectors); }
  const std::unordered_map<u64, std::unique_ptr<Page>>& pages() const { return pages_.pages(); }
  void clear() { pages_.clear(); }

 private:
  PageMap<Page> pages_;
};

/// The line that touched each sector first.
class SectorLog {
 public:
  void touch(u32 range, u64 offset, u32 bytes, bool write, u32 line) {
    for (u64 sector = offset / kSectorBytes; sector * kSectorBytes < offset + bytes; ++sector) {
      auto& page = pages_.at(range, sector);
      const u64 at = sector % Pages::kSectors;
      if (write) {
        if (!page.written[at]) page.written[at] = line + 1;
      } else if (!page.written[at] && !page.read[at]) {
        page.read[at] = line + 1;
      }
    }
  }
  /// Returns the runs, sorted, reads before writes.
  std::vector<SectorRun> take() {
    std::vector<SectorRun> runs;
    for (const auto& [key, page] : pages_.pages())
      for (const bool write : {false, true})
        for (u64 i = 0; i < Pages::kSectors; ++i)
          if (const u32 line = (write ? page->written : page->read)[i])
            append(runs, {static_cast<u32>(key >> 48), line - 1, (key & ((u64{1} << 48) - 1)) * Pages::kSectors + i, 1,
                          write});
    std::sort(runs.begin(), runs.end(), [](const SectorRun& a, const SectorRun& b) {
      return std::tie(a.write, a.range, a.first) < std::tie(b.write, b.range, b.first);
    });
    std::vector<SectorRun> joined;
    for (const SectorRun& run : runs) append(joined, run);
    pages_.clear();
    return joined;
  }
  void clear() { pages_.clear(); }

 private:
  using Pages = SectorPages;
  static void append(std::vector<SectorRun>& runs, const SectorRun& run) {
    if (!runs.empty()) {
      SectorRun& last = runs.back();
      if (last.range == run.range && last.line == run.line && last.write == run.write &&
          last.first + last.count == run.first) {
        last.count += run.count;
        return;
      }
    }
    runs.push_back(run);
  }
  Pages pages_;
};

}  // namespace ww::emu
