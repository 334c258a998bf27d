// SPDX-License-Identifier: Apache-2.0
// The emulator's backend: memory that is refused when it cannot be had, modules by dlopen, launches through emu::run.
// Modules stay loaded for the life of the process, because plans of unknown lifetime reference their entries.
#include "runtime/emu_backend.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "emu/emulator.hpp"
#include "emu/watch.hpp"
#include "host/single_flight.hpp"
#include "jit/jit.hpp"
#include "runtime/launch_limits.hpp"
#include "runtime/tensor_map_limits.hpp"
#include "warpwright/arch/sm100/emu_instructions.hpp"

namespace ww::runtime {
namespace {

constexpr std::size_t kAllocationAlignment = 256;  // the driver's, so that alignment errors appear here too
constexpr int kMinimumSms = 4;                     // two to four simulated SMs are fastest on a CPU; a cluster must fit

struct EmuKernel final : Kernel {
  EmuKernel(const Backend* owner, const arch::KernelEntry* entry, bool hooked)
      : owner(owner), entry(entry), hooked(hooked) {}
  const Backend* owner;
  const arch::KernelEntry* entry;
  bool hooked;  // the module reports its plain loads and stores
};

struct LoadedEntry {
  const arch::KernelEntry* entry;
  bool hooked;
};

/// Returns the number in a one-number file of the kernel's, or `otherwise` ("max", no such file).
std::uint64_t number_in(const char* path, std::uint64_t otherwise) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  return file >> value ? value : otherwise;
}

/// Returns the most memory that this process may use: physical memory, or less in a container.
std::uint64_t memory_limit() {
  const auto pages = static_cast<std::uint64_t>(std::max(0L, sysconf(_SC_PHYS_PAGES)));
  const std::uint64_t physical = pages * static_cast<std::uint64_t>(std::max(1L, sysconf(_SC_PAGESIZE)));
  const std::uint64_t cgroup2 = number_in("/sys/fs/cgroup/memory.max", physical);
  const std::uint64_t cgroup1 = number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", physical);
  return std::min({physical, cgroup2, cgroup1});
}

/// Returns MemAvailable of /proc/meminfo, which can be allocated now without swapping; `otherwise` if there is no such
/// line.
std::uint64_t memory_available(std::uint64_t otherwise) {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  for (std::uint64_t kib = 0; file >> key >> kib;) {
    if (key == "MemAvailable:") return kib * 1024;
    std::getline(file, unit);
  }
  return otherwise;
}

/// Returns why the machine cannot run a module that uses these instruction sets; empty if it can.
std::string why_unable(const emu::MachineModel& model, const arch::InstructionPart* parts) {
  for (const arch::InstructionPart* part = parts; part != nullptr; part = part->next) {
    if (!emu::has_instructions(model, part->set))
      return fmt::format("it uses instructions of {}, which {} does not have", part->set, model.traits.emulated_device);
    if (emu::find_instructions(part->set, part->version, part->bytes) == nullptr)
      return fmt::format("built for version {} of the instructions of {}, this library has another", part->version,
                         part->set);
  }
  return {};
}

Result<LoadedEntry> load_entry(const emu::MachineModel& model, const std::filesystem::path& path,
                               const std::string& name) {
  const auto failed = [&](std::string why) {
    return failure(ErrorCode::could_not_finish, "", "", "", fmt::format("kernel module {}: {}", path.string(), why));
  };
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) {
    // The usual cause is a cache on a noexec mount, which the loader's message does not mention.
    const char* reason = dlerror();
    return failed(
        fmt::format("{}; the folder must allow execution, see WARPWRIGHT_CACHE_DIR", reason ? reason : "dlopen"));
  }
  const auto enter = reinterpret_cast<WarpwrightModuleEntry>(dlsym(module, "warpwright_module"));
  if (enter == nullptr) return failed("it does not export warpwright_module");
  const arch::ModuleInfo* info = enter(emu::table());
  if (info == nullptr || info->table_version != arch::kEmuTableVersion)
    return failed(fmt::format("built for table version {}, this library has {}", info ? info->table_version : 0,
                              arch::kEmuTableVersion));
  if (std::string why = why_unable(model, info->parts); !why.empty()) return failed(std::move(why));
  std::string names;
  for (const arch::KernelEntry* entry = info->kernels; entry != nullptr; entry = entry->next) {
    if (name == entry->name) return LoadedEntry{entry, info->checked != 0};
    names = std::string(entry->name) + (names.empty() ? "" : ", ") + names;  // the last one of the source comes first
  }
  return failure(ErrorCode::invalid, "entry", names.empty() ? "a kernel of the source, which defines none" : names,
                 "\"" + name + "\"");
}

