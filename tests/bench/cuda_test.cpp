// SPDX-License-Identifier: Apache-2.0
// The stopwatch of the benchmark against a stand-in for the driver: contenders compute D on the host at once, and the
// stand-in's clock says how long a graph took. What is tested is the order of calls, the arithmetic and the clean-up.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <cstring>

#include "bench/native/cublaslt.hpp"
#include "bench/native/cuda.hpp"
#include "bench/native/suite.hpp"
#include "fake_cuda_driver.hpp"

namespace ww::bench {
namespace {

class FakeRace : public testing::Test {
 protected:
  void SetUp() override {
    setenv("WARPWRIGHT_CUDA_DRIVER", WW_TEST_DRIVER, 1);
    void* library = dlopen(WW_TEST_DRIVER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr) << dlerror();
    driver_ = reinterpret_cast<FakeDriver* (*)()>(dlsym(library, "fake_cuda_driver"))();
    // K = 0 has a right answer that needs no arithmetic: zeros
    operation_ = operation_of(GemmCheck{{.m = 4, .n = 8, .k = 0}, {}}).value();
  }

  std::vector<BufferSet> sets(const Device& device, std::size_t count) {
    std::vector<BufferSet> list(count);
    for (BufferSet& set : list) set.d = device.allocate(4 * 8 * 2).value();
    return list;
  }

  SpotCheck check(const Device& device) const {
    return [this, device](const BufferSet& set, const Contender& contender) {
      return spot_check(device, *operation_, {}, set, contender.recipe);
    };
  }

  Contender zeros(const std::string& name, bool ours) {
    Contender contender;
    contender.name = name, contender.ours = ours;
    contender.alternatives.push_back([this](const BufferSet& set, ::ww::Stream stream) -> Result<void> {
      (driver_->capturing ? captured_ : called_) += 1;
      EXPECT_EQ(stream.handle, reinterpret_cast<void*>(0x5000));
      std::memset(set.d.data(), 0, set.d.bytes());
      return {};
    });
    return contender;
  }

