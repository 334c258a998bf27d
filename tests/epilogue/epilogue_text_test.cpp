// SPDX-License-Identifier: Apache-2.0
// Epilogues as text: what prints is read back as the same tree, and errors name the position.
#include <gtest/gtest.h>

#include "problems/random_epilogue.hpp"
#include "warpwright/config/faults.hpp"
#include "warpwright/config/resolve.hpp"

namespace ww {
namespace {

TEST(EpilogueText, ExpressionsOfBothKindsAreTheSameTree) {
  using namespace ww::evt;
  const std::pair<const char*, EpilogueTree> same[] = {
      {"acc", acc},
      {"silu(acc*alpha + bias)", silu(acc * alpha + bias())},
      {" ( acc ) ", acc},
      {"acc - c:f32 * 0.5", acc - c(f32) * 0.5f},
      {"acc + (bias + row1:bf16)", acc + (bias() + row(1, bf16))},
      {"(acc + bias) + row1:bf16", acc + bias() + row(1, bf16)},
      {"acc * (alpha * beta) * -col2", acc * (alpha * beta) * -column(2)},
      {"-2*acc + 1e-3", -2.0f * acc + 1e-3f},
      {"fma(acc, alpha, clamp(aux0, -1, scalar3))", fma(acc, alpha, clamp(aux(0), -1.0f, scalar(3)))},
      {"relu(gelu(tanh(sigmoid(convert(acc, e4m3)))))", relu(gelu(tanh(sigmoid(convert(acc, e4m3)))))},
      {"quick_gelu(acc + bias)", quick_gelu(acc + bias())},
      {"acc/alpha/2", acc / alpha / 2.0f},
      {"acc/(alpha*bias)*2", acc / (alpha * bias()) * 2.0f},
      {"acc*(alpha/bias)", acc * (alpha / bias())},
      {"acc/(alpha/-bias)", acc / (alpha / -bias())},
      {"(acc+1)/(c+2)", (acc + 1.0f) / (c() + 2.0f)},
      {"max(acc, min(col0, exp(aux1)))", max(acc, min(column(0), exp(aux(1))))},
      {"softcap(gelu_erf(relu2(acc)), 30)", softcap(gelu_erf(relu2(acc)), 30.0f)},
      {"row_sum(row_amax(acc,out3),out0)", row_sum(row_amax(acc, 3), 0)},
      {"column_amax(column_sum(store(acc,out2:f16),out1),out0)", column_amax(column_sum(store(acc, 2, f16), 1), 0)},
      {"quantise_block_pow2(swiglu(acc))", quantise_block_pow2(swiglu(acc))},
      {"quantise(swiglu_halves(acc))", quantise(swiglu_halves(acc))},
      {"quantise_block(acc)", quantise_block(acc)},
      {"quantise_mx(swiglu(acc))", quantise_mx(swiglu(acc))},
      {"quantise_nv(acc)", quantise_nv(acc)},
  };
  for (const auto& [text, tree] : same) {
    const auto parsed = parse_epilogue(text);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, tree) << text << " is " << to_text(*parsed) << ", not " << to_text(tree);
    const auto again = parse_epilogue(to_text(tree));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, tree) << to_text(tree);
  }
}

TEST(EpilogueText, ConstantsAreFinite) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float value : {inf, -inf, nan}) {
    const EpilogueTree tree = evt::max(evt::acc, value);
    EXPECT_EQ(to_text(tree), "") << "no text means this tree";
    const auto refused = can_implement(GemmProblem{.m = 8, .n = 8, .k = 16, .a = bf16, .b = bf16, .epilogue = tree});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().argument, "epilogue");
    EXPECT_EQ(refused.error().expected, "finite constants");
  }
  for (const char* text : {"max(acc,inf)", "acc*1e39", "acc*-1e39", "acc+nan", "-inf", "acc*1e-50"})
    EXPECT_FALSE(parse_epilogue(text)) << text;
  const float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  for (const float value : {largest, -largest, least, -least, -0.0f}) {
    const EpilogueTree tree = evt::acc * value;
    const auto parsed = parse_epilogue(to_text(tree));
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(*parsed, tree) << to_text(tree);
  }
}

TEST(EpilogueText, RandomTreesAndTheirConfigsRoundTrip) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    GemmConfig config;
    config.epilogue = testing::RandomTree(seed, seed % 2 == 1).make(config.operands.d);
    const auto tree = parse_epilogue(to_text(config.epilogue));
    ASSERT_TRUE(tree) << tree.error().message;
    ASSERT_EQ(*tree, config.epilogue) << "seed " << seed << ": " << to_text(config.epilogue);
    const auto parsed = parse_config(to_text(config));
    ASSERT_TRUE(parsed) << parsed.error().message;
    ASSERT_EQ(*parsed, config) << to_text(config);
  }
}

