// SPDX-License-Identifier: Apache-2.0
// The two targets. Operands hold noise that depends on nothing, so a schedule and its seed say all about a run.
#include "check/target.hpp"

#include <fmt/format.h>

#include <cstring>

#include "check/emulation.hpp"
#include "cli/gemm_request.hpp"
#include "config/config_text.hpp"
#include "io/file.hpp"
#include "operations/epilogue_operands.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::campaign {
namespace {

class GemmTarget final : public CheckTarget {
 public:
  GemmTarget(Device device, GemmProblem problem, GemmOptions options, CheckSettings settings)
      : device_(std::move(device)), problem_(problem), options_(options), settings_(settings) {}

  Result<void> prepare() {
    options_.pdl = Pdl::on;  // why: the launch of which most is asked
    WW_TRY(plan_, plan_gemm(device_, problem_, options_));
    options_.config = plan_->config();
    const GemmProblem& p = plan_->problem();
    const auto size = [&](std::int64_t rows, std::int64_t columns, int bytes) {
      return static_cast<std::size_t>(std::max<std::int64_t>(p.batch * rows * columns * bytes, 16));
    };
    const auto blocks = [](std::int64_t x) { return (x + 127) / 128; };
    WW_TRY(a_, device_.allocate(size(rows_of_a(p), p.lda, bytes_of(p.a))));
    WW_TRY(b_, device_.allocate(size(rows_of_b(p), p.ldb, bytes_of(p.b))));
    WW_TRY(d_, device_.allocate(size(p.d_layout == OutputLayout::row ? p.m : p.n, p.ldd, bytes_of(p.d))));
    WW_TRY(scale_a_, device_.allocate(size(p.m, blocks(p.k), 4)));
    WW_TRY(scale_b_, device_.allocate(size(p.n, blocks(p.k), 4)));
    for (const Buffer* buffer : {&a_, &b_, &d_, &scale_a_, &scale_b_}) fill_noise(buffer->data(), buffer->bytes());
    operands_ = {.a = a_.data(), .b = b_.data(), .d = d_.data()};
    WW_TRY(EpilogueTensors epilogue, make_tensors(p.epilogue, p.m, p.n, 1, {}, 0, p.batch));
    epilogue.layout = p.c_layout;
    WW_TRY(epilogue_, upload(device_, epilogue));
    const std::vector<std::byte> zeros(std::max<std::size_t>(plan_->workspace_bytes(), 16));
    WW_TRY(workspace_, device_.allocate(zeros.size()));
    WW_CHECK(device_.upload(workspace_.data(), zeros.data(), zeros.size()));
    operands_.workspace = workspace_.data(), operands_.workspace_bytes = plan_->workspace_bytes();
    operands_.epilogue = epilogue_.operands;
    if (p.scale != Scale::none) {
      operands_.scale_a = static_cast<const float*>(scale_a_.data());
      operands_.scale_b = static_cast<const float*>(scale_b_.data());
    }
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    // why each time: a run that was stopped leaves flags behind
    std::memset(workspace_.data(), 0, workspace_.bytes());
    choose(device_.backend(), schedule, settings_);
    return report_of(device_.backend(), plan_->run(operands_));
  }

  std::string command() const override {
    return fmt::format("warpwright check gemm --device {} --m {} --n {} --k {}{} --config {}{}{}", device_.info().name,
                       problem_.m, problem_.n, problem_.k,
                       problem_.batch == 1 ? "" : fmt::format(" --batch {}", problem_.batch),
                       shell_word(ww::to_text(options_.config)),
                       options_.sms > 0 ? fmt::format(" --sms {}", options_.sms) : "", settings_text(settings_));
  }
  std::string title() const override {
    return fmt::format("check gemm {} x {} x {}, {} -> {}, scale {}, math {}\n  config     {}\n", problem_.m,
                       problem_.n, problem_.k, name_of(problem_.a), name_of(problem_.d), name_of(problem_.scale),
                       math_text(settings_), ww::to_text(options_.config));
  }
  Fields fields() const override {
    Fields fields{{"device", device_.info().name},
                  {"math", math_text(settings_)},
                  {"config", ww::to_text(options_.config)},
                  {"m", problem_.m},
                  {"n", problem_.n},
                  {"k", problem_.k}};
    if (problem_.batch != 1) fields.emplace_back("batch", problem_.batch);
    return fields;
  }

  int axes() const override { return 3; }
  Result<std::unique_ptr<CheckTarget>> halved(int axis) const override {
    GemmProblem p = problem_;
    const GemmConfig& c = options_.config;
    std::int64_t& size = axis == 0 ? p.m : axis == 1 ? p.n : p.k;
    // why: below one tile a problem is as large as a tile
    const bool swaps = collective::swaps(c);
    const std::int64_t least = axis == 2 ? c.tile.k : (axis == 0) != swaps ? c.tile.m : c.tile.n;
    if (size <= least) return std::unique_ptr<CheckTarget>();
    const bool any = axis == 0 && p.a_major == Major::k && p.d_layout == OutputLayout::row;
    const std::int64_t step = any ? 1 : 16;
    size = std::max(least, (size / 2 + step - 1) / step * step);
    const std::int64_t row = 16 / bytes_of(p.a);
    p.lda = round_up(p.a_major == Major::k ? p.k : p.m, row);
    p.ldb = round_up(p.b_major == Major::k ? p.k : p.n, row);
    pack_batch(p);
    return make_gemm_target(device_, p, options_, settings_);
  }

