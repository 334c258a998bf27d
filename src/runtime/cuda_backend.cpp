// SPDX-License-Identifier: Apache-2.0
// The CUDA backend. Every call makes the primary context current for its duration and then restores the calling
// thread's. A launch builds one CUlaunchConfig on the stack, without allocation, lock or synchronisation, so that it
// can be captured in a graph. Kernels are given all shared memory and every cluster size that they may need when they
// are loaded, never at launch.
#include "runtime/cuda_backend.hpp"

#if WARPWRIGHT_HAS_CUDA

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <typeinfo>

#include <fmt/format.h>

#include "host/single_flight.hpp"
#include "jit/jit.hpp"
#include "runtime/launch_limits.hpp"
#include "runtime/tensor_map_limits.hpp"
#include "runtime/watchdog.hpp"

namespace ww::runtime {
namespace {

/// A module and its one function; unloaded when the last plan that uses it is destroyed.
struct CudaKernel final : Kernel {
  explicit CudaKernel(std::shared_ptr<const CudaContext> context) : context(std::move(context)) {}
  ~CudaKernel() override {
    const CurrentContext current(*context);
    if (module != nullptr && current.status()) context->driver.module_unload(module);
  }
  std::shared_ptr<const CudaContext> context;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  std::size_t params_bytes = 0;  // 0: this driver does not know
  // The last result of CudaBackend::resident_clusters(): the launch shape, then the number. A kernel's launches have
  // one shape, so this serves all but the first. Both are in one 64-bit value, because launches of several threads use
  // it.
  mutable std::atomic<std::uint64_t> resident{0};
};

CUdeviceptr address_of(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

CUtensorMapDataType tensor_map_type(const TensorMapSpec& spec) {
  switch (spec.narrow) {
    case NarrowElements::none: break;
    case NarrowElements::bits4: return CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B;
    case NarrowElements::bits4_padded: return CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B;
    case NarrowElements::bits6_padded: return CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
  }
  switch (spec.element) {
    case DType::e4m3:
    case DType::e5m2:
    case DType::e8m0:
    case DType::e2m1:  // packed types have maps of narrow elements, or of bytes
    case DType::e3m2:
    case DType::e2m3: return CU_TENSOR_MAP_DATA_TYPE_UINT8;
    case DType::bf16: return CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
    case DType::f16: return CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
    case DType::tf32:  // not TFLOAT32, which rounds while it copies; the tensor core truncates
    case DType::f32: return CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  }
  return CU_TENSOR_MAP_DATA_TYPE_UINT8;
}

CUtensorMapSwizzle tensor_map_swizzle(SmemSwizzle swizzle) {
  switch (swizzle) {
    case SmemSwizzle::none: return CU_TENSOR_MAP_SWIZZLE_NONE;
    case SmemSwizzle::b32: return CU_TENSOR_MAP_SWIZZLE_32B;
    case SmemSwizzle::b64: return CU_TENSOR_MAP_SWIZZLE_64B;
    case SmemSwizzle::b128: return CU_TENSOR_MAP_SWIZZLE_128B;
    case SmemSwizzle::b128_unit32: return CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
  }
  return CU_TENSOR_MAP_SWIZZLE_NONE;
}

/// The first driver whose graphs support programmatic dependent launch: a captured stream may hold any launch.
constexpr int kPdlInGraphs = 12030;

/// A launch as the driver takes it; the attributes are stored beside the config that points at them.
struct DriverLaunch {
  CUlaunchAttribute attributes[2];
  CUlaunchConfig config;

  /// With `occupancy`, for the query of how many clusters fit, which the driver answers with 1 if no cluster is given.
  explicit DriverLaunch(const Launch& launch, bool occupancy = false, bool pdl = false) : attributes{}, config{} {
    unsigned count = 0;
    if (launch.cluster > 1 || occupancy) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
      attributes[count].value.clusterDim.x = launch.cluster;
      attributes[count].value.clusterDim.y = 1;
      attributes[count].value.clusterDim.z = 1;
      ++count;
    }
    if (pdl) {
      attributes[count].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
      attributes[count].value.programmaticStreamSerializationAllowed = 1;
      ++count;
    }
    config.gridDimX = launch.grid;
    config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = launch.threads;
    config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = launch.shared_bytes;
    config.hStream = static_cast<CUstream>(launch.stream.handle);
    config.attrs = attributes;
    config.numAttrs = count;
  }
  DriverLaunch(const DriverLaunch&) = delete;
  DriverLaunch& operator=(const DriverLaunch&) = delete;
};

class CudaBackend final : public Backend {
 public:
  CudaBackend(std::shared_ptr<const CudaContext> context, DeviceInfo info, const DeviceOptions& options)
      : context_(std::move(context)),
        driver_(context_->driver),
        info_(std::move(info)),
        cache_dir_(options.cache_dir),
        on_kernel_(options.on_kernel) {}

