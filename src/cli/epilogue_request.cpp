// SPDX-License-Identifier: Apache-2.0
// Precedence of the tree: its flag, the config's text, the flags of its operands.
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

/// What --alpha, --beta, --c and --bias mean without --epilogue: acc*alpha + c*beta + bias.
Result<EpilogueTree> usual_epilogue(const GemmFlags& flags, const EpilogueFiles& files) {
  if (!flags.alpha && !flags.beta && !flags.c && !flags.bias) return EpilogueTree{};
  evt::Expression e = evt::acc;
  if (flags.alpha) e = e * evt::alpha;
  if (files.c) {
    WW_TRY(const DType type, element_type(*files.c, std::nullopt));
    e = e + (flags.beta ? evt::c(type) * evt::beta : evt::c(type));
  }
  if (files.bias) {
    WW_TRY(const DType type, element_type(*files.bias, std::nullopt));
    e = e + evt::bias(type);
  }
  return EpilogueTree(e);
}

}  // namespace

Result<EpilogueTree> resolve_epilogue(const GemmFlags& flags, const EpilogueTree& of_config, EpilogueRequest& request) {
  EpilogueFiles& files = request.epilogue_files;
  const auto open = [](const Flag& flag, const char* argument) -> Result<std::optional<ArrayFile>> {
    if (!flag) return std::nullopt;
    WW_TRY(ArrayFile array, open_array(*flag, argument));
    return array;
  };
  WW_TRY(files.c, open(flags.c, "--c"));
  WW_TRY(files.bias, open(flags.bias, "--bias"));
  WW_TRY(files.auxiliary, open(flags.aux, "--aux"));
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
  WW_CHECK(check_writable(*flags.out_scales, "--out-scales"));
  return tree;
}

Result<void> check_operands_named(const GemmFlags& flags, const EpilogueFiles& files, const EpilogueTree& tree) {
  const auto scalar = [&](const Flag& flag, const char* argument, int slot) -> Result<void> {
    if (!flag || tree.has(EpilogueOp::scalar, slot)) return {};
    return failure(ErrorCode::invalid, argument, fmt::format("an epilogue with {}", argument + 2),
                   tree.empty() ? "none" : quoted(to_text(tree)));
  };
  WW_CHECK(scalar(flags.alpha, "--alpha", kScalarAlpha));
  WW_CHECK(scalar(flags.beta, "--beta", kScalarBeta));
  const auto named = [&](const std::optional<ArrayFile>& file, EpilogueOp op, const char* name) -> Result<void> {
    if (!file || tree.has(op, 0)) return {};
    return failure(ErrorCode::invalid, file->file.argument(), fmt::format("an epilogue with {}", name),
                   quoted(to_text(tree)));
  };
  WW_CHECK(named(files.c, EpilogueOp::c, "c"));
  WW_CHECK(named(files.bias, EpilogueOp::row_vector, "bias"));
  return named(files.auxiliary, EpilogueOp::auxiliary, "aux0");
}

}  // namespace ww::cli
