// SPDX-License-Identifier: Apache-2.0
// Epilogue trees over groups of rows: the bits of the dense plan on each group alone, the bound of FP64, rows in no
// group, K = 0, and refusals of run().
#include <gtest/gtest.h>

#include <set>

#include "problems/random_grouped_epilogue.hpp"

namespace ww {
namespace {

using namespace ww::testing;

constexpr GroupedVariant kVariants[] = {GroupedVariant::ragged, GroupedVariant::descriptors, GroupedVariant::contiguous,
                                        GroupedVariant::masked};

Device open_emu() {
  auto device = Device::open("emu:sm90");
  if (!device) throw std::runtime_error(device.error().message);
  return *device;
}

/// A group of one row, an empty one, tails of every width, gaps between them where the encoding has them.
GroupedEpilogueCase small_case(GroupedVariant variant, const EpilogueTree& tree, std::int64_t k, DType d = bf16) {
  GroupedEpilogueCase made;
  HostGrouped& h = made.host;
  GroupedProblem& p = h.problem;
  p = {.groups = 5, .n = 144, .k = k, .a = bf16, .b = bf16, .d = d};
  p.encoding = variant == GroupedVariant::masked ? GroupEncoding::masked : GroupEncoding::starts_counts;
  p.epilogue = tree;
  h.config = {.tile = {64, 128}, .row_groups = {.variant = variant}};
  if (variant == GroupedVariant::descriptors) h.config.tile.m = 24;
  std::mt19937_64 rng(7);
  encode_groups(h, rng, {1, 0, 70, 131, 9});
  p.lda = p.ldb = p.k, p.ldd = config::output_columns(tree, p.n) + 16, p.stride_b_group = p.n * p.ldb;
  fill_grouped(h, rng);
  made.pad = 4;
  return made;
}

GroupedEpilogueRun run_or_throw(const Device& device, const GroupedEpilogueCase& c) {
  auto run = run_on(device, c);
  if (!run) throw std::runtime_error(run.error().message + "\n" + c.replay());
  return std::move(*run);
}

/// Every group by the dense plan with the same tree: all that is written lies as the grouped run leaves it.
GroupedEpilogueRun dense_run(const Device& device, const GroupedEpilogueCase& c) {
  const HostGrouped& h = c.host;
  const GroupedProblem& p = h.problem;
  GroupedEpilogueRun run = prepare(c).value();
  const auto upload = [&](const void* data, std::size_t bytes) {
    Buffer buffer = device.allocate(std::max<std::size_t>(bytes, 256)).value();
    if (!device.upload(buffer.data(), data, bytes)) throw std::runtime_error("upload");
    return buffer;
  };
  std::vector<bool> used(static_cast<std::size_t>(p.total_rows()));  // rows of groups, where D may be C
  for (const auto& [start, count] : h.ranges) std::fill_n(used.begin() + start, count, true);
  for (std::int64_t row = 0; p.zero_outside && row < p.total_rows(); ++row)
    if (!used[static_cast<std::size_t>(row)])
      std::fill_n(run.d_before.begin() + row * p.ldd * bytes_of(p.d),
                  config::output_columns(p.epilogue, p.n) * bytes_of(p.d), 0);
  const Buffer a = upload(h.a.data(), h.a.size()), b = upload(h.b.data(), h.b.size());
  const Buffer sa = upload(h.scale_a.data(), h.scale_a.size() * 4), sb = upload(h.scale_b.data(), h.scale_b.size() * 4);
  const Buffer d = upload(run.d_before.data(), run.d_before.size());
  const operations::EpilogueBuffers whole = operations::upload(device, run.tensors).value();
  const auto at = [](auto* base, std::int64_t bytes) {
    return base ? reinterpret_cast<decltype(base)>(reinterpret_cast<std::uintptr_t>(base) +
                                                   static_cast<std::uintptr_t>(bytes))
                : base;
  };
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const auto [start, count] = h.ranges[static_cast<std::size_t>(g)];
    if (count == 0) continue;
    GemmProblem one{.m = count, .n = p.n, .k = p.k, .a = p.a, .b = p.b, .d = p.d, .scale = p.scale};
    one.lda = p.lda, one.ldb = p.ldb, one.ldd = p.ldd;
    one.epilogue = p.epilogue;
    one.scale_a_row = p.scale_a_row, one.scale_a_k = p.scale_a_k;
    one.scale_b_n = p.scale_b_n, one.scale_b_k = p.scale_b_k;
    GemmConfig config{.tile = {64, 128}, .cluster = {1, 1}};
    if (h.config.sm90.tile_scheduler == TileScheduler::split_k)
      config.sm90.tile_scheduler = TileScheduler::split_k, config.sm90.split = config.cluster.k = h.config.sm90.split;
    const GemmPlan made = plan_gemm(device, one, {.config = config}).value();
    EpilogueOperands of = whole.operands;
    for (int i = 0; i < kEpilogueSlots; ++i) {
      of.scalar_pointer[i] = at(of.scalar_pointer[i], g * of.batch_scalar[i] * 4);
      of.batch_scalar[i] = 0;
      of.column_vector[i] = at(of.column_vector[i], start * 4);
    }
    for (int i = 0; i < p.epilogue.size(); ++i) {
      const EpilogueNode node = p.epilogue.node(i);
      const std::int64_t size = bytes_of(node.type);
      if (node.op == EpilogueOp::row_vector)
        of.row_vector[node.slot] =
            at(whole.operands.row_vector[node.slot], g * whole.operands.batch_row_vector[node.slot] * size);
      if (node.op == EpilogueOp::auxiliary)
        of.auxiliary[node.slot] =
            at(whole.operands.auxiliary[node.slot], start * whole.operands.ld_auxiliary[node.slot] * size);
      if (node.op == EpilogueOp::store)
        of.out[node.slot] = at(whole.operands.out[node.slot], start * whole.operands.ld_out[node.slot] * size);
      if (node.op == EpilogueOp::c) of.c = at(whole.operands.c, start * whole.operands.ldc * size);
    }
    if (c.in_place) of.c = at(d.data(), start * p.ldd * bytes_of(p.d)), of.ldc = p.ldd;
    of.out_scales = at(of.out_scales, start * run.tensors.out_scales.ld() * 4);
    std::fill_n(of.batch_row_vector, kEpilogueSlots, 0);
    const Buffer workspace = upload(std::vector<std::uint8_t>(made.workspace_bytes()).data(), made.workspace_bytes());
    const std::int64_t row_scales = p.scale == Scale::tensor ? 0 : start * p.scale_a_row;
    const auto ran = made.run({.a = at(a.data(), start * p.lda * bytes_of(p.a)),
                               .b = at(b.data(), g * p.stride_b_group * bytes_of(p.b)),
                               .d = at(d.data(), start * p.ldd * bytes_of(p.d)),
                               .scale_a = static_cast<const float*>(sa.data()) + row_scales,
                               .scale_b = static_cast<const float*>(sb.data()) + g * p.scale_b_group,
                               .workspace = workspace.data(),
                               .workspace_bytes = made.workspace_bytes(),
                               .epilogue = of});
    if (!ran) throw std::runtime_error(ran.error().message + "\n" + c.replay());
  }
  run.d.resize(run.d_before.size());
  if (!device.download(run.d.data(), d.data(), run.d.size()) || !operations::download(device, whole, run.tensors))
    throw std::runtime_error("download");
  return run;
}

/// One problem of every kind with tree `which` of grouped_tree().
void expect_dense_bits(std::uint64_t which, std::uint64_t turn) {
  const Device device = open_emu();
  for (std::uint64_t m = 0; m < 4; ++m) {
    const GroupedEpilogueCase c =
        numbered_grouped_epilogue(kFirstGroupedEpilogue + kGroupedEpilogueKinds * turn + 4 * which + m);
    const GroupedEpilogueRun run = run_or_throw(device, c);
    EXPECT_EQ(wrong(c, run), "");
    EXPECT_EQ(bytes_of(run), bytes_of(dense_run(device, c))) << c.replay();
  }
}

TEST(GroupedEpilogue, AlphaAndBiasHaveTheBitsOfDense) { expect_dense_bits(0, 4); }
TEST(GroupedEpilogue, AnActivationHasTheBitsOfDenseAndOfItsSplit) { expect_dense_bits(1, 5); }
TEST(GroupedEpilogue, AccumulationHasTheBitsOfDense) { expect_dense_bits(2, 6); }
TEST(GroupedEpilogue, EveryOperandAndSwigluHaveTheBitsOfDense) { expect_dense_bits(3, 7); }
TEST(GroupedEpilogue, DrawnTreesAndQuantisedBlocksHaveTheBitsOfDense) { expect_dense_bits(4, 8); }

TEST(GroupedEpilogue, MoreDrawnTreesHaveTheBitsOfDense) { expect_dense_bits(5, 9); }

TEST(GroupedEpilogue, ProblemsHaveEveryEncodingThatTheirVariantTakes) {
  std::set<GroupEncoding> met[4];
  for (std::uint64_t kind = 0; kind < kGroupedEpilogueKinds; ++kind) {
    const HostGrouped h = numbered_grouped_epilogue(kFirstGroupedEpilogue + kind).host;
    for (int m = 0; m < 4; ++m)
      if (h.config.row_groups.variant == kVariants[m]) met[m].insert(h.problem.encoding);
  }
  for (int m = 0; m < 2; ++m) EXPECT_EQ(met[m].size(), 5u) << name_of(kVariants[m]);
  EXPECT_EQ(met[2].size(), 4u) << "contiguous takes all but masked";
  EXPECT_EQ(met[3], std::set{GroupEncoding::masked});
}

TEST(GroupedEpilogue, BiasIsOfItsGroupOrOfAll) {
  using namespace evt;
  const Device device = open_emu();
  for (bool shared : {false, true}) {
    std::vector<std::uint8_t> of_ragged;
    for (GroupedVariant variant : kVariants) {
      GroupedEpilogueCase c = small_case(variant, acc * alpha + bias(), 96);
      c.shared = shared, c.group_scalars = !shared;
      const GroupedEpilogueRun run = run_or_throw(device, c);
      EXPECT_EQ(wrong(c, run), "");
      // A variant changes no bit; masked groups have other positions.
      if (variant == GroupedVariant::ragged) of_ragged = run.d;
      if (variant != GroupedVariant::masked) {
        EXPECT_EQ(run.d, of_ragged) << c.replay();
      }
    }
  }
}

TEST(GroupedEpilogue, RowsInNoGroupAreLeftAloneOrZeroAndNotTheTreeOfZeros) {
  using namespace evt;
  const Device device = open_emu();
  for (GroupedVariant variant : kVariants)
    for (bool zero : {false, true}) {
      GroupedEpilogueCase c = small_case(variant, store(acc + bias(), 0, f32) + 1.0f, 96, f32);
      c.host.problem.zero_outside = zero;
      EXPECT_EQ(wrong(c, run_or_throw(device, c)), "");
    }
}

TEST(GroupedEpilogue, WithoutKItIsTheTreeOfZeros) {
  using namespace evt;
  const Device device = open_emu();
  for (GroupedVariant variant : kVariants)
    for (DType d : {bf16, f32}) {
      const GroupedEpilogueCase c = small_case(variant, acc * alpha + bias() + column(0), 0, d);
      EXPECT_EQ(wrong(c, run_or_throw(device, c)), "");
    }
}

TEST(GroupedEpilogue, SwigluOfHalvesInOneTileAndInMany) {
  using namespace evt;
  const Device device = open_emu();
  for (GroupedVariant variant : {GroupedVariant::contiguous, GroupedVariant::masked}) {
    GroupedEpilogueCase c = small_case(variant, swiglu_halves(acc * alpha + bias()), 96);
    std::vector<std::uint8_t> of_one_tile;
    for (const auto& [tile_n, cluster_m] : {std::pair{144, 1}, {64, 1}, {48, 2}}) {
      c.host.config.tile.n = tile_n, c.host.config.cluster.m = cluster_m;
      const GroupedEpilogueRun run = run_or_throw(device, c);
      EXPECT_EQ(wrong(c, run), "");
      if (tile_n == 144) of_one_tile = run.d;
      EXPECT_EQ(run.d, of_one_tile) << c.replay();
    }
  }
}

TEST(GroupedEpilogue, AutoTakesNormalOrientationWhereColumnsCombine) {
  using namespace evt;
  const Device device = open_emu();
  for (GroupEncoding encoding : {GroupEncoding::starts_counts, GroupEncoding::masked}) {
    const bool masked = encoding == GroupEncoding::masked;
    GroupedEpilogueCase c = small_case(masked ? GroupedVariant::masked : GroupedVariant::ragged, swiglu(acc), 96);
    c.host.config = {};
    const auto made = plan_grouped(device, c.host.problem);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->config().row_groups.variant, masked ? GroupedVariant::masked : GroupedVariant::contiguous);
    EXPECT_EQ(wrong(c, run_or_throw(device, c)), "");
  }
}

