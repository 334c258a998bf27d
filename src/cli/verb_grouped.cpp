// SPDX-License-Identifier: Apache-2.0
// `warpwright grouped`: request -> device -> plan -> operands -> run -> verify -> report.
// Rows of A in no group hold NaN where the operands are generated, and D is filled with a pattern before the run: what
// leaks from padding into a group, or is written outside one, does not stay hidden.
#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "cli/execution.hpp"
#include "cli/grouped_request.hpp"
#include "cli/progress.hpp"
#include "config/config_text.hpp"

namespace ww::cli {
namespace {

constexpr unsigned char kUntouched = 0xff;

/// Everything about a finished run that the report shows.
struct Run {
  DeviceInfo device;
  GemmConfig config;
  double plan_seconds = 0;
  Timing timing;
  std::uint32_t status = 0;
  std::vector<TileWidth> widths;
  std::optional<Verdict> verdict;
  std::uint64_t hash = 0;   // XXH3 of the packed bytes of D
  std::int64_t judged = 0;  // elements
  std::string where = "D";  // of the first wrong one
};

/// Host copies of the operands: A (rows, K), B (G N, K), D (rows, N); with masked counts rows are G Mmax.
struct HostOperands {
  Matrix a, b, scale_a, scale_b, d;
  EpilogueTensors epilogue;
};

struct Shapes {
  OperandShape a = {}, b = {}, scale_a = {}, scale_b = {}, d = {};
};

Shapes shapes_of(const GroupedRequest& r) {
  const GroupedProblem& p = r.problem;
  const std::int64_t rows = p.total_rows(), blocks = blocks_of(p.k);
  const std::int64_t columns = collective::output_columns(p.epilogue, p.n);
  Shapes s{.a = {p.a, rows, p.k, p.lda}, .b = {p.b, p.groups * p.n, p.k, p.ldb}, .d = {p.d, rows, columns, columns}};
  switch (p.scale) {
    case Scale::none: break;
    case Scale::tensor:
      s.scale_a = {DType::f32, r.scale_a_of_group ? p.groups : 1, 1, 1};
      s.scale_b = {DType::f32, r.scale_b_of_group ? p.groups : 1, 1, 1};
      break;
    case Scale::row_column:
      s.scale_a = {DType::f32, rows, 1, 1};
      s.scale_b = {DType::f32, p.groups, p.n, p.n};
      break;
    case Scale::block_1x128_1x128:
    case Scale::block_128x128_1x128: break;  // refused: groups have no kernel for them
    case Scale::block_1x128_128x128:
      s.scale_a = {DType::f32, rows, blocks, blocks};
      s.scale_b = {DType::f32, p.groups * blocks_of(p.n), blocks, blocks};
  }
  return s;
}

/// NaN in every type: all bits set.
void spoil(Matrix& matrix, const GroupMeaning& meaning) {
  std::vector<bool> used(static_cast<std::size_t>(matrix.rows()));
  for (const GroupRows& group : meaning.groups) std::fill_n(used.begin() + group.first, group.count, true);
  for (std::int64_t row = 0; row < matrix.rows(); ++row)
    if (!used[static_cast<std::size_t>(row)])
      std::memset(matrix.row(row), 0xff, static_cast<std::size_t>(matrix.cols() * bytes_of(matrix.type())));
}

Result<HostOperands> host_operands(const GroupedRequest& r) {
  constexpr const char* kSizes = "--rows, --n, --k";
  const Shapes shapes = shapes_of(r);
  HostOperands host;
  WW_TRY(host.a, host_operand(r.a, shapes.a, r.seed, Operand::a, kSizes));
  WW_TRY(host.b, host_operand(r.b, shapes.b, r.seed, Operand::b, kSizes));
  WW_TRY(host.scale_a, host_operand(r.scale_a, shapes.scale_a, r.seed, Operand::scale_a, kSizes));
  WW_TRY(host.scale_b, host_operand(r.scale_b, shapes.scale_b, r.seed, Operand::scale_b, kSizes));
  WW_TRY(host.d, Matrix::allocate(shapes.d.type, shapes.d.rows, shapes.d.cols, shapes.d.ld, kSizes));
  const GroupedProblem& p = r.problem;
  WW_TRY(host.epilogue, make_group_tensors(p.epilogue, p.total_rows(), p.n, p.groups, r.seed, r.epilogue_files));
  host.epilogue.scalar[kScalarAlpha] = r.alpha, host.epilogue.scalar[kScalarBeta] = r.beta;
  if (!r.a) spoil(host.a, r.meaning);
  const bool scale_of_row = r.problem.scale == Scale::row_column || r.problem.scale == Scale::block_1x128_128x128;
  if (!r.scale_a && scale_of_row) spoil(host.scale_a, r.meaning);
  // why: a kernel that leaves an element unwritten must not look right because memory happened to be
  std::memset(host.d.data(), kUntouched, host.d.bytes());
  return host;
}

Result<Buffer> upload_bytes(const Device& device, const void* data, std::size_t bytes) {
  WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 16)));
  if (bytes > 0) WW_CHECK(device.upload(buffer.data(), data, bytes));
  return buffer;
}

