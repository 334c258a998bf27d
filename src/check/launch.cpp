// SPDX-License-Identifier: Apache-2.0
// The text of launches, one function for each form of a value, and their limits.
#include "check/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "config/config_text.hpp"
#include "host/messages.hpp"
#include "runtime/launch_limits.hpp"
#include "runtime/tensor_map_limits.hpp"

namespace ww {
namespace {

using Kind = CheckParameter::Kind;

struct Name {
  Kind kind;
  const char* key;
};
constexpr Name kNames[] = {{Kind::buffer, "buffer"}, {Kind::zeros, "zeros"}, {Kind::kept, "kept"},
                           {Kind::unset, "unset"},   {Kind::int32, "int"},   {Kind::int64, "long"},
                           {Kind::float32, "float"}, {Kind::map, "map"}};
constexpr std::size_t kMostExtents = 5;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return parts;
    at = end + 1;
  }
}

Result<std::int64_t> parse_integer(const std::string& text, const std::string& where, std::int64_t least,
                                   std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
  return failure(ErrorCode::invalid, where, fmt::format("an integer from {} to {}", least, most), quoted(text));
}

/// "512x1024" as numbers.
template <class T>
Result<std::vector<T>> parse_sizes(const std::string& text, const std::string& where, std::int64_t most) {
  std::vector<T> sizes;
  for (const std::string& part : split(text, 'x')) {
    WW_TRY(const std::int64_t size, parse_integer(part, where, 1, most));
    sizes.push_back(static_cast<T>(size));
  }
  return sizes;
}

struct SwizzleName {
  const char* text;
  SmemSwizzle swizzle;
};
constexpr SwizzleName kSwizzles[] = {{"0", SmemSwizzle::none},
                                     {"32", SmemSwizzle::b32},
                                     {"64", SmemSwizzle::b64},
                                     {"128", SmemSwizzle::b128},
                                     {"128-unit32", SmemSwizzle::b128_unit32}};

/// Types of 4 and 6 bits, as they lie in shared memory; all others have their own names.
struct NarrowName {
  const char* text;
  DType element;
  NarrowElements narrow;
};
constexpr NarrowName kNarrow[] = {{"e2m1", DType::e2m1, NarrowElements::bits4},
                                  {"e2m1-padded", DType::e2m1, NarrowElements::bits4_padded},
                                  {"e3m2-padded", DType::e3m2, NarrowElements::bits6_padded},
                                  {"e2m3-padded", DType::e2m3, NarrowElements::bits6_padded}};

Result<void> parse_element(const std::string& text, const std::string& where, CheckTensorMap& map) {
  for (const NarrowName& name : kNarrow)
    if (text == name.text) return map.element = name.element, map.narrow = name.narrow, Result<void>();
  WW_TRY(map.element, parse_dtype(text, where));
  if (!is_packed(map.element)) return {};
  return failure(ErrorCode::invalid, where, text + "-padded: TMA moves types of 6 bits in units with padding",
                 quoted(text));
}

Result<void> parse_swizzle(const std::string& text, const std::string& where, CheckTensorMap& map) {
  for (const SwizzleName& name : kSwizzles)
    if (text == name.text) return map.swizzle = name.swizzle, Result<void>();
  return failure(ErrorCode::invalid, where, "a swizzle of 0, 32, 64, 128 or 128-unit32", quoted(text));
}

std::string element_text(const CheckTensorMap& map) {
  for (const NarrowName& name : kNarrow)
    if (map.narrow != NarrowElements::none && map.element == name.element && map.narrow == name.narrow)
      return name.text;
  return name_of(map.element);
}

const char* swizzle_text(SmemSwizzle swizzle) {
  for (const SwizzleName& name : kSwizzles)
    if (swizzle == name.swizzle) return name.text;
  return "";
}

Result<void> parse_map(const std::string& value, const std::string& where, CheckTensorMap& map) {
  const std::vector<std::string> parts = split(value, ':');
  if (parts.size() != 5)
    return failure(ErrorCode::invalid, where, "BUFFER:TYPE:EXTENTS:BOX:SWIZZLE, such as 0:bf16:512x1024:64x128:128",
                   quoted(value));
  WW_TRY(const std::int64_t buffer, parse_integer(parts[0], where, 0, 255));
  map.buffer = static_cast<std::size_t>(buffer);
  WW_CHECK(parse_element(parts[1], where, map));
  WW_TRY(map.extent, parse_sizes<std::uint64_t>(parts[2], where, std::int64_t{1} << 32));
  WW_TRY(map.box, parse_sizes<std::uint32_t>(parts[3], where, UINT32_MAX));
  return parse_swizzle(parts[4], where, map);
}

