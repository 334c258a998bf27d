// SPDX-License-Identifier: Apache-2.0
// Random GEMM problems and their exact answer, for comparing bits.
// The reference follows docs/numerics.md element by element: instructions of 32 bytes of K through the tensor-core
// model of the config's architecture, promotion every 128 of K for block scales, sums of spans of K where a kernel
// makes them, one rounding to the output type. It shares no code with the kernel.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <random>
#include <span>
#include <vector>

#include "config/config_text.hpp"
#include "emu/sm100/numerics/umma.hpp"
#include "emu/sm90/numerics/mma.hpp"
#include "narrow_operands.hpp"
#include "warpwright/arch/common/convert.hpp"
#include "warpwright/atom/umma_atom.hpp"
#include "warpwright/core/meta.hpp"
#include "warpwright/host/gemm.hpp"

namespace ww::testing {

struct HostProblem {
  GemmProblem problem;  // strides filled in
  GemmConfig config;    // as requested
  std::uint64_t seed = 0;
  std::vector<std::uint8_t> a, b;  // rows of lda / ldb elements; the padding holds NaN
  // block: (M, kb), and (nb, kb) or (N, kb); row-column: (M), (N); tensor: one; none: empty. Of a batch: those of each
  // matrix that has its own, one set behind the other
  std::vector<float> scale_a, scale_b;
  std::vector<std::uint8_t> chunks_a = {}, chunks_b = {};  // mx, nv: scales as kernels read them
  std::optional<float> global_scale = {};                  // nv
  /// Returns everything that determines the operands. The same test makes the same ones again; `warpwright gemm` draws
  /// others.
  std::string replay() const {
    const std::string batch =
        problem.batch == 1
            ? ""
            : fmt::format(" batch={} strides {}, {}, {}, scales {}, {}", problem.batch, problem.batch_a,
                          problem.batch_b, problem.batch_d, problem.batch_scale_a, problem.batch_scale_b);
    const std::string scales = problem.scale_a_k == 0 && problem.scale_b_k == 0
                                   ? ""
                                   : fmt::format(" scales {}x{}, {}x{} apart", problem.scale_a_row, problem.scale_a_k,
                                                 problem.scale_b_n, problem.scale_b_k);
    return fmt::format(
        "m={} n={} k={} lda={} ldb={} ldd={} layout={}{}{}{} a={} b={} d={} scale={} seed={} config {}; the test is "
        "deterministic",
        problem.m, problem.n, problem.k, problem.lda, problem.ldb, problem.ldd,
        name_of(MatrixLayout{problem.a_major, problem.b_major}),
        problem.d_layout == OutputLayout::row ? "" : ", D by column", batch, scales, name_of(problem.a),
        name_of(problem.b), name_of(problem.d), name_of(problem.scale), seed, to_text(config));
  }
};

/// N(0, 1) in `type`, as bits.
inline std::uint32_t random_element(std::mt19937_64& rng, DType type) {
  // Box-Muller, because std::normal_distribution differs between standard libraries.
  const double u = (static_cast<double>(rng() >> 11) + 1) * 0x1p-53, v = static_cast<double>(rng() >> 11) * 0x1p-53;
  const auto x = static_cast<float>(std::sqrt(-2 * std::log(u)) * std::cos(6.283185307179586 * v));
  if (type == tf32) return arch::bits_of(x);
  if (type == e5m2) return arch::to_e5m2(x);
  return type == e4m3 ? arch::to_e4m3(x) : type == bf16 ? arch::to_bf16(x) : arch::to_f16(x);
}

/// Elements of `batch` matrices of rows of `stride`, `step` apart.
inline std::size_t elements_of(std::int64_t batch, std::int64_t step, std::int64_t rows, std::int64_t stride) {
  return batch == 0 ? 0 : static_cast<std::size_t>((batch - 1) * step + rows * stride);
}

/// While one lives, fill_matrix() of this thread draws no elements, for tests that ask only whether a problem is legal.
class WithoutElements {
 public:
  WithoutElements() { drawn = false; }
  ~WithoutElements() { drawn = true; }
  WithoutElements(const WithoutElements&) = delete;
  WithoutElements& operator=(const WithoutElements&) = delete;
  static inline thread_local bool drawn = true;
};

inline void fill_matrix(std::vector<std::uint8_t>& bytes, std::mt19937_64& rng, DType type, std::int64_t rows,
                        std::int64_t columns, std::int64_t stride, std::int64_t batch = 1, std::int64_t step = 0) {
  if (is_packed(type)) return fill_codes(bytes, rng, type, elements_of(batch, step, rows, stride));
  const int size = bytes_of(type);
  bytes.assign(elements_of(batch, step, rows, stride) * size, 0xff);  // NaN in every operand type
  if (!WithoutElements::drawn) return;
  for (std::int64_t l = 0; l < (step == 0 ? std::min<std::int64_t>(batch, 1) : batch); ++l)
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        const std::uint32_t bits = random_element(rng, type);
        std::memcpy(&bytes[static_cast<std::size_t>(l * step + r * stride + c) * size], &bits, size);
      }
}