TEST(EpilogueText, RandomTreesHaveEveryNode) {
  bool seen[static_cast<int>(EpilogueOp::too_long)] = {};
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    DType d = bf16;
    const EpilogueTree tree = testing::RandomTree(seed, true).make(d);
    for (int i = 0; i < tree.size(); ++i) seen[static_cast<int>(tree.node(i).op)] = true;
  }
  // Trees for kernels of every architecture: Hopper's have no scales of mx and nv.
  for (int op = 1; op < static_cast<int>(EpilogueOp::too_long); ++op)
    EXPECT_EQ(seen[op], !config::is_microscale(static_cast<EpilogueOp>(op))) << op;
}

TEST(EpilogueText, ErrorsNameThePosition) {
  const struct {
    const char *text, *part;
  } table[] = {
      {"", "position 1: expected acc, alpha"},
      {"acc +", "position 6: expected acc, alpha"},
      {"acc bias", "position 5: expected an operator or the end, got \"bias\""},
      {"(acc", "position 5: expected \")\", got the end"},
      {"acc)", "position 4: expected an operator or the end"},
      {"acc # x", "position 5: expected an operator"},
      {"silu acc", "position 6: expected \"(\""},
      {"silu()", "position 6: expected acc, alpha"},
      {"swish(acc)", "position 1: expected acc, alpha"},
      {"acc*row4", "position 5: expected acc, alpha"},
      {"acc*row", "position 5: expected acc, alpha"},
      {"acc+c:f64", "position 7: expected a type"},
      {"alpha:f32*acc", "position 6: expected no type"},
      {"convert(acc)", "position 12: expected \",\""},
      {"convert(acc, int8)", "position 14: expected a type"},
      {"clamp(acc, 1)", "position 13: expected \",\""},
      {"max(acc)", "position 8: expected \",\""},
      {"softcap(acc, 1, 2)", "position 15: expected \")\""},
      {"acc/", "position 5: expected acc, alpha"},
      {"fma(acc, 1)", "position 11: expected \",\""},
      {"row_sum(acc)", "position 12: expected \",\""},
      {"row_sum(acc, out4)", "position 14: expected an output, out0 to out3"},
      {"row_sum(acc, out0:f32)", "position 18: expected no type"},
      {"acc*1e99", "position 5: expected a number that FP32 can hold"},
      {"acc*1e5e", "position 8: expected an operator or the end"},
      {"acc;rm", "position 4: expected an operator"},
      {"acc\n", "position 4: expected an operator"},
      {"swiglu(acc)+acc", "expected swiglu and quantise last"},
      {"relu(quantise(acc))", "expected swiglu and quantise last"},
      {"row_sum(row_amax(acc,out0),out0)", "each output written once"},
      {"c:f32+c:f16", "one type for each operand"},
      {"store(acc,out0:e4m3)", "bf16, f16 or f32 in memory"},
      {"acc*1+2*3+4*5+6*7+8*9", "at most 32 nodes and 8 different constants"},
  };
  for (const auto& row : table) {
    const auto parsed = parse_epilogue(row.text);
    ASSERT_FALSE(parsed) << row.text;
    EXPECT_NE(parsed.error().message.find(row.part), std::string::npos)
        << row.text << ": " << parsed.error().message << "\nexpected in it: " << row.part;
  }
  std::string deep = "acc";
  for (int i = 0; i < 100; ++i) deep = "(" + deep + ")";
  EXPECT_NE(parse_epilogue(deep).error().message.find("at most 64 levels"), std::string::npos);
  std::string wide = "acc";
  for (int i = 0; i < 20; ++i) wide += "+acc";
  EXPECT_NE(parse_epilogue(wide).error().message.find("at most 32 nodes"), std::string::npos);
}

TEST(EpilogueText, ConfigsSayWhichTileATreeNeeds) {
  const auto fault = [](const char* text) {
    const auto config = parse_config(text);
    if (!config) throw std::runtime_error(config.error().message);
    const config::ConfigFault f = config::fault_of(config::resolve(*config));
    return std::string(f.field ? f.field : "") + ": " + (f.expected ? f.expected : "");
  };
  EXPECT_EQ(fault("a=bf16,b=bf16,d=e4m3,tile=128x128x64,epilogue=quantise_block(acc)"), ": ");
  EXPECT_EQ(fault("a=bf16,b=bf16,d=e5m2,tile=128x128x64,epilogue=quantise_block_pow2(convert(acc,e5m2))"), ": ");
  EXPECT_EQ(fault("a=bf16,b=bf16,d=e5m2,tile=128x128x64"), fault("a=bf16,b=bf16,d=e4m3,tile=128x128x64"));
  EXPECT_EQ(fault("a=bf16,b=bf16,d=e4m3,tile=128x192x64,epilogue=quantise_block(acc)"),
            "tile (n): whole 128 columns of D, to quantise by blocks");
  EXPECT_EQ(fault("a=bf16,b=bf16,d=bf16,tile=128x24x64,epilogue=swiglu(acc)"), "tile (n): a multiple of 16 for SwiGLU");
  EXPECT_EQ(fault("a=bf16,b=bf16,d=e4m3,tile=128x128x64"),
            "d: e4m3 or e5m2 with an epilogue that quantises, bf16, f16 or f32 without");
}

}  // namespace
}  // namespace ww
