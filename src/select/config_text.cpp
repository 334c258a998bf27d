// SPDX-License-Identifier: Apache-2.0
// Prints and parses GemmConfig. Every field of the aggregate appears exactly once in kKeys.
#include "select/config_text.hpp"

#include <fmt/format.h>

#include <charconv>
#include <vector>

#include "warpwright/host/epilogue.hpp"

namespace ww {
namespace {

constexpr std::string_view kKeys =
    "arch, a, b, d, scale, tile, cluster, stages, warpgroups, raster, batched, layout, a_source, d_layout, c_layout, "
    "swap_ab, schedule, promotion, mechanism, order, band, split, groups, pointers, ctas_per_sm, epilogue_n, fixed_n, "
    "fixed_k, epilogue";
constexpr int kLargestField = 1 << 16;
constexpr int kLargestFixed = 1 << 30;  // of an extent

/// The first comma outside parentheses.
std::size_t end_of_item(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (text[i] == ',' && depth <= 0) return i;
  }
  return text.size();
}

/// "128x64" into `count` integers.
Result<std::vector<int>> parse_integers(std::string_view key, std::string_view text, int count,
                                        int most = kLargestField) {
  std::vector<int> values;
  std::string_view rest = text;
  for (int i = 0; i < count; ++i) {
    int value = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const bool last = i + 1 == count;
    const std::size_t used = static_cast<std::size_t>(end - rest.data());
    const bool terminated = last ? used == rest.size() : used < rest.size() && rest[used] == 'x';
    if (status != std::errc{} || !terminated || value < 0 || value > most)
      return failure(ErrorCode::invalid, fmt::format("config, key {}", key),
                     count == 1 ? fmt::format("an integer from 0 (auto) to {}", most)
                                : fmt::format("{} integers from 0 (auto) to {} joined by x", count, most),
                     fmt::format("\"{}\"", text));
    values.push_back(value);
    rest.remove_prefix(last ? used : used + 1);
  }
  return values;
}

Result<void> assign(GemmConfig& config, std::string_view key, std::string_view value) {
  const std::string argument = fmt::format("config, key {}", key);
  if (key == "arch") {
    if (value != "sm90") return failure(ErrorCode::invalid, argument, "sm90", fmt::format("\"{}\"", value));
  } else if (key == "a" || key == "b" || key == "d") {
    WW_TRY((key == "a" ? config.a : key == "b" ? config.b : config.d), parse_dtype(value, argument));
  } else if (key == "scale") {
    WW_TRY(config.scale, parse_scale(value, argument));
  } else if (key == "tile") {
    WW_TRY(const std::vector<int> tile, parse_integers(key, value, 3));
    config.tile_m = tile[0], config.tile_n = tile[1], config.tile_k = tile[2];
  } else if (key == "cluster") {
    const int extents = std::count(value.begin(), value.end(), 'x') == 2 ? 3 : 2;
    WW_TRY(const std::vector<int> cluster, parse_integers(key, value, extents));
    config.cluster_m = cluster[0], config.cluster_n = cluster[1];
    config.cluster_k = extents == 3 ? cluster[2] : 0;
  } else if (key == "stages" || key == "warpgroups" || key == "raster" || key == "split" || key == "epilogue_n" ||
             key == "ctas_per_sm") {
    WW_TRY(const std::vector<int> one, parse_integers(key, value, 1));
    (key == "stages"        ? config.stages
     : key == "warpgroups"  ? config.math_warpgroups
     : key == "raster"      ? config.raster
     : key == "epilogue_n"  ? config.epilogue_n
     : key == "ctas_per_sm" ? config.ctas_per_sm
                            : config.split) = one[0];
  } else if (key == "band") {
    if (value != "m" && value != "n")
      return failure(ErrorCode::invalid, argument, "m or n", fmt::format("\"{}\"", value));
    config.band = value == "m" ? RasterBand::along_m : RasterBand::along_n;
  } else if (key == "batched" || key == "pointers") {
    if (value != "0" && value != "1")
      return failure(ErrorCode::invalid, argument, "0 or 1", fmt::format("\"{}\"", value));
    (key == "batched" ? config.batched : config.pointer_array) = value == "1";
  } else if (key == "fixed_n" || key == "fixed_k") {
    WW_TRY(const std::vector<int> one, parse_integers(key, value, 1, kLargestFixed));
    (key == "fixed_n" ? config.fixed_n : config.fixed_k) = one[0];
  } else if (key == "layout") {
    WW_TRY(const MatrixLayout layout, parse_layout(value, argument));
    config.a_major = layout.a, config.b_major = layout.b;
  } else if (key == "a_source") {
    WW_TRY(config.a_source, parse_operand_source(value, argument));
  } else if (key == "d_layout" || key == "c_layout") {
    if (value != "row" && value != "column")
      return failure(ErrorCode::invalid, argument, "row or column", fmt::format("\"{}\"", value));
    (key == "d_layout" ? config.d_layout : config.c_layout) = value == "row" ? OutputLayout::row : OutputLayout::column;
  } else if (key == "swap_ab") {
    if (value != "auto" && value != "on" && value != "off")
      return failure(ErrorCode::invalid, argument, "auto, on or off", fmt::format("\"{}\"", value));
    config.swap_ab = value == "auto" ? SwapAb::automatic : value == "on" ? SwapAb::on : SwapAb::off;
  } else if (key == "schedule") {
    WW_TRY(config.schedule, parse_schedule(value, argument));
  } else if (key == "promotion") {
    WW_TRY(const std::vector<int> one, parse_integers(key, value, 1));
    config.promotion = one[0];
  } else if (key == "mechanism") {
    WW_TRY(config.mechanism, parse_mechanism(value, argument));
  } else if (key == "order") {
    WW_TRY(config.order, parse_order(value, argument));
  } else if (key == "groups") {
    WW_TRY(const std::vector<int> one, parse_integers(key, value, 1));
    config.group_capacity = one[0];
  } else if (key == "epilogue") {
    WW_TRY(config.epilogue, parse_epilogue(value));
  } else {
    return failure(ErrorCode::invalid, "config", fmt::format("keys {}", kKeys), fmt::format("\"{}\"", key));
  }
  return {};
}

}  // namespace

