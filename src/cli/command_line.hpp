// SPDX-License-Identifier: Apache-2.0
// The program behind main: parses argv, runs a verb, prints its outcome on stdout and returns an exit status.
//   0 right   1 wrong result   2 invalid use   3 unsupported   4 could not finish
#pragma once

namespace ww::cli {

int run_program(int argc, const char* const* argv);

}  // namespace ww::cli