  const DeviceInfo& info() const override { return info_; }
  const std::shared_ptr<const CudaContext>& context() const { return context_; }

  Result<std::shared_ptr<void>> allocate(std::size_t bytes) override {
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    CUdeviceptr address = 0;
    const CUresult status = bytes > info_.memory_bytes ? CUDA_ERROR_OUT_OF_MEMORY
                                                       : driver_.mem_alloc(&address, std::max<std::size_t>(bytes, 1));
    if (status == CUDA_ERROR_OUT_OF_MEMORY) {
      std::size_t free_bytes = 0, total = 0;
      driver_.mem_get_info(&free_bytes, &total);
      return failure(ErrorCode::could_not_finish, "bytes",
                     fmt::format("at most the {} bytes free of {} on {}", free_bytes, total, info_.name),
                     fmt::format("{} bytes needed", bytes));
    }
    WW_CHECK(driver_.check(status, fmt::format("cuMemAlloc of {} bytes", bytes)));
    return std::shared_ptr<void>(reinterpret_cast<void*>(address), [context = context_](void* p) {
      const CurrentContext releasing(*context);
      context->driver.mem_free(address_of(p));
    });
  }

  Result<void> upload(void* destination, const void* source, std::size_t bytes) override {
    if (bytes == 0) return {};
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    WW_CHECK(driver_.check(driver_.memcpy_htod(address_of(destination), source, bytes),
                           fmt::format("copying {} bytes to {}", bytes, info_.name)));
    // A copy from pageable memory returns when it is staged, and a launch on a non-blocking stream could overtake it.
    return driver_.check(driver_.stream_synchronize(nullptr), "waiting for a copy to the device");
  }

  Result<void> download(void* destination, const void* source, std::size_t bytes) override {
    if (bytes == 0) return {};
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    return explained(driver_.check(driver_.memcpy_dtoh(destination, address_of(source), bytes),
                                   fmt::format("copying {} bytes from {}", bytes, info_.name)));
  }

  Result<void> clear(void* destination, std::size_t bytes, Stream stream) override {
    if (bytes == 0) return {};
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    return driver_.check(
        driver_.memset_d8_async(address_of(destination), 0, bytes, static_cast<CUstream>(stream.handle)),
        fmt::format("clearing {} bytes on {}", bytes, info_.name));
  }

  Result<void> synchronize(Stream stream) override {
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    return explained(
        driver_.check(driver_.stream_synchronize(static_cast<CUstream>(stream.handle)), "waiting for the stream"));
  }