std::string to_text(const GemmConfig& c) {
  std::string text =
      fmt::format("arch={},a={},b={},d={},scale={},tile={}x{}x{},cluster={}x{}{},stages={},warpgroups={},raster={}",
                  name_of(c.arch), name_of(c.a), name_of(c.b), name_of(c.d), name_of(c.scale), c.tile_m, c.tile_n,
                  c.tile_k, c.cluster_m, c.cluster_n, c.cluster_k == 0 ? "" : fmt::format("x{}", c.cluster_k), c.stages,
                  c.math_warpgroups, c.raster);
  if (c.band != RasterBand::along_m) text += fmt::format(",band={}", name_of(c.band));
  if (c.batched) text += ",batched=1";
  if (c.a_major != Major::k || c.b_major != Major::k)
    text += fmt::format(",layout={}", name_of(MatrixLayout{c.a_major, c.b_major}));
  if (c.a_source != OperandSource::automatic) text += fmt::format(",a_source={}", name_of(c.a_source));
  if (c.d_layout != OutputLayout::row) text += fmt::format(",d_layout={}", name_of(c.d_layout));
  if (c.c_layout != OutputLayout::row) text += fmt::format(",c_layout={}", name_of(c.c_layout));
  if (c.swap_ab != SwapAb::automatic) text += fmt::format(",swap_ab={}", name_of(c.swap_ab));
  if (c.schedule != Schedule::automatic) text += fmt::format(",schedule={}", name_of(c.schedule));
  if (c.promotion != 0) text += fmt::format(",promotion={}", c.promotion);
  // why not always: a dense config says nothing about groups, and its text names its kernel
  if (c.mechanism != Mechanism::dense) text += fmt::format(",mechanism={}", name_of(c.mechanism));
  if (c.order != TileOrder::automatic) text += fmt::format(",order={}", name_of(c.order));
  if (c.split != 0) text += fmt::format(",split={}", c.split);
  if (c.group_capacity != 0) text += fmt::format(",groups={}", c.group_capacity);
  if (c.pointer_array) text += ",pointers=1";
  if (c.ctas_per_sm != 0) text += fmt::format(",ctas_per_sm={}", c.ctas_per_sm);
  if (c.epilogue_n != 0) text += fmt::format(",epilogue_n={}", c.epilogue_n);
  if (c.fixed_n != 0) text += fmt::format(",fixed_n={}", c.fixed_n);
  if (c.fixed_k != 0) text += fmt::format(",fixed_k={}", c.fixed_k);
  if (!c.epilogue.empty()) text += fmt::format(",epilogue={}", to_text(c.epilogue));
  return text;
}

