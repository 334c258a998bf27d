// SPDX-License-Identifier: Apache-2.0
// Allocation and contents of tensor memory.
#include "emu/sm100/tensor_memory.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ww::emu::sm100 {

void TensorMemory::reset() {
  cells_.assign(kLanes * kColumns, kPoisonBits);
  flights_.clear();
  last_flight_ = 0;
  allocations_.clear();
}

void TensorMemory::landed(u32 flight) {
  std::erase_if(flights_, [=](const Flight& f) { return f.number == flight; });
}

bool TensorMemory::is_free(u32 base, u32 columns) const {
  for (const Allocation& a : allocations_)
    if (base < a.base + a.columns && a.base < base + columns) return false;
  return true;
}

u32 TensorMemory::find(u32 columns, u32 random, const TensorMemory* peer) const {
  const u32 places = kColumns / columns;
  // An empty memory gives any place, because PTX promises none; later ones come first-fit, so that what fits on a
  // device fits here.
  const u32 start = allocations_.empty() ? random % places : 0;
  for (u32 i = 0; i < places; ++i)
    if (const u32 base = (start + i) % places * columns;
        is_free(base, columns) && (!peer || peer->is_free(base, columns)))
      return base;
  return ~0u;
}

void TensorMemory::take(u32 base, u32 columns, Origin by) {
  allocations_.push_back({base, columns, by});
  for (u32 lane = 0; lane < kLanes; ++lane) std::fill_n(row(lane, base), columns, kPoisonBits);
}

bool TensorMemory::free(u32 base, u32 columns) {
  return std::erase_if(allocations_, [=](const Allocation& a) { return a.base == base && a.columns == columns; }) != 0;
}

u32 TensorMemory::free_columns() const {
  u32 taken = 0;
  for (const Allocation& a : allocations_) taken += a.columns;
  return kColumns - taken;
}

std::string TensorMemory::fault_of_columns(u32 first, u32 columns) const {
  if (first + columns > kColumns)
    return fmt::format("columns [{}, {}) reach past the {} of tensor memory", first, first + columns, kColumns);
  for (u32 column = first; column < first + columns;) {
    const auto in = std::find_if(allocations_.begin(), allocations_.end(),
                                 [=](const Allocation& a) { return column >= a.base && column < a.base + a.columns; });
    if (in == allocations_.end())
      return fmt::format("column {} of [{}, {}) is in no allocation of the CTA", column, first, first + columns);
    column = in->base + in->columns;
  }
  return {};
}

}  // namespace ww::emu::sm100
