// SPDX-License-Identifier: Apache-2.0
// One function for each kind of value. Precedence of a type or size: flag, file, config text, default.
#include "cli/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>

#include "config/config_text.hpp"

namespace ww::cli {

Result<int> parse_choice(const Flag& flag, const std::string& argument, std::initializer_list<const char*> names,
                         int otherwise) {
  if (!flag) return otherwise;
  int index = 0;
  std::string expected;
  for (const char* name : names) {
    if (*flag == name) return index;
    expected += fmt::format("{}{}",
                            index == 0                                    ? ""
                            : index + 1 == static_cast<int>(names.size()) ? " or "
                                                                          : ", ",
                            name);
    ++index;
  }
  return failure(ErrorCode::invalid, argument, expected, quoted(*flag));
}

namespace {

Result<std::optional<DType>> parse_type(const Flag& flag, const std::string& argument,
                                        std::initializer_list<DType> types) {
  if (!flag) return std::nullopt;
  std::string expected;
  for (DType type : types) {
    if (*flag == name_of(type)) return type;
    expected += fmt::format("{}{}", expected.empty() ? "" : ", ", name_of(type));
  }
  return failure(ErrorCode::invalid, argument, "one of " + expected, quoted(*flag));
}

/// A config text with the fields that it names itself; the rest of the aggregate is not to be read.
struct ConfigText {
  GemmConfig config;
  std::optional<Arch> arch;
  std::optional<DType> a, b, d;
  std::optional<Scale> scale;
};

Result<ConfigText> parse_config_flag(const Flag& flag) {
  ConfigText text;
  if (!flag) return text;
  // The text is parsed over two bases, because a field that comes out the same from both was in the text.
  const auto parse = [&](GemmConfig base) -> Result<GemmConfig> {
    Result<GemmConfig> config = parse_config(*flag, base);
    if (config) return config;
    const Error& e = config.error();
    return failure(e.code, "--" + e.argument, e.expected, e.actual);
  };
  WW_TRY(text.config,
         parse({.operands = {.a = DType::e4m3, .b = DType::e4m3, .d = DType::bf16, .scale = Scale::none}}));
  WW_TRY(const GemmConfig other,
         parse({.arch = Arch::sm100,
                .operands = {.a = DType::f16, .b = DType::f16, .d = DType::f32, .scale = Scale::tensor}}));
  if (text.config.arch == other.arch) text.arch = other.arch;
  if (text.config.operands.a == other.operands.a) text.a = other.operands.a;
  if (text.config.operands.b == other.operands.b) text.b = other.operands.b;
  if (text.config.operands.d == other.operands.d) text.d = other.operands.d;
  if (text.config.operands.scale == other.operands.scale) text.scale = other.operands.scale;
  return text;
}

template <class T> Result<void> agree(const char* key, const std::optional<T>& in_config, T chosen) {
  if (!in_config || *in_config == chosen) return {};
  return failure(ErrorCode::invalid, fmt::format("--config, key {}", key), name_of(chosen), name_of(*in_config),
                 "the flags and files decide types and scale");
}

Result<void> resolve_types(const Flags& flags, const ConfigText& text, Request& request) {
  Types& t = request.types;
  const auto types = {DType::e4m3, DType::e5m2, DType::bf16, DType::f16,
                      DType::tf32, DType::e2m1, DType::e3m2, DType::e2m3};
  WW_TRY(std::optional<DType> type, parse_type(flags.dtype, "--dtype", types));
  WW_TRY(std::optional<DType> of_b, parse_type(flags.b_dtype, "--b-dtype", types));
  if (!type && !request.a && (!request.b || of_b)) type = text.a;
  if (request.a) {
    WW_TRY(type, element_type(*request.a, type));
  }
  if (request.b) {
    // B need not have the type of A: 8-bit items without a type, and files that say so, may be the other FP8 type.
    const bool mixed = !of_b && request.b->kind == ElementKind::e5m2;
    WW_TRY(of_b, element_type(*request.b, of_b ? of_b : mixed ? std::nullopt : type));
    if (!type) type = of_b;
  } else if (!of_b && text.b && !flags.dtype && !request.a) {
    of_b = text.b;
  }
  t.ab = type.value_or(DType::e4m3);
  t.b = of_b.value_or(t.ab);
  if (t.ab == DType::f32)
    return failure(ErrorCode::invalid,
                   request.a   ? "--a"
                   : request.b ? "--b"
                               : "--config, key a",
                   "e4m3, e5m2, bf16, f16, e2m1, e3m2, e2m3, or f32 with --dtype tf32", "f32");
  WW_TRY(const std::optional<DType> out,
         parse_type(flags.out_dtype, "--out-dtype",
                    {DType::bf16, DType::f16, DType::f32, DType::e4m3, DType::e5m2, DType::e2m1}));
  t.d = out ? *out : text.d.value_or(DType::bf16);
  const Scale usual = is_packed(t.ab) || is_packed(t.b) ? Scale::mx
                      : is_fp8(t.ab)                    ? Scale::block_1x128_128x128
                                                        : Scale::none;
  constexpr Scale kScales[] = {
      Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128, Scale::block_1x128_1x128,
      Scale::mx,   Scale::nv};
  WW_TRY(const int scale,
         parse_choice(flags.scale, "--scale", {"none", "tensor", "row-column", "block", "block-1d", "mx", "nv"}, -1));
  t.scale = scale >= 0 ? kScales[scale] : text.scale.value_or(usual);
  WW_CHECK(agree("a", text.a, t.ab));
  WW_CHECK(agree("b", text.b, t.b));
  WW_CHECK(agree("d", text.d, t.d));
  return agree("scale", text.scale, t.scale);
}

/// Sets the fields of the config that have flags, as their texts in --config would. `auto` leaves a field as it is:
/// what --config says of it, or open.
Result<void> resolve_fields(const Flags& flags, GemmConfig& config) {
  for (const auto& [key, flag] : flags.fields) {
    if (!flag || *flag == "auto") continue;
    // K of a tile may be left out: it follows from the type, or is that of --config.
    const bool two = key == "tile" && std::count(flag->begin(), flag->end(), 'x') == 1;
    const std::string value = two ? fmt::format("{}x{}", *flag, config.tile.k) : *flag;
    Result<GemmConfig> parsed = parse_config(fmt::format("{}={}", key, value), config);
    if (!parsed) {
      const Error& e = parsed.error();
      return failure(e.code, e.argument, e.expected, quoted(*flag));
    }
    config = *parsed;
  }
  return {};
}

Result<void> resolve_execution(const Flags& flags, Request& request) {
  request.device = flags.device.value_or("auto");
  if (request.device.empty()) return failure(ErrorCode::invalid, "--device", accepted_devices(), quoted(""));
  request.device_options.tuning = flags.tuning.value_or("");
  EmuOptions& emu = request.device_options.emu;
  if (flags.seed) {
    WW_TRY(const std::int64_t seed, parse_integer(*flags.seed, "--seed", 0));
    request.seed = emu.seed = static_cast<std::uint64_t>(seed);
  }
  if (flags.sms) {
    WW_TRY(const std::int64_t sms, parse_integer(*flags.sms, "--sms", 1, 65536));
    request.options.sms = emu.sms = static_cast<int>(sms);
  }
  if (flags.threads) {
    WW_TRY(const std::int64_t threads, parse_integer(*flags.threads, "--threads", 1, 4096));
    emu.threads = static_cast<int>(threads);
  }
  WW_TRY(const int math, parse_choice(flags.math, "--math", {"exact", "fp32"}, 0));
  emu.math = math == 0 ? EmuMath::exact : EmuMath::fp32_chain;
  WW_TRY(const int schedule, parse_emu_schedule(flags.emu_schedule, 1));
  emu.schedule = static_cast<EmuSchedule>(schedule);
  return {};
}

}  // namespace

Result<std::optional<ArrayFile>> open_operand(const Flag& flag, const std::string& argument) {
  if (!flag || *flag == kGenerated) return std::nullopt;
  WW_TRY(ArrayFile array, open_array(*flag, argument));
  return array;
}

Result<void> expect_shape(const std::optional<ArrayFile>& array, std::vector<std::int64_t> shape, const char* meaning) {
  if (!array || array->shape == shape) return {};
  return failure(ErrorCode::invalid, array->file.argument(), fmt::format("shape {} = {}", meaning, shape_text(shape)),
                 shape_text(array->shape), "file " + printable(array->file.path()));
}

Result<int> parse_emu_schedule(const Flag& flag, int otherwise) {
  return parse_choice(flag, "--emu-schedule", {"fifo", "random", "pct", "adversarial"}, otherwise);
}

/// A size from its flag, else from the first file that has it, else the default; all that are given must agree.
Result<std::int64_t> resolve_size(const Flag& flag, const std::string& argument, std::optional<std::int64_t> file,
                                  std::int64_t otherwise) {
  if (!flag) return file.value_or(otherwise);
  WW_TRY(const std::int64_t size, parse_integer(*flag, argument, 0));
  if (file && *file != size)
    return failure(ErrorCode::invalid, argument, fmt::format("{} as in the file", *file), fmt::format("{}", size));
  return size;
}

Result<void> expect_bytes(const char* argument, std::vector<std::int64_t> shape, int element_bytes,
                          const char* of_first) {
  if (checked_elements(shape, element_bytes)) return {};
  if (of_first && checked_elements({shape.begin() + 1, shape.end()}, element_bytes)) argument = of_first;
  return failure(ErrorCode::invalid, argument, "sizes whose bytes fit 63 bits",
                 fmt::format("{} elements of {} bytes", shape_text(shape), element_bytes));
}

Result<std::int64_t> operand_row(std::int64_t k, DType type) {
  const std::int64_t step = is_packed(type) ? row_multiple(DType::e3m2) : row_multiple(type);
  if (k <= INT64_MAX - step) return (k + step - 1) / step * step;
  return failure(ErrorCode::invalid, "--k", "a size whose bytes fit 63 bits", fmt::format("{}", k));
}

Result<void> check_scale_files(const Flags& flags, const Request& request) {
  for (const auto& [flag, argument, array] : {std::tuple{&flags.scale_a, "--scale-a", &request.scale_a},
                                              std::tuple{&flags.scale_b, "--scale-b", &request.scale_b}}) {
    if (*flag && request.types.scale == Scale::none)
      return failure(ErrorCode::invalid, argument, "--scale tensor, row-column, block, block-1d, mx or nv with it",
                     "--scale none");
    const Scale scale = request.types.scale;
    if (*array && is_microscaled(scale)) {
      const ElementKind kind = (*array)->kind;
      if (kind != ElementKind::raw8 && !(scale == Scale::nv && kind == ElementKind::e4m3))
        return failure(ErrorCode::invalid, argument,
                       scale == Scale::mx ? "bytes of e8m0, 2^(byte - 127)" : "e4m3 elements", name_of(kind));
      continue;
    }
    if (*array && (*array)->kind != ElementKind::f32)
      return failure(ErrorCode::invalid, argument, "float32 elements", name_of((*array)->kind));
  }
  return {};
}

std::string sources_text(const Request& request) {
  std::string text;
  for (const auto& [name, source] : request.sources)
    text += fmt::format("{} {} {}", text.empty() ? "  operands  " : ",", name, source);
  return text.empty() ? text : text + "\n";
}

Result<void> check_config_agrees(const Flags& flags, const GemmConfig& chosen) {
  if (!flags.config) return {};
  WW_TRY(const GemmConfig text, parse_config(*flags.config));
  for (const ConfigFlag& row : config_flags()) {
    const std::string given = text_of(flags, row.flag);
    // A resolved config of groups names its grouping, and leaves out the layout nt.
    const bool named = names_key(*flags.config, row.key) ||
                       (std::string_view(row.key) == "layout" && names_key(*flags.config, "grouping"));
    if (given.empty() || !named) continue;
    const std::string in_config = field_text(text, row.key), in_flags = field_text(chosen, row.key);
    if (in_config != in_flags)
      return failure(ErrorCode::invalid, row.flag, fmt::format("{}={} as in --config", row.key, in_config),
                     quoted(given));
  }
  return {};
}

Result<void> check_grouping(const Flags& flags, const GemmConfig& config, Grouping grouping, const char* of) {
  if (!flags.config || !names_key(*flags.config, "grouping") || config.grouping == grouping) return {};
  return failure(ErrorCode::unsupported, "--config, key grouping", fmt::format("{} for {}", name_of(grouping), of),
                 name_of(config.grouping));
}

Result<void> check_batched(const Flags& flags, const GemmConfig& config, bool batched, const char* of_batch) {
  if (!flags.config || !names_key(*flags.config, "batched") || config.operands.batched == batched) return {};
  return failure(ErrorCode::invalid, "--config, key batched",
                 batched ? fmt::format("1 for {}", of_batch) : std::string("0 for one product"), batched ? "0" : "1");
}

Result<void> resolve_split(const Flags& flags, std::int64_t most, GemmConfig& config) {
  if (!flags.split) return {};
  WW_TRY(const std::int64_t split, parse_integer(*flags.split, "--split", 2, most));
  config.sm90.split = static_cast<int>(split);
  if (!flags.tile_scheduler && config.sm90.tile_scheduler == TileScheduler::automatic)
    config.sm90.tile_scheduler = TileScheduler::split_k;
  if (config.sm90.tile_scheduler != TileScheduler::split_k)
    return failure(ErrorCode::invalid, "--split", "--tile-scheduler split-k with it",
                   quoted(name_of(config.sm90.tile_scheduler)));
  return {};
}

std::optional<Arch> emulated_arch(std::string_view device) {
  for (int i = 0; i < kArchs; ++i)
    if (const auto arch = static_cast<Arch>(i); device == machine_of(arch).emulated_device) return arch;
  return std::nullopt;
}

Result<void> resolve_request(const Flags& flags, Request& request) {
  WW_CHECK(resolve_execution(flags, request));
  WW_TRY(const ConfigText text, parse_config_flag(flags.config));
  WW_TRY(request.a, open_operand(flags.a, "--a"));
  WW_TRY(request.b, open_operand(flags.b, "--b"));
  WW_TRY(request.scale_a, open_operand(flags.scale_a, "--scale-a"));
  WW_TRY(request.scale_b, open_operand(flags.scale_b, "--scale-b"));
  WW_CHECK(resolve_types(flags, text, request));
  const Types& t = request.types;
  request.options.config = text.config;
  const std::optional<Arch> device = emulated_arch(request.device);
  if (!text.arch) request.options.config.arch = device.value_or(kDefaultArch);
  else if (device) WW_CHECK(check_arch(text.config, *device));
  request.options.config.operands.a = t.ab, request.options.config.operands.b = t.b;
  request.options.config.operands.d = t.d, request.options.config.operands.scale = t.scale;
  WW_CHECK(resolve_fields(flags, request.options.config));
  request.options.batch_invariant = flags.batch_invariant;
  if (flags.out) {
    WW_CHECK(check_writable(*flags.out, "--out"));
    request.out = flags.out;
  }
  return {};
}

}  // namespace ww::cli
