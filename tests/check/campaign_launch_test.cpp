// SPDX-License-Identifier: Apache-2.0
// The launch grammar of `warpwright check --source`: there and back, refusals, and the bytes of the parameter struct.
#include "check/launch.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace ww::campaign {
namespace {

TEST(CheckLaunch, TextComesBack) {
  const char* text =
      "grid=8,cluster=2,threads=384,shared=65536,cross=1,pdl=1,buffer=4096,zeros=16,kept=32,unset=64,int=-7,long="
      "9000000000,"
      "float=0.25,map=0:bf16:64x32:64x8:128";
  const Result<CheckLaunch> launch = parse_check_launch(text, "--launch");
  ASSERT_TRUE(launch) << launch.error().message;
  EXPECT_EQ(to_text(*launch), text);
  EXPECT_EQ(buffers_of(*launch), 4u);
  const Result<runtime::TensorMapSpec> map = spec_of(launch->parameters.back().tensor_map, "map");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->rank, 2);
  EXPECT_EQ(map->stride_bytes[1], 128u);
  EXPECT_EQ(map->swizzle, runtime::SmemSwizzle::b128);
}

TEST(CheckLaunch, MapsHaveEverySwizzleAndNarrowElements) {
  struct Case {
    const char* map;
    runtime::SmemSwizzle swizzle;
    NarrowElements narrow;
    std::uint64_t stride;
  };
  using Swizzle = runtime::SmemSwizzle;
  for (const Case& c : {Case{"f32:32x8:32x8:128-unit32", Swizzle::b128_unit32, NarrowElements::none, 128},
                        Case{"bf16:32x8:16x8:32", Swizzle::b32, NarrowElements::none, 64},
                        Case{"bf16:32x8:32x8:64", Swizzle::b64, NarrowElements::none, 64},
                        Case{"bf16:256x8:256x8:0", Swizzle::none, NarrowElements::none, 512},
                        Case{"e2m1:256x8:256x8:128", Swizzle::b128, NarrowElements::bits4, 128},
                        Case{"e2m1-padded:256x8:128x8:128", Swizzle::b128, NarrowElements::bits4_padded, 128},
                        Case{"e3m2-padded:256x8:128x8:0", Swizzle::none, NarrowElements::bits6_padded, 192},
                        Case{"e2m3-padded:256x8:128x8:128", Swizzle::b128, NarrowElements::bits6_padded, 192}}) {
    const std::string text = std::string("grid=1,cluster=1,threads=32,shared=0,buffer=65536,map=0:") + c.map;
    const Result<CheckLaunch> launch = parse_check_launch(text, "--launch");
    ASSERT_TRUE(launch) << launch.error().message;
    EXPECT_EQ(to_text(*launch), text);
    const Result<runtime::TensorMapSpec> map = spec_of(launch->parameters.back().tensor_map, "map");
    ASSERT_TRUE(map) << map.error().message;
    EXPECT_EQ(map->swizzle, c.swizzle) << text;
    EXPECT_EQ(map->narrow, c.narrow) << text;
    EXPECT_EQ(map->stride_bytes[1], c.stride) << text;
  }
}

TEST(CheckLaunch, RefusalsNameTheKey) {
  for (const auto& [text, key] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "--launch"},
           {"threads", "threads"},
           {"grid=2", "--launch"},
           {"threads=32,grid=0", "grid"},
           {"threads=32,buffer=0", "buffer"},
           {"threads=32,colour=1", "--launch"},
           {"threads=32,int=1.5", "int"},
           {"threads=32,float=x", "float"},
           {"threads=32,cross=2", "cross"},
           {"threads=32,pdl=on", "pdl"},
           {"threads=32,grid=1,grid=2", "grid"},
           {"threads=32,pdl=1,pdl=1", "pdl"},
           {"threads=32,map=0:bf16:64:64:128", "map"},
           {"threads=32,buffer=64,map=0:int4:64:64:128", "map"},
           {"threads=32,buffer=64,map=0:bf16:64x2:64:128", "map"},
           {"threads=32,buffer=64,map=0:bf16:64:64:48", "map"},
           {"threads=32,buffer=64,map=1:bf16:64:64:0", "map"},
           {"threads=32,buffer=64,map=0:bf16:64:64:128-unit16", "map"},
           {"threads=32,buffer=64,map=0:e3m2:128:128:0", "map"},
           {"threads=32,buffer=64,map=0:e2m1:129:128:0", "map"},
           {"threads=32,buffer=64,map=0:e2m1-padded:192:128:0", "map"},
       }) {
    const Result<CheckLaunch> launch = parse_check_launch(text, "--launch");
    ASSERT_FALSE(launch) << text;
    EXPECT_EQ(launch.error().code, ErrorCode::invalid);
    EXPECT_NE(launch.error().argument.find(key), std::string::npos) << text << ": " << launch.error().message;
  }
}

TEST(CheckLaunch, ParametersLieAsInAStruct) {
  struct Params {
    std::int32_t first;
    void* buffer;
    float number;
    arch::TensorMap map;
    std::int32_t last;
  };
  const Result<CheckLaunch> launch =
      parse_check_launch("threads=32,int=5,buffer=2048,float=1.5,map=0:f32:16x32:16x8:0,int=-1", "--launch");
  ASSERT_TRUE(launch) << launch.error().message;
  int memory = 0;
  std::vector<arch::TensorMap> maps(launch->parameters.size());
  std::memset(&maps[3], 7, sizeof maps[3]);
  const std::vector<std::byte> bytes = pack_parameters(*launch, {&memory}, maps);
  ASSERT_EQ(bytes.size(), sizeof(Params));
  Params params;
  std::memcpy(&params, bytes.data(), sizeof params);
  EXPECT_EQ(params.first, 5);
  EXPECT_EQ(params.buffer, &memory);
  EXPECT_EQ(std::memcmp(&params.map, &maps[3], sizeof params.map), 0);
  EXPECT_EQ(params.number, 1.5f);
  EXPECT_EQ(params.last, -1);
}

}  // namespace
}  // namespace ww::campaign
