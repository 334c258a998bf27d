// SPDX-License-Identifier: Apache-2.0
// Random casts to FP8 and transposes of FP8 matrices, and a run of them on a device. Outputs begin as bytes of 0xa5,
// and all of their memory is compared with the reference's, so that a write outside of an output shows.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "ops/quantize_validation.hpp"
#include "random_grouped.hpp"
#include "reference/quantize.hpp"

namespace ww::testing {

/// Memory of outputs: all of it, as bytes.
struct QuantizeOutputs {
  std::vector<std::uint8_t> q, scales, transposed, transposed_scales, padded_ends, status;
  bool operator==(const QuantizeOutputs&) const = default;

  std::vector<std::uint8_t> all() const {
    std::vector<std::uint8_t> bytes;
    for (const auto* part : {&q, &scales, &transposed, &transposed_scales, &padded_ends, &status})
      bytes.insert(bytes.end(), part->begin(), part->end());
    return bytes;
  }
};

struct HostQuantize {
  QuantizeProblem problem;  // with explicit strides; of a transpose, x is FP8
  bool scaled = true;       // a transpose has scales
  std::uint64_t number = 0;
  std::size_t shift_x = 0, shift_q = 0, shift_transposed = 0;  // bytes by which matrices miss 16-byte alignment
  std::vector<std::uint8_t> x;
  std::vector<float> x_scales;
  std::vector<std::int32_t> sizes, sizes2;

  bool copies() const { return is_fp8(problem.x); }
  std::string replay() const {
    const QuantizeProblem& p = problem;
    return fmt::format(
        "problem {}: {} {} -> {}{}{} m={} k={} batch={} ldx={} ldq={} ld_transposed={} scales {},{} and {},{} "
        "power_of_two={} min_amax={} groups={} {} padding={}{} shifts {},{},{}; the test is deterministic",
        number, copies() ? "transpose" : name_of(p.block), name_of(p.x), name_of(p.q), p.rows ? " rows" : "",
        p.transposed ? " transposed" : "", p.m, p.k, p.batch, p.ldx, p.ldq, p.ld_transposed, p.scale_m, p.scale_k,
        p.transposed_scale_k, p.transposed_scale_m, p.power_of_two, p.min_amax, p.groups, name_of(p.encoding),
        p.padding, p.one_by_one ? " one by one" : "", shift_x, shift_q, shift_transposed);
  }