/// Floats from one row of block scales, and from one 128 of K, to the next.
struct ScaleStrides {
  std::int64_t row, k;
};
inline ScaleStrides strides_of_scale_a(const GemmProblem& p) {
  return p.scale_a_row == 0 && p.scale_a_k == 0 ? ScaleStrides{ceil_div(p.k, 128), 1}
                                                : ScaleStrides{p.scale_a_row, p.scale_a_k};
}
inline ScaleStrides strides_of_scale_b(const GemmProblem& p) {
  return p.scale_b_n == 0 && p.scale_b_k == 0 ? ScaleStrides{ceil_div(p.k, 128), 1}
                                              : ScaleStrides{p.scale_b_n, p.scale_b_k};
}

inline HostProblem make_problem(GemmProblem problem, const GemmConfig& config, std::uint64_t seed) {
  HostProblem made{problem, config, seed, {}, {}, {}, {}};
  GemmProblem& p = made.problem;
  const bool a_mn = p.a_major == Major::mn, b_mn = p.b_major == Major::mn;
  if (p.lda == 0) p.lda = a_mn ? p.m : p.k;
  if (p.ldb == 0) p.ldb = b_mn ? p.n : p.k;
  if (p.ldd == 0) p.ldd = p.d_layout == OutputLayout::row ? p.n : p.m;
  std::mt19937_64 rng(seed);
  fill_matrix(made.a, rng, p.a, a_mn ? p.k : p.m, a_mn ? p.m : p.k, p.lda, p.batch, p.batch_a);
  fill_matrix(made.b, rng, p.b, b_mn ? p.k : p.n, b_mn ? p.n : p.k, p.ldb, p.batch, p.batch_b);
  const auto scales = [&](std::int64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& v : values) v = 0.25f + static_cast<float>(rng() % 4096) / 1024.0f;
    return values;
  };
  const std::int64_t blocks = ceil_div(p.k, 128);
  const auto all = [&](std::int64_t count, std::int64_t step) { return scales(count + (p.batch - 1) * step); };
  if (p.scale == Scale::tensor) made.scale_a = all(1, p.batch_scale_a), made.scale_b = all(1, p.batch_scale_b);
  if (p.scale == Scale::row_column) made.scale_a = all(p.m, p.batch_scale_a), made.scale_b = all(p.n, p.batch_scale_b);
  if (is_block(p.scale)) {
    const ScaleStrides a = strides_of_scale_a(p), b = strides_of_scale_b(p);
    const auto span = [&](std::int64_t rows, const ScaleStrides& s) {
      return rows == 0 || blocks == 0 ? 0 : (rows - 1) * s.row + (blocks - 1) * s.k + 1;
    };
    made.scale_a = all(span(ceil_div(p.m, rows_of_scale(p.scale)), a), p.batch_scale_a);
    made.scale_b = all(span(ceil_div(p.n, columns_of_scale(p.scale)), b), p.batch_scale_b);
  }
  if (is_microscaled(p.scale)) {
    const auto fill = [&](std::vector<std::uint8_t>& chunks, std::int64_t rows, std::int64_t step) {
      fill_scale_bytes(chunks, rng, p, chunk_bytes(p.scale, rows, p.k),
                       step == 0 ? std::min<std::int64_t>(p.batch, 1) : p.batch, step);
    };
    fill(made.chunks_a, p.m, p.batch_scale_a), fill(made.chunks_b, p.n, p.batch_scale_b);
    if (p.scale == Scale::nv && rng() % 2 == 0) made.global_scale = 0.3f;
  }
  return made;
}

