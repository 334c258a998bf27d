// SPDX-License-Identifier: Apache-2.0
// Shared by all examples: opens the device named on the command line, copies vectors there and back, and stops with the
// library's own message when something is refused.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <type_traits>
#include <utility>
#include <vector>

#include "warpwright/host/device.hpp"

namespace example {

template <class T> T require(ww::Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

/// argv[1], or the emulated device, which then behaves as `emu` says.
inline ww::Device open(int argc, char** argv, const ww::EmuOptions& emu = {}) {
  ww::DeviceOptions options;
  options.emu = emu;
  return require(ww::Device::open(argc > 1 ? argv[1] : "emu:sm90", options));
}

template <class T> ww::Buffer upload(const ww::Device& device, const std::vector<T>& values) {
  ww::Buffer buffer = require(device.allocate(values.size() * sizeof(T)));
  require(device.upload(buffer.data(), values.data(), values.size() * sizeof(T)));
  return buffer;
}

template <class T> std::vector<T> download(const ww::Device& device, const ww::Buffer& buffer, std::size_t count) {
  std::vector<T> values(count);
  require(device.download(values.data(), buffer.data(), count * sizeof(T)));
  return values;
}

}  // namespace example
