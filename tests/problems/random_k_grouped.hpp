// SPDX-License-Identifier: Apache-2.0
// Random problems with groups of K, and their exact answer: group by group the reference of the dense product
// (random_problem.hpp) on copies of the group's rows alone, plus C.
// Rows of A and B in no group hold NaN, and so do scales of no group, so that a read beyond a group's end shows.
#pragma once

#include <cstdint>

#include "random_grouped.hpp"
#include "warpwright/host/k_grouped.hpp"

namespace ww::testing {

struct HostKGrouped {
  KGroupedProblem problem;  // strides filled in
  GemmConfig config;        // as requested
  Pdl pdl = Pdl::automatic;
  std::uint64_t number = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;  // {first row of K, rows} of each group
  std::vector<std::int32_t> sizes, sizes2;
  std::vector<std::uint8_t> a, b, c;  // as stored; c as D is
  std::vector<float> scale_a, scale_b;
  bool in_place = true;                                    // C is D
  std::vector<std::uint8_t> chunks_a = {}, chunks_b = {};  // mx, nv: scales as kernels read them
  std::optional<float> global_scale = {};                  // nv

  bool tails() const {
    return problem.a_major == Major::mn && problem.b_major == Major::mn && !is_block(problem.scale);
  }
  /// Returns whether the groups of an operand are matrices of their own, one after the other.
  bool packs(Major major) const { return problem.packing == KPacking::per_group && major == Major::k; }
  std::string replay() const {
    const KGroupedProblem& p = problem;
    std::string groups;
    for (std::size_t g = 0; g < ranges.size() && g < 12; ++g)
      groups += fmt::format("{}{}+{}", g == 0 ? "" : ",", ranges[g].first, ranges[g].second);
    return fmt::format(
        "problem {}: m={} n={} k={} lda={} ldb={} ldd={} stride_d={} layout={} {} a={} b={} d={} scale={} {}{} groups "
        "of "
        "{}: {}{}, "
        "config {}; the test is deterministic",
        number, p.m, p.n, p.total_k(), p.lda, p.ldb, p.ldd, p.stride_d_group,
        name_of(MatrixLayout{p.a_major, p.b_major}), name_of(p.packing), name_of(p.a), name_of(p.b), name_of(p.d),
        name_of(p.scale), name_of(p.encoding), p.accumulate ? (in_place ? ", D += " : ", D = C + ") : "", ranges.size(),
        groups, ranges.size() > 12 ? " ..." : "", to_text(config));
  }
};

/// Lays groups of `counts` granules out along K and writes the encoding's arrays.
inline void encode_k_groups(HostKGrouped& h, std::mt19937_64& rng, const std::vector<std::int64_t>& counts,
                            std::int64_t granularity) {
  KGroupedProblem& p = h.problem;
  HostGrouped rows;
  rows.problem.encoding = p.encoding, rows.problem.alignment = p.alignment;
  rows.problem.groups = p.groups = static_cast<std::int64_t>(counts.size());
  encode_groups(rows, rng, counts);
  p.k = rows.problem.rows * granularity;
  if (p.encoding == GroupEncoding::offsets) p.alignment *= granularity;
  for (const auto& [first, count] : rows.ranges) h.ranges.emplace_back(first * granularity, count * granularity);
  const bool ids = p.encoding == GroupEncoding::row_ids;
  for (std::int32_t size : rows.sizes)
    h.sizes.insert(h.sizes.end(), ids ? static_cast<std::size_t>(granularity) : 1,
                   ids ? size : static_cast<std::int32_t>(size * granularity));
  for (std::int32_t size : rows.sizes2) h.sizes2.push_back(static_cast<std::int32_t>(size * granularity));
}

/// Draws an operand of `rows` along M or N: values in groups, NaN elsewhere.
inline std::vector<std::uint8_t> k_operand(const HostKGrouped& h, std::mt19937_64& rng, DType type, Major major,
                                           std::int64_t rows, std::int64_t ld) {
  const std::int64_t k = h.problem.total_k();
  const auto bytes_of_all = [&](std::int64_t elements) { return bytes_in(type, elements); };
  std::vector<std::uint8_t> all;
  if (major == Major::mn) fill_matrix(all, rng, type, k, rows, ld);
  else fill_matrix(all, rng, type, rows, k, h.packs(major) ? k : ld);
  std::vector<std::uint8_t> bytes(all.size(), 0xff);
  for (const auto& [first, count] : h.ranges) {
    if (h.packs(major))
      std::copy_n(all.begin() + bytes_of_all(first * rows), bytes_of_all(count * rows),
                  bytes.begin() + bytes_of_all(first * rows));
    else if (major == Major::mn)
      std::copy_n(all.begin() + bytes_of_all(first * ld), bytes_of_all(count * ld),
                  bytes.begin() + bytes_of_all(first * ld));
    else
      for (std::int64_t r = 0; r < rows; ++r) {
        const std::int64_t at = bytes_of_all(r * ld + first);
        std::copy_n(all.begin() + at, bytes_of_all(count), bytes.begin() + at);
      }
  }
  return bytes;
}

/// Draws operands and scales of a laid-out problem with row strides.
inline void fill_k_grouped(HostKGrouped& h, std::mt19937_64& rng) {
  KGroupedProblem& p = h.problem;
  h.a = k_operand(h, rng, p.a, p.a_major, p.m, p.lda);
  h.b = k_operand(h, rng, p.b, p.b_major, p.n, p.ldb);
  const auto scale = [&] { return 0.25f + static_cast<float>(rng() % 4096) / 1024.0f; };
  const auto scales = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = scale();
    return values;
  };
  if (p.scale == Scale::tensor) {
    p.scale_a_group = static_cast<std::int64_t>(rng() % 2), p.scale_b_group = 1;
    h.scale_a = scales(p.scale_a_group == 0 ? 1 : p.groups), h.scale_b = scales(p.groups);
  } else if (p.scale == Scale::row_column) {
    p.scale_a_group = p.m, p.scale_b_group = p.n;
    h.scale_a = scales(p.groups * p.m), h.scale_b = scales(p.groups * p.n);
  } else if (is_block(p.scale)) {
    const std::int64_t blocks = p.total_k() / 128, rows_b = ceil_div(p.n, columns_of_scale(p.scale));
    const bool k_major = rng() % 2 == 0;
    p.scale_a_row = k_major ? max<std::int64_t>(blocks, 1) : 1, p.scale_a_k = k_major ? 1 : p.m;
    p.scale_b_n = k_major ? 1 : max<std::int64_t>(blocks, 1), p.scale_b_k = k_major ? rows_b : 1;
    h.scale_a.assign(static_cast<std::size_t>(p.m * blocks), arch::float_of(0xffffffff));
    h.scale_b.assign(static_cast<std::size_t>(rows_b * blocks), arch::float_of(0xffffffff));
    for (const auto& [first, count] : h.ranges)
      for (std::int64_t kb = first / 128; kb < (first + count) / 128; ++kb) {
        for (std::int64_t m = 0; m < p.m; ++m)
          h.scale_a[static_cast<std::size_t>(m * p.scale_a_row + kb * p.scale_a_k)] = scale();
        for (std::int64_t n = 0; n < rows_b; ++n)
          h.scale_b[static_cast<std::size_t>(n * p.scale_b_n + kb * p.scale_b_k)] = scale();
      }
  }
  if (p.accumulate) fill_matrix(h.c, rng, p.d == f32 ? tf32 : p.d, p.m, p.n, p.ldd, p.groups, p.stride_d_group);
}

