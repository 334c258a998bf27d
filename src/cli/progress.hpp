// SPDX-License-Identifier: Apache-2.0
// A progress line on stderr. It appears only on a terminal, once the work has taken longer than a second.
//   warpwright: verify [##########..........]  51 %  2.4 s
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace ww::cli {

class Progress {
 public:
  Progress();
  ~Progress();  // removes the line

  /// Starts a phase. Returns a counter that the caller may raise from 0 to 1000; if it stays 0, only the time is shown.
  std::atomic<int>* phase(std::string name);

 private:
  void show();
  void watch();

  std::mutex mutex_;
  std::condition_variable stop_requested_;
  std::string name_ = "start";
  std::atomic<int> permille_{0};
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace ww::cli
