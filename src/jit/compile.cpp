// SPDX-License-Identifier: Apache-2.0
// The two public compiles. They look in memory, then among the shipped modules, then on disk, and then compile.
#include <chrono>

#include "jit/disk_cache.hpp"
#include "jit/jit.hpp"
#include "jit/keys.hpp"
#include "jit/memory_cache.hpp"
#include "jit/shipped.hpp"

namespace ww::jit {
namespace {

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

Result<Compiled> cubin_from_disk_or_compiler(std::string_view text, const Nvrtc& nvrtc, const std::string& key,
                                             const fs::path& cache_dir) {
  double seconds = 0;
  const auto build = [&](const fs::path&) {
    const auto start = std::chrono::steady_clock::now();
    Result<Entry> entry = nvrtc.compile(text);
    seconds = seconds_since(start);
    return entry;
  };
  WW_TRY(const DiskCache::Found found, DiskCache(cache_dir).get("sm_90a", key, ".cubin", build));
  return Compiled{std::vector<char>(found.entry.payload.begin(), found.entry.payload.end()), found.path, seconds,
                  log_with(found.entry.log, found.note)};
}

Result<Compiled> module_from_anywhere(std::string_view text, const fs::path& cache_dir, Flavour flavour) {
  if (const std::optional<Shipped> shipped = flavour == Flavour::plain ? find_shipped(text) : std::nullopt) {
    WW_TRY(fs::path path, loadable(shipped->entry, shipped->path));
    return Compiled{{}, std::move(path), 0, shipped->entry.log};
  }
  const IsaLevel isa = loadable_isa_levels().front();
  WW_TRY(const HostCompiler compiler, HostCompiler::find());
  double seconds = 0;
  const auto build = [&](const fs::path& work) {
    const auto start = std::chrono::steady_clock::now();
    Result<Entry> entry = compiler.compile(text, isa, work, flavour);
    seconds = seconds_since(start);
    return entry;
  };
  WW_TRY(const DiskCache::Found found,
         DiskCache(cache_dir).get("emu", module_key(text, isa, compiler, flavour), ".so", build));
  WW_TRY(fs::path path, loadable(found.entry, found.path));
  return Compiled{{}, std::move(path), seconds, log_with(found.entry.log, found.note)};
}

}  // namespace

Result<Compiled> compile_cubin(std::string_view text, const std::filesystem::path& cache_dir) {
  WW_TRY(const Nvrtc* nvrtc, Nvrtc::get());
  const std::string key = cubin_key(text, *nvrtc);
  return MemoryCache::of_process().get(key, [&] { return cubin_from_disk_or_compiler(text, *nvrtc, key, cache_dir); });
}

Result<Compiled> compile_module(std::string_view text, const std::filesystem::path& cache_dir, bool checked) {
  const Flavour flavour = checked ? Flavour::checked : Flavour::plain;
  const std::string key = module_source_key(text, loadable_isa_levels().front(), flavour);
  return MemoryCache::of_process().get(key, [&] { return module_from_anywhere(text, cache_dir, flavour); });
}

}  // namespace ww::jit
