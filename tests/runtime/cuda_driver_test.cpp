// SPDX-License-Identifier: Apache-2.0
// The CUDA backend against a stand-in for the driver: its calls, the context in which it makes them, and its errors.
// gtest_discover_tests gives each TEST its own process, so each may set the environment before the driver opens.
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "fake_gpu.hpp"
#include "jit/keys.hpp"
#include "jit/nvrtc.hpp"
#include "jit/pack.hpp"
#include "runtime/cuda_backend.hpp"
#include "support.hpp"
#include "test_kernel.hpp"
#include "warpwright/arch/common/watchdog.hpp"
#include "warpwright/config/grouped_arguments.hpp"
#include "warpwright/host/compile.hpp"
#include "warpwright/host/epilogue.hpp"
#include "warpwright/host/gemm.hpp"
#include "warpwright/host/grouped.hpp"
#include "warpwright/kernel/gemm_params.hpp"

namespace ww::runtime {
namespace {

Launch launch_of(const Kernel* kernel, const test::Params& params) {
  Launch launch;
  launch.kernel = kernel;
  launch.grid = 8, launch.cluster = 2, launch.threads = test::kThreads, launch.shared_bytes = 200'000;
  launch.params = &params, launch.params_bytes = sizeof(params);
  return launch;
}

TEST_F(FakeGpu, IsDescribedAndChosenByAuto) {
  const Result<Device> device = Device::open("auto");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->info().name, "cuda:0");
  EXPECT_EQ(device->info().sms, 132);
  EXPECT_EQ(device->info().shared_bytes_per_cta, 232448);
  EXPECT_EQ(device->info().description.rfind("Fake H200, sm_90, 132 SMs, driver for CUDA 13.0", 0), 0u)
      << device->info().description;
  const Result<Device> second = Device::open("cuda:1");
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("cuda:0 (Fake H200, sm_90)"), std::string::npos) << second.error().message;
}

TEST_F(FakeGpu, AnotherArchitectureIsUnsupportedByNameAndPassedOverByAuto) {
  setenv("FAKE_CUDA_CAPABILITY", "80", 1);
  const Result<Device> device = Device::open("cuda:0");
  ASSERT_FALSE(device);
  EXPECT_EQ(device.error().code, ErrorCode::unsupported);
  EXPECT_EQ(device.error().actual, "compute capability 8.0");
  EXPECT_EQ(Device::open("auto")->info().name, "emu:sm90");
}

TEST_F(FakeGpu, BlackwellIsUntestedAndTakesItsTensorMaps) {
  setenv("FAKE_CUDA_CAPABILITY", "100", 1);
  EXPECT_EQ(Device::open("auto")->info().name, "cuda:0");
  const Result<Device> device = Device::open("cuda:0");
  ASSERT_TRUE(device) << device.error().message;
  EXPECT_EQ(device->info().arch, Arch::sm100);
  EXPECT_NE(device->info().description.find("untested"), std::string::npos) << device->info().description;
  alignas(32) static char memory[64];
  TensorMapSpec spec{.base = memory,
                     .rank = 2,
                     .extent = {256, 8},
                     .stride_bytes = {0, 192},
                     .box = {128, 8},
                     .narrow = NarrowElements::bits6_padded};
  ASSERT_TRUE(device->tensor_map(spec));
  EXPECT_EQ(driver_->encode.type, CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B);
  EXPECT_EQ(driver_->encode.extents[0], 256u);
  EXPECT_EQ(driver_->encode.box[0], 128u);
  spec.narrow = NarrowElements::bits4_padded;
  ASSERT_TRUE(device->tensor_map(spec));
  EXPECT_EQ(driver_->encode.type, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B);
  spec.narrow = NarrowElements::bits4;
  ASSERT_TRUE(device->tensor_map(spec));
  EXPECT_EQ(driver_->encode.type, CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B);
  const TensorMapSpec units = TensorMapSpec::matrix(memory, DType::tf32, 8, 32, 32, 8, 32, SmemSwizzle::b128_unit32);
  ASSERT_TRUE(device->tensor_map(units));
  EXPECT_EQ(driver_->encode.swizzle, CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B);
  setenv("FAKE_CUDA_CAPABILITY", "90", 1);
  const auto refused = Device::open("cuda:0")->tensor_map(spec);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().argument, "tensor_map.narrow");
}

