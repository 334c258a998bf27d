// SPDX-License-Identifier: Apache-2.0
// Numbered epilogue problems: a product, a tree of depth at most 6 over every kind of node, and its operands.
// Problems of one number modulo kTrees share their tree and config, so few kernels serve many problems.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <random>

#include "config/config_text.hpp"
#include "operations/epilogue_operands.hpp"
#include "operations/host_operand.hpp"
#include "reference/operands.hpp"
#include "warpwright/config/epilogue_stages.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

struct EpilogueCase {
  GemmProblem problem;
  GemmConfig config;
  std::uint64_t number = 0;
  bool in_place = false;  // C is D
  bool shared = false;    // one set of inputs serves a batch
  std::int64_t pad = 0;   // of matrices that the tree names
  std::string replay() const {
    return fmt::format("epilogue problem {}: m={} n={} k={} batch={} a={} d={} scale={} pad={}{} epilogue={} config {}",
                       number, problem.m, problem.n, problem.k, problem.batch, name_of(problem.a), name_of(problem.d),
                       name_of(problem.scale), pad,
                       in_place ? " in place"
                       : shared ? " shared"
                                : "",
                       to_text(problem.epilogue), to_text(config));
  }
};

/// Draws expressions. Results stay near 1, so that bounds stay tight and nothing overflows.
class RandomTree {
 public:
  /// Recorded hashes name trees by their seed, so what a seed draws must not change: nodes that are newer than those
  /// records are drawn with `newer` alone.
  explicit RandomTree(std::uint64_t seed, bool newer = false) : rng_(seed), newer_(newer) {}

  EpilogueTree make(DType& d) {
    for (;;) {
      outputs_ = 0;
      evt::Expression e = expression(6, true);
      const std::uint64_t end = pick(8);
      if (end == 0) e = newer_ ? evt::swiglu_halves(e) : pick(2) ? evt::swiglu(e) : evt::swiglu(e + evt::acc);
      if (end == 1 && newer_) e = evt::swiglu(e);
      const std::uint64_t quantise = pick(6);
      if (quantise == 0) e = evt::quantise(e);
      if (quantise == 1) e = pick(2) ? evt::quantise_block(e) : evt::quantise_block_pow2(e);
      const EpilogueTree tree = e;
      if (config::fault_of(tree) || !tree.has(EpilogueOp::accumulator)) continue;
      if (quantise < 2) d = e4m3;
      return tree;
    }
  }

 private:
  std::uint64_t pick(std::uint64_t count) { return rng_() % count; }
  DType type() { return DType(1 + pick(3)); }
  /// One type for each operand, whatever the tree.
  static DType type_of(int slot) { return DType(1 + slot % 3); }

  evt::Expression leaf() {
    switch (pick(9)) {
      case 0: return evt::Expression(static_cast<float>(static_cast<int>(pick(17)) - 8) / 4.0f);
      case 1: return evt::scalar(static_cast<int>(pick(4)));
      case 2: return evt::c(kTypeOfC);
      case 3: {
        const int slot = static_cast<int>(pick(4));
        return evt::row(slot, type_of(slot));
      }
      case 4: return evt::column(static_cast<int>(pick(4)));
      case 5: {
        const int slot = static_cast<int>(pick(4));
        return evt::aux(slot, type_of(slot));
      }
      default: return evt::acc;
    }
  }

