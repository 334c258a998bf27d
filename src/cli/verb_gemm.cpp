// SPDX-License-Identifier: Apache-2.0
// `warpwright gemm`: request -> device -> plan -> operands -> run -> verify -> report.
// Everything that can be refused is refused before memory is allocated: flags and files first (gemm_request.cpp), then
// what no kernel solves, then what does not fit.
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>

#include "cli/gemm_request.hpp"
#include "cli/memory.hpp"
#include "cli/operands.hpp"
#include "cli/progress.hpp"
#include "cli/verify.hpp"
#include "select/config_text.hpp"

namespace ww::cli {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Everything about a finished run that the report shows.
struct Run {
  DeviceInfo device;
  GemmConfig config;
  double plan_seconds = 0;
  double seconds = 0;  // one GEMM
  int timed = 1;       // of so many
  std::optional<EmuStats> stats;
  std::optional<Verdict> verdict;
  std::uint64_t hash = 0;  // XXH3 of the packed bytes of D
};

/// Host copies of the operands.
struct HostOperands {
  Matrix a, b, scale_a, scale_b, d;
  std::size_t bytes() const { return a.bytes() + b.bytes() + scale_a.bytes() + scale_b.bytes() + d.bytes(); }
};

struct Shape {
  std::int64_t rows = 0, cols = 0;
};
Shape scale_shape(const GemmProblem& p, bool of_a) {
  if (p.scale == Scale::none) return {};
  if (p.scale == Scale::tensor) return {1, 1};
  return {of_a ? p.m : blocks_of(p.n), blocks_of(p.k)};
}

Result<void> check_memory(const GemmProblem& p, const DeviceInfo& device) {
  __extension__ using Wide = unsigned __int128;  // the parts fit 63 bits, their sum need not
  const auto bytes = [](std::int64_t rows, std::int64_t cols, int element) {
    return Wide(rows) * Wide(cols) * Wide(element);
  };
  const Shape sa = scale_shape(p, true), sb = scale_shape(p, false);
  const Wide once = bytes(p.m, p.lda, bytes_of(p.a)) + bytes(p.n, p.ldb, bytes_of(p.b)) +
                    bytes(p.m, p.n, bytes_of(p.d)) + bytes(sa.rows, sa.cols, 4) + bytes(sb.rows, sb.cols, 4);
  const auto fits = [](const char* where, Wide needed, std::uint64_t present) -> Result<void> {
    if (needed <= present) return {};
    const double gigabytes = static_cast<double>(needed) * 1e-9;
    const std::string exact =
        needed <= UINT64_MAX ? fmt::format("{}", static_cast<std::uint64_t>(needed)) : "over 2^64";
    return failure(ErrorCode::could_not_finish, "--m, --n, --k", fmt::format("at most {} bytes, {}", present, where),
                   fmt::format("{} bytes needed ({:.1f} GB)", exact, gigabytes));
  };
  // an emulated device's memory is this process's memory
  WW_CHECK(fits("the memory available to this process", device.emulated ? 2 * once : once, available_memory()));
  if (device.emulated || device.memory_bytes == 0) return {};
  return fits("the memory of the device", once, device.memory_bytes);
}

Result<Matrix> operand(const std::optional<ArrayFile>& file, DType type, std::int64_t rows, std::int64_t cols,
                       std::int64_t ld, std::uint64_t seed, Operand which) {
  if (file) return read_matrix(*file, type, rows, cols, ld);
  WW_TRY(Matrix matrix, Matrix::allocate(type, rows, cols, ld, "--m, --n, --k"));
  const bool scales = which == Operand::scale_a || which == Operand::scale_b;
  scales ? fill_scales(matrix, seed, which) : fill_normal(matrix, seed, which);
  return matrix;
}

Result<HostOperands> host_operands(const GemmRequest& r) {
  const GemmProblem& p = r.problem;
  const Shape sa = scale_shape(p, true), sb = scale_shape(p, false);
  HostOperands host;
  WW_TRY(host.a, operand(r.a, p.a, p.m, p.k, p.lda, r.seed, Operand::a));
  WW_TRY(host.b, operand(r.b, p.b, p.n, p.k, p.ldb, r.seed, Operand::b));
  WW_TRY(host.scale_a, operand(r.scale_a, DType::f32, sa.rows, sa.cols, sa.cols, r.seed, Operand::scale_a));
  WW_TRY(host.scale_b, operand(r.scale_b, DType::f32, sb.rows, sb.cols, sb.cols, r.seed, Operand::scale_b));
  WW_TRY(host.d, Matrix::allocate(p.d, p.m, p.n, p.n, "--m, --n"));
  return host;
}

Result<Buffer> upload(const Device& device, const Matrix& matrix) {
  WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(matrix.bytes(), 16)));
  if (matrix.bytes() > 0) WW_CHECK(device.upload(buffer.data(), matrix.data(), matrix.bytes()));
  return buffer;
}

