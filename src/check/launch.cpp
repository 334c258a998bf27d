// SPDX-License-Identifier: Apache-2.0
// One function for each form of a value; every refusal names --launch and the key.
#include "check/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

#include "cli/gemm_request.hpp"
#include "config/config_text.hpp"
#include "host/messages.hpp"

namespace ww::campaign {

using namespace cli;

namespace {

using Kind = LaunchParameter::Kind;

struct Name {
  Kind kind;
  const char* key;
};
constexpr Name kNames[] = {{Kind::buffer, "buffer"}, {Kind::zeros, "zeros"},   {Kind::int32, "int"},
                           {Kind::int64, "long"},    {Kind::float32, "float"}, {Kind::map, "map"}};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0;;) {
    const std::size_t end = text.find(separator, at);
    parts.push_back(text.substr(at, end - at));
    if (end == std::string::npos) return parts;
    at = end + 1;
  }
}

/// "512x1024" as numbers.
Result<std::vector<std::int64_t>> parse_sizes(const std::string& text, const std::string& where) {
  std::vector<std::int64_t> sizes;
  for (const std::string& part : split(text, 'x')) {
    WW_TRY(const std::int64_t size, parse_integer(part, where, 1, std::int64_t{1} << 32));
    sizes.push_back(size);
  }
  return sizes;
}

Result<void> parse_map(const std::string& value, const std::string& where, LaunchParameter& parameter) {
  const std::vector<std::string> parts = split(value, ':');
  if (parts.size() != 5)
    return failure(ErrorCode::invalid, where, "BUFFER:TYPE:EXTENTS:BOX:SWIZZLE, such as 0:bf16:512x1024:64x128:128",
                   quoted(value));
  WW_TRY(const std::int64_t buffer, parse_integer(parts[0], where, 0, 255));
  parameter.buffer = static_cast<std::size_t>(buffer);
  runtime::TensorMapSpec& spec = parameter.spec;
  WW_TRY(spec.element, parse_dtype(parts[1], where));
  WW_TRY(const std::vector<std::int64_t> extents, parse_sizes(parts[2], where));
  WW_TRY(const std::vector<std::int64_t> box, parse_sizes(parts[3], where));
  if (extents.size() != box.size() || extents.size() > 5)
    return failure(ErrorCode::invalid, where, "as many extents as sizes of the box, at most 5", quoted(value));
  spec.rank = static_cast<int>(extents.size());
  auto stride = static_cast<std::uint64_t>(bytes_of(spec.element));
  for (std::size_t i = 0; i < extents.size(); ++i) {
    spec.extent[i] = static_cast<std::uint64_t>(extents[i]);
    spec.box[i] = static_cast<std::uint32_t>(std::min<std::int64_t>(box[i], UINT32_MAX));
    spec.stride_bytes[i] = stride;
    if (__builtin_mul_overflow(stride, spec.extent[i], &stride))
      return failure(ErrorCode::invalid, where, "extents whose bytes fit 64 bits", parts[2]);
  }
  WW_TRY(const std::int64_t swizzle, parse_integer(parts[4], where, 0, 128));
  if (swizzle != 0 && swizzle != 32 && swizzle != 64 && swizzle != 128)
    return failure(ErrorCode::invalid, where, "a swizzle of 0, 32, 64 or 128", parts[4]);
  spec.swizzle = swizzle == 128  ? runtime::SmemSwizzle::b128
                 : swizzle == 64 ? runtime::SmemSwizzle::b64
                 : swizzle == 32 ? runtime::SmemSwizzle::b32
                                 : runtime::SmemSwizzle::none;
  return {};
}

Result<void> parse_parameter(Kind kind, const std::string& value, const std::string& where, LaunchText& launch) {
  LaunchParameter parameter;
  parameter.kind = kind;
  if (kind == Kind::buffer || kind == Kind::zeros) {
    WW_TRY(const std::int64_t bytes, parse_integer(value, where, 1, std::int64_t{1} << 40));
    parameter.bytes = static_cast<std::uint64_t>(bytes);
  } else if (kind == Kind::int32) {
    WW_TRY(parameter.integer, parse_integer(value, where, INT32_MIN, UINT32_MAX));
  } else if (kind == Kind::int64) {
    WW_TRY(parameter.integer, parse_integer(value, where, INT64_MIN));
  } else if (kind == Kind::float32) {
    const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), parameter.number);
    if (status != std::errc{} || end != value.data() + value.size())
      return failure(ErrorCode::invalid, where, "a number", quoted(value));
  } else {
    WW_CHECK(parse_map(value, where, parameter));
  }
  launch.parameters.push_back(parameter);
  return {};
}

