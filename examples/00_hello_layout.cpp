// SPDX-License-Identifier: Apache-2.0
// Example 00: layouts, the one data structure of everything that follows. No GPU, no emulator, no library to link.
//
// A layout is a function from coordinates to offsets, written shape:stride. (4,8):(8,1) is a 4 x 8 matrix, row by row:
// layout(i, j) = 8 i + 1 j. Shapes nest: (4,(2,4)):(2,(1,8)) cuts the columns into 4 groups of 2. Because a layout is a
// function, questions about tiles, threads and banks become three operations on functions:
//   composition(a, b)     look at a through b: first b, then a                        (views, transposes, thread maps)
//   zipped_divide(a, t)   cut a into tiles: ((inside the tile),(which tile))          (what a CTA or a copy works on)
//   Swizzle               permute the offsets so that a column of 16-byte chunks touches all banks
// Extents known at compile time are types (Int<4>, short _4), so a static layout costs nothing at run time.
//
//   g++ -std=c++20 -Iinclude examples/00_hello_layout.cpp && ./a.out
#include <cstdio>

#include "warpwright/layout/tensor.hpp"

using namespace ww;

namespace {

// The offsets of a layout of two modes, as the kernel would compute them.
template <class L> void print_table(const char* title, const L& layout) {
  std::printf("%s\n", title);
  for (int i = 0; i < int(size<0>(layout)); ++i) {
    for (int j = 0; j < int(size<1>(layout)); ++j) std::printf(" %4d", int(layout(i, j)));
    std::printf("\n");
  }
  std::printf("\n");
}

int failures = 0;
void check(bool holds, const char* claim) {
  if (holds) return;
  ++failures;
  std::printf("NOT TRUE: %s\n", claim);
}

// 1. One matrix, two ways to store it, one way to ask.
void coordinates_and_offsets() {
  constexpr auto columns = make_layout(Shape<_4, _8>{});                 // (4,8):(1,4), leftmost fastest
  constexpr auto rows = make_layout(Shape<_4, _8>{}, Stride<_8, _1>{});  // (4,8):(8,1)
  print_table("rows (4,8):(8,1)", rows);
  check(rows(2, 3) == 19 && columns(2, 3) == 14, "the same coordinate, two offsets");

  // A plain number is a coordinate too: element 6 counted down the columns is (2, 1).
  check(rows(6) == rows(2, 1), "an integer coordinate unfolds with the leftmost mode fastest");

  // A static layout is a type: size and offsets are constants the compiler can check.
  static_assert(size(rows) == 32 && rows(_3{}, _7{}) == 31);
  static_assert(sizeof(rows) == 1, "nothing is stored");
}

// 2. Composition: B says which elements of A, in which order. The result is again a layout.
void compose() {
  constexpr auto rows = make_layout(Shape<_4, _8>{}, Stride<_8, _1>{});
  constexpr auto transpose = make_layout(Shape<_8, _4>{}, Stride<_4, _1>{});  // (j, i) -> the number of element (i, j)
  constexpr auto transposed = composition(rows, transpose);                   // (8,4):(1,8)
  print_table("transposed = composition(rows, (8,4):(4,1))", transposed);
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 8; ++j) check(transposed(j, i) == rows(i, j), "the transpose swaps coordinates");

  // An inverse returns the coordinate at offset x.
  constexpr auto inverse = right_inverse(rows);
  for (int x = 0; x < 32; ++x) check(rows(inverse(x)) == x, "rows(inverse(x)) is x");
}

// 3. Division: the tile first, then the tiles. This is how a GEMM finds the work of a CTA.
void divide() {
  constexpr auto rows = make_layout(Shape<_4, _8>{}, Stride<_8, _1>{});
  constexpr auto tiles = zipped_divide(rows, Tile<_2, _4>{});  // ((2,4),(2,2)):((8,1),(16,4))
  print_table("zipped_divide(rows, (2,4)): one row per element of a tile, one column per tile", tiles);
  check(tiles(make_coord(1, 2), make_coord(1, 0)) == rows(2 + 1, 0 + 2), "tile (1,0), inside it (1,2)");

  // On a tensor (a pointer and a layout) `local_tile` picks one tile. Here the extents are run-time numbers.
  float data[4 * 8];
  for (int x = 0; x < 32; ++x) data[x] = float(x);
  const int m = 4, k = 8;
  const auto gA = make_tensor(data, make_shape(m, k), make_stride(k, _1{}));  // (M, K)
  const auto tile = local_tile(gA, Tile<_2, _4>{}, make_coord(1, _));         // (2, 4, K / 4): a row of tiles
  check(size<2>(tile) == 2 && tile(1, 2, 1) == 8.f * 3 + 6, "element (1,2) of tile (1,1) is A(3,6)");
}

// 4. The same tiles on coordinates instead of addresses, which is what a TMA instruction takes.
void coordinates_for_tma() {
  const auto mA =
      make_coord_tensor(make_layout(make_shape(512, 256), make_stride(E<1>{}, E<0>{})));  // (m, k) -> {k, m}
  const auto box = local_tile(mA, Tile<_128, _64>{}, make_coord(3, 2))(0, 0);
  std::printf("tile (3,2) of 128 x 64 starts at coordinate {%d, %d}\n\n", int(get<0>(box)), int(get<1>(box)));
  check(get<0>(box) == 128 && get<1>(box) == 384, "the tile starts at k = 2 * 64, m = 3 * 128");
}

// 5. Swizzle: eight rows of 128 bytes, 16-byte chunks. Unswizzled, a column of chunks sits in the same four banks eight
//    times; Swizzle<3,4,3> moves chunk c of row r to c ^ r, so a column touches all 32 banks once.
void swizzle() {
  constexpr auto plain = make_layout(Shape<_8, _128>{}, Stride<_128, _1>{});
  constexpr auto swizzled = composition(Swizzle<3, 4, 3>{}, plain);
  std::printf("16-byte chunk that holds (row, chunk) under Swizzle<3,4,3>\n");
  for (int row = 0; row < 8; ++row) {
    for (int chunk = 0; chunk < 8; ++chunk) std::printf(" %2d", swizzled(row, 16 * chunk) % 128 / 16);
    std::printf("\n");
  }
  unsigned chunks_of_column_0 = 0;
  for (int row = 0; row < 8; ++row) chunks_of_column_0 |= 1u << (swizzled(row, 0) % 128 / 16);
  check(chunks_of_column_0 == 0xFF, "a column of chunks touches every bank group once");
}

}  // namespace

int main() {
  coordinates_and_offsets();
  compose();
  divide();
  coordinates_for_tma();
  swizzle();
  if (failures == 0) std::printf("\nall claims hold\n");
  return failures == 0 ? 0 : 1;
}
