// SPDX-License-Identifier: Apache-2.0
// Numbered grouped problems with an epilogue, in every variant. FP64 bounds each element, and rows in no group keep
// their bytes in D and in everything else that the tree writes.
// Problems of one number modulo kGroupedEpilogueKinds share their kernel, because compiling is most of the time.
#pragma once

#include <cstdint>

#include "grouped_bound.hpp"
#include "random_epilogue.hpp"

namespace ww::testing {

struct GroupedEpilogueCase {
  HostGrouped host;            // its problem has the tree
  std::int64_t pad = 0;        // of the rows of matrices that the tree names
  bool in_place = false;       // C is D
  bool shared = false;         // vectors along N serve all groups
  bool group_scalars = false;  // one alpha for each group
  std::string replay() const {
    return fmt::format("{} pad={}{}{}{} epilogue={}", host.replay(), pad, in_place ? " in place" : "",
                       shared ? " shared vectors" : "", group_scalars ? " alpha of each group" : "",
                       to_text(host.problem.epilogue));
  }
};

/// What a run leaves on the host.
struct GroupedEpilogueRun {
  std::vector<std::uint8_t> d, d_before;
  ref::EpilogueTensors tensors;
};

inline constexpr std::uint64_t kFirstGroupedEpilogue = 6'000'000, kGroupedEpilogueKinds = 24;
inline constexpr std::uint64_t kFirstBlackwellGroupedEpilogue = 6'500'000;  // from this number on, for emu:sm100

/// Returns tree `which` of 6 for a variant: three common ones, one with operands of every kind, two drawn. Where
/// columns may be combined, SwiGLU and quantised blocks replace the fourth and fifth.
inline EpilogueTree grouped_tree(std::uint64_t which, bool combines, std::uint64_t seed, DType& d) {
  using namespace evt;
  switch (which) {
    case 0: return acc * alpha + bias();
    case 1: return silu(acc * alpha + bias(bf16));
    case 2: return acc * alpha + c(d) * beta + bias();
    case 3:
      if (combines) return swiglu(acc * alpha + row(1, f16));
      return gelu(fma(store(acc * column(0), 2, f16), row(1, f16), aux(1, f32))) + column(3);
    default: break;
  }
  if (combines && which == 4) return d = e4m3, quantise_block(silu(acc + bias()) * column(1));
  for (;; ++seed) {
    DType drawn = d;
    const EpilogueTree tree = RandomTree(seed).make(drawn);
    const config::EpilogueStages stages = config::stages_of(tree);
    const bool plain = stages.swiglu == EpilogueOp::none && stages.quantise == EpilogueOp::none;
    if (!config::reduces(tree) && (plain || combines)) return d = drawn, tree;
  }
}

/// Problem `i`, from kFirstGroupedEpilogue on.
inline GroupedEpilogueCase numbered_grouped_epilogue(std::uint64_t i) {
  const std::uint64_t kind = i % kGroupedEpilogueKinds;
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 5);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  GroupedEpilogueCase made;
  HostGrouped& h = made.host;
  h.number = i;
  GroupedProblem& p = h.problem;
  // Kinds 4 t + m have tree t with variant m, and every variant its own type for it.
  const bool blackwell = i >= kFirstBlackwellGroupedEpilogue;
  const std::uint64_t which = kind / 4, m = blackwell ? 2 + kind % 2 : kind % 4;
  constexpr int kTypes[5] = {0, 2, 9, 3, 10};
  set_types(h, kGroupedTypes[kTypes[(which + m) % 5]]);
  const GroupedVariant variants[4] = {GroupedVariant::ragged, GroupedVariant::descriptors, GroupedVariant::contiguous,
                                      GroupedVariant::masked};
  GemmConfig& c = h.config;
  c.row_groups.variant = variants[m];
  p.epilogue = grouped_tree(which, m >= 2 && !(blackwell && which == 3), kind + 1, p.d);
  // Every variant has all that it supports among the trees of one turn, and every tree among five turns.
  const std::uint64_t turn = i / kGroupedEpilogueKinds;
  if (blackwell && turn % 2 == 1) c.sm90.tile_scheduler = TileScheduler::clc;
  p.encoding = m == 3 ? GroupEncoding::masked : GroupEncoding((turn + which + m) % (m == 2 ? 4 : 5));
  if (m == 0) c.tile.m = 64, c.tile.n = which % 2 == 0 ? 128 : 256;
  if (m == 0 && which == 1) c.sm90.tile_scheduler = TileScheduler::split_k, c.sm90.split = 2;
  if (m == 1) c.tile.m = 8 * (1 + static_cast<int>(which) * 3 % 8), c.tile.n = 128;
  if (m >= 2) c.tile.m = 128, c.tile.n = 128, c.cluster.m = which % 2 == 0 ? 2 : 1;
  if (blackwell) c.arch = Arch::sm100, c.cluster.m = 2, c.sm100.pair = kind % 4 < 2 || which >= 3;
  if (p.encoding == GroupEncoding::offsets && pick(3) == 0) p.alignment = 1 << pick(6);
  constexpr std::int64_t kGroups[5] = {1, 2, 3, 8, 17};
  p.groups = kGroups[pick(5)];
  p.n = 32 * (1 + pick(9)) + (p.d == e4m3 || which >= 3 ? 0 : 8 * pick(4));
  p.k = 16 / bytes_of(p.a) * (pick(9) == 0 ? 0 : 1 + pick(24));
  p.zero_outside = pick(4) == 0;
  encode_groups(h, rng, random_counts(rng, p.groups, rng() % 6));
  const std::int64_t columns = config::output_columns(p.epilogue, p.n), step = 16 / bytes_of(p.d);
  p.lda = p.ldb = p.k;
  p.ldd = columns + (pick(3) == 0 ? step * (1 + pick(3)) : 0);
  p.stride_b_group = p.n * p.ldb;
  fill_grouped(h, rng);
  made.pad = 2 * pick(3);
  made.shared = pick(3) == 0;
  made.group_scalars = pick(2) == 0;
  made.in_place = which == 2 && pick(2) == 0;
  if (made.in_place) made.pad = p.ldd - p.n;
  return made;
}

