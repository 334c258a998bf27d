// SPDX-License-Identifier: Apache-2.0
// Opens the driver and resolves its table. WARPWRIGHT_CUDA_DRIVER names another library than libcuda.so.1 (for tests,
// and for machines that keep it where the loader does not search).
#include "runtime/cuda_driver.hpp"

#if WARPWRIGHT_HAS_CUDA

#include <dlfcn.h>

#include <cstdlib>

#include <fmt/format.h>

namespace ww::runtime {
namespace {

constexpr int kOldestDriver = 12000;  // tensor maps

auto failed(std::string why) { return failure(ErrorCode::could_not_finish, "", "", "", std::move(why)); }

Result<void> resolve(CudaDriver& driver, PFN_cuGetProcAddress_v12000 find) {
  const auto load = [&](const char* name, int version) -> void* {
    void* address = nullptr;
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    const CUresult status = find(name, &address, version, CU_GET_PROC_ADDRESS_DEFAULT, &found);
    return status == CUDA_SUCCESS && found == CU_GET_PROC_ADDRESS_SUCCESS ? address : nullptr;
  };
#define WW_LOAD(member, function, since)                                             \
  driver.member = reinterpret_cast<decltype(driver.member)>(load(#function, since)); \
  if (driver.member == nullptr)                                                      \
    return failed("the CUDA driver has no " #function " of version " #since "; driver 525 or newer is needed");
  WW_CUDA_DRIVER_FUNCTIONS(WW_LOAD)
#undef WW_LOAD
#define WW_LOAD(member, function, since) \
  driver.member = reinterpret_cast<decltype(driver.member)>(load(#function, since));
  WW_CUDA_DRIVER_OPTIONAL_FUNCTIONS(WW_LOAD)
#undef WW_LOAD
  return {};
}

Result<CudaDriver> open_driver() {
  const char* named = std::getenv("WARPWRIGHT_CUDA_DRIVER");
  const char* name = named != nullptr && *named != '\0' ? named : "libcuda.so.1";
  void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return failed(fmt::format("no CUDA driver ({})", reason ? reason : name));
  }
  const auto find = reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(library, "cuGetProcAddress_v2"));
  if (find == nullptr) return failed(fmt::format("{} is older than CUDA 12.0; driver 525 or newer is needed", name));

  CudaDriver driver;
  WW_CHECK(resolve(driver, find));
  WW_CHECK(driver.check(driver.init(0), "cuInit"));
  WW_CHECK(driver.check(driver.driver_get_version(&driver.version), "cuDriverGetVersion"));
  if (driver.version < kOldestDriver)
    return failed(fmt::format("the CUDA driver supports CUDA {}.{}, 12.0 or newer is needed", driver.version / 1000,
                              driver.version % 1000 / 10));
  return driver;
}

}  // namespace

Result<const CudaDriver*> CudaDriver::get() {
  static const Result<CudaDriver> driver = open_driver();
  if (!driver) return failure(driver.error());
  return &*driver;
}

Result<void> CudaDriver::check(CUresult status, std::string_view what) const {
  if (status == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* sentence = nullptr;
  if (get_error_name(status, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown CUDA error";
  if (get_error_string(status, &sentence) != CUDA_SUCCESS || sentence == nullptr) sentence = "no description";
  Error error = make_error(ErrorCode::could_not_finish, "", "", "",
                           fmt::format("{}: {} ({}): {}", what, name, static_cast<int>(status), sentence));
  error.actual = name;
  return failure(std::move(error));
}

}  // namespace ww::runtime

#endif