  QuantizeOutputs blank() const {
    const QuantizeProblem& p = problem;
    const std::int64_t columns = transposed_columns(p), blocks_k = ceil_div(p.k, 128),
                       blocks_m = ceil_div(columns, 128);
    const bool blocks = p.block == QuantizeBlock::b128x128;
    const auto bytes = [&](bool wanted, std::int64_t count, std::int64_t stride, std::int64_t of_one, int size) {
      const std::int64_t elements = count == 0 ? 0 : (count - 1) * stride + of_one;
      return std::vector<std::uint8_t>(wanted ? static_cast<std::size_t>(elements * size + 40) : 0, 0xa5);
    };
    const auto floats = [&](bool wanted, std::int64_t rows, std::int64_t row, std::int64_t width, std::int64_t column,
                            std::int64_t stride) {
      return bytes(wanted && rows > 0 && width > 0, p.batch, stride, (rows - 1) * row + (width - 1) * column + 1, 4);
    };
    QuantizeOutputs made;
    made.q = bytes(p.rows, p.batch, p.batch_q, p.m * p.ldq, 1);
    made.scales = floats(p.rows, blocks ? ceil_div(p.m, 128) : p.m, p.scale_m, blocks_k, p.scale_k, p.batch_scales);
    made.transposed = bytes(p.transposed, p.batch, p.batch_transposed, p.k * p.ld_transposed, 1);
    made.transposed_scales = floats(p.transposed && (!copies() || scaled), blocks ? blocks_k : p.k,
                                    p.transposed_scale_k, blocks_m, p.transposed_scale_m, p.batch_transposed_scales);
    made.padded_ends.assign(p.groups > 0 ? static_cast<std::size_t>(4 * p.groups) : 0, 0xa5);
    made.status.assign(p.groups > 0 ? 4 : 0, 0);
    return made;
  }
};

/// Bits of an element: mostly normal, with other magnitudes from row to row, zeros, subnormal numbers, and with
/// `specials` now and then Inf and NaN.
inline std::uint32_t quantize_element(std::mt19937_64& rng, DType type, int exponent, bool specials) {
  const std::uint64_t draw = rng();
  if (draw % 16 == 0) return draw >> 8 & 1 ? 0 : 1u << (8 * bytes_of(type) - 1);  // +0, -0
  if (is_fp8(type)) return static_cast<std::uint32_t>(draw >> 16 & 0xff);
  if (specials && draw % 509 == 1) {
    const float special = draw >> 9 & 1 ? std::numeric_limits<float>::infinity() : std::bit_cast<float>(0xffc12345u);
    return type == f32 ? arch::bits_of(special) : type == bf16 ? arch::bits_of(special) >> 16 : arch::to_f16(special);
  }
  const float x = std::ldexp(static_cast<float>(static_cast<std::int32_t>(draw >> 32)) * 0x1p-31f, exponent);
  return type == f32 ? arch::bits_of(x) : type == bf16 ? arch::to_bf16(x) : arch::to_f16(x);
}

inline void fill_quantize(HostQuantize& h, std::mt19937_64& rng, bool specials) {
  const QuantizeProblem& p = h.problem;
  const auto size = static_cast<std::size_t>(bytes_of(p.x));
  const std::int64_t elements = p.batch == 0 ? 0 : (p.batch - 1) * p.batch_x + p.m * p.ldx;
  h.x.assign(h.shift_x + static_cast<std::size_t>(elements) * size + 16, 0xff);  // NaN between rows
  for (std::int64_t l = 0; l < p.batch; ++l)
    for (std::int64_t row = 0; row < p.m; ++row) {
      const int exponent = p.x == f16 ? static_cast<int>(rng() % 30) - 20 : static_cast<int>(rng() % 60) - 40;
      const bool zeros = rng() % 12 == 0;
      for (std::int64_t k = 0; k < p.k; ++k) {
        const std::uint32_t bits = zeros ? 0 : quantize_element(rng, p.x, exponent, specials);
        const std::int64_t at = l * p.batch_x + row * p.ldx + k;
        std::memcpy(&h.x[h.shift_x + static_cast<std::size_t>(at) * size], &bits, size);
      }
    }
  if (!h.copies()) return;
  const std::int64_t last = (ceil_div(p.m, 128) - 1) * p.scale_m + (ceil_div(p.k, 128) - 1) * p.scale_k;
  h.x_scales.resize(static_cast<std::size_t>(max<std::int64_t>(0, (p.batch - 1) * p.batch_scales + last) + 1));
  for (float& scale : h.x_scales) scale = std::ldexp(1.0f + static_cast<float>(rng() % 1000), -8);
}

/// Problems with the same i % kQuantizeKinds share their kernel.
inline constexpr std::uint64_t kQuantizeKinds = 12;
inline HostQuantize numbered_quantize(std::uint64_t i) {
  std::mt19937_64 rng(i * 2 + 77);
  const auto pick = [&](std::uint64_t count) { return static_cast<std::int64_t>(rng() % count); };
  HostQuantize h;
  h.number = i;
  QuantizeProblem& p = h.problem;
  const std::uint64_t kind = i % kQuantizeKinds;
  const struct {
    DType x, q;
    bool rows, transposed, blocks;
  } kinds[kQuantizeKinds] = {
      {bf16, e4m3, true, false, false}, {bf16, e4m3, false, true, false}, {bf16, e4m3, true, true, false},
      {bf16, e4m3, true, false, true},  {bf16, e4m3, true, true, true},   {e4m3, e4m3, false, true, true},
      {f32, e4m3, true, false, false},  {f32, e4m3, true, true, false},   {f32, e4m3, false, true, true},
      {f16, e4m3, true, true, false},   {bf16, e5m2, true, true, false},  {e5m2, e5m2, false, true, true}};
  p.x = kinds[kind].x, p.q = kinds[kind].q, p.rows = kinds[kind].rows, p.transposed = kinds[kind].transposed;
  p.block = kinds[kind].blocks ? QuantizeBlock::b128x128 : QuantizeBlock::b1x128;
  const auto extent = [&] {
    const std::int64_t any = 1 + pick(std::uint64_t{2} << pick(9));
    return pick(3) == 0 ? round_up(any, std::int64_t{16}) : any;
  };
  p.m = extent(), p.k = extent();
  p.power_of_two = pick(3) == 0;
  p.min_amax = pick(3) == 0 ? 0.0f : pick(8) == 0 ? 2.0f : 1e-4f;
  const std::int64_t step = pick(2) == 0 ? 16 : 1;
  if (p.transposed && !kinds[kind].blocks && pick(2) == 0) {
    HostGrouped rows;
    const GroupEncoding encodings[] = {GroupEncoding::offsets, GroupEncoding::offsets, GroupEncoding::indptr,
                                       GroupEncoding::starts_counts, GroupEncoding::row_ids};
    rows.problem.encoding = p.encoding = encodings[pick(5)];
    rows.problem.alignment = p.alignment = p.encoding == GroupEncoding::offsets && pick(2) == 0 ? 1 + pick(20) : 1;
    std::vector<std::int64_t> counts(static_cast<std::size_t>(1 + pick(pick(4) == 0 ? 300 : 6)));
    for (std::int64_t& count : counts)
      count = pick(4) == 0 ? 0 : 1 + pick(counts.size() > 6 ? 4 : std::uint64_t{2} << pick(9));
    rows.problem.groups = p.groups = static_cast<std::int64_t>(counts.size());
    encode_groups(rows, rng, counts);
    p.m = rows.problem.rows;
    h.sizes = rows.sizes, h.sizes2 = rows.sizes2;
    p.padding = pick(3) == 0 ? 256 : 128;
    p.one_by_one = pick(4) == 0;
    p.k = min<std::int64_t>(p.k, 200);
    if (pick(8) == 0 && p.encoding == GroupEncoding::offsets) h.sizes.back() += 1000;  // past the last row
  } else if (pick(4) == 0) {
    p.batch = 1 + pick(3);
    p.m = min<std::int64_t>(p.m, 200);
  }
  const std::int64_t columns = transposed_columns(p);
  if (pick(2) == 0) p.ldx = round_up(p.k + pick(9), step);
  if (pick(2) == 0) p.ldq = round_up(p.k + pick(9), step);
  if (pick(2) == 0) p.ld_transposed = round_up(columns + pick(9), std::int64_t{16});
  if (pick(2) == 0)  // MN-major, with rows of whole 16 bytes
    p.scale_m = 1, p.scale_k = round_up(kinds[kind].blocks ? ceil_div(p.m, std::int64_t{128}) : p.m, std::int64_t{4});
  if (pick(2) == 0)
    p.transposed_scale_k = 1,
    p.transposed_scale_m = round_up(kinds[kind].blocks ? ceil_div(p.k, std::int64_t{128}) : p.k, std::int64_t{4});
  const bool transposes = kind == 5 || kind == 11;
  if (transposes) h.scaled = pick(5) != 0;
  auto valid = transposes ? ops::validate(ops::as_transpose(p)) : ops::validate(p);
  if (!valid) throw std::runtime_error(valid.error().message + "\n" + h.replay());
  p = *valid;
  const auto size = static_cast<std::size_t>(bytes_of(p.x));
  if (pick(4) == 0) h.shift_x = size * static_cast<std::size_t>(pick(8));
  if (pick(4) == 0) h.shift_q = static_cast<std::size_t>(pick(16));
  if (pick(4) == 0) h.shift_transposed = static_cast<std::size_t>(pick(16));
  fill_quantize(h, rng, pick(4) == 0);
  return h;
}

inline QuantizeOutputs reference(const HostQuantize& h) {
  QuantizeOutputs made = h.blank();
  const auto floats = [](std::vector<std::uint8_t>& bytes) { return reinterpret_cast<float*>(bytes.data()); };
  if (h.copies()) {
    TransposeOperands o;
    o.w = h.x.data() + h.shift_x;
    o.transposed = made.transposed.data() + h.shift_transposed;
    if (h.scaled) o.scales = h.x_scales.data(), o.transposed_scales = floats(made.transposed_scales);
    ref::transpose(ops::as_transpose(h.problem), o);
    return made;
  }
  QuantizeOperands o;
  o.x = h.x.data() + h.shift_x;
  o.q = made.q.data() + (made.q.empty() ? 0 : h.shift_q);
  o.scales = floats(made.scales);
  o.transposed = made.transposed.data() + (made.transposed.empty() ? 0 : h.shift_transposed);
  o.transposed_scales = floats(made.transposed_scales);
  o.sizes = h.sizes.data(), o.sizes2 = h.sizes2.data();
  if (h.problem.groups > 0) {
    o.padded_ends = reinterpret_cast<std::int32_t*>(made.padded_ends.data());
    o.status = reinterpret_cast<std::uint32_t*>(made.status.data());
  }
  ref::quantize(h.problem, o);
  return made;
}

inline Result<QuantizeOutputs> run_on(const Device& device, const HostQuantize& h) {
  QuantizeOutputs made = h.blank();
  std::vector<Buffer> buffers;
  const auto put = [&](const void* data, std::size_t bytes) -> Result<char*> {
    if (bytes == 0) return nullptr;
    WW_TRY(Buffer buffer, device.allocate(bytes));
    WW_CHECK(device.upload(buffer.data(), data, bytes));
    buffers.push_back(buffer);
    return static_cast<char*>(buffer.data());
  };
  const auto put_bytes = [&](const std::vector<std::uint8_t>& bytes) { return put(bytes.data(), bytes.size()); };
  WW_TRY(char* const x, put_bytes(h.x));
  WW_TRY(char* const x_scales, put(h.x_scales.data(), 4 * h.x_scales.size()));
  WW_TRY(char* const sizes, put(h.sizes.data(), 4 * h.sizes.size()));
  WW_TRY(char* const sizes2, put(h.sizes2.data(), 4 * h.sizes2.size()));
  WW_TRY(char* const q, put_bytes(made.q));
  WW_TRY(char* const scales, put_bytes(made.scales));
  WW_TRY(char* const transposed, put_bytes(made.transposed));
  WW_TRY(char* const transposed_scales, put_bytes(made.transposed_scales));
  WW_TRY(char* const ends, put_bytes(made.padded_ends));
  WW_TRY(char* const status, put_bytes(made.status));
  if (h.copies()) {
    WW_TRY(const TransposePlan plan, plan_transpose(device, ops::as_transpose(h.problem)));
    TransposeOperands o{.w = x + h.shift_x, .transposed = transposed + h.shift_transposed};
    if (h.scaled)
      o.scales = reinterpret_cast<float*>(x_scales), o.transposed_scales = reinterpret_cast<float*>(transposed_scales);
    WW_CHECK(plan.run(o));
  } else {
    WW_TRY(const QuantizePlan plan, plan_quantize(device, h.problem));
    QuantizeOperands o{.x = x + h.shift_x};
    if (q != nullptr) o.q = q + h.shift_q;
    if (transposed != nullptr) o.transposed = transposed + h.shift_transposed;
    o.scales = reinterpret_cast<float*>(scales), o.transposed_scales = reinterpret_cast<float*>(transposed_scales);
    o.sizes = reinterpret_cast<std::int32_t*>(sizes), o.sizes2 = reinterpret_cast<std::int32_t*>(sizes2);
    o.padded_ends = reinterpret_cast<std::int32_t*>(ends), o.status = reinterpret_cast<std::uint32_t*>(status);
    WW_CHECK(plan.run(o));
  }
  WW_CHECK(device.synchronize());
  const auto get = [&](std::vector<std::uint8_t>& to, const char* from) -> Result<void> {
    return to.empty() ? Result<void>{} : device.download(to.data(), from, to.size());
  };
  WW_CHECK(get(made.q, q));
  WW_CHECK(get(made.scales, scales));
  WW_CHECK(get(made.transposed, transposed));
  WW_CHECK(get(made.transposed_scales, transposed_scales));
  WW_CHECK(get(made.padded_ends, ends));
  WW_CHECK(get(made.status, status));
  return made;
}

/// Returns an empty text for equal outputs.
inline std::string difference(const HostQuantize& h, const QuantizeOutputs& got, const QuantizeOutputs& want) {
  const std::tuple<const char*, const std::vector<std::uint8_t>*, const std::vector<std::uint8_t>*, std::size_t>
      parts[] = {{"q", &got.q, &want.q, h.shift_q},
                 {"scales", &got.scales, &want.scales, 0},
                 {"transposed", &got.transposed, &want.transposed, h.shift_transposed},
                 {"transposed_scales", &got.transposed_scales, &want.transposed_scales, 0},
                 {"padded_ends", &got.padded_ends, &want.padded_ends, 0},
                 {"status", &got.status, &want.status, 0}};
  for (const auto& [name, a, b, shift] : parts) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = a->size(); i-- > 0;)
      if ((*a)[i] != (*b)[i]) ++wrong, first = i;
    if (wrong > 0)
      return fmt::format("{}: {} of {} bytes differ, first byte {}: {:#x} for {:#x}\n{}", name, wrong, a->size(),
                         static_cast<std::int64_t>(first) - static_cast<std::int64_t>(shift), (*a)[first], (*b)[first],
                         h.replay());
  }
  return "";
}

}  // namespace ww::testing
