// SPDX-License-Identifier: Apache-2.0
// Cluster launch control: a running cluster asks for the work of one that has not started, which then never starts.
//   try_cancel -> (any moment, each CTA by itself) 16 bytes of answer written, counted on the CTA's mbarrier
// PTX leaves open which cluster is handed out and when requests are declined. Here the seed decides both: ids come in
// random order, and about half of the clusters are declined before the work is used up. Whatever nobody was given
// starts as usual, so that every cluster of the grid runs once.
#pragma once

#include "emu/thread.hpp"

namespace ww::emu::sm100 {

/// Requests work for the cluster of the thread, which is in its first CTA. `answer` and `barrier` are shared addresses
/// of that CTA; with `multicast` the answer goes to the same offsets of every CTA of the cluster.
void try_cancel(Thread& thread, u32 answer, u32 barrier, bool multicast, arch::Site site);

/// Returns whether an answer, four words that were loaded from shared memory, gives work.
bool is_canceled(Thread& thread, const u32* answer, arch::Site site);
/// Returns the x, y and z of the first CTA of the cluster that an answer gives.
void first_cta(Thread& thread, const u32* answer, u32* coordinates, arch::Site site);

}  // namespace ww::emu::sm100