/// Rows [row, row + 64) x bytes [at, at + 32) of a matrix, zero outside.
inline void gather(const std::uint8_t* bytes, std::int64_t rows, std::int64_t row_bytes, std::int64_t stride_bytes,
                   std::int64_t row, int count, std::int64_t at, std::uint8_t* out) {
  std::memset(out, 0, static_cast<std::size_t>(count) * 32);
  for (int r = 0; r < count && row + r < rows; ++r) {
    const std::int64_t length = std::min<std::int64_t>(32, row_bytes - at);
    if (length > 0)
      std::memcpy(out + r * 32, &bytes[static_cast<std::size_t>((row + r) * stride_bytes + at)],
                  static_cast<std::size_t>(length));
  }
}

/// The same of an MN-major matrix: element k of row r is at k * stride + r.
inline void gather_columns(const std::uint8_t* bytes, std::int64_t rows, std::int64_t row_bytes,
                           std::int64_t stride_bytes, std::int64_t row, int count, std::int64_t at, int element,
                           std::uint8_t* out) {
  std::memset(out, 0, static_cast<std::size_t>(count) * 32);
  for (int r = 0; r < count && row + r < rows; ++r)
    for (int i = 0; i < 32 && at + i < row_bytes; i += element)
      std::memcpy(out + r * 32 + i, bytes + (at + i) / element * stride_bytes + (row + r) * element,
                  static_cast<std::size_t>(element));
}

/// Multiplies 64 rows of A by 64 of B as one instruction of `arch` does: 32 bytes of K onto `sum` (64, 64), or onto
/// zero.
inline void multiply_instruction(Arch arch, DType a, DType b, const std::uint8_t* rows_a, const std::uint8_t* rows_b,
                                 float* sum, bool accumulate, emu::MmaMath math) {
  if (arch == Arch::sm90) return emu::mma_m64({a, b}, 64, rows_a, rows_b, sum, accumulate, 1, 1, math);
  std::uint32_t cells[64 * 64];
  std::memcpy(cells, sum, sizeof cells);
  emu::sm100::multiply({.kind = atom::mma_kind(a), .a = atom::mma_format(a), .b = atom::mma_format(b)}, 64, 64, rows_a,
                       rows_b, nullptr, nullptr, cells, 64, accumulate, math);
  std::memcpy(sum, cells, sizeof cells);
}

/// k-blocks [first, second) of one CTA.
using KSpan = std::pair<std::int64_t, std::int64_t>;
/// How the K of a tile is summed: the spans of a split in order, then the splits in order.
using KSplits = std::vector<std::vector<KSpan>>;
/// The tiles of a kernel, and how it sums each; without `splits` every tile is one span.
struct KCut {
  std::int64_t tile_m = 64, tile_n = 64;
  std::function<KSplits(std::int64_t tile_row, std::int64_t tile_column)> splits;
};

/// The same as multiply_span() for packed elements, widened by TMA or not, and for scales of mx and nv.
inline void multiply_narrow_span(const HostProblem& host, std::int64_t l, std::int64_t m0, std::int64_t n0, KSpan span,
                                 emu::MmaMath math, float* sum) {
  const GemmProblem& p = host.problem;
  const NarrowOperand a{host.a, host.chunks_a, p.a, l * p.batch_a, p.lda, p.m, l * p.batch_scale_a, p.a_major};
  const NarrowOperand b{host.b, host.chunks_b, p.b, l * p.batch_b, p.ldb, p.n, l * p.batch_scale_b, p.b_major};
  std::uint8_t rows_a[64 * 32], rows_b[64 * 32], scales_a[64 * 4], scales_b[64 * 4];
  std::uint32_t cells[64 * 64] = {};
  for (std::int64_t i = span.first * 4; i < span.second * 4; ++i) {  // a stage is four instructions
    a.gather(p, i, m0, 64, rows_a, scales_a);
    b.gather(p, i, n0, 64, rows_b, scales_b);
    emu::sm100::multiply(narrow_arithmetic(p), 64, 64, rows_a, rows_b, scales_a, scales_b, cells, 64,
                         i != span.first * 4, math);
  }
  std::memcpy(sum, cells, sizeof cells);
}

