// SPDX-License-Identifier: Apache-2.0
// Numbered products on Blackwell whose epilogue makes D an operand with scales of mx or nv, and their exact answer: the
// reference of the FP32 outputs (random_problem.hpp), cast by src/reference/microscale.hpp. Dense products and batches
// come first, then groups of rows. Ten numbers in a row share a kernel.
#pragma once

#include <cstdint>

#include "blackwell_problem.hpp"
#include "k_grouped_bound.hpp"
#include "reference/microscale.hpp"
#include "reference/verify_epilogue.hpp"
#include "scaled_groups.hpp"
#include "warpwright/core/scale_chunks.hpp"

namespace ww::testing {

inline constexpr std::uint64_t kFirstQuantisedGrouped = 1'000'000;

/// All bytes of D and of its scales. Those that no run writes hold kUntouched.
struct QuantisedOutput {
  std::vector<std::uint8_t> d, scales;
};

/// What the epilogue makes of outputs: the type of D and the recipe of its scales.
struct Quantiser {
  DType d = e4m3;
  Scale scale = Scale::mx;
  bool scaled = false;  // by alpha before

  static constexpr float kAlpha = 0.75f, kInverse = 0.25f;  // the last: one over the tensor's scale
  int vector() const { return scale_vector(scale); }
  EpilogueTree tree() const {
    const evt::Expression x = scaled ? evt::acc * evt::alpha : evt::acc;
    return scale == Scale::mx ? evt::quantise_mx(x) : evt::quantise_nv(x);
  }
  /// Writes the cast of `rows` rows of `n` FP32 outputs to rows of D, `ldd` elements apart, and to scales in chunks,
  /// whose padding of rows stays as it is.
  void cast(std::vector<std::uint8_t> outputs, std::int64_t rows, std::int64_t n, std::int64_t ldd, std::uint8_t* d,
            std::uint8_t* scales) const {
    for (std::size_t at = 0; scaled && at < outputs.size(); at += 4) {
      float x = 0;
      std::memcpy(&x, &outputs[at], 4);
      x *= kAlpha;
      std::memcpy(&outputs[at], &x, 4);
    }
    MicroscaleProblem p{.m = rows, .k = n, .x = f32, .q = this->d, .scale = scale, .ldx = n, .ldq = ldd};
    p.batch_x = rows * n, p.batch_q = rows * ldd, p.batch_scales = scale_bytes(rows, n, vector());
    const float tensor_scale = 1 / kInverse;
    std::vector<std::uint8_t> padded(static_cast<std::size_t>(p.batch_scales));
    ref::microscale(p, {.x = outputs.data(),
                        .q = d,
                        .scales = padded.data(),
                        .tensor_scale = scale == Scale::nv ? &tensor_scale : nullptr});
    const std::int64_t chunks = scale_chunks(n, vector());
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t block = 0; block < 4 * chunks; ++block)
        scales[scale_place(row, block, chunks)] = padded[static_cast<std::size_t>(scale_place(row, block, chunks))];
  }
  /// Returns the first element of D (rows, n) or of its scales outside the FP64 bound; empty: none. `one` is the
  /// product of these rows, with K-major operands.
  std::string outside_bound(const HostProblem& one, std::int64_t ldd, const std::uint8_t* got_d,
                            const std::uint8_t* got_scales) const;
};

/// Returns where two outputs differ first; empty: nowhere.
inline std::string difference_of(const QuantisedOutput& want, const QuantisedOutput& got) {
  for (const auto& [name, x, y] :
       {std::tuple("D", &want.d, &got.d), std::tuple("scales of D", &want.scales, &got.scales)})
    for (std::size_t at = 0; at < x->size(); ++at)
      if ((*x)[at] != (*y)[at])
        return fmt::format("byte {} of {} of {}: got {:#04x}, expected {:#04x}", at, x->size(), name, (*y)[at],
                           (*x)[at]);
  return "";
}

/// Draws how outputs are quantised, and the columns of a tile that can be.
inline Quantiser drawn_quantiser(std::mt19937_64& rng, GemmConfig& c) {
  const auto pick = [&](std::uint64_t count) { return static_cast<int>(rng() % count); };
  constexpr DType kTypes[] = {e4m3, e5m2, e2m1};
  Quantiser made;
  if (pick(3) == 0) made.scale = Scale::nv, made.d = e2m1;
  else made.d = kTypes[pick(3)];
  made.scaled = pick(2) == 0;
  c.tile.n = made.scale == Scale::nv ? 64 * (1 + pick(4)) : 128 * (1 + pick(2));
  return made;
}

