// SPDX-License-Identifier: Apache-2.0
// Opening devices by name, and memory of the emulated one.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "runtime/cuda_backend.hpp"
#include "warpwright/host/device.hpp"

namespace ww {
namespace {

Error error_of(std::string_view name) {
  const Result<Device> device = Device::open(name);
  EXPECT_FALSE(device) << name;
  return device ? Error{} : device.error();
}

TEST(DeviceOpen, UnknownNamesAreInvalidAndListWhatExists) {
  for (const char* name : {"", "emu", "emu:sm80", "gpu", "cuda", "cuda:", "cuda:x", "cuda:0x", "cuda:-1", "cuda:1 ",
                           "cuda:99999999999", "EMU:SM90"}) {
    const Error error = error_of(name);
    EXPECT_EQ(error.code, ErrorCode::invalid) << name;
    EXPECT_EQ(error.argument, "device") << name;
    EXPECT_EQ(error.actual, name);
    EXPECT_NE(error.message.find("emu:sm90"), std::string::npos) << error.message;
  }
}

TEST(DeviceOpen, AnOrdinalThatIsNotThereCouldNotFinish) {
  const Error error = error_of("cuda:4711");
  EXPECT_EQ(error.code, ErrorCode::could_not_finish);
  EXPECT_NE(error.message.find("emu:sm90"), std::string::npos) << error.message;
  EXPECT_EQ(error.actual, "cuda:4711");
}

TEST(DeviceOpen, AutoIsTheGpuWhereThereIsOneAndElseTheEmulator) {
  const runtime::CudaPresence cuda = runtime::cuda_presence();
  EXPECT_EQ(cuda.devices.empty(), !cuda.reason.empty());
  const bool gpu = !cuda.devices.empty() && cuda.devices[0].supported;
  const Result<Device> device = Device::open("auto");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->info().name, gpu ? "cuda:0" : "emu:sm90");
}

TEST(DeviceOpen, TheEmulatorDescribesItself) {
  const Result<Device> device = Device::open("emu:sm90");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_TRUE(device->info().emulated);
  EXPECT_EQ(device->info().sms, 4);
  EXPECT_EQ(device->info().shared_bytes_per_cta, 232448);
  EXPECT_GT(device->info().memory_bytes, std::uint64_t{1} << 28);
}

class EmulatedMemory : public testing::Test {
 protected:
  Device device_ = Device::open("emu:sm90").value();
};

TEST_F(EmulatedMemory, IsAlignedAndHoldsWhatWasWritten) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{100'001}}) {
    const Result<Buffer> buffer = device_.allocate(bytes);
    ASSERT_TRUE(buffer) << buffer.error().message;
    EXPECT_EQ(buffer->bytes(), bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer->data()) % 256, 0u);
    std::vector<unsigned char> in(bytes), out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) in[i] = static_cast<unsigned char>(i * 7);
    ASSERT_TRUE(device_.upload(buffer->data(), in.data(), bytes));
    ASSERT_TRUE(device_.download(out.data(), buffer->data(), bytes));
    EXPECT_EQ(in, out);
  }
}

TEST_F(EmulatedMemory, MoreThanThereIsIsRefusedWithBytesNeededAndPresent) {
  for (const std::uint64_t bytes : {device_.info().memory_bytes + 1, ~std::uint64_t{0}, ~std::uint64_t{0} - 200}) {
    const Result<Buffer> buffer = device_.allocate(bytes);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::could_not_finish);
    EXPECT_EQ(buffer.error().actual, std::to_string(bytes) + " bytes needed");
    EXPECT_NE(buffer.error().expected.find("bytes of memory present"), std::string::npos) << buffer.error().message;
  }
}

TEST_F(EmulatedMemory, ManyBuffersAreRefusedTogether) {
  // Untouched pages cost nothing, so only counting what was handed out keeps a later write from being fatal.
  std::vector<Buffer> buffers;
  const std::size_t part = device_.info().memory_bytes / 5;
  while (buffers.size() < 6) {
    Result<Buffer> buffer = device_.allocate(part);
    if (!buffer) break;
    buffers.push_back(std::move(*buffer));
  }
  EXPECT_LE(buffers.size(), 5u);
  ASSERT_FALSE(buffers.empty());
  const std::size_t had = buffers.size();
  buffers.pop_back();
  EXPECT_TRUE(device_.allocate(part)) << "freed bytes can be had again, " << had << " buffers fitted";
}

TEST_F(EmulatedMemory, NullIsRefusedAndZeroBytesAreNothing) {
  unsigned char byte = 0;
  EXPECT_FALSE(device_.upload(nullptr, &byte, 1));
  EXPECT_FALSE(device_.download(&byte, nullptr, 1));
  EXPECT_TRUE(device_.upload(nullptr, nullptr, 0));
}

}  // namespace
}  // namespace ww