Result<void> parse_item(const std::string& item, const std::string& argument, LaunchText& launch) {
  const std::size_t equals = item.find('=');
  const std::string key = item.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
  const std::string where = argument + ", key " + key;
  for (const Name& name : kNames)
    if (key == name.key) return parse_parameter(name.kind, value, where, launch);
  std::uint32_t* number = key == "grid"      ? &launch.grid
                          : key == "cluster" ? &launch.cluster
                          : key == "threads" ? &launch.threads
                          : key == "shared"  ? &launch.shared
                                             : nullptr;
  if (number) {
    WW_TRY(const std::int64_t parsed, parse_integer(value, where, key == "shared" ? 0 : 1, 1 << 30));
    *number = static_cast<std::uint32_t>(parsed);
    return {};
  }
  if (key != "cross" && key != "pdl")
    return failure(
        ErrorCode::invalid, argument,
        "grid, cluster, threads, shared, cross, pdl, buffer, zeros, int, long, float or map, each with =VALUE",
        quoted(item));
  WW_TRY(const std::int64_t set, parse_integer(value, where, 0, 1));
  (key == "cross" ? launch.cross_cta : launch.pdl) = set == 1;
  return {};
}

std::string sizes_text(const auto* sizes, int rank) {
  std::string text;
  for (int i = 0; i < rank; ++i) text += fmt::format("{}{}", i ? "x" : "", sizes[i]);
  return text;
}

int swizzle_bytes(runtime::SmemSwizzle swizzle) {
  return swizzle == runtime::SmemSwizzle::none ? 0 : 16 << static_cast<int>(swizzle);
}

std::string value_text(const LaunchParameter& p) {
  switch (p.kind) {
    case Kind::buffer:
    case Kind::zeros: return fmt::to_string(p.bytes);
    case Kind::int32:
    case Kind::int64: return fmt::to_string(p.integer);
    case Kind::float32: return fmt::to_string(p.number);
    case Kind::map: break;
  }
  return fmt::format("{}:{}:{}:{}:{}", p.buffer, name_of(p.spec.element), sizes_text(p.spec.extent, p.spec.rank),
                     sizes_text(p.spec.box, p.spec.rank), swizzle_bytes(p.spec.swizzle));
}

struct Packer {
  std::vector<std::byte> bytes;
  std::size_t alignment = 1;

  void align(std::size_t to) {
    alignment = std::max(alignment, to);
    bytes.resize((bytes.size() + to - 1) / to * to);
  }
  template <class T> void add(const T& value) {
    align(alignof(T));
    const auto* data = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), data, data + sizeof value);
  }
};

}  // namespace

std::size_t LaunchText::buffers() const {
  return static_cast<std::size_t>(std::count_if(parameters.begin(), parameters.end(), [](const LaunchParameter& p) {
    return p.kind == Kind::buffer || p.kind == Kind::zeros;
  }));
}

Result<LaunchText> parse_launch(const std::string& text, const std::string& argument) {
  LaunchText launch;
  for (const std::string& item : split(text, ',')) WW_CHECK(parse_item(item, argument, launch));
  if (launch.threads == 0) return failure(ErrorCode::invalid, argument, "threads=N", quoted(text));
  for (const LaunchParameter& p : launch.parameters)
    if (p.kind == Kind::map && p.buffer >= launch.buffers())
      return failure(ErrorCode::invalid, argument + ", key map", fmt::format("one of {} buffers", launch.buffers()),
                     fmt::to_string(p.buffer));
  return launch;
}

std::string to_text(const LaunchText& launch) {
  std::string text = fmt::format("grid={},cluster={},threads={},shared={}", launch.grid, launch.cluster, launch.threads,
                                 launch.shared);
  if (launch.cross_cta) text += ",cross=1";
  if (launch.pdl) text += ",pdl=1";
  for (const LaunchParameter& p : launch.parameters)
    for (const Name& name : kNames)
      if (name.kind == p.kind) text += fmt::format(",{}={}", name.key, value_text(p));
  return text;
}

Result<std::vector<std::byte>> pack_parameters(const LaunchText& launch, const std::vector<void*>& pointers,
                                               runtime::Backend& backend) {
  Packer packer;
  std::size_t next = 0;
  for (const LaunchParameter& p : launch.parameters) {
    if (p.kind == Kind::buffer || p.kind == Kind::zeros) packer.add(pointers[next++]);
    else if (p.kind == Kind::int32) packer.add(static_cast<std::int32_t>(p.integer));
    else if (p.kind == Kind::int64) packer.add(p.integer);
    else if (p.kind == Kind::float32) packer.add(p.number);
    else {
      runtime::TensorMapSpec spec = p.spec;
      spec.base = pointers[p.buffer];
      WW_TRY(const arch::TensorMap map, backend.encode(spec));
      packer.add(map);
    }
  }
  packer.align(packer.alignment);
  if (packer.bytes.empty()) packer.bytes.resize(1);  // an empty struct has one byte
  return packer.bytes;
}

}  // namespace ww::campaign