std::string field_text(const GemmConfig& c, std::string_view field) {
  if (field == "a, b") return fmt::format("{}, {}", name_of(c.a), name_of(c.b));
  if (field == "d") return name_of(c.d);
  if (field == "d_layout") return name_of(c.d_layout);
  if (field == "c_layout") return name_of(c.c_layout);
  if (field == "swap_ab") return name_of(c.swap_ab);
  if (field == "scale") return name_of(c.scale);
  if (field == "layout") return name_of(MatrixLayout{c.a_major, c.b_major});
  if (field == "a_source") return name_of(c.a_source);
  if (field == "tile") return fmt::format("{}x{}x{}", c.tile_m, c.tile_n, c.tile_k);
  if (field == "tile (m)") return fmt::format("{}", c.tile_m);
  if (field == "tile (n)") return fmt::format("{}", c.tile_n);
  if (field == "tile (k)") return fmt::format("{}", c.tile_k);
  if (field == "cluster")
    return fmt::format("{}x{}{}", c.cluster_m, c.cluster_n, c.cluster_k > 1 ? fmt::format("x{}", c.cluster_k) : "");
  if (field == "cluster (k)") return fmt::format("{}", c.cluster_k);
  if (field == "stages") return fmt::format("{}", c.stages);
  if (field == "warpgroups") return fmt::format("{}", c.math_warpgroups);
  if (field == "schedule") return name_of(c.schedule);
  if (field == "promotion") return fmt::format("{}", c.promotion);
  if (field == "order") return name_of(c.order);
  if (field == "split") return fmt::format("{}", c.split);
  if (field == "raster") return fmt::format("{}", c.raster);
  if (field == "ctas_per_sm") return fmt::format("{}", c.ctas_per_sm);
  if (field == "epilogue_n") return fmt::format("{}", c.epilogue_n);
  if (field == "fixed_n") return fmt::format("{}", c.fixed_n);
  if (field == "fixed_k") return fmt::format("{}", c.fixed_k);
  if (field == "pointers") return c.pointer_array ? "1" : "0";
  if (field == "epilogue") return fmt::format("\"{}\"", to_text(c.epilogue));
  return to_text(c);
}

Result<GemmConfig> parse_config(std::string_view text, GemmConfig base) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, end_of_item(text));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return failure(ErrorCode::invalid, "config", "key=value pairs joined by commas", fmt::format("\"{}\"", item));
    WW_CHECK(assign(base, item.substr(0, equals), item.substr(equals + 1)));
  }
  return base;
}

Result<DType> parse_dtype(std::string_view text, std::string_view argument) {
  for (DType type : {e4m3, e5m2, bf16, f16, tf32, f32})
    if (text == name_of(type)) return type;
  return failure(ErrorCode::invalid, std::string(argument), "e4m3, e5m2, bf16, f16, tf32 or f32",
                 fmt::format("\"{}\"", text));
}

Result<Scale> parse_scale(std::string_view text, std::string_view argument) {
  // why the last: the text of a kernel under swap-AB is a config as well; ops refuse a problem that has it
  for (Scale scale : {Scale::none, Scale::tensor, Scale::row_column, Scale::block_1x128_128x128,
                      Scale::block_1x128_1x128, Scale::block_128x128_1x128})
    if (text == name_of(scale)) return scale;
  return failure(ErrorCode::invalid, std::string(argument), "none, tensor, row-column, block or block-1d",
                 fmt::format("\"{}\"", text));
}

const char* name_of(MatrixLayout layout) {
  const bool a = layout.a == Major::mn, b = layout.b == Major::mn;
  return a ? (b ? "tn" : "tt") : b ? "nn" : "nt";
}

Result<MatrixLayout> parse_layout(std::string_view text, std::string_view argument) {
  for (Major a : {Major::k, Major::mn})
    for (Major b : {Major::k, Major::mn})
      if (text == name_of(MatrixLayout{a, b})) return MatrixLayout{a, b};
  return failure(ErrorCode::invalid, std::string(argument), "nt, nn, tn or tt", fmt::format("\"{}\"", text));
}

Result<OperandSource> parse_operand_source(std::string_view text, std::string_view argument) {
  for (OperandSource s : {OperandSource::automatic, OperandSource::shared, OperandSource::registers})
    if (text == name_of(s)) return s;
  return failure(ErrorCode::invalid, std::string(argument), "auto, shared or registers", fmt::format("\"{}\"", text));
}

Result<Mechanism> parse_mechanism(std::string_view text, std::string_view argument) {
  for (Mechanism m : {Mechanism::dense, Mechanism::contiguous, Mechanism::masked, Mechanism::descriptors,
                      Mechanism::ragged, Mechanism::k_grouped})
    if (text == name_of(m)) return m;
  return failure(ErrorCode::invalid, std::string(argument),
                 "dense, contiguous, masked, descriptors, ragged or k-grouped", fmt::format("\"{}\"", text));
}

Result<Schedule> parse_schedule(std::string_view text, std::string_view argument) {
  for (Schedule s : {Schedule::automatic, Schedule::cooperative, Schedule::pingpong, Schedule::multistage})
    if (text == name_of(s)) return s;
  return failure(ErrorCode::invalid, std::string(argument), "auto, cooperative, pingpong or multistage",
                 fmt::format("\"{}\"", text));
}

Result<TileOrder> parse_order(std::string_view text, std::string_view argument) {
  for (TileOrder o : {TileOrder::automatic, TileOrder::single, TileOrder::fixed, TileOrder::dynamic,
                      TileOrder::stream_k, TileOrder::split_k, TileOrder::horizontal, TileOrder::vertical})
    if (text == name_of(o)) return o;
  return failure(ErrorCode::invalid, std::string(argument),
                 "auto, single, static, dynamic, stream-k, split-k, horizontal or vertical",
                 fmt::format("\"{}\"", text));
}

}  // namespace ww