/// The FP32 sums of matrix `l` over `span` of K: 64 rows from m0, 64 columns from n0, promoted where the recipe says
/// so.
inline void multiply_span(const HostProblem& host, std::int64_t l, std::int64_t m0, std::int64_t n0, KSpan span,
                          emu::MmaMath math, float* sum) {
  const GemmProblem& p = host.problem;
  if (is_narrow(p)) return multiply_narrow_span(host, l, m0, n0, span, math, sum);
  const std::uint8_t* const all_a = host.a.data() + l * p.batch_a * bytes_of(p.a);
  const std::uint8_t* const all_b = host.b.data() + l * p.batch_b * bytes_of(p.b);
  const float* const scale_a = host.scale_a.data() + l * p.batch_scale_a;
  const float* const scale_b = host.scale_b.data() + l * p.batch_scale_b;
  const int element = bytes_of(p.a);
  const std::int64_t row_bytes = p.k * element;
  const bool promotes = is_block(p.scale);
  const ScaleStrides of_a = strides_of_scale_a(p), of_b = strides_of_scale_b(p);
  std::vector<float> promoted(64 * 64);
  std::uint8_t rows_a[64 * 32], rows_b[64 * 32];
  std::fill_n(sum, 64 * 64, 0.0f);
  // a stage is 128 bytes of K; bytes past the end are zero, and a whole stage is always multiplied
  for (std::int64_t at = span.first * 128; at < span.second * 128; at += 32) {
    if (p.a_major == Major::k) gather(all_a, p.m, row_bytes, p.lda * element, m0, 64, at, rows_a);
    else gather_columns(all_a, p.m, row_bytes, p.lda * element, m0, 64, at, element, rows_a);
    if (p.b_major == Major::k) gather(all_b, p.n, row_bytes, p.ldb * element, n0, 64, at, rows_b);
    else gather_columns(all_b, p.n, row_bytes, p.ldb * element, n0, 64, at, element, rows_b);
    const bool fresh = promotes ? at % 128 == 0 : at == span.first * 128;
    multiply_instruction(host.config.arch, p.a, p.b, rows_a, rows_b, sum, !fresh, math);
    if (!promotes || at % 128 != 96) continue;
    for (int i = 0; i < 64; ++i)
      for (int j = 0; j < 64; ++j) {
        const std::int64_t m = std::min(m0 + i, p.m - 1) / rows_of_scale(p.scale), kb = at / 128;
        const std::int64_t nb = std::min(n0 + j, p.n - 1) / columns_of_scale(p.scale);
        const float s = scale_a[m * of_a.row + kb * of_a.k] * scale_b[nb * of_b.row + kb * of_b.k];
        promoted[i * 64 + j] = __builtin_fmaf(sum[i * 64 + j], s, promoted[i * 64 + j]);
      }
  }
  if (promotes) std::copy(promoted.begin(), promoted.end(), sum);
}

/// Adds the spans of each split, and the splits, element by element.
inline std::vector<float> sum_splits(const HostProblem& host, std::int64_t l, std::int64_t m0, std::int64_t n0,
                                     const KSplits& splits, emu::MmaMath math) {
  const auto add = [](std::vector<float>& to, const std::vector<float>& from) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
  };
  std::vector<float> total(64 * 64), piece(64 * 64), part(64 * 64);
  for (std::size_t i = 0; i < splits.size(); ++i) {
    for (std::size_t j = 0; j < splits[i].size(); ++j) {
      multiply_span(host, l, m0, n0, splits[i][j], math, part.data());
      if (j == 0) piece = part;
      else add(piece, part);
    }
    if (i == 0) total = piece;
    else add(total, piece);
  }
  return total;
}