TEST(GroupedEpilogue, RunRefusesOperandsThatAreMissingOrStepWhereNoGroupDoes) {
  using namespace evt;
  const Device device = open_emu();
  GroupedProblem p{.groups = 2, .rows = 64, .n = 64, .k = 64, .a = bf16, .b = bf16};
  p.epilogue = store(acc * alpha + bias(bf16) + c() + aux(1) + column(2), 3);
  p.zero_outside = true;
  const auto made = plan_grouped(device, p);
  ASSERT_TRUE(made) << made.error().message;
  const Buffer memory = device.allocate(1 << 16).value();
  const std::vector<std::uint8_t> fresh(1 << 16);
  ASSERT_TRUE(device.upload(memory.data(), fresh.data(), fresh.size()));
  const std::vector<std::uint8_t> pattern(64 * 64 * 2, 0x5a);
  const Buffer d = device.allocate(pattern.size()).value();
  ASSERT_TRUE(device.upload(d.data(), pattern.data(), pattern.size()));
  GroupedOperands good{.a = memory.data(), .b = memory.data(), .d = d.data()};
  good.sizes = static_cast<const std::int32_t*>(memory.data());
  const Buffer workspace = device.allocate(made->workspace_bytes()).value();
  ASSERT_TRUE(device.upload(workspace.data(), fresh.data(), made->workspace_bytes()));
  good.workspace = workspace.data(), good.workspace_bytes = made->workspace_bytes();
  good.epilogue.row_vector[0] = good.epilogue.c = good.epilogue.auxiliary[1] = memory.data();
  good.epilogue.column_vector[2] = static_cast<const float*>(memory.data());
  const Buffer out = device.allocate(64 * 64 * 2).value();
  good.epilogue.out[3] = out.data();
  const auto refused = [&](auto spoil) {
    GroupedOperands operands = good;
    spoil(operands.epilogue);
    const auto answer = made->run(operands);
    return answer ? std::string("accepted") : answer.error().argument;
  };
  using E = EpilogueOperands;
  EXPECT_EQ(refused([](E& e) { e.row_vector[0] = nullptr; }), "bias");
  EXPECT_EQ(refused([](E& e) { e.row_vector[0] = static_cast<const char*>(e.row_vector[0]) + 2; }), "bias");
  EXPECT_EQ(refused([](E& e) { e.batch_row_vector[0] = -64; }), "bias (batch stride)");
  EXPECT_EQ(refused([](E& e) { e.batch_row_vector[0] = 63; }), "bias (batch stride)");
  EXPECT_EQ(refused([](E& e) { e.c = nullptr; }), "c");
  EXPECT_EQ(refused([](E& e) { e.ldc = 62; }), "c (row stride)");
  EXPECT_EQ(refused([](E& e) { e.batch_c = 64 * 64; }), "c (batch stride)");
  EXPECT_EQ(refused([&](E& e) { e.c = d.data(), e.ldc = 66; }), "c") << "in place, but not as D lies";
  EXPECT_EQ(refused([](E& e) { e.auxiliary[1] = nullptr; }), "aux1");
  EXPECT_EQ(refused([](E& e) { e.batch_auxiliary[1] = 64; }), "aux1 (batch stride)");
  EXPECT_EQ(refused([](E& e) { e.column_vector[2] = nullptr; }), "col2");
  EXPECT_EQ(refused([](E& e) { e.batch_column_vector[2] = 1; }), "col2 (batch stride)");
  EXPECT_EQ(refused([](E& e) { e.out[3] = nullptr; }), "out3");
  EXPECT_EQ(refused([](E& e) { e.batch_out[3] = 64; }), "out3 (batch stride)");
  EXPECT_EQ(refused([](E& e) { e.scalar_pointer[0] = reinterpret_cast<const float*>(2); }), "alpha");
  std::vector<std::uint8_t> after(pattern.size());
  ASSERT_TRUE(device.download(after.data(), d.data(), after.size()));
  EXPECT_EQ(after, pattern) << "a refused run has zeroed rows outside groups";
  EXPECT_EQ(refused([](E&) {}), "accepted");
}

}  // namespace
}  // namespace ww
