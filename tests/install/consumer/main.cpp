// SPDX-License-Identifier: Apache-2.0
// Uses the installed headers, library and emulator modules, nothing of the checkout: 64 ones times 64 ones is 64.
// Prints the emulator modules that it has loaded.
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>
#include <warpwright/warpwright.hpp>

namespace {

constexpr std::int64_t kSize = 64;

ww::Result<std::vector<float>> multiply_ones() {
  const ww::GemmProblem problem{
      .m = kSize, .n = kSize, .k = kSize, .a = ww::bf16, .b = ww::bf16, .d = ww::f32, .scale = ww::Scale::none};
  const std::vector<std::uint16_t> ones(kSize * kSize, 0x3f80);
  std::vector<float> result(kSize * kSize);
  WW_TRY(const ww::Device device, ww::Device::open("emu:sm90"));
  WW_TRY(const ww::GemmPlan plan, ww::plan_gemm(device, problem));
  WW_TRY(const ww::Buffer a, device.allocate(ones.size() * sizeof(ones[0])));
  WW_TRY(const ww::Buffer d, device.allocate(result.size() * sizeof(result[0])));
  WW_TRY(const ww::Buffer workspace, device.allocate(plan.workspace_bytes()));
  WW_CHECK(device.upload(a.data(), ones.data(), a.bytes()));
  ww::GemmOperands operands;
  operands.a = operands.b = a.data();
  operands.d = d.data();
  operands.workspace = workspace.data();
  operands.workspace_bytes = workspace.bytes();
  WW_CHECK(plan.run(operands));
  WW_CHECK(device.download(result.data(), d.data(), d.bytes()));
  return result;
}

}  // namespace

int main() {
  const auto result = multiply_ones();
  if (!result) {
    std::printf("%s\n", result.error().message.c_str());
    return 1;
  }
  for (const float value : *result) {
    if (value != kSize) {
      std::printf("expected %d, got %g\n", static_cast<int>(kSize), value);
      return 1;
    }
  }
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/modules/") != std::string::npos) std::printf("%s\n", line.substr(line.find('/')).c_str());
  return 0;
}
