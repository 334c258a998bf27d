// SPDX-License-Identifier: Apache-2.0
// `warpwright gemm`: request -> device -> plan -> operands -> run -> verify -> report.
// Everything that can be refused is refused before memory is allocated: flags and files first (gemm_request.cpp), then
// what no kernel solves, then what does not fit.
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/execution.hpp"
#include "cli/gemm_request.hpp"
#include "cli/progress.hpp"
#include "config/config_text.hpp"

namespace ww::cli {
namespace {

/// Everything about a finished run that the report shows.
struct Run {
  DeviceInfo device;
  GemmConfig config;
  double plan_seconds = 0;
  Timing timing;
  std::optional<Verdict> verdict;
  std::uint64_t hash = 0;   // XXH3 of the packed bytes of D
  std::int64_t judged = 0;  // elements
  float amax = 0;           // of an epilogue that quantises the tensor; of a batch the largest
  std::string where = "D";  // of the first wrong one
};

/// Host copies of the operands.
struct HostOperands {
  Matrix a, b, scale_a, scale_b, d;
  EpilogueTensors epilogue;
};

/// How many matrices of a batch, or sets of scales, there are when they are `stride` apart.
std::int64_t count_of(const GemmProblem& p, std::int64_t stride) { return stride == 0 && p.batch > 0 ? 1 : p.batch; }

/// The scales of all of a batch, set after set.
OperandShape scale_shape(const GemmProblem& p, bool of_a) {
  const std::int64_t sets = count_of(p, of_a ? p.batch_scale_a : p.batch_scale_b);
  switch (p.scale) {
    case Scale::none: return {};
    case Scale::tensor: return {DType::f32, sets, 1, 1};
    case Scale::row_column:
      return of_a ? OperandShape{DType::f32, sets * p.m, 1, 1} : OperandShape{DType::f32, sets, p.n, p.n};
    case Scale::block_1x128_128x128:
    case Scale::block_1x128_1x128:
    case Scale::block_128x128_1x128: break;  // the last is refused: of kernels only
  }
  return {DType::f32, sets * (of_a ? p.m : scale_rows_of_b(p)), blocks_of(p.k), blocks_of(p.k)};
}

OperandShape a_shape(const GemmProblem& p) {
  return {p.a, count_of(p, p.batch_a) * rows_of_a(p), p.a_major == Major::k ? p.k : p.m, p.lda};
}
OperandShape b_shape(const GemmProblem& p) {
  return {p.b, count_of(p, p.batch_b) * rows_of_b(p), p.b_major == Major::k ? p.k : p.n, p.ldb};
}
OperandShape d_shape(const GemmProblem& p) {
  const std::int64_t columns = collective::output_columns(p.epilogue, p.n);
  return {p.d, p.batch * p.m, columns, columns};
}

Result<HostOperands> host_operands(const GemmRequest& r) {
  const GemmProblem& p = r.problem;
  constexpr const char* kSizes = "--m, --n, --k";
  HostOperands host;
  WW_TRY(host.a, host_operand(r.a, a_shape(p), r.seed, Operand::a, kSizes));
  WW_TRY(host.b, host_operand(r.b, b_shape(p), r.seed, Operand::b, kSizes));
  WW_TRY(host.scale_a, host_operand(r.scale_a, scale_shape(p, true), r.seed, Operand::scale_a, kSizes));
  WW_TRY(host.scale_b, host_operand(r.scale_b, scale_shape(p, false), r.seed, Operand::scale_b, kSizes));
  WW_TRY(host.d, Matrix::allocate(p.d, p.batch * p.m, d_shape(p).cols, d_shape(p).ld, "--m, --n"));
  WW_TRY(host.epilogue, make_tensors(p.epilogue, p.m, p.n, r.seed, r.epilogue_files, 0, p.batch));
  host.epilogue.layout = p.c_layout;
  host.epilogue.scalar[kScalarAlpha] = r.alpha, host.epilogue.scalar[kScalarBeta] = r.beta;
  return host;
}

/// Repeats what the matrices of a batch share, so that each has its own.
Result<void> repeat(Matrix& matrix, std::int64_t rows) {
  if (matrix.rows() == 0 || matrix.rows() >= rows) return {};
  WW_TRY(Matrix all, Matrix::allocate(matrix.type(), rows, matrix.cols(), matrix.ld(), "--batch"));
  for (std::int64_t row = 0; row < rows; row += matrix.rows()) std::memcpy(all.row(row), matrix.data(), matrix.bytes());
  matrix = std::move(all);
  return {};
}

/// An MN-major operand with a row for each of M or N, which is how operands are judged.
Result<void> to_k_major(Matrix& matrix, Major major, std::int64_t k) {
  if (major == Major::k) return {};
  WW_TRY(matrix, transposed(matrix, k, "--layout"));
  return {};
}

/// A batch is judged as groups: matrix l of A and D against rows l N and on of B.
Result<void> as_groups(const GemmProblem& p, HostOperands& host, std::vector<GroupRows>& groups) {
  if (p.batch == 1) return {};
  for (std::int64_t l = 0; l < p.batch; ++l) groups.push_back({l * p.m, p.m});
  WW_CHECK(repeat(host.a, p.batch * p.m));
  WW_CHECK(repeat(host.b, p.batch * p.n));
  if (p.scale == Scale::row_column) {
    WW_CHECK(repeat(host.scale_a, p.batch * p.m));
    WW_CHECK(repeat(host.scale_b, p.batch));
  } else if (is_block(p.scale)) {
    WW_CHECK(repeat(host.scale_a, p.batch * p.m));
    WW_CHECK(repeat(host.scale_b, p.batch * scale_rows_of_b(p)));
  }
  return {};
}

Result<Verdict> judge(const GemmRequest& request, HostOperands& host, EmuMath math, std::atomic<int>* progress) {
  const GemmProblem& p = request.problem;
  const bool scales = p.scale != Scale::none;
  std::vector<GroupRows> groups;
  WW_CHECK(as_groups(p, host, groups));
  return verify({.a = host.a,
                 .b = host.b,
                 .d = host.d,
                 .scale = p.scale,
                 .scale_a = scales ? &host.scale_a : nullptr,
                 .scale_b = scales ? &host.scale_b : nullptr,
                 .math = math,
                 .groups = p.batch == 1 ? nullptr : &groups},
                progress);
}

/// The product with its bounds first, then the tree over it.
Result<void> judge_epilogue(const GemmRequest& request, HostOperands& host, EmuMath math, std::atomic<int>* progress,
                            Run& run) {
  const GemmProblem& p = request.problem;
  const bool scales = p.scale != Scale::none;
  BoundedProduct product{p.m, p.n, {}, {}, p.batch};
  product.reference.resize(static_cast<std::size_t>(p.batch * p.m * p.n));
  product.error.resize(product.reference.size());
  std::vector<GroupRows> groups;
  WW_CHECK(as_groups(p, host, groups));
  Claim claim{host.a, host.b, host.d, p.scale, scales ? &host.scale_a : nullptr, scales ? &host.scale_b : nullptr,
              math};
  if (p.batch != 1) claim.groups = &groups;
  claim.reference = product.reference.data(), claim.error = product.error.data();
  verify(claim, progress);
  EpilogueVerdict v = verify_epilogue(p.epilogue, product, host.epilogue, host.d);
  run.verdict = std::move(v.verdict), run.where = v.where, run.judged = v.elements;
  return {};
}

/// D as the device has it: as `d`, or (N, M) for each matrix.
Result<Matrix> stored_output(const GemmProblem& p, const Matrix& d) {
  const bool transposed = p.d_layout == OutputLayout::column;
  return Matrix::allocate(p.d, transposed ? p.batch * d.cols() : d.rows(), transposed ? p.m : d.cols(),
                          transposed ? p.ldd : d.ld(), "--m, --n");
}
Result<void> read_output(const GemmProblem& p, Matrix stored, Matrix& d) {
  if (p.d_layout == OutputLayout::row) {
    d = std::move(stored);
    return {};
  }
  WW_TRY(d, transposed(stored, d.cols(), "--m, --n"));
  return {};
}

/// Arrays of pointers to the matrices of a batch, instead of the batch.
struct PointerBuffers {
  Buffer a, b, c, d;
};
Result<PointerBuffers> upload_pointers(const Device& device, const GemmProblem& p, const HostOperands& host,
                                       GemmOperands& operands) {
  PointerBuffers made;
  if (!p.pointer_array) return made;
  const auto batch = static_cast<std::size_t>(p.batch);
  const auto array = [&](const void* base, std::size_t bytes, bool several) -> Result<Buffer> {
    std::vector<const void*> pointers(batch);
    for (std::size_t l = 0; l < batch; ++l)
      pointers[l] = static_cast<const std::byte*>(base) + (several ? l * (bytes / batch) : 0);
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(batch * sizeof(void*), 16)));
    if (batch > 0) WW_CHECK(device.upload(buffer.data(), pointers.data(), batch * sizeof(void*)));
    return buffer;
  };
  WW_TRY(made.a, array(operands.a, host.a.bytes(), host.a.rows() > rows_of_a(p)));
  WW_TRY(made.b, array(operands.b, host.b.bytes(), host.b.rows() > rows_of_b(p)));
  WW_TRY(made.c, array(operands.epilogue.c, host.epilogue.c.bytes(), host.epilogue.c.rows() > p.m));
  WW_TRY(made.d, array(operands.d, host.d.bytes(), true));
  operands.a_pointers = static_cast<const void* const*>(made.a.data());
  operands.b_pointers = static_cast<const void* const*>(made.b.data());
  operands.c_pointers = static_cast<const void* const*>(made.c.data());
  operands.d_pointers = static_cast<void* const*>(made.d.data());
  operands.a = operands.b = operands.epilogue.c = nullptr, operands.d = nullptr;
  return made;
}

