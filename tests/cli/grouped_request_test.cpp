// SPDX-License-Identifier: Apache-2.0
// The flags of `grouped`: what they make, and a refusal that names the argument for everything that cannot be.
#include "cli/grouped_request.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include <cstring>
#include <functional>

#include "config/config_text.hpp"
#include "io/files.hpp"

namespace ww::cli {
namespace {

using namespace test;

std::string ints(const std::vector<std::int32_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * 4};
}
std::string ints_npy(const std::vector<std::int32_t>& values) {
  return npy_of("<i4", "(" + std::to_string(values.size()) + ",)", ints(values));
}
std::string bytes(std::size_t count) { return std::string(count, '\x38'); }  // 1.0 in e4m3

/// The argument of the refusal, or "".
std::string refused(const std::function<void(Flags&)>& change) {
  Flags flags;
  change(flags);
  const Result<GroupedRequest> request = make_grouped_request(flags);
  if (request) return "";
  EXPECT_FALSE(request.error().expected.empty());
  EXPECT_FALSE(request.error().actual.empty());
  return request.error().argument;
}

TEST(GroupedRequest, NothingGivenIsAVerifiedRun) {
  const GroupedRequest r = make_grouped_request({}).value();
  EXPECT_TRUE(r.verify);
  EXPECT_EQ(r.problem.groups, 8);
  EXPECT_EQ(r.problem.rows, 512);
  EXPECT_EQ(r.problem.scale, Scale::block_1x128_128x128);
  EXPECT_EQ(r.options.config.row_groups.variant, GroupedVariant::automatic);
}

TEST(GroupedRequest, RowsEncodingAndVariant) {
  Flags flags;
  flags.rows = "17,0,301";
  flags.encoding = "starts-counts";
  flags.gap = "3";
  flags.variant = "descriptors";
  flags.n = "96", flags.k = "100", flags.scale = "row-column", flags.m = "400";
  flags.zero_outside = true;
  const GroupedRequest r = make_grouped_request(flags).value();
  EXPECT_FALSE(r.verify);
  EXPECT_EQ(r.problem.groups, 3);
  EXPECT_EQ(r.problem.rows, 400);
  EXPECT_EQ(r.problem.lda, 112);
  EXPECT_EQ(r.problem.scale, Scale::row_column);
  EXPECT_EQ(r.options.config.operands.scale, Scale::row_column);
  EXPECT_TRUE(r.problem.zero_outside);
  EXPECT_EQ(r.options.config.row_groups.variant, GroupedVariant::descriptors);
  EXPECT_EQ(r.layout.sizes, (std::vector<std::int32_t>{0, 20, 23}));
  EXPECT_EQ(r.layout.sizes2, (std::vector<std::int32_t>{17, 0, 301}));
  EXPECT_EQ(r.meaning.rows(), 318);
}

TEST(GroupedRequest, SchedulerAndSplit) {
  Flags flags;
  flags.tile_scheduler = "vertical";
  EXPECT_EQ(make_grouped_request(flags).value().options.config.sm90.tile_scheduler, TileScheduler::vertical);
  flags.tile_scheduler.reset(), flags.split = "4";
  const GemmConfig split = make_grouped_request(flags).value().options.config;
  EXPECT_EQ(split.sm90.tile_scheduler, TileScheduler::split_k);
  EXPECT_EQ(split.sm90.split, 4);
}

TEST(GroupedRequest, FlagsThatMeanNothing) {
  for (const char* text : {"", "1,,2", "-1", "1,x", "2147483648", "1, 2"})
    EXPECT_EQ(refused([&](Flags& f) { f.rows = text; }), "--rows") << text;
  for (const char* text : {"0", "4097", "-1", "x"})
    EXPECT_EQ(refused([&](Flags& f) { f.groups = text; }), "--groups") << text;
  EXPECT_EQ(refused([](Flags& f) { f.groups = "3", f.rows = "1,2"; }), "--rows");
  EXPECT_EQ(refused([](Flags& f) { f.rows = "1,2", f.total = "3"; }), "--total");
  EXPECT_EQ(refused([](Flags& f) { f.rows = "1,2", f.distribution = "zipf"; }), "--distribution");
  EXPECT_EQ(refused([](Flags& f) { f.distribution = "normal"; }), "--distribution");
  EXPECT_EQ(refused([](Flags& f) { f.encoding = "starts+counts"; }), "--encoding");
  EXPECT_EQ(refused([](Flags& f) { f.variant = "dense"; }), "--variant");
  EXPECT_EQ(refused([](Flags& f) { f.tile_scheduler = "stream-k"; }), "--tile-scheduler");
  for (const char* text : {"1", "9", "x"}) EXPECT_EQ(refused([&](Flags& f) { f.split = text; }), "--split") << text;
  EXPECT_EQ(refused([](Flags& f) { f.split = "2", f.tile_scheduler = "static"; }), "--split");
  EXPECT_EQ(refused([](Flags& f) { f.align = "0"; }), "--align");
  EXPECT_EQ(refused([](Flags& f) { f.gap = "1"; }), "--gap");
  EXPECT_EQ(refused([](Flags& f) { f.rows = "5,6", f.m = "10"; }), "--m");
  EXPECT_EQ(refused([](Flags& f) { f.rows = "2147483647,2147483647"; }), "--rows");
  EXPECT_EQ(refused([](Flags& f) { f.n = "4611686018427387904"; }), "--n");
  EXPECT_EQ(refused([](Flags& f) { f.k = "9223372036854775807"; }), "--k");
  EXPECT_EQ(refused([](Flags& f) { f.scale = "rowwise"; }), "--scale");
  EXPECT_EQ(refused([](Flags& f) { f.dtype = "e4m3", f.b_dtype = "e5m2"; }), "--b-dtype");
  EXPECT_EQ(refused([](Flags& f) { f.b_dtype = "e4m2"; }), "--b-dtype");
}

TEST(GroupedRequest, TypesMixWithScalesOfMx) {
  Flags flags;
  flags.dtype.emplace("e4m3"), flags.b_dtype.emplace("e2m1"), flags.scale.emplace("mx");
  flags.device.emplace("emu:sm100");
  const GroupedRequest r = make_grouped_request(flags).value();
  EXPECT_EQ(r.problem.a, DType::e4m3);
  EXPECT_EQ(r.problem.b, DType::e2m1);
  EXPECT_EQ(r.options.config.operands.b, DType::e2m1);
}

TEST(GroupedRequest, EpilogueOfFlagsAndOfText) {
  using namespace evt;
  Flags flags;
  flags.alpha.emplace("0.5");
  EXPECT_EQ(make_grouped_request(flags).value().problem.epilogue, EpilogueTree(acc * alpha));
  EXPECT_EQ(make_grouped_request(flags).value().scalar[kScalarAlpha], 0.5f);
  flags.epilogue = "silu(acc*alpha + bias:bf16)";
  const GroupedRequest r = make_grouped_request(flags).value();
  EXPECT_EQ(r.problem.epilogue, EpilogueTree(silu(acc * alpha + bias(bf16))));
  EXPECT_EQ(r.options.config.epilogue, r.problem.epilogue);
  flags.epilogue = "quantise_block(acc)", flags.alpha.reset();
  EXPECT_EQ(make_grouped_request(flags).value().problem.d, DType::e4m3);
}

TEST(GroupedRequest, FlagsOfAnEpilogueThatMeanNothing) {
  EXPECT_EQ(refused([](Flags& f) { f.alpha = "half"; }), "--alpha");
  EXPECT_EQ(refused([](Flags& f) { f.epilogue = "silu(acc"; }), "--epilogue, position 9");
  EXPECT_EQ(refused([](Flags& f) { f.out_scales = "scales.npy"; }), "--out-scales");
}

TEST(GroupedRequest, ReasonsForFlagsOfGemmAreInTheTable) {
  for (const char* name : {"--swap-ab", "--batch", "--d-layout", "--c-layout", "--a-source", "--fixed-n", "--fixed-k",
                           "--pointer-array"}) {
    const auto refusal = std::find_if(refusals().begin(), refusals().end(), [&](const Refusal& r) {
      return std::string_view(r.name) == name && (r.operations & kGrouped) != 0 && (r.verbs & kRun) != 0;
    });
    ASSERT_NE(refusal, refusals().end()) << name;
    for (const FlagRow& row : flag_rows())
      EXPECT_FALSE(std::string_view(row.name) == name && (row.operations & kGrouped) != 0) << name;
  }
}

// A field of the config with help in its table has a flag with that help and the names of its values.
TEST(ConfigFlags, FieldsWithHelpHaveFlags) {
  std::size_t found = 0;
  for (const ConfigFieldFlag& field : config_field_flags())
    for (const FlagRow& row : flag_rows()) {
      if (row.name != field.flag) continue;
      ++found;
      EXPECT_EQ(row.values, field.values) << row.name;
      EXPECT_EQ(row.meaning, field.help) << row.name;
      EXPECT_EQ((row.operations & kGemm) != 0, field.dense) << row.name;
      EXPECT_EQ((row.operations & kGrouped) != 0, field.rows) << row.name;
      EXPECT_EQ((row.operations & kKGrouped) != 0, field.k_groups) << row.name;
    }
  EXPECT_EQ(found, config_field_flags().size()) << "one row for each";
  EXPECT_GE(found, 15u);
  Flags flags;
  flags.fields["stages"] = "4", flags.fields["a_source"] = "auto";
  EXPECT_EQ(text_of(flags, "--stages"), "4");
  EXPECT_EQ(text_of(flags, "--tile"), "");
}

class GroupedFiles : public testing::Test {
 protected:
  Directory directory;
  std::string a = directory.write("a.npy", npy_of("|V1", "(10, 32)", bytes(320)));
  std::string masked_a = directory.write("ma.npy", npy_of("|V1", "(2, 5, 32)", bytes(320)));
  std::string b = directory.write("b.npy", npy_of("|V1", "(2, 16, 32)", bytes(1024)));
  std::string array(const std::string& name, const std::vector<std::int32_t>& values) const {
    return directory.write(name, ints_npy(values));
  }
  std::string floats(const std::string& name, const std::string& shape, std::size_t count) const {
    return directory.write(name, npy_of("<f4", shape, std::string(count * 4, '\0')));
  }
};

TEST_F(GroupedFiles, EveryEncodingFromFiles) {
  const auto meaning = [&](const std::function<void(Flags&)>& change, const std::string& operand) {
    Flags flags;
    flags.a = operand, flags.b = b, flags.scale = "none";
    change(flags);
    const Result<GroupedRequest> request = make_grouped_request(flags);
    EXPECT_TRUE(request) << request.error().message;
    EXPECT_EQ(request->problem.n, 16);
    EXPECT_EQ(request->problem.k, 32);
    EXPECT_EQ(request->problem.total_rows(), 10);
    std::vector<std::int64_t> rows;
    for (const GroupRows& group : request->meaning.groups) rows.insert(rows.end(), {group.first, group.count});
    return rows;
  };
  using Rows = std::vector<std::int64_t>;
  const std::string offsets = array("o.npy", {4, 9}), indptr = array("i.npy", {1, 4, 9});
  const std::string starts = array("s.npy", {0, 6}), counts = array("c.npy", {3, 4});
  const std::string ids = array("r.npy", {-1, 0, 0, -1, 1, 1, 1, 1, -1, -1});
  EXPECT_EQ(meaning([&](Flags& f) { f.offsets = offsets; }, a), (Rows{0, 4, 4, 5}));
  EXPECT_EQ(meaning([&](Flags& f) { f.indptr = indptr; }, a), (Rows{1, 3, 4, 5}));
  EXPECT_EQ(meaning([&](Flags& f) { f.starts = starts, f.counts = counts; }, a), (Rows{0, 3, 6, 4}));
  EXPECT_EQ(meaning([&](Flags& f) { f.row_ids = ids; }, a), (Rows{1, 2, 4, 4}));
  EXPECT_EQ(meaning([&](Flags& f) { f.masked = counts; }, masked_a), (Rows{0, 3, 5, 4}));
  EXPECT_EQ(meaning(
                [&](Flags& f) {
                  f.offsets = directory.write("t.safetensors",
                                              safetensors(R"({"o":{"dtype":"I32","shape":[2],"data_offsets":[0,8]}})",
                                                          ints({4, 9}))) +
                              ":o";
                },
                a),
            (Rows{0, 4, 4, 5}));
  const std::string big = directory.write("big.npy", npy_of(">i4", "(2,)", std::string("\0\0\0\4\0\0\0\11", 8)));
  EXPECT_EQ(meaning([&](Flags& f) { f.offsets = big; }, a), (Rows{0, 4, 4, 5}));
}

TEST_F(GroupedFiles, FilesThatDoNotFit) {
  const auto with = [&](const std::function<void(Flags&)>& change) {
    return refused([&](Flags& f) {
      f.a = a, f.b = b, f.offsets = directory / "o.npy", f.scale = "none";
      change(f);
    });
  };
  array("o.npy", {4, 9});
  EXPECT_EQ(with([](Flags&) {}), "");
  EXPECT_EQ(with([&](Flags& f) { f.offsets = array("o3.npy", {1, 2, 3}); }), "--b");
  EXPECT_EQ(with([&](Flags& f) { f.offsets = floats("f.npy", "(2,)", 2); }), "--offsets");
  EXPECT_EQ(with([&](Flags& f) {
              f.offsets = directory.write("2d.npy", npy_of("<i4", "(1, 2)", ints({4, 9})));
            }),
            "--offsets");
  EXPECT_EQ(with([&](Flags& f) {
              f.offsets = directory.write("t.npy", ints_npy({4, 9}).substr(0, 130));
            }),
            "--offsets");
  EXPECT_EQ(with([&](Flags& f) { f.offsets = directory / "none.npy"; }), "--offsets");
  EXPECT_EQ(with([&](Flags& f) { f.indptr = directory / "o.npy"; }), "--indptr");
  EXPECT_EQ(with([&](Flags& f) { f.rows = "4,5"; }), "--rows");
  EXPECT_EQ(with([&](Flags& f) { f.encoding = "masked"; }), "--encoding");
  EXPECT_EQ(with([&](Flags& f) { f.groups = "3"; }), "--offsets");
  EXPECT_EQ(with([&](Flags& f) { f.m = "11"; }), "--m");
  EXPECT_EQ(with([&](Flags& f) { f.a = masked_a; }), "--a");
  EXPECT_EQ(with([&](Flags& f) { f.b = a; }), "--b");
  EXPECT_EQ(with([&](Flags& f) { f.a = directory / "o.npy"; }), "--a");  // int32 is no operand
  EXPECT_EQ(with([&](Flags& f) { f.starts = directory / "o.npy", f.offsets.reset(); }), "--counts");
  EXPECT_EQ(with([&](Flags& f) {
              f.starts = directory / "o.npy", f.counts = array("c3.npy", {1, 2, 3}), f.offsets.reset();
            }),
            "--counts");
  EXPECT_EQ(with([&](Flags& f) { f.row_ids = array("r.npy", {0, 1}), f.offsets.reset(); }), "--row-ids");
  EXPECT_EQ(with([&](Flags& f) { f.indptr = array("e.npy", {}), f.offsets.reset(); }), "--indptr");
  EXPECT_EQ(with([&](Flags& f) { f.offsets = array("e.npy", {}); }), "--offsets");
  EXPECT_EQ(with([&](Flags& f) {
              f.starts = array("s.npy", {0, 4}), f.counts = array("c.npy", {4, -1}), f.offsets.reset();
            }),
            "--counts");
  EXPECT_EQ(refused([&](Flags& f) { f.row_ids = directory / "o.npy"; }), "--groups");
  EXPECT_EQ(refused([&](Flags& f) { f.masked = directory / "o.npy", f.a = a; }), "--a");
}

TEST_F(GroupedFiles, NothingIsGeneratedBesideThemUnlessAskedFor) {
  array("o.npy", {4, 9});
  const std::string scale_a = floats("ba.npy", "(10, 1)", 10), scale_b = floats("bb.npy", "(2, 1, 1)", 2);
  const std::string bias = floats("bias.npy", "(2, 16)", 32);
  const auto with = [&](const std::function<void(Flags&)>& change) {
    return refused([&](Flags& f) {
      f.a = a, f.b = b, f.offsets = directory / "o.npy", f.scale_a = scale_a, f.scale_b = scale_b;
      change(f);
    });
  };
  EXPECT_EQ(with([](Flags&) {}), "");
  EXPECT_EQ(with([](Flags& f) { f.a.reset(), f.m = "10"; }), "--a");
  EXPECT_EQ(with([](Flags& f) { f.b.reset(), f.n = "16"; }), "--b");
  EXPECT_EQ(with([](Flags& f) { f.scale_a.reset(); }), "--scale-a");
  EXPECT_EQ(with([](Flags& f) { f.scale_b.reset(); }), "--scale-b");
  EXPECT_EQ(with([](Flags& f) { f.scale_a.reset(), f.scale_b.reset(); }), "--scale-a");
  EXPECT_EQ(with([](Flags& f) { f.scale_a.reset(), f.scale_b.reset(), f.scale = "none"; }), "");
  EXPECT_EQ(with([](Flags& f) { f.scale_a = f.scale_b = "generated"; }), "");
  EXPECT_EQ(with([](Flags& f) { f.scale_a = f.scale_b = "generated", f.scale = "none"; }), "--scale-a");
  EXPECT_EQ(with([](Flags& f) { f.a = "generated", f.m = "10"; }), "");
  EXPECT_EQ(with([](Flags& f) { f.epilogue = "acc + bias"; }), "--bias");
  EXPECT_EQ(with([&](Flags& f) { f.epilogue = "acc + bias + c", f.bias = bias; }), "--c");
  EXPECT_EQ(with([&](Flags& f) { f.epilogue = "acc + bias + aux0", f.bias = bias; }), "--aux0");
  EXPECT_EQ(with([&](Flags& f) { f.epilogue = "acc + bias + aux0", f.bias = bias, f.aux0 = "generated"; }), "");
  EXPECT_EQ(with([](Flags& f) { f.c = "generated"; }), "");
  EXPECT_EQ(refused([&](Flags& f) { f.bias = bias, f.rows = "6,4", f.n = "16", f.dtype = "bf16"; }), "--a");
  EXPECT_EQ(refused([](Flags& f) { f.a = f.scale_b = f.c = f.bias = "generated"; }), "");
}

TEST_F(GroupedFiles, ScalesHaveTheShapeOfTheirRecipe) {
  array("o.npy", {4, 9});
  const auto with = [&](const char* scale, const std::string& scale_a, const std::string& scale_b) {
    return refused([&](Flags& f) {
      f.a = a, f.b = b, f.offsets = directory / "o.npy";
      f.scale = scale;
      f.scale_a = scale_a, f.scale_b = scale_b;
    });
  };
  const std::string one = floats("1.npy", "()", 1), groups = floats("g.npy", "(2,)", 2);
  const std::string rows = floats("m.npy", "(10,)", 10), columns = floats("n.npy", "(2, 16)", 32);
  const std::string block_a = floats("ba.npy", "(10, 1)", 10), block_b = floats("bb.npy", "(2, 1, 1)", 2);
  EXPECT_EQ(with("tensor", one, groups), "");
  EXPECT_EQ(with("row-column", rows, columns), "");
  EXPECT_EQ(with("block", block_a, block_b), "");
  EXPECT_EQ(with("tensor", rows, one), "--scale-a");
  EXPECT_EQ(with("row-column", block_a, columns), "--scale-a");
  EXPECT_EQ(with("row-column", rows, rows), "--scale-b");
  EXPECT_EQ(with("block", block_a, groups), "--scale-b");
  EXPECT_EQ(with("none", one, one), "--scale-a");
  EXPECT_EQ(with("block", a, block_b), "--scale-a");
}

TEST_F(GroupedFiles, OperandsOfTheEpilogueHaveTheRowsOfDOrTheGroups) {
  Flags flags;
  flags.a = a, flags.b = b, flags.rows = "6,4", flags.scale = "none";
  const auto bias = [&](const std::string& name, const std::string& shape, std::size_t count) {
    flags.bias = floats(name, shape, count);
    const Result<GroupedRequest> request = make_grouped_request(flags);
    return request ? "" : request.error().argument;
  };
  EXPECT_EQ(bias("b1.npy", "(2, 16)", 32), "");
  EXPECT_EQ(bias("b2.npy", "(16,)", 16), "");
  EXPECT_EQ(bias("b3.npy", "(2,)", 2), "--bias");
  EXPECT_EQ(bias("b4.npy", "(1, 16)", 16), "--bias");
  EXPECT_EQ(bias("b5.npy", "(3, 16)", 48), "--bias");
  flags.bias.reset();
  const auto c = [&](const std::string& name, const std::string& shape, std::size_t count) {
    flags.c = floats(name, shape, count);
    const Result<GroupedRequest> request = make_grouped_request(flags);
    return request ? "" : request.error().argument;
  };
  EXPECT_EQ(c("c1.npy", "(10, 16)", 160), "");
  EXPECT_EQ(make_grouped_request(flags).value().problem.epilogue, EpilogueTree(evt::acc + evt::c(f32)));
  EXPECT_EQ(c("c2.npy", "(2, 5, 16)", 160), "--c");
  flags.a = masked_a, flags.rows = "5,3", flags.encoding = "masked";
  EXPECT_EQ(c("c3.npy", "(2, 5, 16)", 160), "");
  EXPECT_EQ(c("c4.npy", "(10, 16)", 160), "--c");
  flags.epilogue = "acc*alpha";
  EXPECT_EQ(c("c5.npy", "(2, 5, 16)", 160), "--c");  // nothing names it
}

TEST_F(GroupedFiles, FortranOrderOfThreeExtentsIsRefusedWhenRead) {
  const std::string name =
      directory.write("f.npy", npy("{'descr': '|V1', 'fortran_order': True, 'shape': (2, 16, 32), }", bytes(1024)));
  const ArrayFile array = open_array(name, "--b").value();
  const Result<Matrix> matrix = read_matrix(array, DType::e4m3, 32, 32, 32);
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().argument, "--b");
  EXPECT_EQ(matrix.error().expected, "an array in C order");
}

}  // namespace
}  // namespace ww::cli