/// Returns the scales of one dense product in rows, as src/reference takes them.
inline ref::Matrix reference_scales(const HostProblem& one, const std::vector<float>& floats,
                                    const std::vector<std::uint8_t>& chunks, std::int64_t rows) {
  const GemmProblem& p = one.problem;
  if (is_microscaled(p.scale)) return scales_in_rows(chunks, p.scale, rows, p.k);
  return matrix_of(floats.data(), f32, p.scale == Scale::none ? 0 : 1, 1, 1);
}

inline std::string Quantiser::outside_bound(const HostProblem& one, std::int64_t ldd, const std::uint8_t* got_d,
                                            const std::uint8_t* got_scales) const {
  const GemmProblem& p = one.problem;
  const ref::Matrix a = copied(one.a.data(), p.a, p.m, p.k, p.lda), b = copied(one.b.data(), p.b, p.n, p.k, p.ldb);
  const ref::Matrix out = copied(got_d, d, p.m, p.n, ldd);
  const ref::Matrix sa = reference_scales(one, one.scale_a, one.chunks_a, p.m);
  const ref::Matrix sb = reference_scales(one, one.scale_b, one.chunks_b, p.n);
  const bool has = p.scale != Scale::none && p.k > 0;
  ref::Claim claim{.a = a, .b = b, .d = out, .scale = has ? p.scale : Scale::none};
  if (has) claim.scale_a = &sa, claim.scale_b = &sb;
  claim.global_scale = one.global_scale.value_or(1), claim.arch = Arch::sm100;
  ref::EpilogueTensors tensors;
  tensors.m = p.m;
  tensors.scalar = {kAlpha, 1, kInverse, 1};
  tensors.out_scales = ref::unchunked(got_scales, scale == Scale::mx ? e8m0 : e4m3, p.m,
                                      ceil_div(p.n, std::int64_t{vector()}), "reference")
                           .value();
  const ref::EpilogueComparison v = ref::verify_product(claim, tree(), {p.m, p.n, {}, {}}, tensors);
  if (!v.verdict.first) return "";
  const ref::Mismatch& f = *v.verdict.first;
  return fmt::format("{} of {} elements outside the FP64 bound, the first in {} at ({}, {}): {} for {} within {}",
                     v.verdict.wrong, v.elements, v.where, f.row, f.column, f.got, f.expected, f.bound);
}

// --- dense products -----------------------------------------------------------------------------------------------

struct QuantisedProblem {
  HostProblem host;  // its D is that of the reference: FP32 and packed
  Quantiser how;
  std::int64_t ldd = 0, batch_d = 0, batch_scales = 0;

  std::string replay() const {
    return fmt::format("{}, D={} by {}, ldd={} batches {} and {} apart", host.replay(), name_of(how.d),
                       to_text(how.tree()), ldd, batch_d, batch_scales);
  }
};

/// Returns the config of the kernel of problem `i`, with its operands, and how it quantises.
inline std::pair<GemmConfig, Quantiser> quantised_config(std::uint64_t i) {
  std::mt19937_64 rng(i / kScaledOfKernel * 0x9e3779b97f4a7c15ull + 29);
  const auto pick = [&](std::uint64_t count) { return rng() % count; };
  constexpr DType kWide[] = {bf16, f16, e4m3, e5m2, tf32}, kNarrow[] = {e2m1, e3m2, e2m3, e4m3, e5m2};
  constexpr Scale kScales[] = {Scale::none, Scale::tensor, Scale::mx, Scale::nv};
  for (;;) {
    GemmConfig c = drawn_blackwell_config(rng);
    const Quantiser how = drawn_quantiser(rng, c);
    c.operands.scale = kScales[pick(4)];
    c.operands.a = c.operands.b = kWide[pick(5)];
    if (is_microscaled(c.operands.scale)) c.operands.a = kNarrow[pick(5)], c.operands.b = kNarrow[pick(5)];
    if (c.operands.scale == Scale::nv) c.operands.a = c.operands.b = e2m1;
    c.operands.layout = {}, c.operands.d_layout = OutputLayout::row, c.operands.d = how.d;
    c.sm90.swap_ab = SwapAb::off;
    GemmConfig resolved = c;
    resolved.epilogue = how.tree();
    if (!config::fault_of(config::resolve(resolved))) return {c, how};
  }
}

