// SPDX-License-Identifier: Apache-2.0
// The integers that kernels compute with say what the layouts say: starts of operand tiles and of their slices, every
// element of an output tile, every box of a matrix.
#include "warpwright/atom/tiles.hpp"

#include <gtest/gtest.h>

#include "warpwright/atom/layouts.hpp"

namespace ww::atom {
namespace {

constexpr arch::SharedAddress kBase{0x2400};

/// tma_partition as the algebra does it.
template <int kSharers, class T> auto slice_of(const T& tile, int slice) {
  constexpr int kRows = decltype(size<0>(tile))::value;
  auto cut = flat_divide(tile, make_tile(Int<kRows / kSharers>{}));  // (R / kSharers, kSharers, K, rest)
  return cut(make_coord(_, slice, _, _));                            // (R / kSharers, K, rest)
}

template <DType kType, int kRows, Major kMajor, int kSharers> void expect_operand() {
  constexpr int kStages = 3, kSlice = kRows / kSharers;
  constexpr int kStep = kMajor == Major::k ? 8 : kSwizzleSpan / bytes_of(kType);  // rows of a swizzle pattern
  static_assert(kSlice % kStep == 0);
  const SharedOperand<kRows, kMajor> operand{kBase};
  const auto tensor = make_tensor(arch::SharedPtr<storage_t<kType>>{kBase},
                                  OperandLayout<kType, kRows, kStages, kMajor>{});  // (kRows, K, STAGE)
  constexpr int kK = decltype(size<1>(tensor))::value;
  for (int slice = 0; slice < kSharers; ++slice) {
    const auto mine = tma_partition<kSharers>(operand, slice);
    static_assert(mine.rows == kSlice);
    const auto expected = slice_of<kSharers>(tensor, slice);  // (kSlice, K, STAGE)
    for (int stage = 0; stage < kStages; ++stage) {
      ASSERT_EQ(mine(_, _, stage).address.value, expected(_, _, stage).origin().address.value) << slice << " " << stage;
      for (int row = 0; row < kSlice; row += kStep)
        ASSERT_EQ(mine(_, _, stage).rows_from(row).address.value,
                  local_tile(expected(_, _, stage), make_tile(Int<kStep>{}, Int<kK>{}), make_coord(row / kStep, 0))
                      .origin()
                      .address.value)
            << "slice " << slice << " stage " << stage << " row " << row;
    }
  }
}

TEST(Tiles, OperandsStartWhereTheirLayoutsSay) {
  expect_operand<DType::e4m3, 192, Major::k, 1>();
  expect_operand<DType::e4m3, 128, Major::k, 2>();
  expect_operand<DType::e5m2, 8, Major::k, 1>();
  expect_operand<DType::bf16, 256, Major::k, 4>();
  expect_operand<DType::f16, 24, Major::k, 3>();
  expect_operand<DType::tf32, 64, Major::k, 2>();
  expect_operand<DType::bf16, 256, Major::mn, 1>();
  expect_operand<DType::bf16, 128, Major::mn, 2>();
  expect_operand<DType::f16, 192, Major::mn, 3>();
  expect_operand<DType::e4m3, 256, Major::mn, 1>();
  expect_operand<DType::e5m2, 256, Major::mn, 2>();
}

template <DType kType, int kRows, int kPanelBytes, int kPanels> void expect_panels() {
  using Panels = SharedPanels<kType, kRows, kPanelBytes>;
  const Panels panels{kBase};
  const auto tensor = make_tensor(arch::SharedPtr<storage_t<kType>>{kBase},
                                  PanelLayout<kType, kRows, kPanelBytes, kPanels>{});  // (kRows, (columns, panels))
  for (int row = 0; row < kRows; ++row)
    for (int column = 0; column < Panels::kPanelColumns * kPanels; ++column)
      ASSERT_EQ(panels(row, column).value, tensor(row, column).address.value) << row << ", " << column;
  for (int panel = 0; panel < kPanels; ++panel)
    for (int row = 0; row < kRows; row += 8)
      ASSERT_EQ(panels.panel(row, panel).address.value,
                local_tile(tensor, make_tile(Int<8>{}, Int<Panels::kPanelColumns>{}), make_coord(row / 8, panel))
                    .origin()
                    .address.value)
          << row << ", " << panel;
}

TEST(Tiles, PanelsHoldEveryElementWhereTheirLayoutSays) {
  expect_panels<DType::bf16, 192, 128, 2>();
  expect_panels<DType::f16, 64, 64, 3>();
  expect_panels<DType::bf16, 64, 32, 1>();
  expect_panels<DType::bf16, 64, 16, 5>();
  expect_panels<DType::f32, 128, 128, 4>();
  expect_panels<DType::f32, 64, 32, 3>();
  expect_panels<DType::e4m3, 128, 128, 1>();
  expect_panels<DType::e4m3, 64, 64, 3>();
}

template <DType kType, int kColumns, int kPanels> void expect_columns() {
  using Columns = SharedColumns<kType, kColumns>;
  const Columns columns{kBase};
  const auto tensor = make_tensor(arch::SharedPtr<storage_t<kType>>{kBase},
                                  ColumnPanelLayout<kType, kColumns, kPanels>{});  // ((rows, panels), kColumns)
  for (int row = 0; row < Columns::kPanelRows * kPanels; ++row)
    for (int column = 0; column < kColumns; ++column)
      ASSERT_EQ(columns(row, column).value, tensor(row, column).address.value) << row << ", " << column;
  for (int panel = 0; panel < kPanels; ++panel)
    ASSERT_EQ(columns.panel(panel).address.value,
              local_tile(tensor, make_tile(Int<Columns::kPanelRows>{}, Int<kColumns>{}), make_coord(panel, 0))
                  .origin()
                  .address.value)
        << panel;
}

TEST(Tiles, PanelsOfColumnsHoldEveryElementWhereTheirLayoutSays) {
  expect_columns<DType::bf16, 128, 3>();
  expect_columns<DType::f16, 8, 1>();
  expect_columns<DType::bf16, 56, 4>();
  expect_columns<DType::f32, 256, 2>();
  expect_columns<DType::f32, 24, 6>();
}

TEST(Tiles, BoxesOfAMatrixBeginWhereItsTilesDo) {
  const int m = 1000, k = 700, batches = 5, batch = 3;
  const auto mA = make_identity_tensor(make_shape(m, k));           // (M, K)
  const auto mB = make_identity_tensor(make_shape(m, k, batches));  // (M, K, L)
  for (int tile = 0; tile < 6; ++tile) {
    const auto gA = local_tile(mA, make_tile(Int<192>{}, _64{}), make_coord(tile, _));               // (192, 64, k)
    const auto gB = local_tile(mB(_, _, batch), make_tile(Int<192>{}, _64{}), make_coord(tile, _));  // (192, 64, k)
    for (int slice = 0; slice < 3; ++slice) {
      const auto tA = tma_partition<3>(TileRow<192, 64>{tile * 192}, slice);
      const auto tB = tma_partition<3>(TileRow<192, 64, true>{tile * 192, batch}, slice);
      for (int block = 0; block < 11; ++block) {
        const auto a = *slice_of<3>(gA, slice)(_, _, block).origin();
        const auto b = *slice_of<3>(gB, slice)(_, _, block).origin();
        const Box<false> box = tA(_, _, block);
        const Box<true> batched = tB(_, _, block).rows_from(8);
        ASSERT_EQ(box.row, int(get<0>(a)));
        ASSERT_EQ(box.column, int(get<1>(a)));
        ASSERT_EQ(batched.row, int(get<0>(b)) + 8);
        ASSERT_EQ(batched.column, int(get<1>(b)));
        ASSERT_EQ(batched.batch, int(get<2>(b)));
      }
    }
  }
}

}  // namespace
}  // namespace ww::atom
