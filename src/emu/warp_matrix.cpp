// SPDX-License-Identifier: Apache-2.0
// stmatrix and ldmatrix: up to four 8x8 matrices of 16-bit items. Lane 8 i + r gives the address of row r of matrix i.
// Lane l holds, in register i, items (l / 4, 2 (l % 4)) and the next one, or their transposes.
#include <cstring>

#include "emu/aligned.hpp"
#include "emu/memory.hpp"
#include "emu/warp_meeting.hpp"
#include "emu/warp_ops.hpp"

namespace ww::emu {
namespace {

void check_count(Thread& thread, int count, const char* what, arch::Site site) {
  if (count != 1 && count != 2 && count != 4)
    thread.machine->fail({&thread, site}, fmt::format("{}: {} matrices; expected 1, 2 or 4", what, count));
}

/// Collects row `row` of matrix `matrix` from the registers of its lanes.
void collect_row(const MatrixStore& store, u32 matrix, u32 row, u16* items) {
  for (u32 column = 0; column < 8; ++column) {
    const u32 r = store.transposed ? column : row, c = store.transposed ? row : column;
    items[column] = static_cast<u16>(store.registers[4 * r + c / 2][matrix] >> (16 * (c % 2)));
  }
}

void carry_out(Thread& thread, const MatrixStore& store, arch::Site site) {
  for (u32 line = 0; line < 8 * static_cast<u32>(store.count); ++line) {
    u16 items[8];
    collect_row(store, line / 8, line % 8, items);
    const SharedPlace place = own_shared_place(thread, store.address[line], 16, 16, "stmatrix", site);
    std::memcpy(place.data(), items, 16);
  }
}

}  // namespace

void stmatrix(Thread& thread, u32 address, const u32* registers, int count, bool transposed, arch::Site site) {
  Machine& machine = *thread.machine;
  auto& stores = thread.warp->matrix_stores;
  check_count(thread, count, "stmatrix", site);
  aligned_call(thread, "stmatrix.sync.aligned", site);
  const u32 turn = thread.matrix_stores++, lane = thread.lane();
  if (turn == stores.end()) {
    MatrixStore& fresh = stores.append();
    fresh.count = count;
    fresh.transposed = transposed;
    fresh.lanes = 0;
    fresh.origin = {&thread, site};
  }
  MatrixStore& store = stores[turn];
  if (store.count != count || store.transposed != transposed)
    machine.fail(
        {&thread, site},
        fmt::format("stmatrix diverges in its warp: lane {} stores {} matrices, others {}", lane, count, store.count),
        Rule::divergent_call, {.origin = store.origin, .operation = "stmatrix"});
  if (Checker* checker = machine.checker(); checker && lane < 8 * static_cast<u32>(count)) {
    const SharedPlace place = own_shared_place(thread, address, 16, 16, "stmatrix", site);
    checker->shared_access(thread, *place.cta, place.offset, 16, Access::stmatrix, site);
  }
  store.address[lane] = address;
  std::memcpy(store.registers[lane], registers, static_cast<std::size_t>(count) * sizeof(u32));
  machine.progress();
  if (++store.lanes != kWarpSize) return;
  carry_out(thread, store, site);
  stores.drop_first();
}

void ldmatrix(Thread& thread, u32 address, u32* registers, int count, bool transposed, arch::Site site) {
  check_count(thread, count, "ldmatrix", site);
  aligned_call(thread, "ldmatrix.sync.aligned", site);
  Warp& warp = *thread.warp;
  if (Checker* checker = thread.machine->checker(); checker && thread.lane() < 8 * static_cast<u32>(count)) {
    const SharedPlace place = own_shared_place(thread, address, 16, 16, "ldmatrix", site);
    checker->shared_access(thread, *place.cta, place.offset, 16, Access::ldmatrix, site);
  }
  const auto load_all = [&](u32 half) {
    for (u32 line = 0; line < 8 * static_cast<u32>(count); ++line) {
      u16 items[8];
      const SharedPlace place = own_shared_place(thread, warp.values[half][line], 16, 16, "ldmatrix", site);
      std::memcpy(items, place.data(), 16);
      for (u32 column = 0; column < 8; ++column) {
        const u32 r = transposed ? column : line % 8, c = transposed ? line % 8 : column;
        u32& to = warp.matrices[half][4 * r + c / 2][line / 8];
        to = (to & ~(0xFFFFu << (16 * (c % 2)))) | u32{items[column]} << (16 * (c % 2));
      }
    }
  };
  const u32 half = meet(thread, 32 + static_cast<u32>(count) * 2 + transposed, address, site, load_all);
  std::memcpy(registers, warp.matrices[half][thread.lane()], static_cast<std::size_t>(count) * sizeof(u32));
}

}  // namespace ww::emu
