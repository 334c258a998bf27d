// SPDX-License-Identifier: Apache-2.0
// Resolves the epilogue. Precedence: its flag, the config's text, the flags of its operands.
#include "cli/epilogue_request.hpp"
#include "warpwright/config/epilogue_stages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace ww::cli {
namespace {

using F = Flags;

constexpr EpilogueFlag kOperandFlags[] = {
    {"--c", &F::c, EpilogueOp::c, 0},
    {"--bias", &F::bias, EpilogueOp::row_vector, 0},
    {"--row1", &F::row1, EpilogueOp::row_vector, 1},
    {"--row2", &F::row2, EpilogueOp::row_vector, 2},
    {"--row3", &F::row3, EpilogueOp::row_vector, 3},
    {"--col0", &F::col0, EpilogueOp::column_vector, 0},
    {"--col1", &F::col1, EpilogueOp::column_vector, 1},
    {"--col2", &F::col2, EpilogueOp::column_vector, 2},
    {"--col3", &F::col3, EpilogueOp::column_vector, 3},
    {"--aux0", &F::aux0, EpilogueOp::auxiliary, 0},
    {"--aux1", &F::aux1, EpilogueOp::auxiliary, 1},
    {"--aux2", &F::aux2, EpilogueOp::auxiliary, 2},
    {"--aux3", &F::aux3, EpilogueOp::auxiliary, 3},
};
constexpr EpilogueFlag kScalarFlags[] = {
    {"--alpha", &F::alpha, EpilogueOp::scalar, kScalarAlpha},
    {"--beta", &F::beta, EpilogueOp::scalar, kScalarBeta},
    {"--scalar2", &F::scalar2, EpilogueOp::scalar, kScalarOutScale},
    {"--scalar3", &F::scalar3, EpilogueOp::scalar, 3},
};
constexpr const char* kOutArguments[] = {"--out0", "--out1", "--out2", "--out3"};
constexpr Flag F::*kOutFlags[] = {&F::out0, &F::out1, &F::out2, &F::out3};

/// The node of `tree` that writes output `slot`; `none` when no node does.
EpilogueNode output_of(const EpilogueTree& tree, int slot) {
  for (int i = 0; i < tree.size(); ++i)
    if (config::is_output(tree.node(i).op) && tree.node(i).slot == slot) return tree.node(i);
  return {};
}

std::string text_or_none(const EpilogueTree& tree) { return tree.empty() ? "none" : quoted(to_text(tree)); }

Result<float> parse_number(const Flag& flag, const char* argument) {
  if (!flag) return 1.0f;
  float value = 0;
  const auto [end, status] = std::from_chars(flag->data(), flag->data() + flag->size(), value);
  if (status == std::errc{} && end == flag->data() + flag->size()) return value;
  return failure(ErrorCode::invalid, argument, "a number", quoted(*flag));
}

Result<DType> type_of(const std::optional<ArrayFile>& file, DType generated) {
  if (!file) return generated;
  return element_type(*file, std::nullopt);
}

/// Returns the epilogue of --alpha, --beta, --c and --bias without --epilogue: acc*alpha + c*beta + bias.
Result<EpilogueTree> usual_epilogue(const Flags& flags, const EpilogueFiles& files) {
  if (!flags.alpha && !flags.beta && !flags.c && !flags.bias) return EpilogueTree{};
  evt::Expression e = evt::acc;
  if (flags.alpha) e = e * evt::alpha;
  if (flags.c) {
    WW_TRY(const DType type, type_of(files.at(EpilogueOp::c, 0), DType::bf16));
    e = e + (flags.beta ? evt::c(type) * evt::beta : evt::c(type));
  }
  if (flags.bias) {
    WW_TRY(const DType type, type_of(files.at(EpilogueOp::row_vector, 0), DType::f32));
    e = e + evt::bias(type);
  }
  return EpilogueTree(e);
}

/// Files that the tree writes: each for an output that it has, no two the same.
Result<void> resolve_outputs(const Flags& flags, const EpilogueTree& tree, EpilogueRequest& request) {
  std::vector<const std::string*> taken;
  if (flags.out) taken.push_back(&*flags.out);
  const auto resolve = [&](const Flag& flag, const char* argument, bool written, const char* expected,
                           std::optional<std::string>& to) -> Result<void> {
    if (!flag) return {};
    if (!written)
      return failure(ErrorCode::invalid, argument, fmt::format("an epilogue {}", expected), text_or_none(tree));
    for (const std::string* other : taken)
      if (io::same_output(*other, *flag))
        return failure(ErrorCode::invalid, argument, "a file that no other output names", quoted(*flag));
    taken.push_back(&*flag);
    to = flag;
    return check_writable(*flag, argument);
  };
  const EpilogueOp quantise = config::stages_of(tree).quantise;
  WW_CHECK(resolve(flags.out_scales, "--out-scales", quantise > EpilogueOp::quantise,
                   "that ends with quantise_block, quantise_mx or quantise_nv", request.out_scales));
  WW_CHECK(resolve(flags.amax, "--amax", quantise == EpilogueOp::quantise, "that ends with quantise", request.amax));
  for (int i = 0; i < kEpilogueSlots; ++i)
    WW_CHECK(resolve(flags.*kOutFlags[i], kOutArguments[i], output_of(tree, i).op != EpilogueOp::none,
                     fmt::format("with {}", kOutArguments[i] + 2).c_str(),
                     request.outputs[static_cast<std::size_t>(i)]));
  return {};
}

}  // namespace