/// On a GPU: one run to warm up, then enough of them that the clock's and the launch's noise is small.
Result<void> timed_runs(const Device& device, const GemmPlan& plan, const GemmOperands& operands, Run& run) {
  const auto once = [&](int times) -> Result<double> {
    const double start = now();
    for (int i = 0; i < times; ++i) WW_CHECK(plan.run(operands));
    WW_CHECK(device.synchronize());
    return now() - start;
  };
  WW_TRY(run.seconds, once(1));
  run.stats = plan.last_stats();
  if (run.stats) run.seconds = run.stats->seconds;
  if (run.device.emulated) return {};
  WW_TRY(const double second, once(1));
  run.timed = static_cast<int>(std::clamp(0.05 / std::max(second, 1e-6), 1.0, 1000.0));
  WW_TRY(const double total, once(run.timed));
  run.seconds = total / run.timed;
  return {};
}

/// Uploads, runs, downloads D.
Result<void> execute(const Device& device, const GemmPlan& plan, HostOperands& host, Run& run, Progress& progress) {
  progress.phase("copy operands");
  WW_TRY(const Buffer a, upload(device, host.a));
  WW_TRY(const Buffer b, upload(device, host.b));
  WW_TRY(const Buffer scale_a, upload(device, host.scale_a));
  WW_TRY(const Buffer scale_b, upload(device, host.scale_b));
  WW_TRY(const Buffer d, device.allocate(std::max<std::size_t>(host.d.bytes(), 16)));
  WW_TRY(const Buffer workspace, device.allocate(std::max<std::size_t>(plan.workspace_bytes(), 16)));
  // why: a kernel that leaves an element unwritten must not look right because memory happened to be
  std::memset(host.d.data(), 0xff, host.d.bytes());
  if (host.d.bytes() > 0) WW_CHECK(device.upload(d.data(), host.d.data(), host.d.bytes()));
  GemmOperands operands{.a = a.data(), .b = b.data(), .d = d.data()};
  if (plan.problem().scale != Scale::none) {
    operands.scale_a = static_cast<const float*>(scale_a.data());
    operands.scale_b = static_cast<const float*>(scale_b.data());
  }
  operands.workspace = workspace.data();
  operands.workspace_bytes = plan.workspace_bytes();
  progress.phase(run.device.emulated ? "emulate" : "run");
  WW_CHECK(timed_runs(device, plan, operands, run));
  if (host.d.bytes() > 0) WW_CHECK(device.download(host.d.data(), d.data(), host.d.bytes()));
  run.hash = XXH3_64bits(host.d.data(), host.d.bytes());
  return {};
}

std::string scaled(double value, const char* unit) {
  const char* prefix = "";
  for (const char* next : {"k", "M", "G", "T"}) {
    if (value < 1000) break;
    value /= 1000, prefix = next;
  }
  return fmt::format("{:.4g} {}{}", value, prefix, unit);
}

std::string duration(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}

std::string bytes_by_operand(const std::map<std::string, std::uint64_t>& bytes) {
  std::string text;
  for (const auto& [name, count] : bytes)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, scaled(static_cast<double>(count), "B"));
  return text.empty() ? "nothing" : text;
}

Fields bytes_fields(const std::map<std::string, std::uint64_t>& bytes) {
  Fields fields;
  for (const auto& [name, count] : bytes) fields.emplace_back(name, count);
  return fields;
}

void report_stats(const EmuStats& s, Outcome& outcome) {
  outcome.text += fmt::format("  L2 reads   {}\n  L2 writes  {}\n", bytes_by_operand(s.l2_read_bytes),
                              bytes_by_operand(s.l2_write_bytes));
  outcome.text += fmt::format("  work       {} CTAs, {} TMA loads, {} TMA stores, {} wgmmas, {} fibers, {} switches\n",
                              s.ctas, s.tma_loads, s.tma_stores, s.wgmmas, s.fibers, s.switches);
  for (auto& field : Fields{{"ctas", s.ctas},
                            {"fibers", s.fibers},
                            {"switches", s.switches},
                            {"tma_loads", s.tma_loads},
                            {"tma_stores", s.tma_stores},
                            {"wgmmas", s.wgmmas},
                            {"l2_read_bytes", bytes_fields(s.l2_read_bytes)},
                            {"l2_write_bytes", bytes_fields(s.l2_write_bytes)},
                            {"shared_write_bytes", bytes_fields(s.shared_write_bytes)}})
    outcome.json.push_back(field);
}

Fields mismatch_fields(const Mismatch& m) {
  return {{"row", m.row}, {"column", m.column}, {"got", m.got}, {"expected", m.expected}, {"bound", m.bound}};
}