/// Host tensors of the tree, and what D holds before.
inline Result<GroupedEpilogueRun> prepare(const GroupedEpilogueCase& c) {
  const GroupedProblem& p = c.host.problem;
  GroupedEpilogueRun run;
  WW_TRY(run.tensors, operations::make_group_tensors(p.epilogue, p.total_rows(), p.n, c.shared ? 1 : p.groups,
                                                     c.host.number, {}, c.pad));
  const float scalars[] = {0.125f, -0.75f, 1.5f, 0.3f};
  std::copy(std::begin(scalars), std::end(scalars), run.tensors.scalar.begin());
  for (std::int64_t g = 0; c.group_scalars && g < p.groups; ++g)
    run.tensors.scalars[0].push_back(0.5f - 0.0625f * static_cast<float>(g));
  run.d_before.assign(static_cast<std::size_t>(p.total_rows() * p.ldd) * bytes_of(p.d), kUntouched);
  if (c.in_place) std::memcpy(run.d_before.data(), run.tensors.c.data(), run.tensors.c.bytes());
  return run;
}

/// Runs `times` times on `device` with one workspace, because counters must return to zero.
inline Result<GroupedEpilogueRun> run_on(const Device& device, const GroupedEpilogueCase& c, int times = 2) {
  const HostGrouped& h = c.host;
  WW_TRY(const GroupedPlan made, plan_grouped(device, h.problem, {.config = h.config, .pdl = h.pdl}));
  WW_TRY(GroupedEpilogueRun run, prepare(c));
  const auto upload = [&](const void* data, std::size_t bytes) -> Result<Buffer> {
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 256)));
    WW_CHECK(device.upload(buffer.data(), data, bytes));
    return buffer;
  };
  const std::vector<std::uint8_t> zeros(std::max<std::size_t>(made.workspace_bytes(), 256), 0);
  WW_TRY(const Buffer a, upload(h.a.data(), h.a.size()));
  WW_TRY(const Buffer b, upload(h.b.data(), h.b.size()));
  WW_TRY(const Buffer sa, upload(h.scale_a.data(), h.scale_a.size() * 4));
  WW_TRY(const Buffer sb, upload(h.scale_b.data(), h.scale_b.size() * 4));
  WW_TRY(const Buffer sizes, upload(h.sizes.data(), h.sizes.size() * 4));
  WW_TRY(const Buffer sizes2, upload(h.sizes2.data(), h.sizes2.size() * 4));
  WW_TRY(const Buffer status, upload(zeros.data(), 4));
  WW_TRY(const Buffer workspace, upload(zeros.data(), zeros.size()));
  WW_TRY(const Buffer d, upload(run.d_before.data(), run.d_before.size()));
  WW_TRY(operations::EpilogueBuffers epilogue, operations::upload(device, run.tensors));
  if (c.in_place) epilogue.operands.c = d.data(), epilogue.operands.ldc = h.problem.ldd;
  for (int turn = 0; turn < times; ++turn) {
    WW_CHECK(device.upload(d.data(), run.d_before.data(), run.d_before.size()));
    WW_CHECK(made.run({.a = a.data(),
                       .b = b.data(),
                       .d = d.data(),
                       .scale_a = static_cast<const float*>(sa.data()),
                       .scale_b = static_cast<const float*>(sb.data()),
                       .sizes = static_cast<const std::int32_t*>(sizes.data()),
                       .sizes2 = static_cast<const std::int32_t*>(sizes2.data()),
                       .status = static_cast<std::uint32_t*>(status.data()),
                       .workspace = workspace.data(),
                       .workspace_bytes = zeros.size(),
                       .epilogue = epilogue.operands}));
    WW_CHECK(device.synchronize());
  }
  std::uint32_t complaint = 0;
  WW_CHECK(device.download(&complaint, status.data(), 4));
  if (complaint != 0) return failure(ErrorCode::wrong_result, "status", "0", fmt::format("{}", complaint));
  run.d.resize(run.d_before.size());
  WW_CHECK(device.download(run.d.data(), d.data(), run.d.size()));
  WW_CHECK(operations::download(device, epilogue, run.tensors));
  return run;
}