Result<void> parse_parameter(Kind kind, const std::string& value, const std::string& where, CheckLaunch& launch) {
  CheckParameter parameter{.kind = kind};
  if (campaign::is_pointer(kind)) {
    WW_TRY(const std::int64_t bytes, parse_integer(value, where, 1, std::int64_t{1} << 40));
    parameter.bytes = static_cast<std::uint64_t>(bytes);
  } else if (kind == Kind::int32) {
    WW_TRY(parameter.integer, parse_integer(value, where, INT32_MIN, UINT32_MAX));
  } else if (kind == Kind::int64) {
    WW_TRY(parameter.integer, parse_integer(value, where, INT64_MIN, INT64_MAX));
  } else if (kind == Kind::float32) {
    const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), parameter.number);
    if (status != std::errc{} || end != value.data() + value.size())
      return failure(ErrorCode::invalid, where, "a number", quoted(value));
  } else {
    WW_CHECK(parse_map(value, where, parameter.tensor_map));
  }
  launch.parameters.push_back(std::move(parameter));
  return {};
}

Result<void> parse_item(const std::string& item, const std::string& argument, CheckLaunch& launch) {
  const std::size_t equals = item.find('=');
  const std::string key = item.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
  const std::string where = argument + ", key " + key;
  for (const Name& name : kNames)
    if (key == name.key) return parse_parameter(name.kind, value, where, launch);
  std::uint32_t* number = key == "grid"      ? &launch.grid
                          : key == "cluster" ? &launch.cluster
                          : key == "threads" ? &launch.threads
                          : key == "shared"  ? &launch.shared_bytes
                                             : nullptr;
  if (number) {
    WW_TRY(const std::int64_t parsed, parse_integer(value, where, key == "shared" ? 0 : 1, INT32_MAX));
    *number = static_cast<std::uint32_t>(parsed);
    return {};
  }
  if (key != "cross" && key != "pdl")
    return failure(ErrorCode::invalid, argument,
                   "grid, cluster, threads, shared, cross, pdl, buffer, zeros, kept, unset, int, long, float or map, "
                   "each with =VALUE",
                   quoted(item));
  WW_TRY(const std::int64_t set, parse_integer(value, where, 0, 1));
  (key == "cross" ? launch.cross_cta : launch.pdl) = set == 1;
  return {};
}

std::string value_text(const CheckParameter& p) {
  switch (p.kind) {
    case Kind::buffer:
    case Kind::zeros:
    case Kind::kept:
    case Kind::unset: return fmt::to_string(p.bytes);
    case Kind::int32:
    case Kind::int64: return fmt::to_string(p.integer);
    case Kind::float32: return fmt::to_string(p.number);
    case Kind::map: break;
  }
  const CheckTensorMap& map = p.tensor_map;
  return fmt::format("{}:{}:{}:{}:{}", map.buffer, element_text(map), fmt::join(map.extent, "x"),
                     fmt::join(map.box, "x"), swizzle_text(map.swizzle));
}

}  // namespace

Result<CheckLaunch> parse_check_launch(const std::string& text, const std::string& argument) {
  CheckLaunch launch;
  std::set<std::string> seen;
  for (const std::string& item : split(text, ',')) {
    const std::string key = item.substr(0, item.find('='));
    const bool parameter =
        std::any_of(std::begin(kNames), std::end(kNames), [&](const Name& n) { return key == n.key; });
    if (!parameter && !seen.insert(key).second)
      return failure(ErrorCode::invalid, argument + ", key " + key, "one value", "two");
    WW_CHECK(parse_item(item, argument, launch));
  }
  if (launch.threads == 0) return failure(ErrorCode::invalid, argument, "threads=N", quoted(text));
  WW_CHECK(campaign::check_maps(launch, argument + ", key map"));
  return launch;
}

std::string to_text(const CheckLaunch& launch) {
  std::string text = fmt::format("grid={},cluster={},threads={},shared={}", launch.grid, launch.cluster, launch.threads,
                                 launch.shared_bytes);
  if (launch.cross_cta) text += ",cross=1";
  if (launch.pdl) text += ",pdl=1";
  for (const CheckParameter& p : launch.parameters)
    for (const Name& name : kNames)
      if (name.kind == p.kind) text += fmt::format(",{}={}", name.key, value_text(p));
  return text;
}