inline constexpr std::uint64_t kFirstPacked = 1'000'000;  // from this number on, groups are packed one by one
inline constexpr std::uint64_t kFirstBlackwellKGrouped = 2'000'000;  // from this number on, the kernels are Blackwell's

/// Returns problem `i`: the problems have every kind of operand on every cluster, three numbers a kernel.
inline HostKGrouped numbered_k_grouped(std::uint64_t i) {
  std::mt19937_64 rng(i * 0x9e3779b97f4a7c15ull + 4711);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  struct Kind {
    DType a, d;
    Scale scale;
    Major a_major, b_major;
    bool accumulate;
  };
  constexpr Major k = Major::k, mn = Major::mn;
  const Kind kinds[10] = {{bf16, f32, Scale::none, mn, mn, false},
                          {bf16, f32, Scale::none, mn, mn, true},
                          {e4m3, f32, Scale::block_1x128_1x128, k, k, true},
                          {f16, f16, Scale::none, mn, mn, true},
                          {e4m3, f32, Scale::block_1x128_1x128, k, k, false},
                          {bf16, bf16, Scale::row_column, mn, mn, false},
                          {bf16, f32, Scale::none, k, mn, false},
                          {e4m3, bf16, Scale::block_1x128_128x128, k, k, false},
                          {tf32, f32, Scale::none, k, k, false},
                          {e5m2, f16, Scale::tensor, k, k, false}};
  const Kind packed_kinds[10] = {{e4m3, f32, Scale::block_1x128_1x128, k, k, true},
                                 {bf16, f32, Scale::none, k, k, false},
                                 {e4m3, bf16, Scale::block_1x128_128x128, k, k, false},
                                 {f16, f32, Scale::none, k, mn, true},
                                 {e4m3, f32, Scale::block_1x128_1x128, k, k, false},
                                 {bf16, bf16, Scale::row_column, mn, k, false},
                                 {e5m2, f16, Scale::tensor, k, k, false},
                                 {tf32, f32, Scale::none, k, k, false},
                                 {bf16, f32, Scale::none, mn, mn, false},
                                 {f16, f16, Scale::none, k, k, true}};
  const bool blackwell = i >= kFirstBlackwellKGrouped, packed = blackwell ? i / 60 % 2 == 1 : i >= kFirstPacked;
  const Kind& kind = packed ? packed_kinds[i % 10] : kinds[i % 10];
  HostKGrouped h;
  h.number = i;
  KGroupedProblem& p = h.problem;
  p.a = p.b = kind.a, p.d = kind.d, p.scale = kind.scale, p.accumulate = kind.accumulate;
  p.a_major = kind.a_major, p.b_major = kind.b_major;
  if (blackwell && !packed && p.a == tf32 && i / 30 % 2 == 0) p.a_major = p.b_major = mn;  // wgmma takes no such tf32
  // wgmma takes no such FP8.
  const bool fp8_by_columns = blackwell && is_fp8(p.a) && i / 30 % 2 == 0;
  if (fp8_by_columns) p.a_major = p.b_major = mn;
  if (packed && !(fp8_by_columns && h.tails())) p.packing = KPacking::per_group;
  p.encoding = GroupEncoding(pick(5));
  p.m = 1 + pick(300), p.n = 8 * (1 + pick(40));
  const std::int64_t counts_of_groups[6] = {1, 2, 3, 5, 8, 20};
  const std::int64_t groups = counts_of_groups[pick(6)];
  std::vector<std::int64_t> counts = random_counts(rng, groups, rng() % 6);
  for (auto& count : counts) count %= h.tails() ? 300 : 5;  // granules of 128
  if (p.encoding == GroupEncoding::offsets && pick(3) == 0) p.alignment = 1 << pick(h.tails() ? 7 : 2);
  encode_k_groups(h, rng, counts, h.tails() ? 1 : 128);
  const std::int64_t step = 16 / bytes_of(p.a);
  const auto stride = [&](Major major, std::int64_t rows) {
    return round_up(major == mn ? rows : p.total_k(), step) + (pick(3) == 0 ? step * (1 + pick(4)) : 0);
  };
  p.lda = stride(p.a_major, p.m), p.ldb = stride(p.b_major, p.n);
  if (h.packs(p.a_major)) p.lda = 0;
  if (h.packs(p.b_major)) p.ldb = 0;
  p.ldd = p.n + (pick(3) == 0 ? 8 * (1 + pick(4)) : 0);
  p.stride_d_group = p.m * p.ldd + (pick(3) == 0 ? 8 * pick(9) : 0);
  h.in_place = pick(3) != 0;
  const int cluster = static_cast<int>(i / 10 % 3);
  const bool small = i / 30 % 2 == 1;  // the narrowest that an MN-major operand in slices takes
  h.config.cluster.m = cluster == 1 ? 2 : 1, h.config.cluster.n = cluster == 2 ? 2 : 1;
  h.config.tile.m = small && cluster != 2 ? 64 : 128, h.config.tile.n = small && cluster != 1 ? 64 : 128;
  h.config.raster.width = 1 + static_cast<int>(pick(3));
  if (blackwell) h.config.arch = Arch::sm100, h.config.sm100.pair = cluster == 1 && !small;
  // CTAs that share an FP8 operand load 128 rows or columns of it each, and 192 columns take scales of both by row.
  if (fp8_by_columns) {
    const bool both = p.scale == Scale::block_1x128_1x128;
    h.config.cluster = {both ? 1 : h.config.cluster.m, 1};
    h.config.tile = {128, h.config.cluster.m == 2 ? 256 : 128};
    h.config.sm100.pair = h.config.cluster.m == 2;
  }
  if (blackwell && i / 60 % 5 > 2) h.config.sm90.tile_scheduler = TileScheduler::clc;
  fill_k_grouped(h, rng);
  return h;
}

