// SPDX-License-Identifier: Apache-2.0
// A flag that a signal handler may set.
#include "cli/interrupt.hpp"

namespace ww::cli {
namespace {

volatile std::sig_atomic_t requested_signal = 0;
constexpr int kSignals[] = {SIGINT, SIGTERM};

}  // namespace

Interrupt::Interrupt() {
  requested_signal = 0;
  struct sigaction action = {};
  action.sa_handler = [](int signal) { requested_signal = signal; };
  action.sa_flags = SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (int i = 0; i < 2; ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interrupt::requested() const { return requested_signal != 0; }

}  // namespace ww::cli