/// Bytes held by all buffers of one device; outlives the device in the deleters of its buffers.
struct Held {
  std::atomic<std::uint64_t> bytes{0};
};

struct LastRun {
  std::uint64_t backend = 0;
  EmuStats stats;
  std::optional<CheckReport> check;
};
thread_local LastRun last_run;

class EmuBackend final : public Backend {
 public:
  EmuBackend(const emu::MachineModel& model, const DeviceOptions& options) : model_(model), options_(options) {
    static std::atomic<std::uint64_t> next_id{1};
    id_ = next_id++;
    info_.name = model.traits.emulated_device;
    info_.emulated = true;
    info_.arch = model.arch;
    info_.product = fmt::format("emulated {}", model.traits.target);
    info_.sms = options.emu.sms > 0 ? options.emu.sms : kMinimumSms;
    info_.memory_bytes = memory_limit();
    info_.shared_bytes_per_cta = model.traits.shared_bytes();
    info_.description = fmt::format("emulated {}, {} SMs, {} arithmetic", model.traits.target, info_.sms,
                                    options.emu.math == EmuMath::exact        ? "exact tensor-core"
                                    : options.emu.math == EmuMath::fp32_chain ? "plain FP32"
                                                                              : "no");
  }

  const DeviceInfo& info() const override { return info_; }

  Result<std::shared_ptr<void>> allocate(std::size_t bytes) override {
    const std::uint64_t held = held_->bytes;
    const std::uint64_t owned = info_.memory_bytes > held ? info_.memory_bytes - held : 0;
    const std::uint64_t present = std::min(owned, memory_available(owned));
    const std::size_t rounded =
        (std::max(bytes, std::size_t{1}) + kAllocationAlignment - 1) & ~(kAllocationAlignment - 1);
    void* memory = nullptr;
    if (bytes <= present && rounded >= bytes) memory = std::aligned_alloc(kAllocationAlignment, rounded);
    if (memory == nullptr)
      return failure(ErrorCode::could_not_finish, "bytes",
                     fmt::format("at most the {} bytes of memory present", present),
                     fmt::format("{} bytes needed", bytes));
    held_->bytes += rounded;
    return std::shared_ptr<void>(memory, [held = held_, rounded](void* p) {
      held->bytes -= rounded;
      std::free(p);
    });
  }

  Result<void> upload(void* destination, const void* source, std::size_t bytes) override {
    return copy(destination, source, bytes);
  }
  Result<void> download(void* destination, const void* source, std::size_t bytes) override {
    return copy(destination, source, bytes);
  }
  Result<void> clear(void* destination, std::size_t bytes, Stream) override {
    if (bytes > 0) std::memset(destination, 0, bytes);
    return {};
  }
  Result<void> synchronize(Stream) override { return {}; }  // launches have finished when they return

  Result<arch::TensorMap> encode(const TensorMapSpec& spec) override {
    WW_CHECK(check_limits(spec));
    WW_CHECK(check_blackwell(spec, emu::has_instructions(model_, arch::kSm100Instructions), info_.name));
    return emu::encode(spec);
  }

  bool has_kernel(const KernelSource& source) override { return kernels_.contains(key_of(source)); }

  Result<std::shared_ptr<const Kernel>> kernel(const KernelSource& source) override {
    return kernels_.get(key_of(source), [&]() -> Result<std::shared_ptr<const Kernel>> {
      WW_TRY(const jit::Compiled compiled, jit::compile_module(source.text, options_.cache_dir, options_.emu.check));
      WW_TRY(const LoadedEntry loaded, load_entry(model_, compiled.path, source.name));
      auto kernel = std::make_shared<const EmuKernel>(this, loaded.entry, loaded.hooked);
      if (options_.on_kernel) options_.on_kernel({source.name, compiled.compile_seconds});
      return kernel;
    });
  }

  Result<void> check_launch(const Launch& launch) const override {
    WW_CHECK(checked_kernel(launch));
    return {};
  }