std::span<const EpilogueFlag> epilogue_flags() { return kOperandFlags; }

std::vector<std::string> epilogue_help() {
  std::vector<std::string> lines = {
      "acc, the scaled product; alpha, beta, scalar2, scalar3 and numbers; c, aux0 to aux3 (M, N); bias = row0, row1 "
      "to row3 (N,); col0 to col3 (M,)",
      "c:f32: another type than bf16 of c and aux, f32 of row: bf16, f16 or f32; col is f32",
      "x + y, x - y, x * y, x / y, (x)",
      "fma(x, y, z): x y + z, rounded once",
      "clamp(x, low, high): low where x < low, high where x > high",
      "convert(x, type): rounded to bf16, f16, f32, e4m3 or e5m2",
  };
#define WW_EPILOGUE_LINE(name, formula) lines.push_back(#name "(x): " formula);
  WW_EPILOGUE_FUNCTIONS(WW_EPILOGUE_LINE)
#undef WW_EPILOGUE_LINE
#define WW_EPILOGUE_LINE(name, formula) lines.push_back(#name "(x, y): " formula);
  WW_EPILOGUE_FUNCTIONS_OF_TWO(WW_EPILOGUE_LINE)
#undef WW_EPILOGUE_LINE
  for (const char* line :
       {"store(x, out0:f32): writes x to out0 to out3, and goes on with x; --out0 saves it",
        "row_sum(x, out0), row_amax, column_sum, column_amax: reduces x to out0, and goes on with x",
        "at the end swiglu(x): silu of column 2j times column 2j + 1; swiglu_halves(x): silu of "
        "column j times column j + N/2",
        "at the end quantise(x): D is e4m3 or e5m2, x scalar2; quantise_block(x), quantise_block_pow2(x): D "
        "is e4m3 or e5m2, scales of 128 columns",
        "on Blackwell, at the end quantise_mx(x): D is e4m3, e5m2 or e2m1, e8m0 scales of 32 columns; quantise_nv(x): "
        "D "
        "is e2m1, x scalar2, e4m3 scales of 16 columns"})
    lines.emplace_back(line);
  return lines;
}

DType output_type(const Flags& flags, const EpilogueTree& tree, DType given) {
  const EpilogueOp quantise = config::stages_of(tree).quantise;
  if (quantise == EpilogueOp::none || flags.out_dtype || config::makes_type(quantise, given)) return given;
  return quantise == EpilogueOp::quantise_nv ? DType::e2m1 : DType::e4m3;
}

Result<EpilogueTree> resolve_epilogue(const Flags& flags, const EpilogueTree& of_config, EpilogueRequest& request) {
  EpilogueFiles& files = request.epilogue_files;
  for (const EpilogueFlag& operand : kOperandFlags) {
    WW_TRY(files.at(operand.op, operand.slot), open_operand(flags.*operand.flag, operand.argument));
  }
  for (const EpilogueFlag& scalar : kScalarFlags) {
    WW_TRY(request.scalar[static_cast<std::size_t>(scalar.slot)], parse_number(flags.*scalar.flag, scalar.argument));
  }
  EpilogueTree tree = of_config;
  if (flags.epilogue) {
    Result<EpilogueTree> parsed = parse_epilogue(*flags.epilogue);
    if (!parsed) {
      const Error& e = parsed.error();
      return failure(e.code, "--" + e.argument, e.expected, e.actual);
    }
    tree = *parsed;
  } else if (tree.empty()) {
    WW_TRY(tree, usual_epilogue(flags, files));
  }
  WW_CHECK(resolve_outputs(flags, tree, request));
  return tree;
}