/// Matrix `l` of D, packed (M, N), as bytes of the output type.
inline std::vector<std::uint8_t> reference_of(const HostProblem& host, std::int64_t l, emu::MmaMath math,
                                              const KCut& cut) {
  const GemmProblem& p = host.problem;
  const float* const scale_a = host.scale_a.data() + l * p.batch_scale_a;
  const float* const scale_b = host.scale_b.data() + l * p.batch_scale_b;
  const int size = bytes_of(p.d);
  const KSplits whole = {{{0, ceil_div(p.k * (is_narrow(p) ? 1 : bytes_of(p.a)), stays_packed(p) ? 256 : 128)}}};
  std::vector<std::uint8_t> d(static_cast<std::size_t>(p.m * p.n) * size, 0);
  const auto store = [&](std::int64_t m, std::int64_t n, float value) {
    if (p.scale == Scale::tensor && p.k > 0) value = value * (scale_a[0] * scale_b[0]);
    if (p.scale == Scale::row_column && p.k > 0) value = value * (scale_a[m] * scale_b[n]);
    if (host.global_scale) value = value * *host.global_scale;
    std::uint32_t bits = arch::bits_of(value);
    if (p.d == bf16) bits = arch::to_bf16(value);
    if (p.d == f16) bits = arch::to_f16(value);
    std::memcpy(&d[static_cast<std::size_t>(m * p.n + n) * size], &bits, size);
  };
  const auto store_tile = [&](std::int64_t from_m, std::int64_t to_m, std::int64_t from_n, std::int64_t to_n) {
    const KSplits splits = cut.splits ? cut.splits(from_m / cut.tile_m, from_n / cut.tile_n) : whole;
    for (std::int64_t m0 = from_m; m0 < to_m; m0 += 64)
      for (std::int64_t n0 = from_n; n0 < to_n; n0 += 64) {
        const std::vector<float> sum = sum_splits(host, l, m0, n0, splits, math);
        for (std::int64_t i = 0; i < std::min<std::int64_t>(64, to_m - m0); ++i)
          for (std::int64_t j = 0; j < std::min<std::int64_t>(64, to_n - n0); ++j)
            store(m0 + i, n0 + j, sum[static_cast<std::size_t>(i * 64 + j)]);
      }
  };
  for (std::int64_t m = 0; m < p.m; m += cut.tile_m)
    for (std::int64_t n = 0; n < p.n; n += cut.tile_n)
      store_tile(m, std::min(p.m, m + cut.tile_m), n, std::min(p.n, n + cut.tile_n));
  return d;
}

/// D, packed (L, M, N), as bytes of the output type.
inline std::vector<std::uint8_t> reference(const HostProblem& host, emu::MmaMath math = emu::MmaMath::exact,
                                           const KCut& cut = {}) {
  std::vector<std::uint8_t> d;
  for (std::int64_t l = 0; l < host.problem.batch; ++l) {
    const std::vector<std::uint8_t> one = reference_of(host, l, math, cut);
    d.insert(d.end(), one.begin(), one.end());
  }
  return d;
}

/// How the problem is planned on `sms` CTAs (0: all of the device).
inline GemmOptions options_of(const HostProblem& host, int sms = 0) {
  // The reference does not split K unless the config says how; the library's own choice might.
  const bool whole = host.config.sm90.tile_scheduler == TileScheduler::automatic && host.config.sm90.split <= 1;
  return {.config = host.config, .sms = sms, .batch_invariant = whole};
}

/// D as it was written to `bytes`, packed (L, M, N); bytes of no element must still be 0xa5.
inline Result<std::vector<std::uint8_t>> packed_output(const GemmProblem& p, const std::vector<std::uint8_t>& bytes) {
  const int size = bytes_of(p.d);
  const bool by_row = p.d_layout == OutputLayout::row;
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(p.batch * p.m * p.n) * size);
  std::vector<bool> is_element(bytes.size(), false);
  auto to = packed.begin();
  for (std::int64_t l = 0; l < p.batch; ++l)
    for (std::int64_t m = 0; m < p.m; ++m)
      for (std::int64_t n = 0; n < p.n; ++n, to += size) {
        const std::int64_t from = (l * p.batch_d + (by_row ? m * p.ldd + n : n * p.ldd + m)) * size;
        std::copy_n(bytes.begin() + from, size, to);
        std::fill_n(is_element.begin() + from, size, true);
      }
  for (std::size_t i = 0; i < bytes.size(); ++i)
    if (!is_element[i] && bytes[i] != 0xa5)
      return failure(ErrorCode::wrong_result, "d", "padding left alone", fmt::format("a write at byte {}", i));
  return packed;
}

