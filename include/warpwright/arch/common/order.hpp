// SPDX-License-Identifier: Apache-2.0
// The strength and the scope of a memory access, in the terms of the PTX memory consistency model.
//   weak: plain ld, st     everything else is strong     ld.volatile and st.volatile are relaxed at system scope
#pragma once

#include "warpwright/core/dtype.hpp"

namespace ww::arch {

enum class MemoryOrder : u8 { weak, relaxed, acquire, release, acq_rel };
/// The threads that an access or a fence can synchronise with: those of the CTA, of the cluster, of the GPU, all.
enum class Scope : u8 { cta, cluster, gpu, system };

struct Ordering {
  MemoryOrder order = MemoryOrder::weak;
  Scope scope = Scope::cta;
};
inline constexpr Ordering kWeak{}, kReleaseCta{MemoryOrder::release, Scope::cta},
    kAcquireCta{MemoryOrder::acquire, Scope::cta};

}  // namespace ww::arch