/// Uploads, runs, downloads D.
Result<void> execute(const Device& device, const GemmPlan& plan, HostOperands& host, Run& run, Progress& progress) {
  progress.phase("copy operands");
  WW_TRY(const Buffer a, upload(device, host.a));
  WW_TRY(const Buffer b, upload(device, host.b));
  WW_TRY(const Buffer scale_a, upload(device, host.scale_a));
  WW_TRY(const Buffer scale_b, upload(device, host.scale_b));
  WW_TRY(Matrix stored, stored_output(plan.problem(), host.d));
  WW_TRY(const Buffer d, device.allocate(std::max<std::size_t>(stored.bytes(), 16)));
  WW_TRY(const Buffer workspace, device.allocate(std::max<std::size_t>(plan.workspace_bytes(), 16)));
  WW_TRY(const EpilogueBuffers epilogue, upload(device, host.epilogue));
  const std::vector<std::byte> zeros(plan.workspace_bytes());
  if (!zeros.empty()) WW_CHECK(device.upload(workspace.data(), zeros.data(), zeros.size()));
  // why: a kernel that leaves an element unwritten must not look right because memory happened to be
  std::memset(stored.data(), 0xff, stored.bytes());
  if (stored.bytes() > 0) WW_CHECK(device.upload(d.data(), stored.data(), stored.bytes()));
  GemmOperands operands{.a = a.data(), .b = b.data(), .d = d.data()};
  if (plan.problem().scale != Scale::none) {
    operands.scale_a = static_cast<const float*>(scale_a.data());
    operands.scale_b = static_cast<const float*>(scale_b.data());
  }
  operands.workspace = workspace.data();
  operands.workspace_bytes = plan.workspace_bytes();
  operands.epilogue = epilogue.operands;
  WW_TRY(const PointerBuffers pointers, upload_pointers(device, plan.problem(), host, operands));
  progress.phase(run.device.emulated ? "emulate" : "run");
  WW_TRY(run.timing, timed_runs(
                         device, [&] { return plan.run(operands); }, [&] { return plan.last_stats(); }));
  if (stored.bytes() > 0) WW_CHECK(device.download(stored.data(), d.data(), stored.bytes()));
  WW_CHECK(read_output(plan.problem(), std::move(stored), host.d));
  WW_CHECK(download(device, epilogue, host.epilogue));
  run.hash = XXH3_64bits(host.d.data(), host.d.bytes());
  return {};
}