Result<void> check_operands_named(const Flags& flags, const EpilogueFiles& files, const EpilogueTree& tree) {
  const auto named = [&](const EpilogueFlag& f) -> Result<void> {
    const bool quantises = f.op == EpilogueOp::scalar && f.slot == kScalarOutScale &&
                           (tree.has(EpilogueOp::quantise) || tree.has(EpilogueOp::quantise_nv));
    if (!(flags.*f.flag) || tree.has(f.op, f.slot) || quantises) return {};
    return failure(ErrorCode::invalid, f.argument, fmt::format("an epilogue with {}", f.argument + 2),
                   text_or_none(tree));
  };
  for (const EpilogueFlag& scalar : kScalarFlags) WW_CHECK(named(scalar));
  for (const EpilogueFlag& operand : kOperandFlags) WW_CHECK(named(operand));
  for (int i = 0; i < tree.size(); ++i) {
    const EpilogueNode node = tree.node(i);
    if (!is_tensor(node.op)) continue;
    const std::optional<ArrayFile>& file = files.at(node.op, node.slot);
    if (!file) continue;
    if (const Result<DType> type = element_type(*file, node.type); !type) return failure(type.error());
  }
  return {};
}

Result<void> write_outputs(const EpilogueRequest& request, const EpilogueTensors& tensors, std::int64_t matrices) {
  if (request.out_scales) WW_CHECK(write_npy_batch(*request.out_scales, "--out-scales", tensors.out_scales, matrices));
  for (int i = 0; i < kEpilogueSlots; ++i) {
    const auto slot = static_cast<std::size_t>(i);
    if (!request.outputs[slot]) continue;
    const Matrix& out = tensors.out[slot];
    const bool of_rows = !tensors.is_store[slot] && out.cols() == 1, of_columns = !tensors.is_store[slot] && !of_rows;
    std::vector<std::int64_t> shape;
    if (matrices > 0) shape.push_back(matrices);
    if (!of_columns) shape.push_back(out.rows() / std::max<std::int64_t>(matrices, 1));
    if (!of_rows) shape.push_back(out.cols());
    WW_CHECK(write_npy(*request.outputs[slot], kOutArguments[i], out, shape));
  }
  if (!request.amax) return {};
  const auto count = static_cast<std::int64_t>(tensors.amax.size());
  WW_TRY(Matrix amax, Matrix::allocate(f32, count, 1, 1, "--amax"));
  std::copy(tensors.amax.begin(), tensors.amax.end(), amax.floats());
  return write_npy(*request.amax, "--amax", amax, {count});
}

Result<void> check_operands_given(const Flags& flags, const EpilogueTree& tree, Request& request) {
  struct Operand {
    const char* name;
    const Flag* flag;
    bool needed;
    const char* expected;
  };
  const bool scaled = request.types.scale != Scale::none;
  constexpr const char* kFile = "a file, or generated";
  constexpr const char* kScales = "a file of float32 scales, or generated; or --scale none";
  std::vector<Operand> operands = {{"--a", &flags.a, true, kFile},
                                   {"--b", &flags.b, true, kFile},
                                   {"--scale-a", &flags.scale_a, scaled, kScales},
                                   {"--scale-b", &flags.scale_b, scaled, kScales}};
  for (const EpilogueFlag& f : kOperandFlags)
    operands.push_back({f.argument, &(flags.*f.flag), tree.has(f.op, f.slot), kFile});
  const Operand* given = nullptr;
  for (const Operand& operand : operands)
    if (!given && *operand.flag && **operand.flag != kGenerated) given = &operand;
  if (!given) return {};
  for (const Operand& operand : operands) {
    if (operand.needed && !*operand.flag)
      return failure(ErrorCode::invalid, operand.name, operand.expected,
                     fmt::format("nothing beside {} {}", given->name, quoted(**given->flag)));
    if (operand.needed) request.sources.emplace_back(operand.name + 2, **operand.flag);
  }
  return {};
}

}  // namespace ww::cli