namespace campaign {

std::size_t buffers_of(const CheckLaunch& launch) {
  return static_cast<std::size_t>(std::count_if(launch.parameters.begin(), launch.parameters.end(),
                                                [](const CheckParameter& p) { return is_pointer(p.kind); }));
}

Result<runtime::TensorMapSpec> spec_of(const CheckTensorMap& map, const std::string& where) {
  if (map.extent.empty() || map.extent.size() != map.box.size() || map.extent.size() > kMostExtents)
    return failure(ErrorCode::invalid, where, "as many extents as sizes of the box, 1 to 5",
                   fmt::format("{} and {}", map.extent.size(), map.box.size()));
  runtime::TensorMapSpec spec;
  spec.base = reinterpret_cast<const void*>(std::uintptr_t{256});  // as aligned as every buffer
  spec.element = map.element;
  spec.narrow = map.narrow;
  spec.swizzle = map.swizzle;
  spec.rank = static_cast<int>(map.extent.size());
  std::uint64_t stride = 0;
  for (std::size_t i = 0; i < map.extent.size(); ++i) {
    spec.extent[i] = map.extent[i];
    spec.box[i] = map.box[i];
    spec.stride_bytes[i] = stride;
    if (i == 0 && map.extent[0] <= runtime::kMaxExtent) stride = runtime::inner_bytes(spec, map.extent[0]);
    else if (i == 0 || __builtin_mul_overflow(stride, map.extent[i], &stride))
      return failure(ErrorCode::invalid, where, "extents whose bytes fit 64 bits",
                     fmt::format("{}", fmt::join(map.extent, "x")));
  }
  if (const Result<void> fits = runtime::check_limits(spec); !fits)
    return failure(fits.error().code, where, fits.error().argument + " of " + fits.error().expected,
                   fits.error().actual);
  return spec;
}

Result<void> check_maps(const CheckLaunch& launch, const std::string& where) {
  const std::size_t buffers = buffers_of(launch);
  for (const CheckParameter& p : launch.parameters) {
    if (p.kind != Kind::map) continue;
    if (p.tensor_map.buffer >= buffers)
      return failure(ErrorCode::invalid, where, fmt::format("one of {} buffers", buffers),
                     fmt::to_string(p.tensor_map.buffer));
    WW_CHECK(spec_of(p.tensor_map, where));
  }
  return {};
}

Result<void> check_launch(const CheckLaunch& launch, Arch arch) {
  runtime::Launch whole;
  struct Any final : runtime::Kernel {
  } any;  // limits that hold for every kernel
  whole.kernel = &any;
  whole.grid = launch.grid, whole.cluster = launch.cluster, whole.threads = launch.threads;
  whole.shared_bytes = launch.shared_bytes;
  whole.params = &any;
  WW_CHECK(runtime::check_limits(whole, arch));
  return check_maps(launch, "launch.parameters, key map");
}

namespace {

class Packer {
 public:
  template <class T> void add(const T& value) {
    align(alignof(T));
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), data, data + sizeof value);
  }
  std::vector<std::byte> take() {
    align(alignment_);
    if (bytes_.empty()) bytes_.resize(1);  // an empty struct has one byte
    return std::move(bytes_);
  }

 private:
  void align(std::size_t to) {
    alignment_ = std::max(alignment_, to);
    bytes_.resize((bytes_.size() + to - 1) / to * to);
  }
  std::vector<std::byte> bytes_;
  std::size_t alignment_ = 1;
};

}  // namespace

std::vector<std::byte> pack_parameters(const CheckLaunch& launch, const std::vector<void*>& pointers,
                                       const std::vector<arch::TensorMap>& maps) {
  Packer packer;
  std::size_t next = 0;
  for (std::size_t i = 0; i < launch.parameters.size(); ++i) {
    const CheckParameter& p = launch.parameters[i];
    switch (p.kind) {
      case Kind::buffer:
      case Kind::zeros:
      case Kind::kept:
      case Kind::unset: packer.add(pointers[next++]); break;
      case Kind::int32: packer.add(static_cast<std::int32_t>(p.integer)); break;
      case Kind::int64: packer.add(p.integer); break;
      case Kind::float32: packer.add(p.number); break;
      case Kind::map: packer.add(maps[i]); break;
    }
  }
  return packer.take();
}

}  // namespace campaign
}  // namespace ww