/// Returns problem `i`, below kFirstQuantisedGrouped.
inline QuantisedProblem quantised_problem(std::uint64_t i) {
  const auto [c, how] = quantised_config(i);
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 31);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  GemmProblem p = problem_of(c);
  p.d = f32;
  const bool narrow = is_narrow(p);
  const std::int64_t step = narrow ? step_of_rows(p) : 16 / bytes_of(p.a), k_step = narrow ? step_of_k(p) : step;
  p.m = pick(8) == 0 ? 1 : 1 + pick(pick(3) == 0 ? 400 : 200);
  p.n = (how.d == e2m1 ? 32 : 16) * (1 + pick(20));
  p.k = pick(13) == 0 ? 0 : k_step * (1 + pick(1 + 800 / static_cast<std::uint64_t>(k_step)));
  p.lda = round_up(p.k, step) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  p.ldb = round_up(p.k, step) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  QuantisedProblem made;
  made.ldd = round_up<std::int64_t>(p.n, 32) + (pick(3) == 0 ? 32 * (1 + pick(3)) : 0);
  if (c.operands.batched) {
    p.batch = 2 + pick(2);
    p.batch_a = p.m * p.lda, p.batch_b = pick(2) == 0 ? p.n * p.ldb : 0, p.batch_d = p.m * p.n;
    if (is_microscaled(p.scale) && p.k > 0)
      p.batch_scale_a = chunk_bytes(p.scale, p.m, p.k), p.batch_scale_b = chunk_bytes(p.scale, p.n, p.k);
  }
  made.batch_d = p.m * made.ldd + 32 * pick(3);
  made.batch_scales =
      scale_bytes(p.m, p.n, how.vector()) + 512 * ceil_div<std::int64_t>(p.n, 4 * how.vector()) * pick(2);
  made.how = how;
  made.host = make_problem(p, c, i);
  return made;
}

/// Returns matrix `l` of a batch as a problem of its own, with its operands and scales.
inline HostProblem matrix_of_batch(const HostProblem& host, std::int64_t l) {
  HostProblem one = host;
  GemmProblem& p = one.problem;
  const auto skip = [](std::vector<std::uint8_t>& bytes, std::int64_t count) {
    bytes.erase(bytes.begin(), bytes.begin() + std::min<std::int64_t>(count, static_cast<std::int64_t>(bytes.size())));
  };
  skip(one.a, bytes_in(p.a, l * p.batch_a)), skip(one.b, bytes_in(p.b, l * p.batch_b));
  skip(one.chunks_a, l * p.batch_scale_a), skip(one.chunks_b, l * p.batch_scale_b);
  p.batch = 1;
  return one;
}

/// Returns D and its scales as a run on `ctas` CTAs with the resolved config should leave them.
inline QuantisedOutput reference(const QuantisedProblem& q, const GemmConfig& resolved, std::int64_t ctas) {
  const GemmProblem& p = q.host.problem;
  QuantisedOutput made;
  made.d.assign(static_cast<std::size_t>(bytes_in(q.how.d, (p.batch - 1) * q.batch_d + p.m * q.ldd)), kUntouched);
  made.scales.assign(static_cast<std::size_t>((p.batch - 1) * q.batch_scales + scale_bytes(p.m, p.n, q.how.vector())),
                     kUntouched);
  const std::vector<std::uint8_t> all = reference(q.host, emu::MmaMath::exact, cut_of(resolved, p, ctas));
  for (std::int64_t l = 0; l < p.batch; ++l) {
    const auto begin = all.begin() + l * p.m * p.n * 4;
    q.how.cast({begin, begin + p.m * p.n * 4}, p.m, p.n, q.ldd,
               &made.d[static_cast<std::size_t>(bytes_in(q.how.d, l * q.batch_d))],
               &made.scales[static_cast<std::size_t>(l * q.batch_scales)]);
  }
  return made;
}

