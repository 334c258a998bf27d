// SPDX-License-Identifier: Apache-2.0
// The two public compiles. They look in memory, then among the packs or the shipped modules, then on disk, and then
// compile, unless WARPWRIGHT_JIT=off.
#include <chrono>

#include "jit/disk_cache.hpp"
#include "jit/jit.hpp"
#include "jit/keys.hpp"
#include "jit/memory_cache.hpp"
#include "jit/notices.hpp"
#include "jit/pack_set.hpp"
#include "jit/shipped.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::jit {
namespace {

const std::string& emulated_device_flag() {
  static const std::string flag = std::string("--device ") + machine_of(kDefaultArch).emulated_device;
  return flag;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::string log_with(const std::string& log, const std::string& note) {
  return note.empty() ? log : log + (log.empty() || log.ends_with('\n') ? "" : "\n") + note + "\n";
}

// Returns a path that dlopen accepts: the entry's own file, or an anonymous copy if that is not on disk or not
// executable.
Result<fs::path> loadable(const Entry& entry, const fs::path& file) {
  if (!file.empty() && !is_noexec(file)) return file;
  Result<fs::path> anonymous = anonymous_file(entry.payload);
  if (anonymous) return anonymous;
  return failure(
      ErrorCode::could_not_finish, {}, "a place to load the emulator module from", "none",
      (file.empty() ? std::string("it is not in the cache") : file.string() + " is on a noexec file system") + "; " +
          anonymous.error().message);
}

std::vector<char> image_of(const Entry& entry) { return {entry.payload.begin(), entry.payload.end()}; }

Result<Compiled> cubin_from_disk_or_compiler(std::string_view text, const fs::path& cache_dir, JitMode mode, Arch arch,
                                             const std::string& note) {
  const Result<const Nvrtc*> nvrtc = Nvrtc::get();
  if (!nvrtc && mode == JitMode::off)
    return failure(compiling_is_off(text, "in a pack, and without NVRTC the cache has no key for it", "--pack FILE"));
  if (!nvrtc) return failure(nvrtc.error());
  const std::string key = cubin_key(text, **nvrtc, arch);
  const char* const target = machine_of(arch).target;
  const DiskCache cache(cache_dir);
  const auto result = [&](const DiskCache::Found& found, KernelOrigin origin, double seconds) {
    const std::string notes = log_with(note, found.note);
    notify(origin, text, seconds, notes);
    return Compiled{image_of(found.entry), found.path, seconds, log_with(found.entry.log, notes), origin};
  };
  if (mode == JitMode::off) {
    const std::optional<DiskCache::Found> found = cache.find(target, key, ".cubin");
    if (!found) return failure(compiling_is_off(text, "in a pack or the cache", "--pack FILE"));
    return result(*found, KernelOrigin::cache, 0);
  }
  double seconds = 0;
  const auto build = [&](const fs::path&) {
    const auto start = std::chrono::steady_clock::now();
    Result<Entry> entry = (*nvrtc)->compile(text, arch);
    seconds = seconds_since(start);
    return entry;
  };
  WW_TRY(const DiskCache::Found found, cache.get(target, key, ".cubin", build));
  return result(found, found.built ? KernelOrigin::compiled : KernelOrigin::cache, seconds);
}

Result<Compiled> cubin_from_anywhere(std::string_view text, const std::string& key, const fs::path& cache_dir,
                                     JitMode mode, bool packs, Arch arch) {
  std::string note;
  if (std::optional<PackSet::Found> found = packs ? PackSet::of_process().find(key, note) : std::nullopt) {
    notify(KernelOrigin::pack, text, 0, note);
    return Compiled{image_of(found->entry), found->pack, 0, found->entry.log, KernelOrigin::pack};
  }
  return cubin_from_disk_or_compiler(text, cache_dir, mode, arch, note);
}

Result<Compiled> module_from_anywhere(std::string_view text, const fs::path& cache_dir, JitMode mode, Flavour flavour) {
  if (const std::optional<Shipped> shipped = flavour == Flavour::plain ? find_shipped(text) : std::nullopt) {
    WW_TRY(fs::path path, loadable(shipped->entry, shipped->path));
    notify(KernelOrigin::module, text, 0, {});
    return Compiled{{}, std::move(path), 0, shipped->entry.log, KernelOrigin::module};
  }
  const IsaLevel isa = loadable_isa_levels().front();
  const Result<HostCompiler> compiler = HostCompiler::find();
  if (!compiler && mode == JitMode::off)
    return failure(
        compiling_is_off(text, "shipped, and without a compiler the cache has no key for it", emulated_device_flag()));
  if (!compiler) return failure(compiler.error());
  const std::string key = module_key(text, isa, *compiler, flavour);
  const DiskCache cache(cache_dir);
  double seconds = 0;
  const auto build = [&](const fs::path& work) {
    const auto start = std::chrono::steady_clock::now();
    Result<Entry> entry = compiler->compile(text, isa, work, flavour);
    seconds = seconds_since(start);
    return entry;
  };
  DiskCache::Found found;
  if (mode == JitMode::off) {
    std::optional<DiskCache::Found> there = cache.find("emu", key, ".so");
    if (!there) return failure(compiling_is_off(text, "shipped or in the cache", emulated_device_flag()));
    found = std::move(*there);
  } else {
    WW_TRY(found, cache.get("emu", key, ".so", build));
  }
  WW_TRY(fs::path path, loadable(found.entry, found.path));
  const KernelOrigin origin = found.built ? KernelOrigin::compiled : KernelOrigin::cache;
  notify(origin, text, seconds, found.note);
  return Compiled{{}, std::move(path), seconds, log_with(found.entry.log, found.note), origin};
}

}  // namespace

Result<Compiled> compile_cubin(std::string_view text, const std::filesystem::path& cache_dir, bool packs, Arch arch) {
#if defined(WARPWRIGHT_HAS_CUDA) && !WARPWRIGHT_HAS_CUDA
  WW_CHECK(Nvrtc::get());  // says that this library was built without CUDA
#endif
  WW_TRY(const JitMode mode, jit_mode());
  const std::string key = cubin_source_key(text, arch);
  return MemoryCache::of_process().get(packs ? key : key + " no pack",
                                       [&] { return cubin_from_anywhere(text, key, cache_dir, mode, packs, arch); });
}

void refuse_pack(const std::filesystem::path& pack, const std::string& why) { PackSet::of_process().refuse(pack, why); }

Result<Compiled> compile_module(std::string_view text, const std::filesystem::path& cache_dir, bool checked) {
  WW_TRY(const JitMode mode, jit_mode());
  const Flavour flavour = checked ? Flavour::checked : Flavour::plain;
  const std::string key = module_source_key(text, loadable_isa_levels().front(), flavour);
  return MemoryCache::of_process().get(key, [&] { return module_from_anywhere(text, cache_dir, mode, flavour); });
}

}  // namespace ww::jit
