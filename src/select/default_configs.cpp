// SPDX-License-Identifier: Apache-2.0
// First-order choice on an emulated device: waves of tiles times the cost of one tile.
//   cost = ceil(tiles / SMs) * (tile_m * tile_n / efficiency + start)
// `efficiency` is the share of the tensor peak that the tile's shared-memory traffic allows (docs/selection.md).
#include "select/default_configs.hpp"

#include <algorithm>
#include <iterator>

#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/sizes.hpp"
#include "warpwright/config/swap_ab.hpp"

namespace ww::select {
namespace {

struct TileShape {
  int tile_m, tile_n, cluster_m;
  double efficiency;
  bool pair = false;  // sm_100
};

constexpr TileShape kWide{128, 256, 2, 0.95};  // shared-memory traffic would allow 1.0; three stages hide less
constexpr TileShape kMiddle{128, 192, 2, 0.98};
constexpr TileShape kTall{192, 128, 1, 0.9};  // three consumer warpgroups: two multiply while one promotes
constexpr TileShape kSquare{128, 128, 2, 0.8};
constexpr TileShape kSmall{64, 64, 1, 0.45};
// sm_100, unmeasured: a pair reads half as much of B, and one CTA of 64 rows multiplies at half the rate.
constexpr TileShape kWidePair{128, 256, 2, 1.0, true};
constexpr TileShape kSquarePair{128, 128, 2, 0.9, true};
constexpr TileShape kSquareAlone{128, 128, 1, 0.8};
constexpr TileShape kWideAlone{128, 256, 1, 0.9};  // for outputs that only so many columns of one CTA can make
constexpr double kTileStart = 2000;                // prologue and epilogue of a tile, in outputs

GemmConfig with_shape(GemmConfig config, const TileShape& shape) {
  config.tile.m = shape.tile_m;
  config.tile.n = shape.tile_n;
  config.cluster.m = shape.cluster_m;
  config.cluster.n = 1;
  if (shape.pair) config.sm100.pair = true;
  return config::resolve(config);
}

std::vector<TileShape> shapes_for(Arch arch, DType d, Scale scale) {
  if (arch == Arch::sm100) {
    if (d == DType::f32 || is_block(scale)) return {kSquarePair, kSquareAlone, kSmall};
    return {kWidePair, kSquarePair, kSquareAlone, kSmall};
  }
  // 256 columns are too wide here: promotion needs those registers, and FP32 outputs that shared memory.
  if (d == DType::f32) return {kSquare, kSmall};
  if (is_block(scale)) return {kTall, kSquare, kSmall};
  return {kWide, kMiddle, kSmall};
}

/// Returns those of `shapes` whose tile fits the epilogue and layout of a product of `n` columns. If none does, returns
/// the wide tile of one CTA where that fits on Blackwell, otherwise all of them.
std::vector<TileShape> shapes_that_fit(const GemmConfig& config, const std::vector<TileShape>& shapes, i64 n) {
  const auto fits = [&](const TileShape& shape) {
    const GemmConfig made = with_shape(config, shape);
    return !config::fault_of(made) && config::fits_halves(made, n);
  };
  std::vector<TileShape> fit;
  std::copy_if(shapes.begin(), shapes.end(), std::back_inserter(fit), fits);
  if (!fit.empty()) return fit;
  return config::is_sm100(config) && fits(kWideAlone) ? std::vector{kWideAlone} : shapes;
}

double cost(const GemmProblem& problem, const TileShape& shape, int sms) {
  const auto tiles_m = ceil_div(ceil_div(problem.m, shape.tile_m), shape.cluster_m) * shape.cluster_m;
  const auto tiles = static_cast<double>(tiles_m) * static_cast<double>(ceil_div(problem.n, shape.tile_n)) *
                     static_cast<double>(problem.batch);
  const double waves = static_cast<double>(static_cast<std::int64_t>(tiles + sms - 1) / sms);
  return waves * (shape.tile_m * shape.tile_n / shape.efficiency + kTileStart);
}

}  // namespace

std::vector<GemmConfig> default_configs(DType a, DType d, Scale scale) {
  std::vector<GemmConfig> configs;
  for (const TileShape& shape : shapes_for(kDefaultArch, d, scale)) {
    const GemmConfig config = with_shape({.operands = {.a = a, .b = a, .d = d, .scale = scale}}, shape);
    if (!config::fault_of(config)) configs.push_back(config);
  }
  return configs;
}

std::vector<GemmConfig> all_default_configs() {
  std::vector<GemmConfig> all;
  for (DType a : {e4m3, bf16, f16})
    for (Scale scale : {Scale::none, Scale::tensor, Scale::block_1x128_128x128})
      for (DType d : {bf16, f16, f32})
        for (const GemmConfig& config : default_configs(a, d, scale)) all.push_back(config);
  return all;
}

GemmConfig choose_default(const GemmProblem& problem, const GemmConfig& requested, int sms) {
  GemmConfig config = requested;
  if (config::swaps(config)) {  // only on request: 128 rows of B, and as few rows of A as there are
    if (config.tile.m == 0 && config.sm90.consumer_warpgroups == 0) config.tile.m = problem.n <= 64 ? 64 : 128;
    if (config.tile.n == 0)
      config.tile.n =
          static_cast<int>(min<std::int64_t>(64, round_up<std::int64_t>(max<std::int64_t>(problem.m, 8), 8)));
    return config::resolve(config);
  }
  const bool shaped = config.tile.m || config.tile.n || config.tile.k || config.cluster.m || config.cluster.n ||
                      config.sm90.stages || config.sm90.consumer_warpgroups || config.sm90.partial_accumulators ||
                      config.sm90.schedule != Schedule::automatic || config.sm100 != Sm100Schedule{};
  if (shaped) return config::resolve(config);

  std::vector<TileShape> shapes = shapes_for(config.arch, problem.d, problem.scale);
  if (!config.epilogue.empty() || config.operands.layout != MatrixLayout{})
    shapes = shapes_that_fit(config, shapes, problem.n);
  const TileShape* best = &shapes.front();
  for (const TileShape& shape : shapes)
    if (!config::fault_of(with_shape(config, shape)) && cost(problem, shape, sms) < cost(problem, *best, sms))
      best = &shape;
  return with_shape(config, *best);
}

}  // namespace ww::select
