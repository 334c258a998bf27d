// SPDX-License-Identifier: Apache-2.0
// The builder: what auto fields become, which configs are refused, and that shared memory is laid out without overlap.
#include "warpwright/config/resolve.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/shared_memory.hpp"
#include "warpwright/config/sizes.hpp"

#include <gtest/gtest.h>

#include <string>

#include "config/config_text.hpp"
#include "select/default_configs.hpp"

namespace ww::config {
namespace {

constexpr GemmConfig kBlock{.operands = {.scale = Scale::block_1x128_128x128}};

TEST(ConfigRules, ResolvesEveryAutoField) {
  const GemmConfig c = resolve(kBlock);
  EXPECT_EQ(
      to_text(c),
      "arch=sm90,a=e4m3,b=e4m3,d=bf16,scale=block,tile=128x128x128,cluster=1x1,raster=16,band=m,schedule=cooperative,"
      "stages=5,consumer_warpgroups=2,partial_accumulators=2,tile_scheduler=static,a_source=shared,swap_ab=off,"
      "producer_registers=56,occupancy=1");
  EXPECT_EQ(resolve(c), c);
}

/// A band of tiles has 2048 rows or columns, and no more than 16 tiles.
TEST(ConfigRules, SizesBandsByRowsOfTheTile) {
  const auto width = [](const char* text) { return resolve(*parse_config(text, kBlock)).raster.width; };
  EXPECT_EQ(width("tile=64x128x128,cluster=1x1"), 16);
  EXPECT_EQ(width("tile=128x128x128,cluster=2x1"), 8);
  EXPECT_EQ(width("tile=192x128x128,cluster=1x2"), 10);
  EXPECT_EQ(width("tile=256x128x128,cluster=1x2"), 8);
  EXPECT_EQ(width("tile=256x128x128,cluster=2x1"), 4);
  EXPECT_EQ(width("tile=128x256x128,cluster=1x2,band=n"), 4);
  // What no kernel has is refused later, not here.
  EXPECT_EQ(width("tile=65536x128x64,cluster=65536x1"), 1);
  EXPECT_EQ(width("tile=128x65536x128,cluster=1x65536,band=n"), 1);
}

TEST(ConfigRules, TakesMMajorTf32FromRegisters) {
  const GemmConfig tt = resolve({.operands = {.a = tf32, .b = tf32, .layout = {.a = Major::mn}}});
  EXPECT_TRUE(a_from_registers(tt));
  EXPECT_FALSE(transposes_b(tt));
  const GemmConfig nn = resolve({.operands = {.a = tf32, .b = tf32, .layout = {.b = Major::mn}}});
  EXPECT_FALSE(a_from_registers(nn));
  EXPECT_TRUE(transposes_b(nn));
  for (Major b : {Major::k, Major::mn})
    EXPECT_FALSE(a_from_registers(resolve({.operands = {.a = bf16, .b = bf16, .layout = {.a = Major::mn, .b = b}}})));
  EXPECT_FALSE(fault_of(tt) || fault_of(nn));
  EXPECT_EQ(mn_block(tf32), 32);
  EXPECT_EQ(mn_block(bf16), 64);
}

TEST(ConfigRules, KeepsWhatIsSet) {
  GemmConfig c = kBlock;
  c.tile.m = 64, c.tile.n = 32, c.sm90.stages = 3, c.cluster.m = 2, c.raster.width = 5;
  const GemmConfig r = resolve(c);
  EXPECT_EQ(r.tile.m, 64);
  EXPECT_EQ(r.tile.n, 32);
  EXPECT_EQ(r.sm90.stages, 3);
  EXPECT_EQ(r.cluster.m, 2);
  EXPECT_EQ(r.raster.width, 5);
  EXPECT_EQ(r.sm90.consumer_warpgroups, 1);
}

TEST(ConfigRules, ConsumersClaimTheRegistersThatProducersGiveUp) {
  const auto split = [](const char* text) {
    const GemmConfig c = resolve(*parse_config(text, kBlock));
    EXPECT_FALSE(fault_of(c)) << text;
    const RegisterSplit registers = registers_of(c);
    EXPECT_LE(128 * (registers.producer + c.sm90.consumer_warpgroups * registers.consumer), 65536) << text;
    return std::pair{registers.producer, registers.consumer};
  };
  EXPECT_EQ(split(""), std::pair(56, 224));
  EXPECT_EQ(split("consumer_warpgroups=3"), std::pair(56, 152));
  EXPECT_EQ(split("producer_registers=40"), std::pair(40, 232));
  EXPECT_EQ(split("producer_registers=24"), std::pair(24, 240));
  EXPECT_EQ(split("consumer_warpgroups=3,producer_registers=80"), std::pair(80, 144));
  EXPECT_EQ(split("tile=64x128x128"), std::pair(0, 0)) << "one consumer warpgroup starts with all it may have";
  EXPECT_EQ(split("schedule=multistage,tile=128x64x128"), std::pair(0, 0));
}

TEST(ConfigRules, CountsTheScalesOfBThatATileMeets) {
  for (int tile_n = 8; tile_n <= 256; tile_n += 8) {
    int most = 0;
    for (int tile = 0; tile < 64; ++tile) {
      const int first = tile * tile_n, last = first + tile_n - 1;
      most = max(most, last / kScaleBlock - first / kScaleBlock + 1);
      EXPECT_EQ(first % scale_step(tile_n), 0);
    }
    EXPECT_EQ(scale_blocks(tile_n), most) << tile_n;
    EXPECT_EQ(scale_blocks(tile_n) == 1, kScaleBlock % tile_n == 0) << tile_n;
  }
  EXPECT_EQ(resolve(*parse_config("scale=block,tile=128x160x128")).sm90.stages, 5);  // 37 KB each, 40 KB of D
  EXPECT_EQ(partial_accumulators(resolve(*parse_config("scale=block,tile=128x160x128"))), 1);
  EXPECT_EQ(partial_accumulators(resolve(*parse_config("scale=block,tile=128x128x128"))), 2);
}

struct Refusal {
  const char* text;
  const char* field;
};

/// An MMA may read the columns of scales of N padded to 128, from those of the tile's first row on: they lie within the
/// allocation, and those of rows that exist within the chunk.
TEST(ConfigRules, TensorMemoryHoldsTheScalesThatAnMmaReads) {
  for (const char* types : {"scale=mx,a=e4m3,b=e2m1", "scale=mx,a=e2m1,b=e2m1", "scale=nv,a=e2m1,b=e2m1"})
    for (int n = 32; n <= 256; n += 32) {
      const GemmConfig c =
          resolve(*parse_config(std::string("arch=sm100,") + types + ",tile=128x" + std::to_string(n) + "x0"));
      ASSERT_FALSE(fault_of(c)) << types << ", " << n << ": " << fault_of(c).expected;
      const int of_block = kScaleChunkColumns * scale_blocks(n), chunks = scale_chunks_of_k(c);
      EXPECT_GE(c.sm100.accumulators, 2) << types << ", " << n;  // those that do not fit overlap
      EXPECT_LE(tensor_columns(c), 512) << types << ", " << n;
      const int last_set = accumulator_columns(c) + (kScaleSets - 1) * chunks * (kScaleChunkColumns + of_block);
      for (int first_row = 0; first_row < 8 * n; first_row += n) {
        const int shift = first_row % kScaleChunkRows / 32;
        EXPECT_LE(shift + n / 32, of_block) << types << ", " << n << ", row " << first_row;
        const int first = last_set + chunks * kScaleChunkColumns + (chunks - 1) * of_block + shift;
        EXPECT_LE(first + round_up(n, kScaleChunkRows) / 32, tensor_columns(c))
            << types << ", " << n << ", row " << first_row;
      }
    }
}

TEST(ConfigRules, TensorMemoryHoldsTheScalesOfGatesAndUps) {
  for (const char* types : {"scale=mx,a=e4m3,b=e4m3", "scale=mx,a=e2m1,b=e2m1", "scale=nv,a=e2m1,b=e2m1"})
    for (int n = 64; n <= 256; n += 64) {
      const GemmConfig c = resolve(*parse_config(std::string("arch=sm100,epilogue=swiglu_halves(acc),") + types +
                                                 ",tile=128x" + std::to_string(n) + "x0"));
      ASSERT_FALSE(fault_of(c)) << types << ", " << n << ": " << fault_of(c).expected;
      const int of_load = kScaleChunkColumns * chunk_blocks_of_load(c), all = kScaleChunkColumns * chunk_blocks_of_b(c);
      const int chunks = scale_chunks_of_k(c), set = chunks * (kScaleChunkColumns + all);
      const int ups = accumulator_columns(c) + kScaleSets * set - of_load;  // of the last chunk of the last set
      for (int shift = 0; shift < kScaleChunkColumns; ++shift) {
        EXPECT_LE(shift + n / 64, of_load) << types << ", " << n;
        EXPECT_LE(ups + shift + round_up(n / 2, kScaleChunkRows) / 32, tensor_columns(c)) << types << ", " << n;
      }
    }
}

TEST(ConfigRules, NamesTheFaultyField) {
  for (const Refusal& refusal :
       {Refusal{"a=bf16", "a, b"},
        Refusal{"d=e4m3", "d"},
        Refusal{"consumer_warpgroups=4", "consumer_warpgroups"},
        Refusal{"tile=96x0x0", "tile (m)"},
        Refusal{"tile=128x264x128", "tile (n)"},
        Refusal{"tile=128x12x128", "tile (n)"},
        Refusal{"tile=128x128x64", "tile (k)"},
        Refusal{"cluster=8x1", "cluster"},
        Refusal{"cluster=3x1", "cluster"},
        Refusal{"cluster=4x4x2,tile_scheduler=split-k,split=2", "cluster"},
        Refusal{"tile_scheduler=static,split=4", "split"},
        Refusal{"producer_registers=36", "producer_registers"},
        Refusal{"producer_registers=16", "producer_registers"},
        Refusal{"producer_registers=128", "producer_registers"},
        Refusal{"tile=64x128x128,producer_registers=40", "producer_registers"},
        Refusal{"tile_scheduler=static,cluster=1x1x2", "split"},
        Refusal{"cluster=1x1x2,tile_scheduler=split-k,split=3", "cluster (k)"},
        Refusal{"tile_scheduler=split-k,split=1", "split"},
        Refusal{"tile_scheduler=horizontal", "tile_scheduler"},
        Refusal{"tile=128x8x128,cluster=2x1", "tile (n)"},
        Refusal{"tile=256x256x128", "tile"},
        Refusal{"stages=1", "stages"},
        Refusal{"stages=7,tile=128x128x128", "stages"},
        Refusal{"scale=block,tile=128x256x128", "tile"},
        Refusal{"scale=block,tile=192x136x128", "tile"},
        Refusal{"tile=192x208x128", "tile (n)"},  // ptxas finds no registers for it
        Refusal{"arch=sm100,scale=block,grouping=row-groups,variant=contiguous,tile=128x96x128", "tile (n)"},
        Refusal{"scale=block-1d,grouping=row-groups,variant=contiguous,tile=128x128x128", "scale"},
        Refusal{"scale=block-1d,a=bf16,b=bf16", "scale"},
        Refusal{"scale=mx", "scale"},
        Refusal{"scale=nv", "scale"},
        Refusal{"scale=nv,a=e2m1,b=e2m1", "a"},
        Refusal{"scale=mx,grouping=row-groups,variant=contiguous", "scale"},
        Refusal{"scale=mx,grouping=row-groups,variant=ragged", "scale"},
        Refusal{"scale=mx,swap_ab=on", "scale"},
        Refusal{"a=e2m1", "a"},
        Refusal{"a=e3m2,b=e3m2,grouping=row-groups,variant=ragged", "a"},
        Refusal{"b=e2m3", "b"},
        Refusal{"b=e3m2,grouping=row-groups,variant=contiguous", "b"},
        Refusal{"a=e8m0,b=e8m0", "a"},
        Refusal{"d=e2m1", "d"},
        Refusal{"d=e8m0", "d"},
        Refusal{"scale=block,partial_accumulators=2,tile=128x136x128", "tile"},
        Refusal{"schedule=pingpong,consumer_warpgroups=3", "consumer_warpgroups"},
        Refusal{"schedule=pingpong,tile=192x128x128", "tile (m)"},
        Refusal{"partial_accumulators=1", "partial_accumulators"},
        Refusal{"d_layout=column,grouping=row-groups,variant=contiguous", "d_layout"},
        Refusal{"swap_ab=on,epilogue=swiglu(acc)", "swap_ab"},
        Refusal{"swap_ab=on,d=e4m3,epilogue=quantise(acc)", "swap_ab"},
        Refusal{"swap_ab=on,d=e4m3,epilogue=quantise_block(acc)", "swap_ab"},
        Refusal{"swap_ab=on,grouping=row-groups,variant=contiguous", "swap_ab"},
        Refusal{"swap_ab=on,tile=96x16x0", "tile (m)"},
        Refusal{"swap_ab=on,tile=64x12x0", "tile (n)"},
        Refusal{"swap_ab=on,tile=128x8x0,cluster=2x1", "tile (n)"},
        Refusal{"c_layout=column,epilogue=swiglu(acc)", "c_layout"},
        Refusal{"c_layout=column,swap_ab=on", "swap_ab"},
        Refusal{"scale=block,d=e4m3,epilogue=quantise_block(swiglu(acc))", "scale"},
        Refusal{"d_layout=column,d=e4m3,epilogue=quantise(acc)", "d_layout"},
        Refusal{"scale=block,partial_accumulators=3", "partial_accumulators"},
        Refusal{"scale=block,schedule=multistage,partial_accumulators=2", "partial_accumulators"},
        Refusal{"scale=block,partial_accumulators=2,tile=256x64x128", "partial_accumulators"},
        Refusal{"scale=block,a=bf16,b=bf16", "scale"},
        Refusal{"a=e5m2,b=bf16", "a, b"},
        Refusal{"a=tf32", "a, b"},
        Refusal{"d=e5m2", "d"},
        Refusal{"layout=nn", "layout"},
        Refusal{"a=bf16,b=bf16,layout=nn,tile=128x96x64", "tile (n)"},
        Refusal{"a=tf32,b=tf32,layout=nn,tile=128x72x32", "tile (n)"},
        Refusal{"a=tf32,b=tf32,layout=nn,schedule=multistage", "schedule"},
        Refusal{"a=tf32,b=tf32,layout=tn,schedule=multistage", "schedule"},
        Refusal{"a=tf32,b=tf32,layout=tn,grouping=k-groups", "layout"},
        Refusal{"a=tf32,b=tf32,layout=nn,grouping=k-groups", "layout"},
        Refusal{"a=tf32,b=tf32,layout=nn,grouping=row-groups,variant=contiguous", "layout"},
        Refusal{"a=tf32,b=tf32,layout=tt,a_source=shared", "a_source"},
        Refusal{"a_source=registers,schedule=multistage", "a_source"},
        Refusal{"a_source=registers,grouping=row-groups,variant=contiguous", "a_source"},
        Refusal{"a_source=registers,scale=block,partial_accumulators=2", "partial_accumulators"},
        Refusal{"a_source=registers,tile=128x256x128,consumer_warpgroups=1", "tile"},
        Refusal{"a=tf32,b=tf32,layout=nn,tile=192x256x32", "tile"},
        Refusal{"a=bf16,b=bf16,layout=tt,tile=64x64x64,cluster=1x2", "tile (m)"}}) {
    const Result<GemmConfig> parsed = parse_config(refusal.text);
    ASSERT_TRUE(parsed) << refusal.text;
    const ConfigFault fault = fault_of(resolve(*parsed));
    ASSERT_TRUE(fault) << refusal.text;
    EXPECT_EQ(std::string(fault.field), refusal.field) << refusal.text;
  }
}

TEST(ConfigRules, SharedMemoryIsDisjointAlignedAndFits) {
  for (const GemmConfig& c : select::all_default_configs()) {
    const SharedPlan p = shared_plan(c);
    EXPECT_EQ(p.b, p.a + c.sm90.stages * c.tile.m * 128) << to_text(c);
    EXPECT_EQ(p.d, p.b + c.sm90.stages * c.tile.n * 128) << to_text(c);
    EXPECT_GE(p.scales, p.d + c.tile.m * c.tile.n * bytes_of(c.operands.d)) << to_text(c);
    EXPECT_EQ(p.barriers - p.scales, promotes(c) ? c.sm90.stages * c.tile.m * 4 : 0) << to_text(c);
    EXPECT_EQ(p.a % 1024 | p.b % 1024 | p.d % 1024 | p.a_stage % 1024 | p.b_stage % 1024, 0) << to_text(c);
    EXPECT_LE(p.total, machine_of(c).shared_bytes()) << to_text(c);
  }
}

TEST(DefaultConfigs, AreResolvedAndWithoutFault) {
  const auto all = select::all_default_configs();
  // (e4m3: 3 recipes, others: 2 each) x 3 outputs x 2 tiles, 128x192 for 12 of them, 192x128 for block scales in 2
  EXPECT_EQ(all.size(), 56u);
  for (const GemmConfig& c : all) {
    EXPECT_EQ(resolve(c), c);
    EXPECT_FALSE(fault_of(c)) << to_text(c);
  }
}

TEST(ConfigText, RoundTripsEveryDefaultConfig) {
  for (const GemmConfig& c : select::all_default_configs()) {
    const Result<GemmConfig> parsed = parse_config(to_text(c));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, c) << to_text(c);
  }
}

TEST(ConfigText, RoundTripsOperands) {
  for (const char* text : {"a=e4m3,b=e5m2", "a=tf32,b=tf32,batched=1", "a=bf16,b=bf16,layout=nn",
                           "a=f16,b=f16,layout=tn", "a=f16,b=f16,layout=tt,batched=1",
                           "a=bf16,b=bf16,a_source=registers", "a=bf16,b=bf16,layout=tt,a_source=shared"}) {
    const GemmConfig c = *parse_config(text);
    EXPECT_EQ(*parse_config(to_text(c)), c) << text;
    EXPECT_FALSE(fault_of(resolve(c))) << text;
  }
}

TEST(ConfigText, RoundTripsEverySchedulerField) {
  for (const char* text : {"tile_scheduler=single", "tile_scheduler=static,band=n,raster=3",
                           "tile_scheduler=dynamic,cluster=4x4", "tile_scheduler=stream-k,cluster=2x1",
                           "tile_scheduler=split-k,split=6,cluster=1x2x2", "tile_scheduler=split-k"}) {
    const Result<GemmConfig> parsed = parse_config(text);
    ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
    const GemmConfig resolved = resolve(*parsed);
    EXPECT_FALSE(fault_of(resolved)) << text << ": " << fault_of(resolved).expected;
    EXPECT_EQ(*parse_config(to_text(resolved)), resolved) << to_text(resolved);
  }
}

TEST(ConfigRules, SplitKPrefersTheCluster) {
  const auto cluster_k = [](const char* text) { return resolve(*parse_config(text)).cluster.k; };
  EXPECT_EQ(cluster_k("tile_scheduler=split-k,split=4"), 4);
  EXPECT_EQ(cluster_k("tile_scheduler=split-k,split=4,cluster=2x1"), 4);
  EXPECT_EQ(cluster_k("tile_scheduler=split-k,split=8,cluster=2x1"), 1);  // more than 8 CTAs are not portable
  EXPECT_EQ(cluster_k("tile_scheduler=split-k,split=6"), 1);
  EXPECT_EQ(cluster_k("tile_scheduler=static"), 0);
}

TEST(ConfigText, RefusesByNameAndValue) {
  for (const char* text : {"tile", "tile=128x128", "tile=128x128x128x1", "stages=-1", "stages=70000", "stages=4x",
                           "bogus=1", "a=e5m3", "layout=n", "batched=2", "band=k", "tile_scheduler=streamk",
                           "cluster=1x1x1x1", "scale=row", "arch=sm80", "stages="}) {
    const Result<GemmConfig> parsed = parse_config(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid) << text;
    EXPECT_NE(parsed.error().argument.find("config"), std::string::npos) << text;
    EXPECT_FALSE(parsed.error().expected.empty()) << text;
    EXPECT_FALSE(parsed.error().actual.empty()) << text;
  }
}

}  // namespace
}  // namespace ww::config