  Result<void> launch(const Launch& launch) override {
    WW_TRY(const EmuKernel* kernel, checked_kernel(launch));
    const int sms = sms_for(launch);
    last_run.backend = 0;  // a run that fails leaves no statistics
    last_run.check.reset();
    if (options_.emu.check) return check(*kernel, launch, sms);
    WW_TRY(last_run.stats, emu::run(model_, *kernel->entry, launch, options_.emu, sms));
    last_run.backend = id_;
    return {};
  }

  void set_emu_options(const EmuOptions& options) override {
    const bool check = options_.emu.check;
    options_.emu = options;
    options_.emu.check = check;
  }

  Result<int> max_active_clusters(const Launch& launch) override {
    const auto most = static_cast<std::uint32_t>(model_.traits.largest_cluster);
    if (launch.cluster < 1 || launch.cluster > most)
      return failure(ErrorCode::invalid, "launch.cluster", fmt::format("1 to {} CTAs", most),
                     fmt::format("{}", launch.cluster));
    return sms_for(launch) / static_cast<int>(launch.cluster);
  }

  std::optional<EmuStats> last_stats() const override {
    if (last_run.backend != id_) return std::nullopt;
    return last_run.stats;
  }

  std::optional<CheckReport> last_check() const override {
    if (last_run.backend != id_) return std::nullopt;
    return last_run.check;
  }

 private:
  Result<void> check(const EmuKernel& kernel, const Launch& launch, int sms) {
    last_run.check = emu::check(model_, *kernel.entry, launch, options_.emu, sms, kernel.hooked);
    last_run.stats = last_run.check->stats;
    last_run.backend = id_;
    if (last_run.check->verdict == Verdict::clean) return {};
    const bool findings = last_run.check->verdict == Verdict::findings;
    return failure({ErrorCode::could_not_finish, "kernel", "a clean check",
                    findings ? "findings" : "an incomplete check",
                    findings ? last_run.check->findings.front().text : last_run.check->why_incomplete});
  }

  static Result<void> copy(void* destination, const void* source, std::size_t bytes) {
    if (bytes == 0) return {};
    if (destination == nullptr || source == nullptr)
      return failure(ErrorCode::invalid, destination == nullptr ? "destination" : "source", "an address", "null");
    std::memcpy(destination, source, bytes);
    return {};
  }

  int sms_for(const Launch& launch) const { return std::max(info_.sms, static_cast<int>(launch.cluster)); }

  Result<const EmuKernel*> checked_kernel(const Launch& launch) const {
    WW_CHECK(check_limits(launch, info_.arch));
    const auto* kernel = dynamic_cast<const EmuKernel*>(launch.kernel);
    if (kernel == nullptr || kernel->owner != this)
      return failure(ErrorCode::invalid, "launch.kernel", "a kernel of this device", "one of another device");
    WW_CHECK(check_params(launch, kernel->entry->params_bytes, kernel->entry->threads));
    const int sms = sms_for(launch);
    if (launch.cross_cta && launch.grid > static_cast<std::uint32_t>(sms))
      return failure(
          ErrorCode::invalid, "launch.grid",
          fmt::format("at most {} CTAs, all of which are resident, for a kernel whose CTAs wait for each other", sms),
          fmt::format("{}", launch.grid));
    return kernel;
  }

  const emu::MachineModel& model_;
  DeviceOptions options_;
  DeviceInfo info_;
  std::uint64_t id_ = 0;
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  SingleFlight<std::string, std::shared_ptr<const Kernel>> kernels_;
};

}  // namespace

std::vector<std::string> emulated_devices() {
  std::vector<std::string> names;
  for (const emu::MachineModel* model : emu::machines()) names.emplace_back(model->traits.emulated_device);
  return names;
}

void watch_launches() { emu::watch_for_endless_loops(); }
void give_up_launches_at(double monotonic) { emu::give_up_at(monotonic); }

Result<std::shared_ptr<Backend>> open_emu_backend(std::string_view name, const DeviceOptions& options) {
  const emu::MachineModel* model = emu::find_machine(name);
  if (model == nullptr) return failure(ErrorCode::invalid, "device", "an emulated device", std::string(name));
  if (const int most = model->traits.most_sms; options.emu.sms < 0 || options.emu.sms > most)
    return failure(ErrorCode::invalid, "sms", fmt::format("1 to {} SMs of {}", most, name),
                   fmt::format("{}", options.emu.sms));
  return std::make_shared<EmuBackend>(*model, options);
}

}  // namespace ww::runtime
