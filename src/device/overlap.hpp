// SPDX-License-Identifier: Apache-2.0
// Whether a plan's launches may start before their predecessors have ended, where nobody says so: where that was
// measured to pay, in launches of up to 60 us (docs/performance.md). In longer ones it gains a percent at most, and
// those that leave a few SMs idle lose up to a fifth with it.
#pragma once

#include "warpwright/host/gemm.hpp"

namespace ww::device {

inline bool overlaps(Pdl asked, bool pays) { return asked == Pdl::on || (asked == Pdl::automatic && pays); }

/// One product of few rows, K not so long that weights take most of the time.
inline bool overlap_pays(const GemmProblem& p) { return p.batch == 1 && p.m <= 64 && p.k <= 8192; }

/// Groups: where two launches share an SM, the second is there when the first one's last loads are under way.
inline bool overlap_pays(const GemmConfig& config) { return config.ctas_per_sm > 1; }

}  // namespace ww::device