Result<Buffer> upload_sizes(const Device& device, const std::vector<std::int32_t>& sizes) {
  return upload_bytes(device, sizes.data(), sizes.size() * sizeof(std::int32_t));
}

/// Uploads, runs, downloads D, the status word and the widths.
Result<void> execute(const Device& device, const GroupedPlan& plan, const GroupedRequest& request, HostOperands& host,
                     Run& run, Progress& progress) {
  progress.phase("copy operands");
  WW_TRY(const Buffer a, upload(device, host.a));
  WW_TRY(const Buffer b, upload(device, host.b));
  WW_TRY(const Buffer scale_a, upload(device, host.scale_a));
  WW_TRY(const Buffer scale_b, upload(device, host.scale_b));
  WW_TRY(const Buffer d, upload(device, host.d));
  WW_TRY(const Buffer sizes, upload_sizes(device, request.layout.sizes));
  WW_TRY(const Buffer sizes2, upload_sizes(device, request.layout.sizes2));
  const std::vector<std::byte> zeros(plan.workspace_bytes());
  WW_TRY(const Buffer workspace, upload_bytes(device, zeros.data(), zeros.size()));
  WW_TRY(const Buffer status, upload_bytes(device, &run.status, sizeof run.status));
  WW_TRY(const EpilogueBuffers epilogue, upload(device, host.epilogue));
  GroupedOperands operands{.a = a.data(), .b = b.data(), .d = d.data()};
  if (request.problem.scale != Scale::none) {
    operands.scale_a = static_cast<const float*>(scale_a.data());
    operands.scale_b = static_cast<const float*>(scale_b.data());
  }
  operands.sizes = static_cast<const std::int32_t*>(sizes.data());
  if (!request.layout.sizes2.empty()) operands.sizes2 = static_cast<const std::int32_t*>(sizes2.data());
  operands.status = static_cast<std::uint32_t*>(status.data());
  operands.workspace = workspace.data();
  operands.workspace_bytes = plan.workspace_bytes();
  operands.epilogue = epilogue.operands;
  progress.phase(run.device.emulated ? "emulate" : "run");
  WW_TRY(run.timing, timed_runs(
                         device, [&] { return plan.run(operands); }, [&] { return plan.last_stats(); }));
  if (host.d.bytes() > 0) WW_CHECK(device.download(host.d.data(), d.data(), host.d.bytes()));
  WW_CHECK(download(device, epilogue, host.epilogue));
  WW_CHECK(device.download(&run.status, status.data(), sizeof run.status));
  WW_TRY(run.widths, plan.widths(workspace.data()));
  run.hash = XXH3_64bits(host.d.data(), host.d.bytes());
  return {};
}

