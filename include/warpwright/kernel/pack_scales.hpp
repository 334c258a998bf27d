// SPDX-License-Identifier: Apache-2.0
// Packs the exponents of float32 scales, four of a row to a word, as consumers of UE8M0 scales read them by TMA. A task
// is 256 rows, one a thread, by eight scales: neighbouring threads store neighbouring words, and the two words of a
// thread come from one 32-byte sector if its row is contiguous. With groups of K every group begins a new word, which
// each thread finds from the sizes on the device.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/pdl.hpp"
#include "warpwright/arch/common/role.hpp"
#include "warpwright/config/pack_scales_arguments.hpp"

namespace ww::kernel {

using config::PackScalesArguments;

struct PackScales {
  static constexpr int kThreads = config::kPackThreads;
  static constexpr int kWords = config::kPackWords;
  static constexpr int kScales = config::kPackedScales;

  WW_DEVICE static void run(const PackScalesArguments& a) {
    arch::role("packer");
    arch::pdl::launch_dependents();
    arch::pdl::wait();  // global memory is left alone before this line
    for (u32 task = arch::block_index(); task < a.tasks; task += arch::grid_size()) {
      const u32 row = task / a.tiles_k;
      const i32 m = static_cast<i32>(row % a.tiles_m) * kThreads + static_cast<i32>(arch::thread_index());
      const i32 first = static_cast<i32>(task % a.tiles_k) * kWords;
      if (m >= a.m) continue;
      const i64 batch = row / a.tiles_m;
      const float* const from = a.scales + batch * a.batch_scales + m * a.scale_m;
      u32* const to = a.packed + batch * a.batch_packed + m * a.packed_m;
      for (i32 word = first; word < min(first + kWords, a.words); ++word) {
        const Range scales = a.sizes == nullptr ? Range{kScales * word, a.k} : scales_of(a, word);
        arch::global::store(to + word * a.packed_k, pack(from, a.scale_k, scales));
      }
    }
  }

 private:
  struct Range {
    i32 begin, end;
  };

  /// Returns the scales from the first of a word to the last of its group; none behind the last group.
  WW_DEVICE static Range scales_of(const PackScalesArguments& a, i32 word) {
    i32 begin = 0, words = 0;
    for (i32 g = 0; g < a.groups; ++g) {
      const i32 size = max(static_cast<i32>(arch::global::load(a.sizes + g)), 0);
      const i32 count = min(size / a.span + (size % a.span != 0 ? 1 : 0), a.k - begin);
      const i32 of_group = (count + kScales - 1) / kScales;
      if (word < words + of_group) return {begin + kScales * (word - words), begin + count};
      begin += count, words += of_group;
    }
    return {0, 0};
  }

  /// Packs up to four exponents, the first into the lowest byte.
  WW_DEVICE static u32 pack(const float* from, i64 step, Range scales) {
    u32 word = 0;
    WW_UNROLL
    for (i32 i = 0; i < kScales; ++i) {
      if (scales.begin + i >= scales.end) break;
      const u32 bits = arch::global::load(from + (scales.begin + i) * step);
      word |= (bits >> 23 & 0xff) << (8 * i);
    }
    return word;
  }
};

}  // namespace ww::kernel
