// SPDX-License-Identifier: Apache-2.0
// One user of the cache in a process of its own:   jit_probe CACHE_DIRECTORY NONCE
// compiles big_source(NONCE) through the cache, runs it and prints its answer. Exit status 0 when there is one.
#define WW_TEST_COMPILER ""
#include <cstdio>

#include "jit/jit.hpp"
#include "support.hpp"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const auto compiled = ww::jit::compile_module(ww::jit::test::big_source(std::atoi(argv[2])), argv[1]);
  if (!compiled) {
    std::printf("%s\n", compiled.error().message.c_str());
    return 1;
  }
  std::string why = "no entry";
  const auto answer = ww::jit::test::answer_of(compiled->path, &why);
  if (answer) std::printf("%llu\n", *answer);
  else std::printf("%s\n", why.c_str());
  return answer ? 0 : 1;
}