/// "widths 8: 3 tiles, 64 normal: 12 tiles"
std::string widths_text(const std::vector<TileWidth>& widths) {
  std::string text;
  for (const TileWidth& w : widths)
    if (w.tiles > 0)
      text += fmt::format("{}{}{}: {} tile{}", text.empty() ? "" : ", ", w.width, w.swapped ? "" : " normal", w.tiles,
                          w.tiles == 1 ? "" : "s");
  return text.empty() ? "none" : text;
}

List widths_list(const std::vector<TileWidth>& widths) {
  List list;
  for (const TileWidth& w : widths)
    if (w.tiles > 0) list.emplace_back(Fields{{"width", w.width}, {"swapped", w.swapped}, {"tiles", w.tiles}});
  return list;
}

/// What was written outside every group, and a status word that is not what the sizes deserve, are wrong results too.
void report_groups(const GroupedRequest& request, const Run& run, Outcome& outcome) {
  outcome.text += fmt::format("  status     {}\n", status_text(run.status));
  outcome.json.emplace_back("status", static_cast<std::int64_t>(run.status));
  outcome.json.emplace_back("status_names", status_text(run.status));
  if (!run.widths.empty()) {
    outcome.text += fmt::format("  widths     {}\n", widths_text(run.widths));
    outcome.json.emplace_back("widths", widths_list(run.widths));
  }
  if (!run.verdict) return;
  const Verdict& v = *run.verdict;
  const char* rule = request.problem.zero_outside ? "zero" : "untouched";
  if (v.outside > 0) {
    outcome.text += fmt::format("  outside    {} of {} elements in no group are {}\n", v.outside - v.outside_wrong,
                                v.outside, rule);
    outcome.json.emplace_back("outside", v.outside);
    outcome.json.emplace_back("outside_wrong", v.outside_wrong);
  }
  if (v.first_outside && !outcome.error)
    outcome.error = make_error(
        ErrorCode::wrong_result, fmt::format("D at row {}, column {}", v.first_outside->row, v.first_outside->column),
        fmt::format("an element {}, in no group", rule), fmt::format("{:.9g}", v.first_outside->got),
        fmt::format("{} of {} elements outside are wrong", v.outside_wrong, v.outside));
  if (run.status != request.meaning.status && !outcome.error)
    outcome.error = make_error(ErrorCode::wrong_result, "status word", status_text(request.meaning.status),
                               status_text(run.status));
}

bool all_right(const GroupedRequest& request, const Run& run) {
  return !run.verdict || (!run.verdict->first && !run.verdict->first_outside && run.status == request.meaning.status);
}

Outcome report(const GroupedRequest& request, const Run& run) {
  const GroupedProblem& p = request.problem;
  const std::int64_t useful = request.meaning.rows();
  const double flops = 2.0 * static_cast<double>(useful) * static_cast<double>(p.n) * static_cast<double>(p.k);
  const double rate = run.timing.seconds > 0 ? flops / run.timing.seconds : 0;
  Outcome outcome;
  outcome.text = fmt::format("grouped {} groups, {} of {} rows, x {} x {}, {} -> {}, scale {}, {}, seed {}\n", p.groups,
                             useful, p.total_rows(), p.n, p.k, name_of(p.a), name_of(p.d), name_of(p.scale),
                             name_of(p.encoding), request.seed);
  outcome.text += sources_text(request);
  outcome.text += fmt::format("  device     {}: {}\n", run.device.name, run.device.description);
  outcome.text += fmt::format("  config     {}\n", to_text(run.config));
  outcome.text += fmt::format(
      "  time       {}, {} useful{}; plan {}\n", duration(run.timing.seconds), scaled(rate, "FLOP/s"),
      run.device.emulated ? ", emulated" : fmt::format(", mean of {}", run.timing.runs), duration(run.plan_seconds));
  outcome.json = {{"device", run.device.name},
                  {"config", to_text(run.config)},
                  {"variant", name_of(run.config.row_groups.variant)},
                  {"encoding", name_of(p.encoding)},
                  {"groups", p.groups},
                  {"rows", p.total_rows()},
                  {"useful_rows", useful},
                  {"n", p.n},
                  {"k", p.k},
                  {"seconds", run.timing.seconds},
                  {"tflops", rate * 1e-12},
                  {"ok", all_right(request, run)},
                  {"verified", run.verdict.has_value()},
                  {"seed", request.seed},
                  {"plan_seconds", run.plan_seconds},
                  {"d_xxh3", fmt::format("{:016x}", run.hash)},
                  {"device_description", run.device.description}};
  if (run.timing.stats) report_stats(*run.timing.stats, outcome);
  if (run.verdict) report_verdict(*run.verdict, run.judged, outcome, run.where);
  report_groups(request, run, outcome);
  outcome.text +=
      fmt::format("  D          xxh3 {:016x}{}\n", run.hash, request.out ? ", written to " + *request.out : "");
  return outcome;
}

