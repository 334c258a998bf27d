// SPDX-License-Identifier: Apache-2.0
// A test on a device whose driver is the stand-in. gtest_discover_tests gives each TEST a process of its own, so each
// may set the environment before the driver opens.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "fake_cuda_driver.hpp"
#include "runtime/backend.hpp"
#include "test_kernel.hpp"

namespace ww::runtime {

class FakeGpu : public testing::Test {
 protected:
  void SetUp() override {
    setenv("WARPWRIGHT_CUDA_DRIVER", WW_TEST_DRIVER, 1);
    void* library = dlopen(WW_TEST_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    driver_ = reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_cuda_driver"))();
  }
  /// A kernel needs NVRTC, which not every machine has.
  Result<std::shared_ptr<const Kernel>> kernel(const Device& device) { return device.backend().kernel(test::source()); }

  FakeDriver* driver_ = nullptr;
};

}  // namespace ww::runtime
