// SPDX-License-Identifier: Apache-2.0
// Finds emulated threads that never wait. Threads give way to others only where they wait, so that a loop without a
// wait would keep its OS thread for ever. A timer of the process's own time samples such a thread and takes its turn
// away.
#pragma once

#include <csignal>

namespace ww::emu {

/// From now on a thread that has run for three seconds of processor time without waiting is stopped where it is and
/// counts as looping; the others go on, and a launch in which nothing else can run ends with a livelock. Takes the
/// virtual timer and SIGVTALRM of the process, in which one OS thread alone may run launches.
void watch_for_endless_loops();

/// Ends the launch of this process that still runs at `monotonic` seconds, at the next wait of one of its threads: its
/// report says where they are.
void give_up_at(double monotonic);

/// Whether that time is over.
extern volatile std::sig_atomic_t launch_is_late;

}  // namespace ww::emu