/// The product alone; or the product with its bounds, then the tree over the rows of every group.
void judge(const GroupedRequest& request, const HostOperands& host, Run& run, std::atomic<int>* progress) {
  const GroupedProblem& p = request.problem;
  const bool scales = p.scale != Scale::none;
  Claim claim{.a = host.a,
              .b = host.b,
              .d = host.d,
              .scale = p.scale,
              .scale_a = scales ? &host.scale_a : nullptr,
              .scale_b = scales ? &host.scale_b : nullptr,
              .math = run.device.emulated ? request.device_options.emu.math : EmuMath::exact,
              .groups = &request.meaning.groups,
              .outside = p.zero_outside ? static_cast<unsigned char>(0) : kUntouched};
  run.judged = request.meaning.rows() * p.n;
  if (p.epilogue.empty()) {
    run.verdict = verify(claim, progress);
    return;
  }
  BoundedProduct product{p.total_rows(), p.n, {}, {}, 1, claim.groups};
  product.reference.resize(static_cast<std::size_t>(p.total_rows() * p.n));
  product.error.resize(product.reference.size());
  claim.reference = product.reference.data(), claim.error = product.error.data();
  Verdict outside = verify(claim, progress);
  EpilogueVerdict v = verify_epilogue(p.epilogue, product, host.epilogue, host.d);
  v.verdict.outside = outside.outside, v.verdict.outside_wrong = outside.outside_wrong;
  v.verdict.first_outside = outside.first_outside;
  run.verdict = std::move(v.verdict), run.where = v.where, run.judged = v.elements;
}

}  // namespace

Result<Outcome> run_grouped(const Flags& flags) {
  WW_TRY(const GroupedRequest request, make_grouped_request(flags));
  Run run;
  Progress progress;
  progress.phase("open device");
  const GroupedProblem& p = request.problem;
  WW_CHECK(can_implement(p, request.options));
  WW_TRY(const Device device, Device::open(request.device, request.device_options));
  run.device = device.info();
  const Shapes s = shapes_of(request);
  WW_CHECK(check_fits(run.device,
                      bytes_of(s.a) + bytes_of(s.b) + bytes_of(s.scale_a) + bytes_of(s.scale_b) + bytes_of(s.d),
                      "--rows, --n, --k"));
  progress.phase("plan and compile");
  const double start = now_seconds();
  WW_TRY(const GroupedPlan plan, plan_grouped(device, p, request.options));
  run.plan_seconds = now_seconds() - start;
  run.config = plan.config();
  progress.phase("make operands");
  WW_TRY(HostOperands host, host_operands(request));
  WW_CHECK(execute(device, plan, request, host, run, progress));
  const std::int64_t groups_of_file = p.encoding == GroupEncoding::masked ? p.groups : 0;
  if (request.out) {
    progress.phase("write");
    WW_CHECK(write_npy(*request.out, "--out", host.d, groups_of_file));
  }
  if (request.out_scales)
    WW_CHECK(write_npy(*request.out_scales, "--out-scales", host.epilogue.out_scales, groups_of_file));
  if (request.verify) judge(request, host, run, progress.phase("verify"));
  return report(request, run);
}

}  // namespace ww::cli