Outcome report(const GemmRequest& request, const Run& run) {
  const GemmProblem& p = request.problem;
  const double flops = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
                       static_cast<double>(p.k);
  const double rate = run.timing.seconds > 0 ? flops / run.timing.seconds : 0;
  Outcome outcome;
  outcome.text = fmt::format("gemm {}{} x {} x {}, {} -> {}, scale {}, seed {}\n",
                             p.batch == 1 ? "" : fmt::format("{} of ", p.batch), p.m, p.n, p.k, name_of(p.a),
                             name_of(p.d), name_of(p.scale), request.seed);
  outcome.text += sources_text(request);
  outcome.text += fmt::format("  device     {}: {}\n", run.device.name, run.device.description);
  outcome.text += fmt::format("  config     {}\n", to_text(run.config));
  outcome.text += fmt::format("  time       {}, {}{}; plan {}\n", duration(run.timing.seconds), scaled(rate, "FLOP/s"),
                              run.device.emulated ? " emulated" : fmt::format(", mean of {}", run.timing.runs),
                              duration(run.plan_seconds));
  const bool right = !run.verdict || !run.verdict->first;
  outcome.json = {{"device", run.device.name},
                  {"config", to_text(run.config)},
                  {"m", p.m},
                  {"n", p.n},
                  {"k", p.k},
                  {"seconds", run.timing.seconds},
                  {"tflops", rate * 1e-12},
                  {"ok", right},
                  {"verified", run.verdict.has_value()},
                  {"seed", request.seed},
                  {"plan_seconds", run.plan_seconds},
                  {"d_xxh3", fmt::format("{:016x}", run.hash)},
                  {"device_description", run.device.description}};
  if (run.timing.stats) report_stats(*run.timing.stats, outcome);
  if (p.batch != 1) outcome.json.emplace_back("batch", p.batch);
  if (p.epilogue.has(EpilogueOp::quantise)) {
    outcome.json.emplace_back("amax", run.amax);
    outcome.text += fmt::format("  amax       {}\n", run.amax);
  }
  if (run.verdict) report_verdict(*run.verdict, run.judged, outcome, run.where);
  outcome.text +=
      fmt::format("  D          xxh3 {:016x}{}\n", run.hash, request.out ? ", written to " + *request.out : "");
  return outcome;
}

}  // namespace