  Result<bool> is_capturing(Stream stream) const override {
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult answer = driver_.stream_is_capturing(static_cast<CUstream>(stream.handle), &status);
    if (answer == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) return true;  // the default stream, while another one captures
    WW_CHECK(driver_.check(answer, "asking whether the stream is capturing"));
    return status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

  Result<arch::TensorMap> encode(const TensorMapSpec& spec) override;

  bool has_kernel(const KernelSource& source) override { return kernels_.contains(key_of(source)); }

  Result<std::shared_ptr<const Kernel>> kernel(const KernelSource& source) override {
    return kernels_.get(key_of(source), [&]() -> Result<std::shared_ptr<const Kernel>> {
      WW_TRY(const jit::Compiled compiled, jit::compile_cubin(source.text, cache_dir_, true, info_.arch));
      const auto told = [&](Result<std::shared_ptr<const Kernel>> kernel, const jit::Compiled& from) {
        if (kernel && on_kernel_) on_kernel_({source.name, from.compile_seconds});
        return kernel;
      };
      bool refused = false;
      Result<std::shared_ptr<const Kernel>> loaded = load(compiled, source.name, refused);
      if (!refused || compiled.origin != KernelOrigin::pack) return told(std::move(loaded), compiled);
      // This driver does not take what the pack's compiler made. The compiler of this machine may be older.
      jit::refuse_pack(compiled.path, loaded.error().message);
      const Result<jit::Compiled> here = jit::compile_cubin(source.text, cache_dir_, false, info_.arch);
      if (!here)
        return failure(ErrorCode::could_not_finish, {}, {}, {},
                       fmt::format("{}: {}; {}", compiled.path.string(), loaded.error().message, here.error().message));
      return told(load(*here, source.name, refused), *here);
    });
  }

  Result<void> check_launch(const Launch& launch) const override {
    WW_TRY(const CudaKernel* kernel, checked_kernel(launch));
    return check_params(launch, kernel->params_bytes, 0);
  }

  Result<void> launch(const Launch& launch) override {
    const CudaKernel* const kernel = within_limits(launch, info_.arch) ? own_kernel(launch) : nullptr;
    const bool accepted =
        kernel != nullptr && (kernel->params_bytes == 0 || kernel->params_bytes == launch.params_bytes);
    if (!accepted) [[unlikely]]
      return check_launch(launch);
    const CurrentContext current(*context_);
    if (!current.ok()) [[unlikely]]
      return current.status();
    const DriverLaunch call(launch, false, launch.pdl && driver_.version >= kPdlInGraphs);
    if (launch.cross_cta) WW_CHECK(check_resident(launch, *kernel));
    void* arguments[1] = {const_cast<void*>(launch.params)};
    const CUresult status = driver_.launch_kernel_ex(&call.config, kernel->function, arguments, nullptr);
    if (status == CUDA_SUCCESS) [[likely]]
      return {};
    return driver_.check(
        status, fmt::format("launching {} CTAs in clusters of {}, {} threads, {} bytes of shared memory", launch.grid,
                            launch.cluster, launch.threads, launch.shared_bytes));
  }

  Result<int> max_active_clusters(const Launch& launch) override {
    WW_TRY(const CudaKernel* kernel, checked_kernel(launch));
    const CurrentContext current(*context_);
    WW_CHECK(current.status());
    return resident_clusters(*kernel, launch);
  }

 private:
  /// Returns the kernel of a launch if it is one of this device, else null.
  const CudaKernel* own_kernel(const Launch& launch) const {
    const bool made_here = typeid(*launch.kernel) == typeid(CudaKernel);  // a final class
    const auto* kernel = made_here ? static_cast<const CudaKernel*>(launch.kernel) : nullptr;
    return kernel != nullptr && kernel->context->handle == context_->handle ? kernel : nullptr;
  }

  Result<const CudaKernel*> checked_kernel(const Launch& launch) const {
    WW_CHECK(check_limits(launch, info_.arch));
    const CudaKernel* const kernel = own_kernel(launch);
    if (kernel == nullptr)
      return failure(ErrorCode::invalid, "launch.kernel", "a kernel of " + info_.name, "one of another device");
    return kernel;
  }

  /// Returns the number of clusters of this launch's shape that can be resident at once. It depends on shape and
  /// kernel, not on the grid.
  Result<int> resident_clusters(const CudaKernel& kernel, const Launch& launch) const {
    constexpr int kCountBits = 24;
    constexpr LaunchLimits kMost = launch_limits(kDefaultArch);
    static_assert(kMost.cluster < 1 << 5 && kMost.threads < 1 << 11 && kMost.shared_bytes < 1 << 24);
    const std::uint64_t shape =
        std::uint64_t{launch.shared_bytes} << 16 | std::uint64_t{launch.threads} << 5 | launch.cluster;
    const std::uint64_t known = kernel.resident.load(std::memory_order_relaxed);
    if (known >> kCountBits == shape) return static_cast<int>(known & ((1u << kCountBits) - 1));
    int clusters = 0;
    const DriverLaunch call(launch, true);
    WW_CHECK(driver_.check(driver_.occupancy_max_active_clusters(&clusters, kernel.function, &call.config),
                           "cuOccupancyMaxActiveClusters"));
    kernel.resident.store(shape << kCountBits | static_cast<std::uint64_t>(clusters), std::memory_order_relaxed);
    return clusters;
  }

  Result<void> check_resident(const Launch& launch, const CudaKernel& kernel) const {
    WW_TRY(const int clusters, resident_clusters(kernel, launch));
    const auto ctas = static_cast<std::uint32_t>(clusters) * launch.cluster;
    if (launch.grid <= ctas) return {};
    return failure(
        ErrorCode::invalid, "launch.grid",
        fmt::format("at most {} CTAs, all of which are resident, for a kernel whose CTAs wait for each other", ctas),
        fmt::format("{}", launch.grid));
  }

  /// `refused` becomes true if the driver cannot use such an image at all.
  Result<std::shared_ptr<const Kernel>> load(const jit::Compiled& compiled, const std::string& name,
                                             bool& refused) const;
  Result<void> arm_watchdog(CUmodule module) const;
  Result<void> explained(Result<void> result) const;

  std::shared_ptr<const CudaContext> context_;
  const CudaDriver& driver_;
  DeviceInfo info_;
  std::filesystem::path cache_dir_;
  std::function<void(const KernelEvent&)> on_kernel_;
  SingleFlight<std::string, std::shared_ptr<const Kernel>> kernels_;
  mutable std::mutex watchdog_mutex_;
  mutable std::shared_ptr<arch::WatchdogBuffer> watchdog_;  // host memory that kernels write; null until a kernel has a
                                                            // watchdog
};

/// Gives a module that was compiled with a watchdog the address of its report.
Result<void> CudaBackend::arm_watchdog(CUmodule module) const {
  CUdeviceptr variable = 0;
  std::size_t bytes = 0;
  if (!driver_.module_get_global || !driver_.mem_host_alloc || !driver_.mem_free_host ||
      driver_.module_get_global(&variable, &bytes, module, "ww_watchdog_buffer") != CUDA_SUCCESS)
    return {};
  const std::lock_guard lock(watchdog_mutex_);
  if (!watchdog_) {
    void* memory = nullptr;
    WW_CHECK(driver_.check(driver_.mem_host_alloc(&memory, sizeof(arch::WatchdogBuffer),
                                                  CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                           "host memory for the watchdog"));
    std::memset(memory, 0, sizeof(arch::WatchdogBuffer));
    watchdog_ = {static_cast<arch::WatchdogBuffer*>(memory), [context = context_](arch::WatchdogBuffer* p) {
                   const CurrentContext releasing(*context);
                   context->driver.mem_free_host(p);
                 }};
  }
  const arch::WatchdogBuffer* address = watchdog_.get();  // one address space: the device's pointer equals the host's
  return driver_.check(driver_.memcpy_htod(variable, &address, sizeof address), "arming the watchdog");
}

/// Adds the watchdog's report to a failure, if there is one.
Result<void> CudaBackend::explained(Result<void> result) const {
  if (result) return result;
  const std::lock_guard lock(watchdog_mutex_);
  const std::string report = watchdog_ ? watchdog_text(*watchdog_) : "";
  if (!report.empty()) result.error().message += "\n" + report;
  return result;
}

Result<arch::TensorMap> CudaBackend::encode(const TensorMapSpec& spec) {
  WW_CHECK(check_limits(spec));
  WW_CHECK(check_blackwell(spec, info_.arch != Arch::sm90, info_.name));
  const CurrentContext current(*context_);
  WW_CHECK(current.status());
  CUtensorMap map{};
  const cuuint64_t extents[5] = {spec.extent[0], spec.extent[1], spec.extent[2], spec.extent[3], spec.extent[4]};
  const cuuint64_t strides[4] = {spec.stride_bytes[1], spec.stride_bytes[2], spec.stride_bytes[3],
                                 spec.stride_bytes[4]};
  const cuuint32_t box[5] = {spec.box[0], spec.box[1], spec.box[2], spec.box[3], spec.box[4]};
  const cuuint32_t steps[5] = {1, 1, 1, 1, 1};
  WW_CHECK(driver_.check(
      driver_.tensor_map_encode_tiled(&map, tensor_map_type(spec), static_cast<cuuint32_t>(spec.rank),
                                      const_cast<void*>(spec.base), extents, strides, box, steps,
                                      CU_TENSOR_MAP_INTERLEAVE_NONE, tensor_map_swizzle(spec.swizzle),
                                      CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
      "cuTensorMapEncodeTiled"));
  // Drivers up to CUDA 13.1 mis-set this bit for tensors below 128 KiB; CuTe clears it as well.
  if (driver_.version <= 13010 && extent_bytes(spec) < 131072) map.opaque[1] &= ~(cuuint64_t{1} << 21);
  arch::TensorMap result;
  static_assert(sizeof(result) == sizeof(map));
  std::memcpy(&result, &map, sizeof(map));
  return result;
}

bool is_refusal(CUresult status) {
  switch (status) {
    case CUDA_ERROR_INVALID_IMAGE:
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_INVALID_PTX:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_JIT_COMPILER_NOT_FOUND:
    case CUDA_ERROR_JIT_COMPILATION_DISABLED: return true;
    default: return false;
  }
}

Result<std::shared_ptr<const Kernel>> CudaBackend::load(const jit::Compiled& compiled, const std::string& name,
                                                        bool& refused) const {
  const CurrentContext current(*context_);
  WW_CHECK(current.status());
  const auto kernel = std::make_shared<CudaKernel>(context_);
  const CUresult status = driver_.module_load_data(&kernel->module, compiled.image.data());
  refused = is_refusal(status);
  WW_CHECK(driver_.check(status, "loading kernel " + name));
  WW_CHECK(arm_watchdog(kernel->module));
  WW_CHECK(driver_.check(driver_.module_get_function(&kernel->function, kernel->module, name.c_str()),
                         "finding kernel " + name));

  int fixed_shared = 0;
  WW_CHECK(
      driver_.check(driver_.func_get_attribute(&fixed_shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, kernel->function),
                    "cuFuncGetAttribute"));
  WW_CHECK(driver_.check(driver_.func_set_attribute(kernel->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                    info_.shared_bytes_per_cta - fixed_shared),
                         "allowing shared memory to kernel " + name));
  WW_CHECK(driver_.check(
      driver_.func_set_attribute(kernel->function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
      "allowing clusters of 16 to kernel " + name));
  std::size_t offset = 0;
  if (driver_.func_get_param_info == nullptr ||
      driver_.func_get_param_info(kernel->function, 0, &offset, &kernel->params_bytes) != CUDA_SUCCESS)
    kernel->params_bytes = 0;
  return kernel;
}

Result<int> attribute(const CudaDriver& driver, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  WW_CHECK(driver.check(driver.device_get_attribute(&value, which, device), "cuDeviceGetAttribute"));
  return value;
}

struct Capability {
  int major = 0, minor = 0;
  /// Returns the architecture whose kernels run on such a device.
  std::optional<Arch> arch() const {
    for (int i = 0; i < kArchs; ++i)
      if (const auto arch = static_cast<Arch>(i); machine_of(arch).capability == 10 * major + minor) return arch;
    return std::nullopt;
  }
};

/// Returns "9.0 (Hopper)", or several of these.
std::string accepted_capabilities() {
  std::string text;
  for (int i = 0; i < kArchs; ++i) {
    const MachineTraits traits = machine_of(static_cast<Arch>(i));
    text += fmt::format("{}{}.{} ({})", text.empty() ? "" : " or ", traits.capability / 10, traits.capability % 10,
                        traits.family);
  }
  return text;
}

Result<Capability> capability_of(const CudaDriver& driver, CUdevice device) {
  WW_TRY(const int major, attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  WW_TRY(const int minor, attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  return Capability{major, minor};
}

Result<std::string> name_of_device(const CudaDriver& driver, CUdevice device) {
  char name[256] = {};
  WW_CHECK(driver.check(driver.device_get_name(name, sizeof(name) - 1, device), "cuDeviceGetName"));
  return std::string(name);
}

Result<CudaDeviceSummary> summarize(const CudaDriver& driver, int ordinal) {
  CUdevice device = 0;
  WW_CHECK(driver.check(driver.device_get(&device, ordinal), "cuDeviceGet"));
  WW_TRY(const Capability capability, capability_of(driver, device));
  WW_TRY(const std::string name, name_of_device(driver, device));
  return CudaDeviceSummary{fmt::format("{}, sm_{}{}", name, capability.major, capability.minor),
                           capability.arch().has_value()};
}

Result<DeviceInfo> describe(const CudaDriver& driver, CUdevice device, int ordinal, Arch arch) {
  DeviceInfo info;
  info.name = fmt::format("cuda:{}", ordinal);
  WW_TRY(const std::string name, name_of_device(driver, device));
  WW_TRY(info.sms, attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  WW_TRY(info.shared_bytes_per_cta, attribute(driver, device, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  std::size_t total = 0;
  WW_CHECK(driver.check(driver.device_total_mem(&total, device), "cuDeviceTotalMem"));
  info.memory_bytes = total;
  info.arch = arch;
  info.product = name;
  info.driver = fmt::format("{}.{}", driver.version / 1000, driver.version % 1000 / 10);
  info.description =
      fmt::format("{}, sm_{}, {} SMs, driver for CUDA {}", name, machine_of(arch).capability, info.sms, info.driver);
  if (!machine_of(arch).measured) info.description += ", untested: nobody has run this library on such a GPU";
  return info;
}

/// Returns the message without the code that begins it, for a place that says already that there is no device.
std::string without_code(const Error& error) {
  const std::string code = fmt::format("{}; ", name_of(error.code));
  return error.message.starts_with(code) ? error.message.substr(code.size()) : error.message;
}

}  // namespace

CudaPresence cuda_presence() {
  CudaPresence presence;
  const Result<const CudaDriver*> driver = CudaDriver::get();
  if (!driver) {
    presence.reason = without_code(driver.error());
    return presence;
  }
  presence.driver = fmt::format("CUDA {}.{}", (*driver)->version / 1000, (*driver)->version % 1000 / 10);
  int count = 0;
  if (Result<void> counted = (*driver)->check((*driver)->device_get_count(&count), "cuDeviceGetCount"); !counted) {
    presence.reason = without_code(counted.error());
    return presence;
  }
  if (count == 0) presence.reason = "the driver sees no device";
  for (int i = 0; i < count; ++i) {
    Result<CudaDeviceSummary> summary = summarize(**driver, i);
    presence.devices.push_back(summary ? std::move(*summary) : CudaDeviceSummary{summary.error().message, false});
  }
  return presence;
}

Result<std::shared_ptr<Backend>> open_cuda_backend(int ordinal, const DeviceOptions& options) {
  WW_TRY(const CudaDriver* driver, CudaDriver::get());
  CUdevice device = 0;
  WW_CHECK(driver->check(driver->device_get(&device, ordinal), fmt::format("opening cuda:{}", ordinal)));
  WW_TRY(const Capability capability, capability_of(*driver, device));
  const std::optional<Arch> arch = capability.arch();
  if (!arch)
    return failure(
        ErrorCode::unsupported, "device", "a GPU of compute capability " + accepted_capabilities(),
        fmt::format("compute capability {}.{}", capability.major, capability.minor),
        fmt::format("cuda:{}; {} runs the same kernels on the CPU", ordinal, machine_of(kDefaultArch).emulated_device));
  WW_TRY(DeviceInfo info, describe(*driver, device, ordinal, *arch));
  CUcontext handle = nullptr;
  WW_CHECK(driver->check(driver->primary_ctx_retain(&handle, device), "cuDevicePrimaryCtxRetain"));
  auto context = std::make_shared<const CudaContext>(*driver, device, handle);
  return std::make_shared<CudaBackend>(std::move(context), std::move(info), options);
}

std::shared_ptr<const CudaContext> cuda_context(const Backend& backend) {
  const auto* cuda = dynamic_cast<const CudaBackend*>(&backend);
  return cuda != nullptr ? cuda->context() : nullptr;
}

}  // namespace ww::runtime

#else

namespace ww::runtime {

CudaPresence cuda_presence() { return {{}, {}, "this library was built without CUDA"}; }

Result<std::shared_ptr<Backend>> open_cuda_backend(int, const DeviceOptions&) {
  return failure(ErrorCode::unsupported, "device", machine_of(kDefaultArch).emulated_device, "cuda",
                 "this library was built without CUDA");
}

}  // namespace ww::runtime

#endif