/// Device memory that one run needs.
class Memory {
 public:
  explicit Memory(const Device& device) : device_(device) {}
  Result<void*> put(std::span<const std::byte> bytes) {
    WW_TRY(Buffer buffer, device_.allocate(std::max<std::size_t>(bytes.size(), 256)));
    WW_CHECK(device_.upload(buffer.data(), bytes.data(), bytes.size()));
    buffers_.push_back(buffer);
    return buffers_.back().data();
  }
  template <class T> Result<void*> put(const std::vector<T>& values) { return put(std::as_bytes(std::span(values))); }
  /// Uploads kUntouched in `bytes` bytes.
  Result<void*> fresh(std::size_t bytes) { return put(std::vector<std::uint8_t>(bytes, kUntouched)); }

 private:
  const Device& device_;
  std::vector<Buffer> buffers_;
};

/// Runs a plan of either kind: `set` fills in what only its operands have.
template <class Operands, class Plan, class Host, class Set>
Result<QuantisedOutput> run_quantised(const Device& device, const Plan& made, const Host& host, const Quantiser& how,
                                      std::size_t d_bytes, std::size_t scale_bytes_of_d, const Set& set) {
  Memory memory(device);
  Operands o;
  QuantisedOutput out;
  out.d.resize(d_bytes), out.scales.resize(scale_bytes_of_d);
  WW_TRY(o.a, memory.put(host.a));
  WW_TRY(o.b, memory.put(host.b));
  WW_TRY(o.scale_a, memory.put(bytes_of_scales(host.scale_a, host.chunks_a)));
  WW_TRY(o.scale_b, memory.put(bytes_of_scales(host.scale_b, host.chunks_b)));
  WW_TRY(o.d, memory.fresh(d_bytes));
  WW_TRY(o.epilogue.out_scale_chunks, memory.fresh(scale_bytes_of_d));
  const float global = host.global_scale.value_or(1);
  WW_TRY(void* const factor, memory.put(std::as_bytes(std::span(&global, 1))));
  if (host.global_scale) o.global_scale = static_cast<const float*>(factor);
  WW_TRY(o.workspace, memory.put(std::vector<std::uint8_t>(made.workspace_bytes(), 0)));
  o.workspace_bytes = made.workspace_bytes();
  o.epilogue.scalar[kScalarAlpha] = how.kAlpha, o.epilogue.scalar[kScalarOutScale] = how.kInverse;
  WW_CHECK(set(o, memory));
  WW_CHECK(made.run(o));
  WW_CHECK(device.synchronize());
  WW_CHECK(device.download(out.d.data(), o.d, d_bytes));
  WW_CHECK(device.download(out.scales.data(), o.epilogue.out_scale_chunks, scale_bytes_of_d));
  return out;
}

/// Describes what is wrong with dense problem `i` on `device`; the text is empty if nothing is.
inline Result<std::string> judge_quantised(const Device& device, std::uint64_t i) {
  const QuantisedProblem q = quantised_problem(i);
  GemmProblem p = q.host.problem;
  p.d = q.how.d, p.ldd = q.ldd, p.epilogue = q.how.tree();
  if (p.batch > 1) p.batch_d = q.batch_d;
  WW_TRY(const GemmPlan made, plan_gemm(device, p, options_of(q.host, kBlackwellSms)));
  const QuantisedOutput want = reference(q, made.config(), kBlackwellSms);
  WW_TRY(const QuantisedOutput got,
         run_quantised<GemmOperands>(device, made, q.host, q.how, want.d.size(), want.scales.size(),
                                     [&](GemmOperands& o, Memory&) -> Result<void> {
                                       o.epilogue.batch_out_scale_chunks = p.batch > 1 ? q.batch_scales : 0;
                                       return {};
                                     }));
  std::string text = difference_of(want, got);
  for (std::int64_t l = 0; l < p.batch && text.empty(); ++l)
    text = q.how.outside_bound(matrix_of_batch(q.host, l), q.ldd,
                               &got.d[static_cast<std::size_t>(bytes_in(p.d, l * q.batch_d))],
                               &got.scales[static_cast<std::size_t>(l * q.batch_scales)]);
  return text.empty() ? text : fmt::format("{}; {}", text, q.replay());
}

// --- groups of rows -----------------------------------------------------------------------------------------------