/// Returns group `g` as a dense problem of its own with a copy of its rows of K; outputs are FP32 and packed.
inline HostProblem problem_of_group(const HostKGrouped& h, std::size_t g) {
  const KGroupedProblem& p = h.problem;
  const auto [first, count] = h.ranges[g];
  HostProblem one{{.m = p.m, .n = p.n, .k = count, .a = p.a, .b = p.b, .d = f32, .scale = p.scale},
                  {.arch = h.config.arch},
                  h.number,
                  {},
                  {},
                  {},
                  {}};
  one.problem.a_major = p.a_major, one.problem.b_major = p.b_major, one.problem.ldd = p.n;
  const auto part = [&](const std::vector<std::uint8_t>& all, DType type, Major major, std::int64_t rows,
                        std::int64_t ld, std::int64_t& packed) {
    packed = major == Major::mn ? ld : count;
    const auto between = [&](std::int64_t begin, std::int64_t end) {  // elements
      return std::vector<std::uint8_t>(all.begin() + bytes_in(type, begin), all.begin() + bytes_in(type, end));
    };
    if (h.packs(major)) return between(first * rows, (first + count) * rows);
    if (major == Major::mn) return between(first * ld, (first + count) * ld);
    std::vector<std::uint8_t> bytes;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::vector<std::uint8_t> row = between(r * ld + first, r * ld + first + count);
      bytes.insert(bytes.end(), row.begin(), row.end());
    }
    return bytes;
  };
  one.a = part(h.a, p.a, p.a_major, p.m, p.lda, one.problem.lda);
  one.b = part(h.b, p.b, p.b_major, p.n, p.ldb, one.problem.ldb);
  const auto group = static_cast<std::int64_t>(g);
  const auto of_group = [&](const std::vector<float>& all, std::int64_t step, std::int64_t values) {
    return std::vector<float>(all.begin() + group * step, all.begin() + group * step + values);
  };
  if (p.scale == Scale::tensor)
    one.scale_a = of_group(h.scale_a, p.scale_a_group, 1), one.scale_b = of_group(h.scale_b, p.scale_b_group, 1);
  if (p.scale == Scale::row_column)
    one.scale_a = of_group(h.scale_a, p.scale_a_group, p.m), one.scale_b = of_group(h.scale_b, p.scale_b_group, p.n);
  if (is_block(p.scale)) {
    const auto blocks = [&](const std::vector<float>& all, std::int64_t rows, std::int64_t row, std::int64_t step) {
      std::vector<float> values;
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t kb = first / 128; kb < (first + count) / 128; ++kb)
          values.push_back(all[static_cast<std::size_t>(r * row + kb * step)]);
      return values;
    };
    one.scale_a = blocks(h.scale_a, p.m, p.scale_a_row, p.scale_a_k);
    one.scale_b = blocks(h.scale_b, ceil_div(p.n, columns_of_scale(p.scale)), p.scale_b_n, p.scale_b_k);
  }
  if (is_microscaled(p.scale)) {
    const auto chunks = [&](const std::vector<std::uint8_t>& all, std::int64_t rows) {
      const auto begin = all.begin() + chunk_bytes(p.scale, rows, first);
      return std::vector<std::uint8_t>(begin, begin + chunk_bytes(p.scale, rows, count));
    };
    one.chunks_a = chunks(h.chunks_a, p.m), one.chunks_b = chunks(h.chunks_b, p.n);
    one.global_scale = h.global_scale;
  }
  return one;
}

