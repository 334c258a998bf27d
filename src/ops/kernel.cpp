// SPDX-License-Identifier: Apache-2.0
// ww::Kernel: a loaded kernel and the device that it belongs to.
#include "warpwright/host/kernel.hpp"

#include "jit/files.hpp"
#include "launch/gemm_source.hpp"
#include "launch/grouped_source.hpp"
#include "runtime/backend.hpp"

namespace ww {

class Kernel::Impl {
 public:
  Device device;
  std::string name;
  std::shared_ptr<const runtime::Kernel> kernel;

  runtime::Launch request(const KernelLaunch& shape) const {
    return {.kernel = kernel.get(),
            .grid = shape.grid,
            .cluster = shape.cluster,
            .threads = shape.threads,
            .shared_bytes = shape.shared_bytes,
            .memory = shape.memory,
            .cross_cta = shape.cross_cta,
            .pdl = shape.pdl,
            .stream = shape.stream};
  }
};

Result<Kernel> Kernel::compile(const Device& device, const KernelSource& source) {
  if (source.name.empty()) return failure(ErrorCode::invalid, "source.name", "the kernel's name", "none");
  WW_TRY(std::shared_ptr<const runtime::Kernel> kernel, device.backend().kernel(source));
  return Kernel(std::make_shared<const Impl>(Impl{device, source.name, std::move(kernel)}));
}

const std::string& Kernel::name() const { return impl_->name; }

Result<void> Kernel::launch(const void* params, std::size_t params_bytes, const KernelLaunch& launch) const {
  runtime::Launch request = impl_->request(launch);
  request.params = params;
  request.params_bytes = params_bytes;
  return impl_->device.backend().launch(request);
}

Result<int> Kernel::max_active_clusters(const KernelLaunch& launch) const {
  return impl_->device.backend().max_active_clusters(impl_->request(launch));
}

std::optional<EmuStats> Kernel::last_stats() const { return impl_->device.backend().last_stats(); }
std::optional<CheckReport> Kernel::last_check() const { return impl_->device.backend().last_check(); }

Result<KernelSource> read_kernel_source(const std::filesystem::path& path, std::string name) {
  WW_TRY(std::string text, jit::read_file(path));
  return KernelSource{std::move(name), std::move(text)};
}

KernelSource kernel_source(const GemmConfig& config) {
  const bool grouped = config.grouping != Grouping::dense && config.grouping != Grouping::k_groups;
  return grouped ? adapters::grouped_source(config) : adapters::gemm_source(config);
}

}  // namespace ww