struct QuantisedGroups {
  HostGrouped host;  // its D is that of the reference: FP32
  Quantiser how;
  /// Returns the block of 128 rows at which the scales of D of group `g` begin.
  std::int64_t first_block(std::int64_t g) const {
    const GroupedProblem& p = host.problem;
    if (p.encoding == GroupEncoding::masked) return g * ceil_div<std::int64_t>(p.rows, 128);
    std::int64_t block = 0;
    for (std::int64_t before = 0; before < g; ++before)
      block += ceil_div<std::int64_t>(host.ranges[static_cast<std::size_t>(before)].second, 128);
    return block;
  }
  std::int64_t block_bytes() const { return scale_bytes(1, host.problem.n, how.vector()); }
  /// Returns group `g` as a dense problem with D in FP32.
  HostProblem group(std::int64_t g) const {
    HostProblem one = problem_of_group(host, g);
    one.problem.d = f32;
    return one;
  }
};

/// Returns problem `i`, from kFirstQuantisedGrouped on.
inline QuantisedGroups quantised_groups(std::uint64_t i) {
  QuantisedGroups made;
  const std::mt19937_64 rng(i / kScaledOfKernel * 0x9e3779b97f4a7c15ull + 37);
  const GroupEncoding encoding = scaled_encoding(i);
  const GemmConfig c = scaled_grouped_config(rng, encoding, [&](std::mt19937_64& draws, GemmConfig& config) {
    made.how = drawn_quantiser(draws, config);
    config.operands.d = made.how.d, config.epilogue = made.how.tree();
  });
  made.host = scaled_grouped(i, c, encoding, 32);
  return made;
}

/// Returns D and its scales as a run should leave them.
inline QuantisedOutput reference(const QuantisedGroups& q) {
  const GroupedProblem& p = q.host.problem;
  const std::int64_t rows = p.total_rows();
  const std::int64_t blocks =
      p.encoding == GroupEncoding::masked ? q.first_block(p.groups) : (rows + std::min(p.groups, rows) * 127) / 128;
  const auto row = [&](QuantisedOutput& out, std::int64_t r) { return out.d.begin() + bytes_in(q.how.d, r * p.ldd); };
  QuantisedOutput made;
  made.d.assign(static_cast<std::size_t>(bytes_in(q.how.d, rows * p.ldd)), kUntouched);
  made.scales.assign(static_cast<std::size_t>(blocks * q.block_bytes()), kUntouched);
  for (std::int64_t r = 0; p.zero_outside && r < rows; ++r) std::fill_n(row(made, r), bytes_in(q.how.d, p.n), 0);
  for (std::int64_t g = 0; g < p.groups; ++g) {
    const auto [start, count] = q.host.ranges[static_cast<std::size_t>(g)];
    if (count > 0)
      q.how.cast(reference(q.group(g)), count, p.n, p.ldd, &*row(made, start),
                 &made.scales[static_cast<std::size_t>(q.first_block(g) * q.block_bytes())]);
  }
  return made;
}

/// Describes what is wrong with problem `i` of groups on `device`; the text is empty if nothing is.
inline Result<std::string> judge_quantised_groups(const Device& device, std::uint64_t i) {
  const QuantisedGroups q = quantised_groups(i);
  GroupedProblem p = q.host.problem;
  p.epilogue = q.how.tree();
  WW_TRY(const GroupedPlan made, plan_grouped(device, p, {.config = q.host.config}));
  const QuantisedOutput want = reference(q);
  WW_TRY(const QuantisedOutput got,
         run_quantised<GroupedOperands>(device, made, q.host, q.how, want.d.size(), want.scales.size(),
                                        [&](GroupedOperands& o, Memory& memory) -> Result<void> {
                                          WW_TRY(void* const sizes, memory.put(q.host.sizes));
                                          WW_TRY(void* const sizes2, memory.put(q.host.sizes2));
                                          o.sizes = static_cast<const std::int32_t*>(sizes);
                                          o.sizes2 = static_cast<const std::int32_t*>(sizes2);
                                          return {};
                                        }));
  std::string text = difference_of(want, got);
  for (std::int64_t g = 0; g < p.groups && text.empty(); ++g) {
    const auto [start, count] = q.host.ranges[static_cast<std::size_t>(g)];
    if (count > 0)
      text = q.how.outside_bound(q.group(g), p.ldd, &got.d[static_cast<std::size_t>(bytes_in(p.d, start * p.ldd))],
                                 &got.scales[static_cast<std::size_t>(q.first_block(g) * q.block_bytes())]);
  }
  return text.empty() ? text : fmt::format("{}; {} by {}", text, q.host.replay(), to_text(p.epilogue));
}

}  // namespace ww::testing
