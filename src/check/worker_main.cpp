// SPDX-License-Identifier: Apache-2.0
// The program libexec/warpwright/warpwright-check-worker, which ww::check starts and nobody else.
#include <cstdio>

#include "check/worker.hpp"

int main(int argc, char** argv) {
  const int status = ww::campaign::serve(argc, argv);
  if (status != 0) std::fprintf(stderr, "warpwright-check-worker: started by ww::check, not by hand\n");
  return status;
}
