// SPDX-License-Identifier: Apache-2.0
// The parameter of every test kernel of this folder: tensor maps, one input, one output, and small integers whose
// meaning the kernel's comment states. g++ compiles the same text into the test programs, and NVRTC for a GPU.
#pragma once

#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/tensor_map.hpp"

namespace ww::arch_test {

struct Params {
  arch::TensorMap map[2];
  const u32* in;
  u32* out;
  i32 arg[16];
};

/// Copies words of shared memory to this CTA's part of the output, all threads of the CTA.
WW_DEVICE void copy_out(const Params& p, arch::SharedAddress from, u32 words) {
  for (u32 w = arch::thread_index(); w < words; w += arch::block_size())
    arch::global::store(p.out + arch::block_index() * words + w, arch::shared::load(from + 4 * w));
}

/// Copies words of the input to shared memory, all threads of the CTA.
WW_DEVICE void copy_in(const u32* from, arch::SharedAddress to, u32 words) {
  for (u32 w = arch::thread_index(); w < words; w += arch::block_size())
    arch::shared::store(to + 4 * w, arch::global::load(from + w));
}

}  // namespace ww::arch_test
