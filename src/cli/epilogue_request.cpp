// SPDX-License-Identifier: Apache-2.0
// Resolves the epilogue. Precedence: its flag, the config's text, the flags of its operands.
#include "cli/epilogue_request.hpp"

#include <fmt/format.h>

#include <charconv>

namespace ww::cli {
namespace {

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
    WW_TRY(const DType type, type_of(files.c, DType::bf16));
    e = e + (flags.beta ? evt::c(type) * evt::beta : evt::c(type));
  }
  if (flags.bias) {
    WW_TRY(const DType type, type_of(files.bias, DType::f32));
    e = e + evt::bias(type);
  }
  return EpilogueTree(e);
}

}  // namespace

Result<EpilogueTree> resolve_epilogue(const Flags& flags, const EpilogueTree& of_config, EpilogueRequest& request) {
  EpilogueFiles& files = request.epilogue_files;
  WW_TRY(files.c, open_operand(flags.c, "--c"));
  WW_TRY(files.bias, open_operand(flags.bias, "--bias"));
  WW_TRY(files.auxiliary, open_operand(flags.aux, "--aux"));
  WW_TRY(request.alpha, parse_number(flags.alpha, "--alpha"));
  WW_TRY(request.beta, parse_number(flags.beta, "--beta"));
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
  request.out_scales = flags.out_scales;
  if (!flags.out_scales) return tree;
  if (collective::stages_of(tree).quantise <= EpilogueOp::quantise)
    return failure(ErrorCode::invalid, "--out-scales", "an epilogue that ends with quantise_block",
                   quoted(to_text(tree)));
  if (flags.out == flags.out_scales)
    return failure(ErrorCode::invalid, "--out-scales", "another file than --out", quoted(*flags.out_scales));
  WW_CHECK(check_writable(*flags.out_scales, "--out-scales"));
  return tree;
}

Result<void> check_operands_named(const Flags& flags, const EpilogueTree& tree) {
  const auto scalar = [&](const Flag& flag, const char* argument, int slot) -> Result<void> {
    if (!flag || tree.has(EpilogueOp::scalar, slot)) return {};
    return failure(ErrorCode::invalid, argument, fmt::format("an epilogue with {}", argument + 2),
                   tree.empty() ? "none" : quoted(to_text(tree)));
  };
  WW_CHECK(scalar(flags.alpha, "--alpha", kScalarAlpha));
  WW_CHECK(scalar(flags.beta, "--beta", kScalarBeta));
  const auto named = [&](const Flag& flag, const char* argument, EpilogueOp op, const char* name) -> Result<void> {
    if (!flag || tree.has(op, 0)) return {};
    return failure(ErrorCode::invalid, argument, fmt::format("an epilogue with {}", name),
                   tree.empty() ? "none" : quoted(to_text(tree)));
  };
  WW_CHECK(named(flags.c, "--c", EpilogueOp::c, "c"));
  WW_CHECK(named(flags.bias, "--bias", EpilogueOp::row_vector, "bias"));
  return named(flags.aux, "--aux", EpilogueOp::auxiliary, "aux0");
}

namespace {

/// Vectors and matrices that cannot come from a file.
bool has_no_flag(const EpilogueNode& node) {
  const bool several = node.op == EpilogueOp::row_vector || node.op == EpilogueOp::auxiliary;
  return node.op == EpilogueOp::column_vector || (several && node.slot > 0);
}

}  // namespace

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
  const Operand operands[] = {{"--a", &flags.a, true, kFile},
                              {"--b", &flags.b, true, kFile},
                              {"--scale-a", &flags.scale_a, scaled, kScales},
                              {"--scale-b", &flags.scale_b, scaled, kScales},
                              {"--c", &flags.c, tree.has(EpilogueOp::c, 0), kFile},
                              {"--bias", &flags.bias, tree.has(EpilogueOp::row_vector, 0), kFile},
                              {"--aux", &flags.aux, tree.has(EpilogueOp::auxiliary, 0), kFile}};
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
  for (int i = 0; i < tree.size(); ++i)
    if (const EpilogueNode& node = tree.node(i); has_no_flag(node))
      return failure(ErrorCode::invalid, "--epilogue",
                     fmt::format("acc, alpha, beta, c, bias and aux0 alone beside {}, because no flag names a file for "
                                 "others",
                                 given->name),
                     quoted(to_text(tree)));
  return {};
}

}  // namespace ww::cli