  /// Draws an expression. `outer`: it is still on the path from the root, where an output may stand.
  evt::Expression expression(int depth, bool outer) {
    if (depth == 1 || (!outer && pick(4) == 0)) return leaf();
    if (newer_ && pick(2) == 0) return newer(depth, outer);
    switch (pick(outer ? 16 : 12)) {
      case 0:
      case 1: return expression(depth - 1, outer) + expression(depth - 1, false);
      case 2: return evt::tanh(expression(depth - 1, outer)) * expression(depth - 1, false);
      case 3: return expression(depth - 1, outer) * leaf();
      case 4: return evt::fma(evt::sigmoid(expression(depth - 1, false)), leaf(), expression(depth - 1, outer));
      case 5: return evt::clamp(expression(depth - 1, outer), -2.0f, leaf() * 0.5f);
      case 6: return evt::relu(expression(depth - 1, outer));
      case 7: return evt::gelu(expression(depth - 1, outer));
      case 8: return evt::silu(expression(depth - 1, outer));
      case 9: return evt::sigmoid(expression(depth - 1, outer));
      case 10: return evt::tanh(expression(depth - 1, outer));
      case 11: return evt::convert(expression(depth - 1, outer), DType(pick(3)));
      default: break;
    }
    const evt::Expression x = expression(depth - 1, true);
    if (outputs_ == kEpilogueSlots) return x;
    const int out = outputs_++;
    switch (pick(5)) {
      case 0: return evt::row_amax(x, out);
      case 1: return evt::row_sum(x, out);
      case 2: return evt::column_amax(x, out);
      case 3: return evt::column_sum(x, out);
      default: return evt::store(x, out, type());
    }
  }

  evt::Expression newer(int depth, bool outer) {
    const evt::Expression x = expression(depth - 1, outer);
    switch (pick(9)) {
      case 0: return x / evt::max(expression(depth - 1, false), 0.5f);
      case 1: return x / evt::min(leaf(), -0.25f);
      case 2: return evt::max(x, expression(depth - 1, false));
      case 3: return evt::min(x, expression(depth - 1, false));
      case 4: return evt::exp(evt::min(x, 1.0f));
      case 5: return evt::relu2(x);
      case 6: return evt::gelu_erf(x);
      case 7: return evt::quick_gelu(x);
      default: return evt::softcap(x, pick(2) ? evt::Expression(3.0f) : evt::max(leaf(), 1.0f));
    }
  }

  static constexpr DType kTypeOfC = DType::bf16;
  std::mt19937_64 rng_;
  bool newer_;
  int outputs_ = 0;
};

inline constexpr std::uint64_t kFirstBatchedEpilogue = 1'000'000, kFirstNewerEpilogue = 2'000'000;

/// Problem `i` of a family in which `trees` trees are used in turn; from kFirstBatchedEpilogue on those of batches,
/// from kFirstNewerEpilogue on those of one product again, whose trees have every node.
inline EpilogueCase numbered_epilogue(std::uint64_t i, std::uint64_t trees) {
  const std::uint64_t kind = i % trees;
  std::mt19937_64 of_kind(kind * 0x9e3779b97f4a7c15ull + 7), rng(i * 0x9e3779b97f4a7c15ull + 1);
  const auto draw = [](std::mt19937_64& from, std::uint64_t count) { return from() % count; };
  EpilogueCase made;
  made.number = i;
  GemmProblem& p = made.problem;
  p.a = p.b = kind % 2 == 0 ? bf16 : e4m3;
  p.d = DType(1 + draw(of_kind, 3));
  p.scale = kind % 4 == 1 ? Scale::tensor : Scale::none;
  p.epilogue = RandomTree(kind + 1, i >= kFirstNewerEpilogue).make(p.d);
  const config::EpilogueStages stages = config::stages_of(p.epilogue);
  const bool blocks = stages.quantise > EpilogueOp::quantise, halved = stages.swiglu != EpilogueOp::none;
  made.config.tile.m = draw(of_kind, 2) == 0 ? 64 : 128;
  made.config.tile.n = blocks ? (halved ? 256 : 128) : draw(of_kind, 2) == 0 ? 64 : 96;
  made.config.cluster.m = kind % 3 == 0 ? 2 : 1;
  p.m = 1 + static_cast<std::int64_t>(draw(rng, 200));
  p.n = (p.d == e4m3 || halved ? 32 : 8) * (1 + static_cast<std::int64_t>(draw(rng, 9)));
  p.k = 64 * static_cast<std::int64_t>(draw(rng, 20) == 0 ? 0 : 1 + draw(rng, 3));
  made.pad = 2 * static_cast<std::int64_t>(draw(rng, 3));
  made.in_place = p.d == bf16 && !halved && p.epilogue.has(EpilogueOp::c) && draw(rng, 2) == 0;
  if (i >= kFirstBatchedEpilogue && i < kFirstNewerEpilogue) {
    p.batch = 2 + static_cast<std::int64_t>(draw(rng, 3)), p.m = 1 + p.m / 2;
    const std::int64_t row = std::max<std::int64_t>(p.k, 16);
    if (draw(rng, 3) != 0) p.batch_a = p.m * row;
    if (draw(rng, 3) != 0) p.batch_b = p.n * row;
    p.batch_d = p.m * (halved ? p.n / 2 : p.n);
    made.shared = draw(rng, 3) == 0;
  }
  if (made.in_place) made.pad = p.n % 8 == 0 ? 8 : 0, p.ldd = p.n + made.pad;
  if (made.in_place && p.batch > 1) p.batch_d = p.m * p.ldd, made.shared = false;
  return made;
}

