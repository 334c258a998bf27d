// SPDX-License-Identifier: Apache-2.0
// Finds emulated threads that never wait. Threads give way to others only where they wait, so that a loop without a
// wait would keep its OS thread for ever. A timer of the process's own time samples such a thread and takes its turn
// away.
#pragma once

#include <csignal>

namespace ww::emu {

struct Thread;

/// From now on a thread that has run for three seconds of processor time without waiting is stopped where it is and
/// counts as looping; the others go on, and a launch in which nothing else can run ends with a livelock. Takes the
/// virtual timer and SIGVTALRM of the process, in which one OS thread alone may run launches.
void watch_for_endless_loops();

/// The thread that was found to run without waiting while the emulator's code ran for it. Null if there is none.
extern const Thread* volatile endless_thread;
/// Stops that thread at its next call of the emulator, unless it has waited in the meantime.
void stop_endless(Thread& thread);

/// Ends the launch of this process that still runs at `monotonic` seconds, at the next wait of one of its threads: its
/// report says where they are.
void give_up_at(double monotonic);

/// Whether that time is over.
extern volatile std::sig_atomic_t launch_is_late;

}  // namespace ww::emu
