// SPDX-License-Identifier: Apache-2.0
// /proc/meminfo and control group version 2.
#include "operations/memory.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace ww::operations {
namespace {

constexpr std::uint64_t kUnknown = std::uint64_t{1} << 62;

/// Returns the number after `key` in a file of lines "key number …".
std::uint64_t field(const char* path, const std::string& key) {
  std::ifstream file(path);
  std::string word;
  for (std::uint64_t value; file >> word;)
    if (word == key && file >> value) return value;
  return kUnknown;
}

std::uint64_t number(const char* path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : kUnknown;  // "max" is no number
}

}  // namespace

std::uint64_t available_memory() {
  const std::uint64_t kibibytes = field("/proc/meminfo", "MemAvailable:");
  const std::uint64_t system = kibibytes == kUnknown ? kUnknown : kibibytes * 1024;
  const std::uint64_t limit = number("/sys/fs/cgroup/memory.max");
  const std::uint64_t used = field("/sys/fs/cgroup/memory.stat", "anon");  // file pages can be reclaimed
  if (limit == kUnknown || used == kUnknown) return system;
  return std::min(system, limit - std::min(limit, used));
}

}  // namespace ww::operations
