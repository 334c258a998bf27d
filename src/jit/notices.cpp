// SPDX-License-Identifier: Apache-2.0
// Counters and the listener belong to the process, as the memory of kernels does.
#include "jit/notices.hpp"

#include <atomic>
#include <cstdlib>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "jit/pack_set.hpp"

namespace ww {
namespace {

constexpr int kOrigins = 4;

struct Record {
  std::atomic<std::uint64_t> counts[kOrigins] = {};
  std::mutex mutex;
  std::function<void(const KernelNotice&)> listener;
};

Record& record() {
  static Record& of_process = *new Record;  // never destroyed, because threads may outlive static destructors
  return of_process;
}

}  // namespace

const char* name_of(KernelOrigin origin) {
  constexpr const char* kNames[kOrigins] = {"compiled", "cache", "pack", "module"};
  return kNames[static_cast<int>(origin)];
}

KernelCounts kernel_counts() {
  const auto count = [](KernelOrigin origin) { return record().counts[static_cast<int>(origin)].load(); };
  return {count(KernelOrigin::compiled), count(KernelOrigin::cache), count(KernelOrigin::pack),
          count(KernelOrigin::module)};
}

void set_kernel_listener(std::function<void(const KernelNotice&)> listener) {
  const std::lock_guard lock(record().mutex);
  record().listener = std::move(listener);
}

std::vector<KernelPack> kernel_packs(bool check_kernels) { return jit::PackSet::of_process().report(check_kernels); }

namespace jit {

Result<JitMode> jit_mode() {
  const char* value = std::getenv("WARPWRIGHT_JIT");
  const std::string_view text = value ? value : "";
  if (text.empty() || text == "on") return JitMode::on;
  if (text == "off") return JitMode::off;
  if (text == "trace") return JitMode::trace;
  return failure(ErrorCode::invalid, "WARPWRIGHT_JIT", "on, off or trace", std::string(text));
}

std::string headline(std::string_view source) {
  std::string_view line = source.substr(0, source.find('\n'));
  if (line.starts_with("// ")) line.remove_prefix(3);
  return std::string(line);
}

Error compiling_is_off(std::string_view source, const std::string& looked, const std::string& flag) {
  const std::string kernel = headline(source);
  // These are texts that --config takes; the program makes the other kernels of the library with any config.
  const auto begins = [&](const char* key) { return kernel.starts_with(key); };
  const bool takes = begins("arch=") || begins("quantize=") || begins("transpose=") || begins("pack=");
  const std::string config = takes ? kernel : "CONFIG";
  return make_error(ErrorCode::could_not_finish, "kernel",
                    "one that need not be compiled, because WARPWRIGHT_JIT=off forbids it", kernel,
                    fmt::format("it is not {}; to make it: warpwright prepare --config '{}' {}", looked, config, flag));
}

void notify(KernelOrigin origin, std::string_view source, double seconds, const std::string& note) {
  Record& all = record();
  ++all.counts[static_cast<int>(origin)];
  const std::lock_guard lock(all.mutex);
  if (all.listener) all.listener({origin, headline(source), seconds, note});
}

}  // namespace jit
}  // namespace ww
