// SPDX-License-Identifier: Apache-2.0
// Where things are in tensor memory, 128 lanes x 512 columns of 32 bits: accumulators, A, block scales, and what
// tcgen05.ld, tcgen05.st and tcgen05.cp move. All places are relative to the address that the instruction names.
// Rows are those of one CTA: a pair's instruction has half of its M in each of them.
//   accumulator    one CTA, M = 128; a pair, M = 256: lane = row, column = column
//                  one CTA, M = 64: 16 of every 32 lanes, so that another accumulator fits 16 lanes further on
//                  a pair, M = 128: 64 rows, and the second half of N lies on lanes 64 to 127 (2x2)
//   A              packed to 8 columns on the lanes of the accumulator's rows; on the 2x2 datapath twice, on lanes 0
//                  to 63 and 64 to 127
//   scales         row r on lane r % 32 of every quarter, column r / 32, byte = scale; 2x2: B's halves of N as above
// D of 16 bits takes a column for each element too, as the low half.
#pragma once

#include "warpwright/arch/sm100/formats.hpp"
#include "warpwright/core/meta.hpp"

namespace ww::emu::sm100 {

inline constexpr int kQuarterLanes = 32;   // which one warp may access
inline constexpr int kOperandColumns = 8;  // of A for one instruction: 32 bytes of K
inline constexpr int kScaleRows = 128;     // to which rows with scales are padded
inline constexpr int kScalesOfColumn = 4;  // bytes of a column

struct Place {
  int lane = 0, column = 0;
  bool operator==(const Place&) const = default;
};
struct BytePlace {
  int lane = 0, column = 0, byte = 0;
  bool operator==(const BytePlace&) const = default;
};

/// The extents of one MMA; m counts the rows of both CTAs of a pair.
struct MmaExtent {
  arch::CtaGroup group = arch::CtaGroup::one;
  int m = 0, n = 0;

  /// Returns the rows of D, and of A, in each CTA.
  constexpr int rows() const { return m / arch::ctas_of(group); }
  /// Returns whether the halves of N lie on different lanes: the 2x2 datapath.
  constexpr bool halves() const { return group == arch::CtaGroup::pair && m == 128; }
  /// Returns the columns of tensor memory that the accumulator takes.
  constexpr int columns() const { return halves() ? n / 2 : n; }
  /// Returns whether the accumulator takes 16 of every 32 lanes.
  constexpr bool half_quarters() const { return group == arch::CtaGroup::one && m == 64; }
  /// Returns whether the address of the accumulator, or of A, may name this lane.
  constexpr bool takes_lane(int lane) const { return lane == 0 || (lane == 16 && half_quarters()); }
};

// --- accumulators ----------------------------------------------------------------------------------------------------
constexpr Place accumulator_place(MmaExtent of, int row, int column) {
  if (of.half_quarters()) return {row % 16 + kQuarterLanes * (row / 16), column};
  if (of.halves()) return {row + 64 * (column / (of.n / 2)), column % (of.n / 2)};
  return {row, column};
}
/// Returns the place of an element of a CTA's tile of accumulators, `m_tiles` of them along M. They follow one another
/// along M, then along N; accumulators of 64 rows take the free lanes first.
constexpr Place tiled_accumulator_place(MmaExtent of, int m_tiles, int row, int column) {
  const int tile = row / of.rows() + m_tiles * (column / of.n);
  const Place place = accumulator_place(of, row % of.rows(), column % of.n);
  if (of.half_quarters()) return {place.lane + 16 * (tile % 2), place.column + of.columns() * (tile / 2)};
  return {place.lane, place.column + of.columns() * tile};
}

// --- A in tensor memory ----------------------------------------------------------------------------------------------
/// Returns how often A stands there: on the 2x2 datapath once for each half of N, which reads the copy on its lanes.
constexpr int operand_a_copies(MmaExtent of) { return of.halves() ? 2 : 1; }
/// Returns the byte that holds element k of a row, or starts with it; `bits` are those of the element's container: 8 in
/// kinds f8f6f4 and mxf8f6f4, 4 in the kinds of dense 4-bit elements, of which the even one is in the low half.
constexpr BytePlace operand_a_place(MmaExtent of, int row, int k, int bits, int copy = 0) {
  const int lane = of.half_quarters() ? accumulator_place(of, row, 0).lane : row + 64 * copy;
  return {lane, k * bits / 32, k * bits % 32 / 8};
}

// --- block scales ----------------------------------------------------------------------------------------------------
/// The rows of an operand with scales, as one instruction reads them.
struct ScaleRows {
  int rows = 0;         // of A: those of the CTA; of B: all of N, in both CTAs of a pair
  bool halves = false;  // B on the 2x2 datapath
  /// Returns how often each scale must be there: in all quarters that read it.
  constexpr int replicas() const { return halves ? 2 : 4; }
  /// Returns the columns of the rows that exist.
  constexpr int used_columns() const { return ceil_div(halves ? rows / 2 : rows, kQuarterLanes); }
  /// Returns the columns of four scales of every row, and of rows up to a multiple of 128.
  constexpr int columns() const { return round_up(rows, kScaleRows) / kQuarterLanes / (halves ? 2 : 1); }
};
constexpr ScaleRows scale_rows_a(MmaExtent of) { return {of.rows(), false}; }
constexpr ScaleRows scale_rows_b(MmaExtent of) { return {of.n, of.halves()}; }

/// Returns the place of a scale; `scale` counts from the address on, four to a column. One instruction reads those from
/// its scale id on.
constexpr BytePlace scale_place(ScaleRows of, int row, int scale, int replica = 0) {
  const int half = of.halves ? of.rows / 2 : of.rows, of_half = row % half;
  const int lane = of_half % kQuarterLanes + (of.halves ? 64 * (row / half) : 0) + kQuarterLanes * replica;
  return {lane, of_half / kQuarterLanes + scale / kScalesOfColumn * of.columns(), scale % kScalesOfColumn};
}
/// Returns whether an instruction with `vector` scales for each row (.scale_vec) may start at byte `id` of a column.
constexpr bool takes_scale_id(int vector, int id) { return id >= 0 && id % vector == 0 && id < kScalesOfColumn; }

// --- tcgen05.ld and tcgen05.st ---------------------------------------------------------------------------------------
/// The forms of tcgen05.ld and tcgen05.st. `packed`: a register holds the low halves of two neighbouring columns, the
/// first one in its low half. `split` is the distance of the second half of lanes16_bits32_split, in columns.
struct TensorAccess {
  arch::TensorShape shape = arch::TensorShape::lanes32_bits32;
  int repetitions = 1;
  bool packed = false;
  int split = 0;