/// The first byte in no group's rows and columns of `after` that is neither as `before` says nor, in rows in no group
/// of a D with zero_outside, 0; empty: none.
inline std::string touched(const GroupedEpilogueCase& c, const char* name, const std::uint8_t* after,
                           const std::uint8_t* before, std::int64_t width, std::int64_t stride, bool zeroed) {
  std::vector<bool> used(static_cast<std::size_t>(c.host.problem.total_rows()));
  for (const auto& [start, count] : c.host.ranges) std::fill_n(used.begin() + start, count, true);
  const auto rows = static_cast<std::int64_t>(used.size());
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t at = used[static_cast<std::size_t>(row)] ? width : 0; at < stride; ++at) {
      const std::uint8_t want = zeroed && at < width ? 0 : before ? before[row * stride + at] : 0xff;
      if (after[row * stride + at] != want)
        return fmt::format("{}: byte {} of row {}, in no group, is {:#04x}, not {:#04x}\n{}", name, at, row,
                           after[row * stride + at], want, c.replay());
    }
  return "";
}

/// What is wrong with a run, as FP64 and the groups say; empty: nothing.
inline std::string wrong(const GroupedEpilogueCase& c, const GroupedEpilogueRun& run) {
  const GroupedProblem& p = c.host.problem;
  const std::int64_t rows = p.total_rows(), columns = config::output_columns(p.epilogue, p.n), size = bytes_of(p.d);
  std::string text = touched(c, "D", run.d.data(), run.d_before.data(), columns * size, p.ldd * size, p.zero_outside);
  for (const ref::Matrix& out : run.tensors.out)
    if (text.empty() && out.bytes() > 0)
      text = touched(c, "out", reinterpret_cast<const std::uint8_t*>(out.data()), nullptr, p.n * bytes_of(out.type()),
                     out.ld() * bytes_of(out.type()), false);
  const ref::Matrix& block = run.tensors.out_scales;
  if (text.empty() && block.bytes() > 0)
    text = touched(c, "out_scales", reinterpret_cast<const std::uint8_t*>(block.data()), nullptr, block.ld() * 4,
                   block.ld() * 4, false);
  if (!text.empty() || rows == 0) return text;

  const std::int64_t blocks = ceil_div(p.k, 128), blocks_n = ceil_div(p.n, 128);
  const bool by_block = p.scale == Scale::block_1x128_128x128, vectors = p.scale == Scale::row_column;
  ref::Matrix sa = ref::Matrix::allocate(f32, by_block || vectors ? rows : 1, by_block ? blocks : 1,
                                         by_block ? blocks : 1, "scale_a")
                       .value();
  if (p.scale == Scale::tensor) sa.floats()[0] = c.host.scale_a[0];
  if (vectors) std::copy(c.host.scale_a.begin(), c.host.scale_a.end(), sa.floats());
  for (std::int64_t r = 0; by_block && r < rows; ++r)
    for (std::int64_t k = 0; k < blocks; ++k)
      sa.floats()[r * blocks + k] = c.host.scale_a[static_cast<std::size_t>(r * p.scale_a_row + k * p.scale_a_k)];
  const std::int64_t b_rows = by_block                                           ? p.groups * blocks_n
                              : p.scale == Scale::tensor && p.scale_b_group == 0 ? 1
                                                                                 : p.groups;
  const std::int64_t b_columns = by_block ? blocks : vectors ? p.n : 1;
  const ref::Matrix sb =
      p.scale == Scale::none ? ref::Matrix() : matrix_of(c.host.scale_b.data(), f32, b_rows, b_columns, b_columns);
  const ref::Matrix a = matrix_of(c.host.a.data(), p.a, rows, p.k, p.lda);
  const ref::Matrix b = matrix_of(c.host.b.data(), p.b, p.groups * p.n, p.k, p.ldb);
  const ref::Matrix d = matrix_of(run.d.data(), p.d, rows, columns, p.ldd);
  std::vector<ref::GroupRows> groups;
  for (const auto& [start, count] : c.host.ranges) groups.push_back({start, count});
  const bool scaled = p.scale != Scale::none;
  ref::Claim claim{
      .a = a, .b = b, .d = d, .scale = p.scale, .scale_a = scaled ? &sa : nullptr, .scale_b = scaled ? &sb : nullptr};
  ref::BoundedProduct product{rows, p.n, {}, {}, 1, &groups};
  product.reference.resize(static_cast<std::size_t>(rows * p.n)), product.error.resize(product.reference.size());
  claim.groups = &groups;
  claim.reference = product.reference.data(), claim.error = product.error.data();
  ref::verify(claim);
  const ref::EpilogueComparison v = ref::verify_epilogue(p.epilogue, product, run.tensors, d);
  if (!v.verdict.first) return "";
  const ref::Mismatch& f = *v.verdict.first;
  return fmt::format("{} of {} elements outside the FP64 bound, the first in {} at ({}, {}): {} for {} within {}\n{}",
                     v.verdict.wrong, v.elements, v.where, f.row, f.column, f.got, f.expected, f.bound, c.replay());
}

/// Every byte that the problem writes.
inline std::vector<std::uint8_t> bytes_of(const GroupedEpilogueRun& run) {
  std::vector<std::uint8_t> all = run.d;
  const auto take = [&](const ref::Matrix& m) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(m.data());
    all.insert(all.end(), bytes, bytes + m.bytes());
  };
  take(run.tensors.out_scales);
  for (const ref::Matrix& out : run.tensors.out) take(out);
  return all;
}

}  // namespace ww::testing