  FakeDriver* driver_ = nullptr;
  std::shared_ptr<Operation> operation_;
  int captured_ = 0, called_ = 0;
};

TEST_F(FakeRace, MeasuresPerCallInterleavedAndCleansUp) {
  {
    const Device device = Device::open("cuda:0").value();
    auto bench = GpuBench::open(device);
    ASSERT_TRUE(bench) << bench.error().message;
    const auto buffers = sets(device, 5);
    std::vector<Contender> contenders = {zeros("a", true), zeros("b", false)};
    (*bench)->measure(check(device), buffers, contenders, {.replays = 7, .seconds = 0.1, .burst = true});
    for (const Contender& contender : contenders) {
      ASSERT_FALSE(contender.error) << contender.error->message;
      const Measured& m = contender.measured;
      EXPECT_EQ(m.calls % 5, 0) << "whole rotations";
      EXPECT_GE(m.calls, 24);
      EXPECT_NEAR(m.us, 2400.0 / m.calls, 1e-3);
      EXPECT_NEAR(m.us_low, m.us, 1e-3);
      EXPECT_NEAR(m.us_high, m.us, 1e-3);
      EXPECT_GE(m.replays, 7);
      EXPECT_FALSE(m.burst_us) << "too short a time for idling";
      EXPECT_EQ(m.max_error, 0);
      EXPECT_EQ(m.host_us.has_value(), contender.ours);
    }
    EXPECT_EQ(captured_, contenders[0].measured.calls + contenders[1].measured.calls);
    EXPECT_EQ(driver_->live_events + driver_->live_graphs, 0);
  }
  EXPECT_EQ(driver_->live_streams, 0);
  EXPECT_EQ(driver_->live_allocations, 0);
  EXPECT_EQ(driver_->retained, 0);
}

TEST_F(FakeRace, ContendersThatRunAloneChangeOnlyBetweenTurns) {
  const Device device = Device::open("cuda:0").value();
  auto bench = GpuBench::open(device).value();
  std::vector<Contender> contenders = {zeros("a", true), zeros("b", true), zeros("c", true)};
  const int before = driver_->graph_switches;
  const auto start = std::chrono::steady_clock::now();
  bench->measure(check(device), sets(device, 2), contenders, {.seconds = 4.5, .burst = false, .alone = true});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_GE(driver_->graph_switches - before, 5);
  EXPECT_LE(driver_->graph_switches - before, 6) << "two turns each, of which two may follow one another";
  EXPECT_GE(seconds, 4.5) << "six turns of three quarters of a second";
  for (const Contender& contender : contenders) {
    ASSERT_FALSE(contender.error) << contender.error->message;
    EXPECT_NEAR(contender.measured.us, 2400.0 / contender.measured.calls, 1e-3);
    EXPECT_GE(contender.measured.replays, 2);
  }
  bench.reset();
  EXPECT_EQ(driver_->live_events + driver_->live_graphs, 0);
}

TEST_F(FakeRace, BurstsAreMeasuredWithinTheTimeGiven) {
  const Device device = Device::open("cuda:0").value();
  auto bench = GpuBench::open(device).value();
  std::vector<Contender> contenders = {zeros("a", true)};
  const auto start = std::chrono::steady_clock::now();
  bench->measure(check(device), sets(device, 2), contenders, {.replays = 3, .seconds = 3, .burst = true});
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_FALSE(contenders[0].error) << contenders[0].error->message;
  EXPECT_NEAR(contenders[0].measured.burst_us.value(), 2400.0 / contenders[0].measured.calls, 1e-3);
  EXPECT_LT(seconds, 4.5);
}

TEST_F(FakeRace, AContenderThatIsWrongOrFailsIsListedAndTheOthersGoOn) {
  const Device device = Device::open("cuda:0").value();
  auto bench = GpuBench::open(device).value();
  std::vector<Contender> contenders = {zeros("right", true), zeros("silent", true), zeros("failing", true)};
  contenders[1].alternatives[0] = [](const BufferSet&, ::ww::Stream) -> Result<void> { return {}; };
  contenders[2].alternatives[0] = [this](const BufferSet& set, ::ww::Stream) -> Result<void> {
    std::memset(set.d.data(), 0, set.d.bytes());
    if (driver_->capturing) return failure(ErrorCode::could_not_finish, "", "", "", "not while capturing");
    return {};
  };
  bench->measure(check(device), sets(device, 2), contenders, {.replays = 2, .seconds = 0.05, .burst = false});
  EXPECT_FALSE(contenders[0].error);
  EXPECT_EQ(contenders[0].measured.replays >= 2, true);
  ASSERT_TRUE(contenders[1].error);
  EXPECT_EQ(contenders[1].error->code, ErrorCode::wrong_result) << "D was poisoned and never written";
  ASSERT_TRUE(contenders[2].error);
  EXPECT_NE(contenders[2].error->message.find("not while capturing"), std::string::npos);
  EXPECT_FALSE(driver_->capturing) << "a failed capture is ended";
}

TEST_F(FakeRace, TheFastestAlternativeIsKept) {
  const Device device = Device::open("cuda:0").value();
  auto bench = GpuBench::open(device).value();
  std::vector<Contender> contenders = {zeros("a", false)};
  const Enqueue quick = contenders[0].alternatives[0];
  contenders[0].alternatives = {[quick](const BufferSet& set, ::ww::Stream stream) -> Result<void> {
                                  const auto start = std::chrono::steady_clock::now();
                                  while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(2))
                                    continue;
                                  return quick(set, stream);
                                },
                                quick};
  bench->measure(check(device), sets(device, 2), contenders, {.replays = 2, .seconds = 0.05, .burst = false});
  ASSERT_FALSE(contenders[0].error);
  EXPECT_EQ(contenders[0].detail, ", number 1");
}

TEST(CublasLt, AMissingLibraryIsNamed) {
  const auto opened = CublasLt::open("/no/such/libcublasLt.so");
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("/no/such/libcublasLt.so"), std::string::npos) << opened.error().message;
}

}  // namespace
}  // namespace ww::bench