Result<Outcome> run_gemm(const Flags& flags) {
  WW_TRY(const GemmRequest request, make_request(flags));
  Run run;
  Progress progress;
  progress.phase("open device");
  WW_CHECK(can_implement(request.problem, request.options));
  WW_TRY(const Device device, Device::open(request.device, request.device_options));
  run.device = device.info();
  const GemmProblem& p = request.problem;
  const WideBytes bytes = bytes_of(a_shape(p)) + bytes_of(b_shape(p)) + bytes_of(d_shape(p)) +
                          bytes_of(scale_shape(p, true)) + bytes_of(scale_shape(p, false));
  WW_CHECK(check_fits(run.device, bytes, "--m, --n, --k"));
  progress.phase("plan and compile");
  const double start = now_seconds();
  WW_TRY(const GemmPlan plan, plan_gemm(device, request.problem, request.options));
  run.plan_seconds = now_seconds() - start;
  run.config = plan.config();
  progress.phase("make operands");
  WW_TRY(HostOperands host, host_operands(request));
  WW_CHECK(execute(device, plan, host, run, progress));
  if (request.out) {
    progress.phase("write");
    WW_CHECK(write_npy(*request.out, "--out", host.d, p.batch == 1 ? 0 : p.batch));
  }
  if (request.out_scales)
    WW_CHECK(write_npy(*request.out_scales, "--out-scales", host.epilogue.out_scales, p.batch == 1 ? 0 : p.batch));
  for (float amax : host.epilogue.amax) run.amax = std::max(run.amax, amax);
  run.judged = p.batch * p.m * p.n;
  if (request.verify) {
    const EmuMath math = run.device.emulated ? request.device_options.emu.math : EmuMath::exact;
    WW_CHECK(to_k_major(host.a, p.a_major, p.k));
    WW_CHECK(to_k_major(host.b, p.b_major, p.k));
    if (p.epilogue.empty()) {
      WW_TRY(run.verdict, judge(request, host, math, progress.phase("verify")));
    } else {
      WW_CHECK(judge_epilogue(request, host, math, progress.phase("verify"), run));
    }
  }
  return report(request, run);
}

}  // namespace ww::cli
