// SPDX-License-Identifier: Apache-2.0
// Checks a kernel of its own with the installed package: two warps without the barrier between them, then with it.
// usage: checker WORKER, the program that has to run the kernel
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <warpwright/host/check.hpp>

namespace {

namespace fs = std::filesystem;

std::string kernel(const char* barrier) {
  return std::string(R"(
#include "warpwright/arch/common/global.hpp"
#include "warpwright/arch/common/named_barrier.hpp"
#include "warpwright/arch/common/shared.hpp"
#include "warpwright/arch/common/special.hpp"
using namespace ww;
struct Params { u32* out; u32 value; };
WW_KERNEL(swap, 64, Params, params) {
  const u32 thread = arch::thread_index();
  const arch::SharedAddress data = arch::dynamic_shared();
  arch::shared::store(data + 4 * thread, params.value + thread);
  )") + barrier +
         R"(
  arch::global::store(params.out + thread, arch::shared::load(data + 4 * (thread ^ 32)));
}
)";
}

/// The programs that this process has started.
std::set<std::string> programs_of_children() {
  std::set<std::string> names;
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream children(task.path() / "children");
    for (int id = 0; children >> id;) {
      std::error_code error;
      const fs::path program = fs::read_symlink("/proc/" + std::to_string(id) + "/exe", error);
      if (!error) names.insert(program.string());
    }
  }
  return names;
}

bool expect(const char* barrier, ww::Verdict verdict, const std::string& worker) {
  using Parameter = ww::CheckParameter;
  std::set<std::string> programs;
  const ww::CheckOptions options{.schedules = 2000, .progress = [&](const ww::CheckProgress& now) {
                                   if (std::string(now.phase) == "check") programs.merge(programs_of_children());
                                 }};
  const ww::KernelCheck target{
      .text = kernel(barrier),
      .entry = "swap",
      .launch = {.threads = 64, .shared_bytes = 256, .parameters = {Parameter::buffer(256), Parameter::int32(7)}}};
  const auto campaign = ww::check(target, options);
  if (!campaign) return std::printf("%s\n", campaign.error().message.c_str()), false;
  if (campaign->verdict() != verdict || programs != std::set<std::string>{worker}) {
    std::printf("%s, expected %s: %s\n", ww::name_of(campaign->verdict()), ww::name_of(verdict),
                campaign->why_incomplete.c_str());
    for (const std::string& program : programs) std::printf("ran %s, expected %s\n", program.c_str(), worker.c_str());
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const bool right = expect("", ww::Verdict::findings, argv[1]) &&
                     expect("arch::named_barrier::sync_cta();", ww::Verdict::clean, argv[1]);
  return right ? 0 : 1;
}
