// SPDX-License-Identifier: Apache-2.0
// Build-time program: compiles default_sources() into a directory of shipped modules, in parallel, and removes modules
// that no source needs any more.   usage: <generator> DIRECTORY [JOBS]
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "jit/shipped.hpp"
#include "launch/default_sources.hpp"

namespace fs = std::filesystem;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [JOBS]\n", argv[0]);
    return 2;
  }
  const fs::path directory = argv[1];
  const int jobs = argc > 2 ? std::max(1, std::atoi(argv[2])) : 1;
  std::error_code error;
  fs::create_directories(directory, error);

  const std::vector<ww::runtime::KernelSource> sources = ww::adapters::default_sources();
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::set<fs::path> wanted;
  bool failed = false;
  const auto work = [&] {
    for (std::size_t i; (i = next++) < sources.size();) {
      const ww::Result<fs::path> path = ww::jit::ship_module(sources[i].text, directory);
      std::lock_guard lock(mutex);
      if (path) {
        wanted.insert(path->filename());
      } else {
        failed = true;
        std::fprintf(stderr, "%s: %s\n", sources[i].name.c_str(), path.error().message.c_str());
      }
    }
  };
  std::vector<std::thread> threads;
  for (int i = 1; i < jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (failed) return 1;

  ww::jit::sweep_leftovers(directory);
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() != ".so") continue;
    if (!wanted.count(it->path().filename())) {
      fs::remove(it->path(), ignored);
    } else {  // published files are private to their owner, installed ones readable by all
      fs::permissions(it->path(),
                      fs::perms::owner_write | fs::perms::owner_read | fs::perms::group_read | fs::perms::others_read,
                      ignored);
    }
  }
}
