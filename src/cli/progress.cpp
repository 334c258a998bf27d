// SPDX-License-Identifier: Apache-2.0
// A thread that wakes five times a second. Without a terminal no thread is started.
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <system_error>

namespace ww::cli {

Progress::Progress() {
  if (!::isatty(STDERR_FILENO)) return;
  try {
    thread_ = std::thread([this] { watch(); });
  } catch (const std::system_error&) {  // without a thread there is no progress line
  }
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stop_requested_.notify_all();
  thread_.join();
}

std::atomic<int>* Progress::phase(std::string name) {
  const std::lock_guard lock(mutex_);
  name_ = std::move(name);
  permille_ = 0;
  return &permille_;
}

void Progress::show() {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  const int permille = permille_;
  std::string line = fmt::format("\r\033[Kwarpwright: {}", name_);
  if (permille > 0) {
    const std::size_t full = static_cast<std::size_t>(permille) / 50;
    line += fmt::format(" [{}{}] {:3} %", std::string(full, '#'), std::string(20 - full, '.'), permille / 10);
  }
  line += fmt::format("  {:.1f} s", seconds);
  std::fputs(line.c_str(), stderr);
}

void Progress::watch() {
  std::unique_lock lock(mutex_);
  bool shown = false;
  auto next = start_ + std::chrono::seconds(1);
  while (!stop_requested_.wait_until(lock, next, [this] { return stop_; })) {
    show();
    shown = true;
    next = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
  }
  if (shown) std::fputs("\r\033[K", stderr);
}

}  // namespace ww::cli
