// SPDX-License-Identifier: Apache-2.0
// A kernel of the user's own under the checker: its source as a translation unit whose lines are those of the file that
// was named, and its parameter struct packed as C++ lays it out.
#include <fmt/format.h>

#include <cstring>

#include "check/launch.hpp"
#include "check/runner.hpp"

namespace ww::campaign {
namespace {

using Kind = CheckParameter::Kind;

/// `text` inside the quotes of a #line directive.
std::string in_line_directive(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') out += std::string("\\") + c;
    else if (byte < 0x20) out += fmt::format("\\{:03o}", byte);
    else out += c;
  }
  return out;
}

class KernelRunner final : public Runner {
 public:
  KernelRunner(Device device, const KernelCheck& check, CheckSettings settings)
      : device_(std::move(device)), check_(check), settings_(settings) {}

  Result<void> prepare() {
    WW_CHECK(check_launch(check_.launch, check_.arch));
    const std::string name = check_.source.empty() ? "kernel.hpp" : check_.source.string();
    std::string unit = fmt::format("#line 1 \"{}\"\n{}\n", in_line_directive(name), check_.text);
    if (check_.text.find("WW_MODULE") == std::string::npos) unit += "WW_MODULE()\n";
    WW_TRY(kernel_, device_.backend().kernel({check_.entry, unit}));
    // Everything about the launch is refused before memory is asked for: of the parameters the size alone counts.
    const std::vector<void*> nowhere(buffers_of(check_.launch));
    const std::vector<std::byte> size =
        pack_parameters(check_.launch, nowhere, std::vector<arch::TensorMap>(check_.launch.parameters.size()));
    describe_launch(size);
    if (Result<void> fits = device_.backend().check_launch(launch_); !fits) return failure(in_our_words(fits.error()));
    WW_CHECK(allocate());
    WW_TRY(const std::vector<arch::TensorMap> maps, encode());
    params_ = pack_parameters(check_.launch, pointers_, maps);
    describe_launch(params_);
    return {};
  }

  CheckTarget target() const override { return check_; }
  int sms() const override { return device_.info().sms; }

 protected:
  Result<void> begin(const ScheduleRun&) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (kinds_[i] == Kind::kept) std::memset(pointers_[i], 0, buffers_[i].bytes());
    return {};
  }

  CheckReport launch(const ScheduleRun& schedule, int launch) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (kinds_[i] == Kind::zeros) std::memset(pointers_[i], 0, buffers_[i].bytes());
      if (kinds_[i] == Kind::unset) std::memset(pointers_[i], 0xFF, buffers_[i].bytes());
      if (kinds_[i] == Kind::buffer) fill_noise(pointers_[i], buffers_[i].bytes());
    }
    choose(device_.backend(), schedule, launch, settings_);
    CheckReport report = report_of(device_.backend(), device_.backend().launch(launch_));
    // Under fifo all launches run alike, so that even a kernel whose results depend on the order repeats them.
    if (report.verdict != Verdict::clean || schedule.launches == 1 || schedule.kind != EmuSchedule::fifo) return report;
    std::vector<Imaged> results;  // all that is the same before every launch
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      if (kinds_[i] != Kind::kept) results.push_back({names_[i], pointers_[i], buffers_[i].bytes()});
    if (launch == 1) first_ = image_of(results);
    else add(report, difference(results, first_, launch, "launch 1"));
    return report;
  }

 private:
  Error in_our_words(const Error& error) const {
    if (error.argument == "launch.params_bytes")
      return make_error(error.code, "launch.parameters",
                        "values of " + error.expected.substr(0, error.expected.find(',')) +
                            " bytes in all, the size of the kernel's parameter",
                        check_.launch.parameters.empty() ? "none" : error.actual + " bytes");
    return error;
  }

  Result<void> allocate() {
    for (const CheckParameter& p : check_.launch.parameters) {
      if (!is_pointer(p.kind)) continue;
      WW_TRY(Buffer buffer, device_.allocate(p.bytes));
      buffers_.push_back(std::move(buffer));
      kinds_.push_back(p.kind);
      pointers_.push_back(buffers_.back().data());
      names_.push_back(fmt::format("buffer {}", names_.size()));
    }
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      memory_.push_back({names_[i].c_str(), pointers_[i], buffers_[i].bytes(), true, kinds_[i] == Kind::unset});
    return {};
  }

  /// One for each parameter; those of other kinds stay empty.
  Result<std::vector<arch::TensorMap>> encode() {
    std::vector<arch::TensorMap> maps(check_.launch.parameters.size());
    for (std::size_t i = 0; i < maps.size(); ++i) {
      if (check_.launch.parameters[i].kind != Kind::map) continue;
      WW_TRY(runtime::TensorMapSpec spec, spec_of(check_.launch.parameters[i].tensor_map, "launch.parameters"));
      spec.base = pointers_[check_.launch.parameters[i].tensor_map.buffer];
      WW_TRY(maps[i], device_.backend().encode(spec));
    }
    return maps;
  }

  void describe_launch(const std::vector<std::byte>& params) {
    const CheckLaunch& from = check_.launch;
    launch_.kernel = kernel_.get();
    launch_.grid = from.grid, launch_.cluster = from.cluster, launch_.threads = from.threads;
    launch_.shared_bytes = from.shared_bytes;
    launch_.cross_cta = from.cross_cta, launch_.pdl = from.pdl;
    launch_.params = params.data(), launch_.params_bytes = params.size();
    launch_.memory = memory_;
  }

  Device device_;
  KernelCheck check_;
  CheckSettings settings_;
  std::shared_ptr<const runtime::Kernel> kernel_;
  std::vector<Buffer> buffers_;
  std::vector<Kind> kinds_;
  std::vector<void*> pointers_;
  std::vector<std::string> names_;
  std::vector<std::byte> params_;
  std::vector<runtime::MemoryRange> memory_;
  runtime::Launch launch_;
  Image first_;  // what the first launch of this schedule left
};

}  // namespace

Result<std::unique_ptr<Runner>> make_kernel_runner(const Device& device, const KernelCheck& check,
                                                   CheckSettings settings) {
  auto runner = std::make_unique<KernelRunner>(device, check, settings);
  WW_CHECK(runner->prepare());
  return runner;
}

}  // namespace ww::campaign