/// What a run leaves on the host.
struct EpilogueRun {
  ref::Matrix a, b, scale_a, scale_b, d;
  ref::EpilogueTensors tensors;
};

/// Without the rows of all matrices but the first.
inline Result<ref::Matrix> first_of(const ref::Matrix& all, std::int64_t rows) {
  WW_TRY(ref::Matrix first,
         ref::Matrix::allocate(all.type(), std::min(rows, all.rows()), all.cols(), all.ld(), "batch"));
  std::memcpy(first.data(), all.data(), first.bytes());
  return first;
}

/// Runs twice on `device`, with one workspace zeroed before the first run, because counters must return to zero.
inline Result<EpilogueRun> run_on(const Device& device, const EpilogueCase& c) {
  const GemmProblem& p = c.problem;
  EpilogueRun r;
  const std::int64_t ld = std::max<std::int64_t>(p.k, 16), columns = config::output_columns(p.epilogue, p.n);
  GemmProblem strided = p;
  strided.lda = strided.ldb = ld;
  WW_TRY(const GemmPlan made, plan_gemm(device, strided, {.config = c.config, .batch_invariant = true}));
  WW_TRY(r.a, ref::Matrix::allocate(p.a, (p.batch_a == 0 ? 1 : p.batch) * p.m, p.k, ld, "a"));
  WW_TRY(r.b, ref::Matrix::allocate(p.b, (p.batch_b == 0 ? 1 : p.batch) * p.n, p.k, ld, "b"));
  WW_TRY(r.scale_a, ref::Matrix::allocate(f32, 1, 1, 1, "scale_a"));
  WW_TRY(r.scale_b, ref::Matrix::allocate(f32, 1, 1, 1, "scale_b"));
  ref::fill_normal(r.a, c.number, ref::Operand::a), ref::fill_normal(r.b, c.number, ref::Operand::b);
  r.scale_a.floats()[0] = 0.25f, r.scale_b.floats()[0] = 0.5f;
  WW_TRY(r.tensors, operations::make_tensors(p.epilogue, p.m, p.n, c.number, {}, c.pad, p.batch));
  r.tensors.layout = p.c_layout;
  for (int i = 0; c.shared && i < kEpilogueSlots; ++i) {
    WW_TRY(r.tensors.row[i], first_of(r.tensors.row[i], 1));
    WW_TRY(r.tensors.column[i], first_of(r.tensors.column[i], p.m));
    WW_TRY(r.tensors.auxiliary[i], first_of(r.tensors.auxiliary[i], p.m));
    if (i == 0) {
      WW_TRY(r.tensors.c, first_of(r.tensors.c, p.m));
    }
  }
  const float scalars[] = {0.125f, -0.75f, 1.5f, 0.3f};
  std::copy(std::begin(scalars), std::end(scalars), r.tensors.scalar.begin());
  const bool by_row = p.d_layout == OutputLayout::row;
  WW_TRY(r.d, ref::Matrix::allocate(p.d, p.batch * (by_row ? p.m : columns), by_row ? columns : p.m, made.problem().ldd,
                                    "d"));
  WW_TRY(const Buffer a, operations::upload(device, r.a));
  WW_TRY(const Buffer b, operations::upload(device, r.b));
  WW_TRY(const Buffer scale_a, operations::upload(device, r.scale_a));
  WW_TRY(const Buffer scale_b, operations::upload(device, r.scale_b));
  WW_TRY(operations::EpilogueBuffers epilogue, operations::upload(device, r.tensors));
  WW_TRY(const Buffer d, device.allocate(std::max<std::size_t>(r.d.bytes(), 16)));
  const std::vector<std::uint8_t> zeros(std::max<std::size_t>(made.workspace_bytes(), 16));
  WW_TRY(const Buffer workspace, device.allocate(zeros.size()));
  WW_CHECK(device.upload(workspace.data(), zeros.data(), zeros.size()));
  if (c.in_place) {
    epilogue.operands.c = d.data(), epilogue.operands.ldc = made.problem().ldd;
    epilogue.operands.batch_c = p.batch_d;
  }
  for (int turn = 0; turn < 2; ++turn) {
    std::memset(r.d.data(), 0xff, r.d.bytes());
    if (c.in_place) std::memcpy(r.d.data(), r.tensors.c.data(), r.d.bytes());
    WW_CHECK(device.upload(d.data(), r.d.data(), r.d.bytes()));
    WW_CHECK(made.run({.a = a.data(),
                       .b = b.data(),
                       .d = d.data(),
                       .scale_a = static_cast<const float*>(scale_a.data()),
                       .scale_b = static_cast<const float*>(scale_b.data()),
                       .workspace = workspace.data(),
                       .workspace_bytes = made.workspace_bytes(),
                       .epilogue = epilogue.operands}));
    WW_CHECK(device.synchronize());
  }
  WW_CHECK(device.download(r.d.data(), d.data(), r.d.bytes()));
  WW_CHECK(operations::download(device, epilogue, r.tensors));
  return r;
}

