// SPDX-License-Identifier: Apache-2.0
// The tensor memory of one CTA: 128 lanes x 512 columns of 32 bits, their allocation, and what is in flight to them.
// Cells that an issued instruction has not written yet read as a NaN that nothing else produces.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "emu/thread.hpp"
#include "warpwright/arch/sm100/formats.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::emu::sm100 {

inline constexpr u32 kLanes = u32{Sm100().tensor_lanes};
inline constexpr u32 kColumns = u32{Sm100().tensor_columns};
inline constexpr u32 kLanesOfWarp = 32;
/// Columns are allocated in powers of two from here up to all.
inline constexpr u32 kFewestColumns = 32;

/// The contents of cells and registers in flight, and of cells that nothing has written.
inline constexpr u32 kPoisonBits = 0x7FFFDEAD;

/// A lane in the upper half and a column in the lower one.
constexpr u32 lane_of(u32 address) { return address >> 16; }
constexpr u32 column_of(u32 address) { return address & 0xFFFF; }

/// A rectangle of columns [first, last) on the lanes of a mask.
struct Region {
  u32 first = 0, last = 0;
  std::array<u64, 2> lanes = {};

  void add_lanes(u32 from, u32 count) {
    for (u32 lane = from; lane < from + count; ++lane) lanes[lane / 64] |= u64{1} << lane % 64;
  }
  bool has(u32 lane, u32 column) const {
    return column >= first && column < last && (lanes[lane / 64] >> lane % 64 & 1) != 0;
  }
};

class TensorMemory {
 public:
  void reset();

  u32& at(u32 lane, u32 column) { return cells_[lane * kColumns + column]; }
  u32* row(u32 lane, u32 column) { return &cells_[lane * kColumns + column]; }
  /// Returns what an instruction that is executed now finds in the cell.
  u32 seen(u32 lane, u32 column) {
    for (const Flight& flight : flights_)
      if (flight.region.has(lane, column)) [[unlikely]]
        return kPoisonBits;
    return at(lane, column);
  }
  /// Notes an issued write; the result is for landed().
  u32 takes_off(const Region& region) {
    flights_.push_back({++last_flight_, region});
    return last_flight_;
  }
  void landed(u32 flight);

  // --- allocation
  struct Allocation {
    u32 base = 0, columns = 0;
    Origin by;
  };
  /// Returns the base for so many columns, ~0 if they are not free here, or in `peer`. Allocations are aligned to their
  /// size.
  u32 find(u32 columns, u32 random, const TensorMemory* peer = nullptr) const;
  void take(u32 base, u32 columns, Origin by);
  /// Frees what was allocated there; false if that is none.
  bool free(u32 base, u32 columns);
  u32 free_columns() const;
  const std::vector<Allocation>& allocations() const { return allocations_; }
  /// Returns what is wrong with an access to columns [first, first + columns); empty if all are allocated.
  std::string fault_of_columns(u32 first, u32 columns) const;

 private:
  struct Flight {
    u32 number;
    Region region;
  };
  bool is_free(u32 base, u32 columns) const;

  std::vector<u32> cells_;
  std::vector<Flight> flights_;
  u32 last_flight_ = 0;
  std::vector<Allocation> allocations_;
};

}  // namespace ww::emu::sm100