/// Returns the elements of D in memory, padding included.
inline std::size_t elements_of_d(const KGroupedProblem& p) {
  return elements_of(p.groups, p.stride_d_group, p.m, p.ldd);
}

/// Returns what is in D before a run: C in place, a pattern otherwise.
inline std::vector<std::uint8_t> initial_d(const HostKGrouped& h) {
  if (h.problem.accumulate && h.in_place) return h.c;
  return std::vector<std::uint8_t>(elements_of_d(h.problem) * static_cast<std::size_t>(bytes_of(h.problem.d)),
                                   kUntouched);
}

inline float float_at(const std::vector<std::uint8_t>& bytes, std::int64_t element, DType type) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &bytes[static_cast<std::size_t>(element * bytes_of(type))],
              static_cast<std::size_t>(bytes_of(type)));
  return type == f32    ? arch::float_of(bits)
         : type == bf16 ? arch::from_bf16(static_cast<std::uint16_t>(bits))
                        : arch::from_f16(static_cast<std::uint16_t>(bits));
}

/// Returns all of D as a run should leave it, padding between rows and groups included.
inline std::vector<std::uint8_t> reference(const HostKGrouped& h) {
  const KGroupedProblem& p = h.problem;
  std::vector<std::uint8_t> d = initial_d(h);
  for (std::size_t g = 0; g < h.ranges.size(); ++g) {
    const bool empty = h.ranges[g].second == 0;
    if (empty && p.accumulate && h.in_place) continue;
    const std::vector<std::uint8_t> sums = empty ? std::vector<std::uint8_t>() : reference(problem_of_group(h, g));
    for (std::int64_t m = 0; m < p.m; ++m)
      for (std::int64_t n = 0; n < p.n; ++n) {
        const std::int64_t at = static_cast<std::int64_t>(g) * p.stride_d_group + m * p.ldd + n;
        float value = empty ? 0.0f : float_at(sums, m * p.n + n, f32);
        if (p.accumulate) value = empty ? float_at(h.c, at, p.d) : value + float_at(h.c, at, p.d);
        const std::uint32_t bits = p.d == f32    ? arch::bits_of(value)
                                   : p.d == bf16 ? arch::to_bf16(value)
                                                 : arch::to_f16(value);
        std::memcpy(&d[static_cast<std::size_t>(at * bytes_of(p.d))], &bits, static_cast<std::size_t>(bytes_of(p.d)));
      }
  }
  return d;
}

