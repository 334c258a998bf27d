// SPDX-License-Identifier: Apache-2.0
// `warpwright info`: describes the build and what it compiles kernels with: compilers, packs, shipped modules and the
// cache. Whatever is missing is listed with the reason. `warpwright devices` lists the devices.
#include <fmt/format.h>

#include "cli/flags.hpp"
#include "jit/build_facts.hpp"
#include "jit/host_compiler.hpp"
#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"
#include "jit/shipped.hpp"
#include "warpwright/host/compile.hpp"

#ifndef WARPWRIGHT_HAS_CUDA
#define WARPWRIGHT_HAS_CUDA 0
#endif

namespace ww::cli {
namespace {

/// Returns the widest vector instructions of this CPU that the emulator could use.
const char* host_isa() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return "x86-64, AVX-512";
  if (__builtin_cpu_supports("avx2")) return "x86-64, AVX2";
  return "x86-64, SSE2";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "other";
#endif
}

/// A fact that may be missing: `found`, or the reason.
struct Fact {
  std::string text;
  Fields json;
};
template <class T, class Text> Fact fact(const Result<T>& found, const Text& text) {
  if (!found) return {"not found: " + found.error().message, {{"found", false}, {"reason", found.error().message}}};
  return {text(*found), {{"found", true}, {"identity", text(*found)}}};
}

void add_modules(std::string& lines, List& list, const jit::fs::path& directory) {
  std::error_code ignored;
  const bool exists = jit::fs::is_directory(directory, ignored);
  lines += fmt::format("modules         {}{}\n", directory.string(), exists ? "" : " (does not exist)");
  list.push_back(Fields{{"path", directory.string()}, {"exists", exists}});
}

void add_pack(std::string& lines, List& list, const KernelPack& pack) {
  lines += fmt::format("kernel pack     {}: {}\n", pack.path.string(),
                       pack.problem.empty() ? fmt::format("{} kernels of {}", pack.kernels, pack.compiler)
                                            : "not used, " + pack.problem);
  list.push_back(Fields{{"path", pack.path.string()},
                        {"kernels", static_cast<std::int64_t>(pack.kernels)},
                        {"compiler", pack.compiler},
                        {"problem", pack.problem}});
}

}  // namespace

Result<Outcome> run_version(const Flags&) {
  Outcome outcome;
  outcome.text = fmt::format("warpwright {}\n", jit::library_version());
  outcome.json = {{"ok", true},
                  {"name", "warpwright"},
                  {"version", jit::library_version()},
                  {"compiler", jit::build_compiler()},
                  {"cuda_headers", WARPWRIGHT_HAS_CUDA != 0}};
  return outcome;
}

Result<Outcome> run_info(const Flags&) {
  Outcome outcome;
  std::string& text = outcome.text;
  text += fmt::format("warpwright      {}\n", jit::library_version());
  text += fmt::format("built with      {}, CUDA headers {}\n", jit::build_compiler(),
                      WARPWRIGHT_HAS_CUDA ? "yes" : "no (emulator only)");
  text += fmt::format("CPU             {}\n", host_isa());

  const Fact nvrtc = fact(jit::Nvrtc::get(), [](const jit::Nvrtc* found) {
    return fmt::format("{}, {}", found->identity(), found->path());
  });
  const Fact compiler =
      fact(jit::HostCompiler::find(), [](const jit::HostCompiler& found) { return found.path.string(); });
  const Fact cache = fact(jit::cache_root({}), [](const std::filesystem::path& found) { return found.string(); });
  text += fmt::format("NVRTC           {}\n", nvrtc.text);
  List packs;
  for (const KernelPack& pack : kernel_packs(true)) add_pack(text, packs, pack);
  if (packs.empty()) text += "kernel packs    none: kernels for GPUs are compiled when they are first used\n";
  List modules;
  for (const jit::fs::path& directory : jit::module_directories()) add_modules(text, modules, directory);
  text += fmt::format("C++ compiler    {}\n", compiler.text);
  text += fmt::format("cache           {}\n", cache.text);
  outcome.json = {{"ok", true},
                  {"version", jit::library_version()},
                  {"compiler", jit::build_compiler()},
                  {"cuda_headers", WARPWRIGHT_HAS_CUDA != 0},
                  {"isa", host_isa()},
                  {"nvrtc", nvrtc.json},
                  {"packs", packs},
                  {"modules", modules},
                  {"host_compiler", compiler.json},
                  {"cache", cache.json}};
  return outcome;
}

}  // namespace ww::cli
