// SPDX-License-Identifier: Apache-2.0
// Shared, L2 and HBM traffic by source line (HBM: sectors.hpp), and the distribution of a warp's shared accesses over
// the 32 banks of 4 bytes.
//   wavefronts of a warp-wide access = the most different 32-bit values that any bank has to deliver
//   8- and 16-byte accesses take halves and quarters of a warp, matrix rows groups of eight
// The n-th accesses of all lanes at a line form the n-th warp-wide access, because lanes need not be converged. Lanes
// that never come leave partial accesses, which are counted as they are at the end.
#pragma once

#include <map>
#include <vector>

#include "emu/check/sectors.hpp"
#include "emu/check/shadow.hpp"
#include "emu/machine_model.hpp"
#include "emu/thread.hpp"
#include "warpwright/host/report.hpp"

namespace ww::emu {

class Traffic {
 public:
  void clear();
  /// Counts one lane's access; `lanes` of a warp form a group.
  void shared(const Thread& thread, u32 offset, u32 bytes, Access kind, arch::Site site);
  void copy(Access kind, arch::Site site, u64 shared_bytes, u64 l2_bytes, u64 saved);
  /// Counts `bytes` from `offset` of operand `range` of the launch.
  void global(Access kind, arch::Site site, u32 range, u64 offset, u32 bytes, bool write);
  /// Returns the sectors; their lines are numbered as those that take() returns.
  std::vector<SectorRun> take_sectors() { return sectors_.take(); }
  std::vector<LineTraffic> take();
  /// Switches counting on or off, for launches on one machine.
  void start(const MachineModel& model, bool on) { model_ = &model, on_ = on; }

 private:
  struct Line {
    arch::Site site{};
    Access kind{};
    LineTraffic sum;
  };
  struct Group {
    u32 lanes = 0;
    u32 offset[32];
    u8 bytes[32];
  };
  struct WarpLine {
    const void* warp = nullptr;
    u32 line = 0;
    u32 first = 0;      // number of groups.front()
    u32 next[32] = {};  // group of each lane's next access
    std::vector<Group> groups;
  };

  u32 line_of(Access kind, arch::Site site);
  void count(u32 line, const Group& group);

  std::vector<Line> lines_;
  SectorLog sectors_;
  const MachineModel* model_ = nullptr;
  bool on_ = true;
  std::map<std::pair<const void*, u32>, WarpLine> pending_;
  u32 last_line_ = 0;
  WarpLine* last_ = nullptr;
};

/// Computes the passes over the banks that `count` accesses of `bytes` at `offset` need, and the fewest that any
/// pattern would need.
void bank_passes(const u32* offset, u32 count, u32 bytes, u64& passes, u64& ideal);

const char* name_of(Access kind);

}  // namespace ww::emu