/// Runs the problem on `device`; all of D comes back. A status other than `status` fails.
/// `stats`, where given, receives those of the run.
inline Result<std::vector<std::uint8_t>> run_on(const Device& device, const HostKGrouped& h, std::uint32_t status = 0,
                                                std::optional<EmuStats>* stats = nullptr) {
  const KGroupedProblem& p = h.problem;
  WW_TRY(const KGroupedPlan made, plan_k_grouped(device, p, {.config = h.config, .pdl = h.pdl}));
  const auto upload = [&](const void* data, std::size_t bytes) -> Result<Buffer> {
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 256)));
    WW_CHECK(device.upload(buffer.data(), data, bytes));
    return buffer;
  };
  std::vector<std::uint8_t> d = initial_d(h);
  const std::uint32_t zero = 0;
  WW_TRY(const Buffer a, upload(h.a.data(), h.a.size()));
  WW_TRY(const Buffer b, upload(h.b.data(), h.b.size()));
  WW_TRY(const Buffer c, upload(h.c.data(), h.c.size()));
  const auto upload_all = [&](std::span<const std::byte> bytes) { return upload(bytes.data(), bytes.size()); };
  WW_TRY(const Buffer sa, upload_all(bytes_of_scales(h.scale_a, h.chunks_a)));
  WW_TRY(const Buffer sb, upload_all(bytes_of_scales(h.scale_b, h.chunks_b)));
  WW_TRY(const Buffer global, upload(h.global_scale ? &*h.global_scale : nullptr, h.global_scale ? 4 : 0));
  WW_TRY(const Buffer sizes, upload(h.sizes.data(), h.sizes.size() * 4));
  WW_TRY(const Buffer sizes2, upload(h.sizes2.data(), h.sizes2.size() * 4));
  WW_TRY(const Buffer word, upload(&zero, 4));
  WW_TRY(const Buffer out, upload(d.data(), d.size()));
  WW_TRY(const Buffer workspace, device.allocate(std::max<std::size_t>(made.workspace_bytes(), 256)));
  WW_CHECK(made.run({.a = a.data(),
                     .b = b.data(),
                     .c = h.in_place ? nullptr : c.data(),
                     .d = out.data(),
                     .scale_a = sa.data(),
                     .scale_b = sb.data(),
                     .global_scale = h.global_scale ? static_cast<const float*>(global.data()) : nullptr,
                     .sizes = static_cast<const std::int32_t*>(sizes.data()),
                     .sizes2 = static_cast<const std::int32_t*>(sizes2.data()),
                     .status = static_cast<std::uint32_t*>(word.data()),
                     .workspace = workspace.data(),
                     .workspace_bytes = made.workspace_bytes()}));
  WW_CHECK(device.synchronize());
  if (stats != nullptr) *stats = made.last_stats();
  std::uint32_t complaint = 0;
  WW_CHECK(device.download(&complaint, word.data(), 4));
  if (complaint != status)
    return failure(ErrorCode::wrong_result, "status", fmt::format("{}", status), fmt::format("{}", complaint));
  WW_CHECK(device.download(d.data(), out.data(), d.size()));
  return d;
}

/// "" when equal, else the first wrong element as (group, row, column) of D, and how many bytes differ.
inline std::string difference(const HostKGrouped& h, const std::vector<std::uint8_t>& got,
                              const std::vector<std::uint8_t>& want) {
  if (got.size() != want.size()) return "sizes differ";
  std::size_t count = 0, first = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    if (got[i] != want[i] && count++ == 0) first = i;
  if (count == 0) return "";
  const KGroupedProblem& p = h.problem;
  const auto at = static_cast<std::int64_t>(first) / bytes_of(p.d), in_group = at % p.stride_d_group;
  return fmt::format("{} bytes differ, first in D[{}] at ({}, {}): got {:#04x}, expected {:#04x}; {}", count,
                     at / p.stride_d_group, in_group / p.ldd, in_group % p.ldd, got[first], want[first], h.replay());
}

}  // namespace ww::testing