 private:
  Device device_;
  GemmProblem problem_;
  GemmOptions options_;  // with the resolved config, so that a smaller problem is solved by the same kernel
  CheckSettings settings_;
  std::optional<GemmPlan> plan_;  // once prepared
  Buffer a_, b_, d_, scale_a_, scale_b_, workspace_;
  EpilogueBuffers epilogue_;
  GemmOperands operands_;
};

class SourceTarget final : public CheckTarget {
 public:
  SourceTarget(Device device, std::string path, std::string entry, LaunchText text, CheckSettings settings)
      : device_(std::move(device)),
        path_(std::move(path)),
        entry_(std::move(entry)),
        text_(std::move(text)),
        settings_(settings) {}

  Result<void> prepare() {
    WW_TRY(const InputFile file, InputFile::open(path_, "--source"));
    std::string source(file.bytes(), '\0');
    WW_CHECK(file.read(0, source.data(), source.size()));
    const std::string name = path_.substr(path_.rfind('/') + 1);
    std::string unit = fmt::format("#line 1 \"{}\"\n{}\n", name, source);
    if (source.find("WW_MODULE") == std::string::npos) unit += "WW_MODULE()\n";
    WW_TRY(kernel_, device_.backend().kernel({entry_, unit}));
    for (const LaunchParameter& p : text_.parameters) {
      if (p.kind != LaunchParameter::Kind::buffer && p.kind != LaunchParameter::Kind::zeros) continue;
      WW_TRY(Buffer buffer, device_.allocate(p.bytes));
      buffers_.push_back(std::move(buffer));
      zeroed_.push_back(p.kind == LaunchParameter::Kind::zeros);
      pointers_.push_back(buffers_.back().data());
      names_.push_back(fmt::format("buffer {}", names_.size()));
    }
    WW_TRY(params_, pack_parameters(text_, pointers_, device_.backend()));
    for (std::size_t i = 0; i < buffers_.size(); ++i)
      memory_.push_back({names_[i].c_str(), pointers_[i], buffers_[i].bytes(), true});
    launch_.kernel = kernel_.get();
    launch_.grid = text_.grid;
    launch_.cluster = text_.cluster;
    launch_.threads = text_.threads;
    launch_.shared_bytes = text_.shared;
    launch_.cross_cta = text_.cross_cta;
    launch_.pdl = text_.pdl;
    launch_.params = params_.data();
    launch_.params_bytes = params_.size();
    launch_.memory = memory_;
    return {};
  }

  CheckReport run(const ScheduleRun& schedule) override {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (zeroed_[i]) std::memset(pointers_[i], 0, buffers_[i].bytes());
      else fill_noise(pointers_[i], buffers_[i].bytes());
    }
    choose(device_.backend(), schedule, settings_);
    return report_of(device_.backend(), device_.backend().launch(launch_));
  }

  std::string command() const override {
    return fmt::format("warpwright check --device {} --source {} --entry {} --launch {}{}", device_.info().name,
                       shell_word(path_), shell_word(entry_), to_text(text_), settings_text(settings_));
  }
  std::string title() const override {
    return fmt::format("check {} of {}\n  launch     {}\n", entry_, path_, to_text(text_));
  }
  Fields fields() const override {
    return {{"device", device_.info().name},
            {"math", math_text(settings_)},
            {"source", path_},
            {"entry", entry_},
            {"launch", to_text(text_)}};
  }

  int axes() const override { return 1; }
  Result<std::unique_ptr<CheckTarget>> halved(int) const override {
    LaunchText smaller = text_;
    smaller.grid = text_.grid / 2 / text_.cluster * text_.cluster;
    if (smaller.grid == 0) return std::unique_ptr<CheckTarget>();
    return make_source_target(device_, path_, entry_, smaller, settings_);
  }

 private:
  Device device_;
  std::string path_, entry_;
  LaunchText text_;
  CheckSettings settings_;
  std::shared_ptr<const runtime::Kernel> kernel_;
  std::vector<Buffer> buffers_;
  std::vector<bool> zeroed_;
  std::vector<void*> pointers_;
  std::vector<std::string> names_;
  std::vector<std::byte> params_;
  std::vector<runtime::MemoryRange> memory_;
  runtime::Launch launch_;
};

}  // namespace

Result<std::unique_ptr<CheckTarget>> make_gemm_target(const Device& device, const GemmProblem& problem,
                                                      const GemmOptions& options, const CheckSettings& settings) {
  return make_target<GemmTarget>(device, problem, options, settings);
}

Result<std::unique_ptr<CheckTarget>> make_source_target(const Device& device, const std::string& path,
                                                        const std::string& entry, const LaunchText& launch,
                                                        const CheckSettings& settings) {
  return make_target<SourceTarget>(device, path, entry, launch, settings);
}

}  // namespace ww::campaign
