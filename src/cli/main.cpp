// SPDX-License-Identifier: Apache-2.0
// The warpwright program. Everything else is in a library, so that tests can link it.
#include "cli/command_line.hpp"

int main(int argc, char** argv) { return ww::cli::run_program(argc, argv); }
