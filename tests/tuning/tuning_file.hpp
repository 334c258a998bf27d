// SPDX-License-Identifier: Apache-2.0
// A tuning file of a test, in a folder for temporary files, and lines for the emulated device to put into it.
#pragma once

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/place.hpp"
#include "tuning/table.hpp"
#include "warpwright/host/config.hpp"
#include "warpwright/host/explain.hpp"

namespace ww::tuning {

class TuningFile : public testing::Test {
 protected:
  ~TuningFile() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_.string() + ".lock");
  }

  void write(const std::string& text) const { std::ofstream(path_) << text; }
  std::string content() const {
    std::ifstream file(path_);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }
  /// The emulated device, which follows the file.
  Device device() const { return open(path_).value(); }
  static Result<Device> open(const std::filesystem::path& file) {
    DeviceOptions options;
    options.tuning = file;
    return Device::open("emu:sm90", options);
  }
  static Device plain() { return open(kNoTuning).value(); }
  static Place here() { return runtime::place_of(plain().info()); }
  static Line line_of(Problem problem, const std::string& config, double us = 5) {
    return {std::move(problem), here(), config, us, {{config, us}, {"slower", us + 1}}, "2026-11-23T18:00:00Z"};
  }

  const std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("ww_tuning_" + std::to_string(getpid()) + ".jsonl");
};

}  // namespace ww::tuning