  constexpr int registers() const { return repetitions * arch::registers_of(shape); }
  constexpr int lanes() const { return shape == arch::TensorShape::lanes32_bits32 ? 32 : 16; }
  /// Returns the columns from the first to the last accessed one.
  constexpr int columns() const {
    const int each = shape == arch::TensorShape::lanes16_bits256   ? 8
                     : shape == arch::TensorShape::lanes16_bits128 ? 4
                     : shape == arch::TensorShape::lanes16_bits64  ? 2
                                                                   : 1;
    return each * repetitions * (packed ? 2 : 1) + (shape == arch::TensorShape::lanes16_bits32_split ? split : 0);
  }
  /// Returns whether .x<repetitions> exists.
  constexpr bool exists() const {
    return repetitions >= 1 && (repetitions & (repetitions - 1)) == 0 && registers() <= 128;
  }
};
/// Returns the place of a thread's register; lanes count from the address's own, which is the first of the warp's
/// quarter, or with 16 lanes the 16th. With `packed` it is the column of the low half.
constexpr Place register_place(TensorAccess of, int thread, int index) {
  const int scale = of.packed ? 2 : 1;
  switch (of.shape) {
    case arch::TensorShape::lanes32_bits32: return {thread, scale * index};
    case arch::TensorShape::lanes16_bits64:
      return {thread / 4 + 8 * (thread % 2), scale * (thread / 2 % 2 + 2 * index)};
    case arch::TensorShape::lanes16_bits128:
      return {thread / 4 + 8 * (index % 2), scale * (thread % 4 + 4 * (index / 2))};
    case arch::TensorShape::lanes16_bits256:
      return {thread / 4 + 8 * (index / 2 % 2), scale * (2 * (thread % 4) + index % 2 + 8 * (index / 4))};
    default: return {thread % 16, scale * index + (thread < 16 ? 0 : of.split)};
  }
}

// --- tcgen05.cp ------------------------------------------------------------------------------------------------------
/// Returns the rows that are read of shared memory.
constexpr int rows_of(arch::CopyShape shape) {
  switch (shape) {
    case arch::CopyShape::rows4_bits256: return 4;
    case arch::CopyShape::rows32_bits128_all: return 32;
    case arch::CopyShape::rows64_bits128_02_13:
    case arch::CopyShape::rows64_bits128_01_23: return 64;
    default: return 128;
  }
}
/// Returns the columns that each row takes; the row has four bytes for each, whether it is unpacked or not.
constexpr int columns_of(arch::CopyShape shape) {
  return shape == arch::CopyShape::rows128_bits256 || shape == arch::CopyShape::rows4_bits256 ? 8 : 4;
}
/// Returns how many lanes take each row.
constexpr int copies_of(arch::CopyShape shape) {
  switch (shape) {
    case arch::CopyShape::rows32_bits128_all: return 4;
    case arch::CopyShape::rows64_bits128_02_13:
    case arch::CopyShape::rows64_bits128_01_23: return 2;
    default: return 1;
  }
}
/// Returns the lane that takes copy `copy` of a row.
constexpr int copy_lane(arch::CopyShape shape, int row, int copy = 0) {
  switch (shape) {
    case arch::CopyShape::rows4_bits256: return kQuarterLanes * row;
    case arch::CopyShape::rows32_bits128_all: return row + kQuarterLanes * copy;
    case arch::CopyShape::rows64_bits128_02_13: return row + 64 * copy;
    case arch::CopyShape::rows64_bits128_01_23: return row % 32 + 64 * (row / 32) + kQuarterLanes * copy;
    default: return row;
  }
}

}  // namespace ww::emu::sm100