inline ref::EpilogueComparison verify(const EpilogueCase& c, const EpilogueRun& r) {
  const GemmProblem& p = c.problem;
  ref::BoundedProduct product{p.m, p.n, {}, {}, p.batch};
  product.reference.resize(static_cast<std::size_t>(p.batch * p.m * p.n));
  product.error.resize(product.reference.size());
  // A matrix that serves the batch is judged as one of each.
  const auto repeated = [&](const ref::Matrix& matrix, std::int64_t rows) {
    ref::Matrix all = *ref::Matrix::allocate(matrix.type(), rows, matrix.cols(), matrix.ld(), "batch");
    for (std::int64_t row = 0; row < rows; row += matrix.rows())
      std::memcpy(all.row(row), matrix.data(), matrix.bytes());
    return all;
  };
  const ref::Matrix a = repeated(r.a, p.batch * p.m), b = repeated(r.b, p.batch * p.n);
  std::vector<ref::GroupRows> groups;
  for (std::int64_t l = 0; l < p.batch; ++l) groups.push_back({l * p.m, p.m});
  ref::Claim claim{.a = a, .b = b, .d = r.d, .scale = p.scale, .scale_a = &r.scale_a, .scale_b = &r.scale_b};
  claim.groups = &groups;
  claim.reference = product.reference.data(), claim.error = product.error.data();
  ref::verify(claim);
  return ref::verify_epilogue(p.epilogue, product, r.tensors, r.d);
}

/// Every byte that the problem writes.
inline std::vector<std::uint8_t> bytes_of(const EpilogueRun& r) {
  std::vector<std::uint8_t> all;
  const auto take = [&](const ref::Matrix& m) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(m.data());
    all.insert(all.end(), bytes, bytes + m.bytes());
  };
  take(r.d), take(r.tensors.out_scales);
  for (const ref::Matrix& out : r.tensors.out) take(out);
  const auto* amax = reinterpret_cast<const std::uint8_t*>(r.tensors.amax.data());
  all.insert(all.end(), amax, amax + r.tensors.amax.size() * sizeof(float));
  return all;
}

}  // namespace ww::testing
