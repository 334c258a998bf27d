// SPDX-License-Identifier: Apache-2.0
// SIGINT and SIGTERM as a question that long verbs ask, so that they can report what they have.
#pragma once

#include <csignal>

namespace ww::cli {

/// While it lives, the first SIGINT or SIGTERM is remembered and the second ends the program. Signals that the program
/// was started to ignore stay ignored.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const;

 private:
  struct sigaction before_[2] = {};
};

}  // namespace ww::cli