void report_verdict(const Verdict& v, std::int64_t elements, Outcome& outcome) {
  outcome.json.emplace_back("max_error", v.max_error);
  outcome.json.emplace_back("max_error_of_bound", v.max_error_of_bound);
  outcome.json.emplace_back("worst", mismatch_fields(v.worst));
  outcome.json.emplace_back("wrong", v.wrong);
  outcome.text += fmt::format(
      "  verify     {}: worst error {:.4g} at ({}, {}), expected {:.6g}, got {:.6g}; no element beyond {:.3g} of its "
      "bound\n",
      v.first ? "WRONG" : "right", v.max_error, v.worst.row, v.worst.column, v.worst.expected, v.worst.got,
      v.max_error_of_bound);
  if (!v.first) return;
  const Mismatch& f = *v.first;
  outcome.json.emplace_back("first_wrong", mismatch_fields(f));
  const std::string where = fmt::format("D at row {}, column {}", f.row, f.column);
  outcome.error =
      make_error(ErrorCode::wrong_result, where, fmt::format("{:.9g} +- {:.3g}", f.expected, f.bound),
                 fmt::format("{:.9g}", f.got), fmt::format("{} of {} elements are wrong", v.wrong, elements));
}

Outcome report(const GemmRequest& request, const Run& run) {
  const GemmProblem& p = request.problem;
  const double flops = 2.0 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const double rate = run.seconds > 0 ? flops / run.seconds : 0;
  const auto source = [](const std::optional<ArrayFile>& file) {
    return file ? file->file.path() : std::string("generated");
  };
  Outcome outcome;
  outcome.text = fmt::format("gemm {} x {} x {}, {} -> {}, scale {}, seed {}\n", p.m, p.n, p.k, name_of(p.a),
                             name_of(p.d), name_of(p.scale), request.seed);
  if (request.a || request.b)
    outcome.text += fmt::format("  operands   a {}, b {}\n", source(request.a), source(request.b));
  outcome.text += fmt::format("  device     {}: {}\n", run.device.name, run.device.description);
  outcome.text += fmt::format("  config     {}\n", to_text(run.config));
  outcome.text += fmt::format("  time       {}, {}{}; plan {}\n", duration(run.seconds), scaled(rate, "FLOP/s"),
                              run.device.emulated ? " emulated" : fmt::format(", mean of {}", run.timed),
                              duration(run.plan_seconds));
  const bool right = !run.verdict || !run.verdict->first;
  outcome.json = {{"device", run.device.name},
                  {"config", to_text(run.config)},
                  {"m", p.m},
                  {"n", p.n},
                  {"k", p.k},
                  {"seconds", run.seconds},
                  {"tflops", rate * 1e-12},
                  {"ok", right},
                  {"verified", run.verdict.has_value()},
                  {"seed", request.seed},
                  {"plan_seconds", run.plan_seconds},
                  {"d_xxh3", fmt::format("{:016x}", run.hash)},
                  {"device_description", run.device.description}};
  if (run.stats) report_stats(*run.stats, outcome);
  if (run.verdict) report_verdict(*run.verdict, p.m * p.n, outcome);
  outcome.text +=
      fmt::format("  D          xxh3 {:016x}{}\n", run.hash, request.out ? ", written to " + *request.out : "");
  return outcome;
}

}  // namespace

Result<Outcome> run_gemm(const GemmFlags& flags) {
  WW_TRY(const GemmRequest request, make_request(flags));
  Run run;
  Progress progress;
  progress.phase("open device");
  WW_CHECK(can_implement(request.problem, request.options));
  WW_TRY(const Device device, Device::open(request.device, request.device_options));
  run.device = device.info();
  WW_CHECK(check_memory(request.problem, run.device));
  progress.phase("plan and compile");
  const double start = now();
  WW_TRY(const GemmPlan plan, plan(device, request.problem, request.options));
  run.plan_seconds = now() - start;
  run.config = plan.config();
  progress.phase("make operands");
  WW_TRY(HostOperands host, host_operands(request));
  WW_CHECK(execute(device, plan, host, run, progress));
  if (request.out) {
    progress.phase("write");
    WW_CHECK(write_npy(*request.out, "--out", host.d));
  }
  if (request.verify) {
    const bool scales = request.problem.scale != Scale::none;
    const Claim claim{host.a,
                      host.b,
                      host.d,
                      request.problem.scale,
                      scales ? &host.scale_a : nullptr,
                      scales ? &host.scale_b : nullptr,
                      run.device.emulated ? request.device_options.emu.math : EmuMath::exact};
    run.verdict = verify(claim, progress.phase("verify"));
  }
  return report(request, run);
}

}  // namespace ww::cli