TEST_F(FakeGpu, OtherBlackwellsAreRefusedByName) {
  for (const auto& [capability, name] : {std::pair{"103", "10.3"}, {"110", "11.0"}, {"120", "12.0"}, {"121", "12.1"}}) {
    setenv("FAKE_CUDA_CAPABILITY", capability, 1);
    const Result<Device> other = Device::open("cuda:0");
    ASSERT_FALSE(other) << name;
    EXPECT_EQ(other.error().code, ErrorCode::unsupported);
    EXPECT_EQ(other.error().expected, "a GPU of compute capability 9.0 (Hopper) or 10.0 (Blackwell)");
    EXPECT_EQ(other.error().actual, std::string("compute capability ") + name);
  }
}

TEST_F(FakeGpu, AnOldDriverIsNoDevice) {
  setenv("FAKE_CUDA_VERSION", "11080", 1);
  EXPECT_EQ(Device::open("auto")->info().name, "emu:sm90");
  const Result<Device> device = Device::open("cuda:0");
  ASSERT_FALSE(device);
  EXPECT_NE(device.error().message.find("supports CUDA 11.8"), std::string::npos) << device.error().message;
}

TEST_F(FakeGpu, MemoryIsFreedInTheContextAndTheContextReleasedLast) {
  {
    Buffer kept;
    {
      const Device device = Device::open("cuda:0").value();
      kept = device.allocate(1000).value();
      unsigned char in[1000], out[1000];
      for (int i = 0; i < 1000; ++i) in[i] = static_cast<unsigned char>(i);
      ASSERT_TRUE(device.upload(kept.data(), in, 1000));
      EXPECT_GE(driver_->synchronizations, 1) << "an upload is complete when it returns";
      ASSERT_TRUE(device.download(out, kept.data(), 1000));
      EXPECT_EQ(std::memcmp(in, out, 1000), 0);
    }
    EXPECT_EQ(driver_->retained, 1) << "a buffer keeps the context";
    EXPECT_EQ(driver_->live_allocations, 1);
  }
  EXPECT_EQ(driver_->live_allocations, 0);
  EXPECT_EQ(driver_->retained, 0);
}

TEST_F(FakeGpu, AProductWithoutElementsClearsItsReductionsInItsStream) {
  const Device device = Device::open("cuda:0").value();
  GemmProblem problem{.m = 0, .n = 64, .k = 128, .a = bf16, .b = bf16, .batch = 3};
  problem.epilogue = parse_epilogue("column_sum(acc,out0)").value();
  const Result<GemmPlan> plan = plan_gemm(device, problem);
  ASSERT_TRUE(plan) << plan.error().message;
  std::vector<float> out(3 * 64, 7.0f);
  GemmOperands operands;
  operands.epilogue.out[0] = out.data();
  CUstream stream = reinterpret_cast<CUstream>(0x5000);
  const Result<void> done = plan->run(operands, Stream{stream});
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(out, std::vector<float>(out.size(), 0.0f));
  EXPECT_EQ(driver_->clears, 1) << "packed vectors are cleared at once";
  EXPECT_EQ(driver_->clear_stream, stream);
  EXPECT_EQ(driver_->clear_bytes, out.size() * sizeof(float));
  EXPECT_EQ(driver_->launches + driver_->synchronizations, 0) << "nothing that a graph cannot capture";
  EXPECT_EQ(driver_->pushes, 1) << "in the device's context";
}