/// Returns scales as kernels read them: chunks where there are some, floats otherwise.
inline std::span<const std::byte> bytes_of_scales(const std::vector<float>& floats,
                                                  const std::vector<std::uint8_t>& chunks) {
  return chunks.empty() ? std::as_bytes(std::span(floats)) : std::as_bytes(std::span(chunks));
}

/// D of the problem by `made`, which was planned for one of its shape, in memory of its own; packed. Guard bytes around
/// every row of D are checked.
inline Result<std::vector<std::uint8_t>> run_plan(const Device& device, const GemmPlan& made, const HostProblem& host) {
  const GemmProblem& p = host.problem;
  const auto upload = [&](const void* data, std::size_t bytes) -> Result<Buffer> {
    WW_TRY(Buffer buffer, device.allocate(std::max<std::size_t>(bytes, 16)));
    WW_CHECK(device.upload(buffer.data(), data, bytes));
    return buffer;
  };
  const int size = bytes_of(p.d);
  const std::int64_t rows = p.d_layout == OutputLayout::row ? p.m : p.n;
  std::vector<std::uint8_t> d(elements_of(p.batch, p.batch_d, rows, p.ldd) * size, 0xa5);
  WW_TRY(const Buffer a, upload(host.a.data(), host.a.size()));
  WW_TRY(const Buffer b, upload(host.b.data(), host.b.size()));
  const auto upload_all = [&](std::span<const std::byte> bytes) { return upload(bytes.data(), bytes.size()); };
  WW_TRY(const Buffer sa, upload_all(bytes_of_scales(host.scale_a, host.chunks_a)));
  WW_TRY(const Buffer sb, upload_all(bytes_of_scales(host.scale_b, host.chunks_b)));
  WW_TRY(const Buffer global, upload(host.global_scale ? &*host.global_scale : nullptr, host.global_scale ? 4 : 0));
  WW_TRY(const Buffer out, upload(d.data(), d.size()));
  const std::vector<std::uint8_t> zeros(made.workspace_bytes());
  WW_TRY(const Buffer workspace, upload(zeros.data(), zeros.size()));
  WW_CHECK(made.run({.a = a.data(),
                     .b = b.data(),
                     .d = out.data(),
                     .scale_a = sa.data(),
                     .scale_b = sb.data(),
                     .global_scale = host.global_scale ? static_cast<const float*>(global.data()) : nullptr,
                     .workspace = workspace.data(),
                     .workspace_bytes = zeros.size()}));
  WW_CHECK(device.synchronize());
  WW_CHECK(device.download(d.data(), out.data(), d.size()));
  return packed_output(p, d);
}

/// The same by a plan of its own.
inline Result<std::vector<std::uint8_t>> run_on(const Device& device, const HostProblem& host,
                                                EmuStats* stats = nullptr, int sms = 0) {
  WW_TRY(const GemmPlan made, plan_gemm(device, host.problem, options_of(host, sms)));
  WW_TRY(const std::vector<std::uint8_t> d, run_plan(device, made, host));
  if (stats) *stats = made.last_stats().value_or(EmuStats{});
  return d;
}

/// "" when equal, else the first wrong (row, column) with both bit patterns and how many differ.
inline std::string difference(const HostProblem& host, const std::vector<std::uint8_t>& got,
                              const std::vector<std::uint8_t>& want) {
  const int size = bytes_of(host.problem.d);
  if (got.size() != want.size()) return "sizes differ";
  std::string first;
  std::size_t count = 0;
  for (std::size_t i = 0; i < got.size(); i += size)
    if (std::memcmp(&got[i], &want[i], size) != 0) {
      std::uint32_t g = 0, w = 0;
      std::memcpy(&g, &got[i], size);
      std::memcpy(&w, &want[i], size);
      const auto n = static_cast<std::size_t>(host.problem.n);
      if (count++ == 0)
        first = fmt::format("first at ({}, {}): got {:#x}, expected {:#x}", i / size / n, i / size % n, g, w);
    }
  return count == 0 ? ""
                    : fmt::format("{} of {} elements differ, {}; {}", count, got.size() / size, first, host.replay());
}

}  // namespace ww::testing
