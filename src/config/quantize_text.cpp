// SPDX-License-Identifier: Apache-2.0
// Prints and parses the few keys of casts and transposes.
#include "config/quantize_text.hpp"

#include <set>

#include "config/config_text.hpp"
#include "config/value_text.hpp"

namespace ww {
namespace {

constexpr std::string_view kQuantize = "quantize=", kTranspose = "transpose=", kPack = "pack=", kCast = "cast=";

struct KeyValue {
  std::string_view key, value;
};

/// Takes the first key=value off `rest`. Errors name `what`.
Result<KeyValue> next_pair(std::string_view& rest, const char* what) {
  const std::string_view one = rest.substr(0, rest.find(','));
  const bool comma_ends = rest.size() == one.size() + 1;
  rest.remove_prefix(std::min(rest.size(), one.size() + 1));
  const std::size_t equals = one.find('=');
  if (equals == one.npos) return failure(ErrorCode::invalid, what, "keys and values joined by =", config::quoted(one));
  if (comma_ends) return failure(ErrorCode::invalid, what, "keys and values joined by commas", "a comma at the end");
  return KeyValue{one.substr(0, equals), one.substr(equals + 1)};
}

Result<void> read_key(const KeyValue& pair, QuantizeProblem& to) {
  const std::string argument = fmt::format("quantize, key {}", pair.key);
  if (pair.key == "quantize") {
    for (const QuantizeBlock block : {QuantizeBlock::b1x128, QuantizeBlock::b128x128})
      if (pair.value == name_of(block)) return to.block = block, Result<void>{};
    return failure(ErrorCode::invalid, argument, "1x128 or 128x128", config::quoted(pair.value));
  }
  if (pair.key == "rows") return config::read(pair.value, 1, argument, to.rows);
  if (pair.key == "transposed") return config::read(pair.value, 1, argument, to.transposed);
  if (pair.key != "x" && pair.key != "q")
    return failure(ErrorCode::invalid, argument, "quantize, x, q, rows or transposed", config::quoted(pair.key));
  WW_TRY((pair.key == "x" ? to.x : to.q), parse_dtype(pair.value, argument));
  return {};
}

Result<void> read_key(const KeyValue& pair, MicroscaleProblem& to) {
  const std::string argument = fmt::format("cast, key {}", pair.key);
  if (pair.key == "cast") {
    for (const Scale scale : {Scale::mx, Scale::nv})
      if (pair.value == name_of(scale)) {
        to.scale = scale, to.q = scale == Scale::nv ? DType::e2m1 : DType::e4m3;
        return {};
      }
    return failure(ErrorCode::invalid, argument, "mx or nv", config::quoted(pair.value));
  }
  if (pair.key != "x" && pair.key != "q")
    return failure(ErrorCode::invalid, argument, "cast, x or q", config::quoted(pair.key));
  WW_TRY((pair.key == "x" ? to.x : to.q), parse_dtype(pair.value, argument));
  return {};
}

/// Reads keys and values, each key once.
template <class Problem> Result<void> read_keys(std::string_view text, const char* what, Problem& to) {
  std::set<std::string_view> seen;
  for (std::string_view rest = text; !rest.empty();) {
    WW_TRY(const KeyValue pair, next_pair(rest, what));
    if (!seen.insert(pair.key).second)
      return failure(ErrorCode::invalid, fmt::format("{}, key {}", what, pair.key), "each key once", "it twice");
    WW_CHECK(read_key(pair, to));
  }
  return {};
}

}  // namespace

std::string to_text(const config::MicroscaleKind& kind) {
  return fmt::format("{}{},x={},q={}", kCast, name_of(kind.scale), name_of(kind.x), name_of(kind.q));
}

std::string to_text(const config::QuantizeKind& kind) {
  return kind.copies() ? fmt::format("{}{}", kTranspose, name_of(kind.q)) : text_of_cast(kind);
}

std::string text_of_cast(const config::QuantizeKind& kind) {
  return fmt::format("{}{},x={},q={},rows={},transposed={}", kQuantize,
                     name_of(kind.blocks ? QuantizeBlock::b128x128 : QuantizeBlock::b1x128), name_of(kind.x),
                     name_of(kind.q), config::text_of(kind.rows), config::text_of(kind.transposed));
}

bool names_quantize(std::string_view text) {
  return text.starts_with(kQuantize) || text.starts_with(kTranspose) || text.starts_with(kPack) ||
         text.starts_with(kCast);
}

Result<std::variant<QuantizeProblem, TransposeProblem, PackScalesProblem, MicroscaleProblem>> parse_quantize(
    std::string_view text) {
  constexpr std::int64_t kOneTile = config::kQuantizeTile;
  if (text.starts_with(kTranspose)) {
    TransposeProblem transpose{.n = kOneTile, .k = kOneTile};
    WW_TRY(transpose.type, parse_dtype(text.substr(kTranspose.size()), "transpose"));
    return transpose;
  }
  if (text == kPackScales) return PackScalesProblem{.m = 1, .k = 1};
  if (text.starts_with(kPack))
    return failure(ErrorCode::invalid, "pack", "ue8m0", config::quoted(text.substr(kPack.size())));
  if (text.starts_with(kCast)) {
    MicroscaleProblem cast{.m = kOneTile, .k = kOneTile};
    WW_CHECK(read_keys(text, "cast", cast));
    return cast;
  }
  QuantizeProblem quantize{.m = kOneTile, .k = kOneTile};
  WW_CHECK(read_keys(text, "quantize", quantize));
  return quantize;
}

}  // namespace ww