TEST_F(FakeGpu, OutOfMemoryNamesBytesNeededAndFree) {
  const Device device = Device::open("cuda:0").value();
  for (const std::size_t bytes : {std::size_t{700} << 20, ~std::size_t{0}}) {
    const Result<Buffer> buffer = device.allocate(bytes);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::could_not_finish);
    EXPECT_EQ(buffer.error().actual, std::to_string(bytes) + " bytes needed");
    EXPECT_EQ(buffer.error().expected, "at most the 536870912 bytes free of 1073741824 on cuda:0");
  }
}

/// Kernels from a pack whose compiler this driver does not know, and a stand-in for NVRTC.
class PackedGpu : public FakeGpu {
 protected:
  void SetUp() override {
    FakeGpu::SetUp();
    std::ofstream(scratch_ / "a.wwpack", std::ios::binary)
        << jit::pack_bytes({{jit::cubin_source_key(test::source().text), {"refused cubin", ""}}}, "NVRTC 99.0");
  }
  const jit::test::Scratch scratch_;
  const jit::test::Variable packs_{"WARPWRIGHT_PACK_DIR", scratch_.path()};
  const jit::test::Variable cache_{"WARPWRIGHT_CACHE_DIR", scratch_ / "cache"};
  const jit::test::Variable nvrtc_{"WARPWRIGHT_NVRTC", WW_TEST_NVRTC};
  const jit::test::Variable builtins_{"FAKE_NVRTC_WITHOUT_BUILTINS", "1"};
};

TEST_F(PackedGpu, ServesWithoutACompiler) {
  const jit::test::Variable none("WARPWRIGHT_NVRTC", "/nonexistent/libnvrtc.so");
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(kernel_counts().pack, 1u);
}

TEST_F(PackedGpu, WhatTheDriverRefusesIsCompiledAndThePackIsNotAskedAgain) {
  driver_->load_status = CUDA_ERROR_INVALID_IMAGE;
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(kernel_counts().compiled, 1u);
  const std::vector<KernelPack> packs = kernel_packs();
  ASSERT_FALSE(packs.empty());
  EXPECT_NE(packs[0].problem.find("(200)"), std::string::npos) << packs[0].problem;
}

TEST_F(PackedGpu, WhatTheDriverRefusesAndNobodyCompilesSaysBoth) {
  const jit::test::Variable none("WARPWRIGHT_NVRTC", "/nonexistent/libnvrtc.so");
  driver_->load_status = CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  ASSERT_FALSE(loaded);
  for (const char* part : {"a.wwpack", "(222)", "tried /nonexistent/libnvrtc.so"})
    EXPECT_NE(loaded.error().message.find(part), std::string::npos) << loaded.error().message;
}

TEST_F(PackedGpu, OtherFailuresOfTheDriverAreNoRefusal) {
  driver_->load_status = CUDA_ERROR_OUT_OF_MEMORY;
  const Device device = Device::open("cuda:0").value();
  EXPECT_FALSE(kernel(device));
  EXPECT_EQ(kernel_counts().compiled, 0u);
  EXPECT_EQ(kernel_packs().front().problem, "");
}

TEST_F(FakeGpu, LaunchesCarryClusterPdlStreamAndParameters) {
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(driver_->dynamic_shared, 232448 - 1024);
  EXPECT_EQ(driver_->large_clusters, 1);

  const test::Params params{reinterpret_cast<std::uint32_t*>(0x4000), 7};
  Launch launch = launch_of(loaded->get(), params);
  launch.stream.handle = reinterpret_cast<void*>(0x5000);
  launch.pdl = true;
  const Result<void> launched = device.backend().launch(launch);
  ASSERT_TRUE(launched) << launched.error().message;
  EXPECT_EQ(driver_->launch.gridDimX, 8u);
  EXPECT_EQ(driver_->launch.gridDimY * driver_->launch.gridDimZ, 1u);
  EXPECT_EQ(driver_->launch.blockDimX, test::kThreads);
  EXPECT_EQ(driver_->launch.sharedMemBytes, 200'000u);
  EXPECT_EQ(driver_->launch.hStream, launch.stream.handle);
  EXPECT_EQ(std::memcmp(driver_->params.data(), &params, sizeof(params)), 0);
  ASSERT_EQ(driver_->attributes.size(), 2u);
  EXPECT_EQ(driver_->attributes[0].id, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  EXPECT_EQ(driver_->attributes[0].value.clusterDim.x, 2u);
  EXPECT_EQ(driver_->attributes[0].value.clusterDim.y * driver_->attributes[0].value.clusterDim.z, 1u);
  EXPECT_EQ(driver_->attributes[1].id, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  EXPECT_EQ(driver_->attributes[1].value.programmaticStreamSerializationAllowed, 1);

  launch.cluster = 1, launch.pdl = false;
  ASSERT_TRUE(device.backend().launch(launch));
  EXPECT_TRUE(driver_->attributes.empty());
}

TEST_F(FakeGpu, LaunchesOverlapOnlyWhereGraphsKnowHow) {
  setenv("FAKE_CUDA_VERSION", "12020", 1);
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  ASSERT_TRUE(loaded) << loaded.error().message;
  const test::Params params{reinterpret_cast<std::uint32_t*>(0x4000), 7};
  Launch launch = launch_of(loaded->get(), params);
  launch.cluster = 1, launch.pdl = true;
  ASSERT_TRUE(device.backend().launch(launch));
  EXPECT_TRUE(driver_->attributes.empty());
}

TEST_F(FakeGpu, LaunchesAreRefusedOrExplained) {
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  ASSERT_TRUE(loaded) << loaded.error().message;
  const test::Params params{nullptr, 7};
  Launch launch = launch_of(loaded->get(), params);
  EXPECT_EQ(device.backend().max_active_clusters(launch).value(), 66);

  launch.params_bytes = 24;
  EXPECT_EQ(device.backend().launch(launch).error().argument, "launch.params_bytes");
  launch.params_bytes = sizeof(params);
  launch.cross_cta = true, launch.grid = 134;
  EXPECT_EQ(device.backend().launch(launch).error().argument, "launch.grid");
  launch.grid = 132;
  EXPECT_TRUE(device.backend().launch(launch));
  EXPECT_EQ(driver_->launches, 1);
  EXPECT_EQ(driver_->occupancy_questions, 1) << "of one shape";

  driver_->launch_status = CUDA_ERROR_LAUNCH_FAILED;
  const Result<void> failed = device.backend().launch(launch);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, ErrorCode::could_not_finish);
  EXPECT_NE(failed.error().message.find("CUDA_ERROR_LAUNCH_FAILED (719): a sentence"), std::string::npos)
      << failed.error().message;
}

/// The answer about one shape is not used for another, and a refusal stays one however often it is requested.
TEST_F(FakeGpu, CtasThatWaitForEachOtherAreResidentInEveryShape) {
  const Device device = Device::open("cuda:0").value();
  const auto loaded = kernel(device);
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  ASSERT_TRUE(loaded) << loaded.error().message;
  const test::Params params{nullptr, 7};
  Launch launch = launch_of(loaded->get(), params);
  launch.cross_cta = true;
  struct Shape {
    std::uint32_t cluster, threads, shared_bytes, resident;
  };
  const Shape shapes[] = {{2, 64, 200'000, 132},
                          {2, 64, 100'000, 264},
                          {2, 1024, 1'000, 264},
                          {16, 64, 200'000, 128},
                          {2, 64, 200'000, 132}};
  int launches = 0;
  for (const Shape& shape : shapes) {
    launch.cluster = shape.cluster, launch.threads = shape.threads, launch.shared_bytes = shape.shared_bytes;
    for (int turn = 0; turn < 3; ++turn) {
      launch.grid = shape.resident + shape.cluster;
      const Result<void> refused = device.backend().launch(launch);
      ASSERT_FALSE(refused) << shape.resident;
      EXPECT_EQ(refused.error().code, ErrorCode::invalid);
      EXPECT_EQ(refused.error().argument, "launch.grid");
      EXPECT_EQ(refused.error().expected,
                "at most " + std::to_string(shape.resident) +
                    " CTAs, all of which are resident, for a kernel whose CTAs wait for each other");
      EXPECT_EQ(refused.error().actual, std::to_string(launch.grid));
      EXPECT_EQ(driver_->launches, launches);
      launch.grid = shape.resident;
      EXPECT_TRUE(device.backend().launch(launch));
      EXPECT_EQ(driver_->launches, ++launches);
    }
  }
  EXPECT_EQ(driver_->occupancy_questions, 5) << "once for each change of shape";
}

TEST_F(FakeGpu, AFaultOfAWatchedKernelSaysWhoWaited) {
  setenv("WARPWRIGHT_WATCHDOG_MS", "200", 1);
  {
    const Device device = Device::open("cuda:0").value();
    const auto loaded = kernel(device);
    if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
    ASSERT_TRUE(loaded) << loaded.error().message;
    ASSERT_NE(driver_->watchdog_buffer, nullptr) << "the kernel has nowhere to write";
    EXPECT_EQ(driver_->live_host_allocations, 1);
    driver_->synchronize_status = CUDA_ERROR_ILLEGAL_ADDRESS;
    EXPECT_EQ(device.synchronize({}).error().message.find("watchdog"), std::string::npos) << "nobody gave up";

    auto& buffer = *static_cast<arch::WatchdogBuffer*>(driver_->watchdog_buffer);
    buffer.records[0] = {arch::WatchdogRecord::mbarrier, 2, 160, ~0u, 0x40, 1, 0, 200, 0, {3, 1, {}}};
    std::memcpy(buffer.records[0].role.name, "consumer", 8);
    const Result<void> failed = device.synchronize({});
    ASSERT_FALSE(failed);
    EXPECT_NE(failed.error().message.find("(700): a sentence\n"
                                          "watchdog: 1 warp gave up waiting after 200 ms\n"
                                          "  CTA 2, consumer 1, warp 5: the mbarrier at offset 0x40 of dynamic shared "
                                          "memory, parity 1"),
              std::string::npos)
        << failed.error().message;
  }
  EXPECT_EQ(driver_->live_host_allocations, 0);
}

TEST_F(FakeGpu, TheThreadKeepsItsOwnContext) {
  const Device device = Device::open("cuda:0").value();
  const CudaContext* context = cuda_context(device.backend()).get();
  CUcontext mine = reinterpret_cast<CUcontext>(0x7777), now = nullptr;
  context->driver.ctx_push_current(mine);
  ASSERT_TRUE(device.allocate(16));
  context->driver.ctx_get_current(&now);
  EXPECT_EQ(now, mine);
  const int pushes = driver_->pushes;
  const CurrentContext current(*context);
  ASSERT_TRUE(device.allocate(16));
  EXPECT_EQ(driver_->pushes, pushes + 1) << "nothing is pushed where the context is current already";
}

TEST_F(FakeGpu, ModulesAreUnloadedWithTheirLastUser) {
  std::shared_ptr<const Kernel> kept;
  {
    const Device device = Device::open("cuda:0").value();
    const auto loaded = kernel(device);
    if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(kernel(device)->get(), loaded->get());
    kept = *loaded;
  }
  EXPECT_EQ(driver_->live_modules, 1);
  kept.reset();
  EXPECT_EQ(driver_->live_modules, 0);
  EXPECT_EQ(driver_->retained, 0);
}

TEST_F(FakeGpu, TensorMapsAreEncodedAsSpecified) {
  const Device device = Device::open("cuda:0").value();
  alignas(16) static char memory[16];
  TensorMapSpec spec{.base = memory,
                     .element = DType::bf16,
                     .rank = 3,
                     .extent = {4096, 512, 3},
                     .stride_bytes = {0, 8192, 1 << 22},
                     .box = {64, 128, 1},
                     .swizzle = SmemSwizzle::b128};
  const Result<arch::TensorMap> large = device.backend().encode(spec);
  ASSERT_TRUE(large) << large.error().message;
  const auto& seen = driver_->encode;
  EXPECT_EQ(seen.type, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16);
  EXPECT_EQ(seen.rank, 3u);
  EXPECT_EQ(seen.base, memory);
  EXPECT_EQ(seen.extents[1], 512u);
  EXPECT_EQ(seen.strides[1], 8192u);
  EXPECT_EQ(seen.strides[2], 1u << 22);
  EXPECT_EQ(seen.box[0], 64u);
  EXPECT_EQ(seen.swizzle, CU_TENSOR_MAP_SWIZZLE_128B);
  EXPECT_EQ(seen.promotion, CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
  EXPECT_EQ(seen.fill, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  EXPECT_EQ(large->words[1], ~0ull);

  // 131072 bytes are left alone, one row less is corrected
  spec.rank = 2, spec.extent[1] = 16;
  EXPECT_EQ(device.backend().encode(spec)->words[1], ~0ull);
  spec.extent[1] = 15;
  EXPECT_EQ(device.backend().encode(spec)->words[1], ~0ull & ~(1ull << 21));

  spec.box[0] = 60;
  EXPECT_EQ(device.backend().encode(spec).error().argument, "tensor_map.box[0]");
}

/// The parameter of the last launch.
template <class Params> Params launched(const FakeDriver& driver) {
  Params params{};
  EXPECT_EQ(driver.params.size(), sizeof params);
  std::memcpy(&params, driver.params.data(), std::min(driver.params.size(), sizeof params));
  return params;
}

TEST_F(FakeGpu, AWarmDenseRunEncodesTheMapsOfOtherPointersAlone) {
  driver_->params_bytes = sizeof(kernel::GemmParams);
  const Device device = Device::open("cuda:0").value();
  const auto made = plan_gemm(device, {.m = 128, .n = 128, .k = 128, .a = bf16, .b = bf16},
                              {.config = {.tile = {64, 64}, .cluster = {1, 1}}});
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  ASSERT_TRUE(made) << made.error().message;
  const auto encodes_of = [&](std::uint64_t a, std::uint64_t b, std::uint64_t d) {
    const int before = driver_->encodes;
    const auto ran = made->run({.a = reinterpret_cast<const void*>(a),
                                .b = reinterpret_cast<const void*>(b),
                                .d = reinterpret_cast<void*>(d)});
    EXPECT_TRUE(ran) << ran.error().message;
    const config::GemmArguments gemm = launched<kernel::GemmParams>(*driver_).gemm;
    EXPECT_EQ(gemm.a.words[0], a);
    EXPECT_EQ(gemm.b.words[0], b);
    EXPECT_EQ(gemm.d.words[0], d);
    return driver_->encodes - before;
  };
  EXPECT_EQ(encodes_of(0x1000000, 0x2000000, 0x3000000), 3);
  EXPECT_EQ(encodes_of(0x1000000, 0x2000000, 0x3000000), 0);
  EXPECT_EQ(encodes_of(0x1000000, 0x2100000, 0x3000000), 1);
  EXPECT_EQ(encodes_of(0x3000000, 0x2100000, 0x1000000), 2);
  EXPECT_EQ(encodes_of(0x1000000, 0x2000000, 0x3000000), 0);
}

TEST_F(FakeGpu, AWarmGroupedRunEncodesTheMapsOfOtherPointersAlone) {
  driver_->params_bytes = sizeof(config::GroupedArguments);
  const Device device = Device::open("cuda:0").value();
  const GroupedProblem problem{.groups = 2, .rows = 128, .n = 128, .k = 128, .a = bf16, .b = bf16};
  const auto made =
      plan_grouped(device, problem, {.config = {.tile = {64, 128}, .row_groups = {.variant = GroupedVariant::ragged}}});
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  ASSERT_TRUE(made) << made.error().message;
  const auto encodes_of = [&](std::uint64_t a, std::uint64_t b, std::uint64_t d) {
    const int before = driver_->encodes;
    GroupedOperands operands{.a = reinterpret_cast<const void*>(a), .b = reinterpret_cast<const void*>(b)};
    operands.d = reinterpret_cast<void*>(d), operands.sizes = reinterpret_cast<const std::int32_t*>(0x8000000);
    operands.workspace = reinterpret_cast<void*>(0x9000000), operands.workspace_bytes = made->workspace_bytes();
    const auto ran = made->run(operands);
    EXPECT_TRUE(ran) << ran.error().message;
    const auto arguments = launched<config::GroupedArguments>(*driver_);
    for (const arch::TensorMap& map : arguments.a) EXPECT_EQ(map.words[0], a);
    EXPECT_EQ(arguments.b.words[0], b);
    EXPECT_EQ(arguments.d_rows, operands.d);
    return driver_->encodes - before;
  };
  constexpr int kOfA = config::kTokenBoxes;  // D has none: rows of a group are stored without
  EXPECT_EQ(encodes_of(0x1000000, 0x2000000, 0x3000000), kOfA + 1);
  EXPECT_EQ(encodes_of(0x1000000, 0x2000000, 0x4000000), 0);
  EXPECT_EQ(encodes_of(0x1000000, 0x2100000, 0x3000000), 1);
  EXPECT_EQ(encodes_of(0x1100000, 0x2100000, 0x3000000), kOfA);
}

TEST_F(FakeGpu, LaunchesOverlapWhereItPays) {
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  const Device device = Device::open("cuda:0").value();
  void* const memory = reinterpret_cast<void*>(0x1000);
  const auto overlapped = [&](const auto& made, auto operands) {
    if (!made) return std::string(made.error().message);
    operands.a = operands.b = memory;
    operands.d = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
    operands.workspace = reinterpret_cast<void*>(std::uintptr_t{1} << 41);
    operands.workspace_bytes = made->workspace_bytes();
    if (const auto ran = made->run(operands); !ran) return std::string(ran.error().message);
    for (const CUlaunchAttribute& attribute : driver_->attributes)
      if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) return std::string("overlaps");
    return std::string("waits");
  };
  const auto dense = [&](std::int64_t n, Pdl pdl) {
    driver_->params_bytes = sizeof(kernel::GemmParams);
    const GemmProblem problem{.m = 64, .n = n, .k = 8192, .a = bf16, .b = bf16};
    return overlapped(plan_gemm(device, problem, {.config = {.tile = {64, 64}, .cluster = {1}}, .pdl = pdl}),
                      GemmOperands{});
  };
  EXPECT_EQ(dense(128, Pdl::automatic), "overlaps");
  EXPECT_EQ(dense(128, Pdl::off), "waits");
  EXPECT_EQ(dense(32768, Pdl::automatic), "waits") << "longer than 60 us";
  EXPECT_EQ(dense(32768, Pdl::on), "overlaps");

  const auto grouped = [&](std::int64_t groups, std::int64_t k, const GemmConfig& config, Pdl pdl) {
    driver_->params_bytes = sizeof(config::GroupedArguments);
    const GroupedProblem problem{.groups = groups, .rows = 256, .n = 128, .k = k, .a = bf16, .b = bf16};
    GroupedOperands operands;
    operands.sizes = static_cast<const std::int32_t*>(memory);
    return overlapped(plan_grouped(device, problem, {.config = config, .pdl = pdl}), operands);
  };
  const GemmConfig wide{.tile = {64, 128}, .row_groups = {.variant = GroupedVariant::ragged}};
  const int sms = device.info().sms;  // a tile of `wide` for each group
  EXPECT_EQ(grouped(sms, 8192, wide, Pdl::automatic), "overlaps");
  EXPECT_EQ(grouped(sms, 8192, wide, Pdl::off), "waits");
  EXPECT_EQ(grouped(2, 128, wide, Pdl::automatic), "overlaps");
  EXPECT_EQ(grouped(2, 65536, wide, Pdl::automatic), "waits") << "longer than 60 us";
  const GemmConfig contiguous{.tile = {128, 128}, .row_groups = {.variant = GroupedVariant::contiguous}};
  EXPECT_EQ(grouped(sms, 128, contiguous, Pdl::automatic), "overlaps");
  EXPECT_EQ(grouped(2, 128, contiguous, Pdl::automatic), "waits") << "few tiles";
}

TEST_F(FakeGpu, SeveralCtasOfAnSmAreLaunchedOnTheWholeDeviceAlone) {
  if (!jit::Nvrtc::get()) GTEST_SKIP() << "no libnvrtc on this machine";
  driver_->params_bytes = sizeof(config::GroupedArguments);
  const Device device = Device::open("cuda:0").value();
  void* const memory = reinterpret_cast<void*>(0x1000);
  const GroupedProblem problem{.groups = 6, .rows = 110, .n = 4096, .k = 2048, .a = e4m3, .b = e4m3};  // 384 tiles
  const auto launched = [&](int sms, int ctas) {
    const auto made = plan_grouped(device, problem, {.config = {.sm90 = {.occupancy = ctas}}, .sms = sms});
    if (!made) return std::pair{made.error().message, 0u};
    GroupedOperands operands;
    operands.a = operands.b = memory;
    operands.d = reinterpret_cast<void*>(std::uintptr_t{1} << 40);
    operands.workspace = reinterpret_cast<void*>(std::uintptr_t{1} << 41);
    operands.workspace_bytes = made->workspace_bytes();
    operands.sizes = static_cast<const std::int32_t*>(memory);
    if (const auto ran = made->run(operands); !ran) return std::pair{ran.error().message, 0u};
    return std::pair{std::to_string(made->config().tile.m) + " " + std::to_string(made->config().sm90.occupancy),
                     driver_->launch.gridDimX};
  };
  const auto [chosen, grid] = launched(0, 0);  // two or three, as the model has it
  EXPECT_TRUE((chosen == "32 2" && grid == 2u * 132) || (chosen == "32 3" && grid == 3u * 132)) << chosen;
  EXPECT_EQ(launched(0, 3), (std::pair{std::string("32 3"), 3u * 132}));
  EXPECT_EQ(launched(0, 2), (std::pair{std::string("32 2"), 2u * 132}));
  EXPECT_EQ(launched(20, 2), (std::pair{std::string("32 2"), 20u}));
  for (const auto& [sms, ctas] : {std::pair{20, 0}, std::pair{0, 1}}) {  // of any tile; it may have fewer than 132
    const auto [config, count] = launched(sms, ctas);
    EXPECT_TRUE(config.ends_with(" 1")) << config;
    EXPECT_GE(count, 20u);
    EXPECT_LE(count, sms > 0 ? 20u : 132u);
  }
}

TEST_F(FakeGpu, ANewerDriversTensorMapsAreLeftAlone) {
  setenv("FAKE_CUDA_VERSION", "13020", 1);
  const Device device = Device::open("cuda:0").value();
  alignas(16) static char memory[16];
  const TensorMapSpec spec{.base = memory, .rank = 1, .extent = {64}, .box = {16}};
  EXPECT_EQ(device.backend().encode(spec)->words[1], ~0ull);
}

}  // namespace
}  // namespace ww::runtime
