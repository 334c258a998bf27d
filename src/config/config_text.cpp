// SPDX-License-Identifier: Apache-2.0
// Prints and parses GemmConfig by walking the table of its fields.
#include "config/config_text.hpp"

#include <algorithm>
#include <set>

#include "config/value_text.hpp"
#include "warpwright/config/fields.hpp"

namespace ww {
namespace config {

Result<std::vector<int>> parse_integers(std::string_view text, int count, int most, const std::string& argument) {
  std::vector<int> values;
  std::string_view rest = text;
  for (int i = 0; i < count; ++i) {
    int value = 0;
    const auto [end, status] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    const bool last = i + 1 == count;
    const std::size_t used = static_cast<std::size_t>(end - rest.data());
    const bool terminated = last ? used == rest.size() : used < rest.size() && rest[used] == 'x';
    if (status != std::errc{} || !terminated || value < 0 || value > most)
      return failure(ErrorCode::invalid, argument,
                     count == 1 ? fmt::format("an integer from 0 (auto) to {}", most)
                                : fmt::format("{} integers from 0 (auto) to {} joined by x", count, most),
                     quoted(text));
    values.push_back(value);
    rest.remove_prefix(last ? used : used + 1);
  }
  return values;
}

Result<void> read(std::string_view text, int, const std::string& argument, bool& value) {
  if (text != "0" && text != "1") return failure(ErrorCode::invalid, argument, "0 or 1", quoted(text));
  value = text == "1";
  return {};
}

Result<void> read(std::string_view text, int most, const std::string& argument, int& value) {
  WW_TRY(const std::vector<int> one, parse_integers(text, 1, most, argument));
  value = one[0];
  return {};
}

Result<void> read(std::string_view text, int most, const std::string& argument, Tile& value) {
  WW_TRY(const std::vector<int> tile, parse_integers(text, 3, most, argument));
  value = {tile[0], tile[1], tile[2]};
  return {};
}

Result<void> read(std::string_view text, int most, const std::string& argument, Cluster& value) {
  const int extents = std::count(text.begin(), text.end(), 'x') == 2 ? 3 : 2;
  WW_TRY(const std::vector<int> cluster, parse_integers(text, extents, most, argument));
  value = {cluster[0], cluster[1], extents == 3 ? cluster[2] : 0};
  return {};
}

Result<void> read(std::string_view text, int, const std::string& argument, MatrixLayout& value) {
  for (Major a : {Major::k, Major::mn})
    for (Major b : {Major::k, Major::mn})
      if (text == name_of(MatrixLayout{a, b})) return value = {a, b}, Result<void>{};
  return failure(ErrorCode::invalid, argument, "nt, nn, tn or tt", quoted(text));
}

Result<void> read(std::string_view text, int, const std::string& argument, EpilogueTree& value) {
  const Result<EpilogueTree> tree = parse_epilogue(text);
  if (tree) return value = *tree, Result<void>{};
  const Error& error = tree.error();  // of "epilogue, position 4"
  const std::string_view place = std::string_view(error.argument).substr(std::string_view("epilogue").size());
  return failure(error.code, fmt::format("{}{}", argument, place), error.expected, error.actual);
}

namespace {

/// Returns the position of the first comma outside parentheses.
std::size_t end_of_item(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += (text[i] == '(') - (text[i] == ')');
    if (text[i] == ',' && depth <= 0) return i;
  }
  return text.size();
}

std::string all_keys() {
  std::string keys;
  const GemmConfig config;
  for_each_field(config, [&](const ConfigField& field, const auto&, const auto&) {
    keys += fmt::format("{}{}", keys.empty() ? "" : ", ", field.key);
  });
  return keys;
}

Result<void> assign(GemmConfig& config, std::string_view key, std::string_view text) {
  Result<void> answer = failure(ErrorCode::invalid, "config", "keys " + all_keys(), quoted(key));
  for_each_field(config, [&](const ConfigField& field, auto& value, const auto&) {
    if (key == field.key) answer = read(text, field.most, fmt::format("config, key {}", key), value);
  });
  return answer;
}

/// Returns the extent of `text` that `which` names (m, n or k).
std::string extent_of(std::string_view text, char which) {
  for (char at = 'm'; at != which; at = at == 'm' ? 'n' : 'k')
    text.remove_prefix(std::min(text.size(), text.find('x') + 1));
  return std::string(text.substr(0, text.find('x')));
}

/// Returns "auto|on|off", "auto|INT", "auto|MxN".
template <NamedEnum E> std::string choices(const E& value) {
  const EnumNames names = names_of(value);
  std::string text;
  for (int i = 0; i < names.count(); ++i)
    if (names.lists(i)) text += fmt::format("{}{}", text.empty() ? "" : "|", names.value[i]);
  return text;
}
std::string choices(bool) { return "0|1"; }
std::string choices(int) { return "auto|INT"; }
std::string choices(const Tile&) { return "auto|MxNxK"; }
std::string choices(const Cluster&) { return "auto|MxN"; }
std::string choices(MatrixLayout) { return "nt|nn|tn|tt"; }
std::string choices(const EpilogueTree&) { return "EXPRESSION"; }

}  // namespace
}  // namespace config

std::string to_text(const GemmConfig& c) {
  std::string text;
  for_each_field(c, [&](const ConfigField& field, const auto& value, const auto& otherwise) {
    if (field.always || value != otherwise)
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", field.key, config::text_of(value));
  });
  return text;
}

std::string field_text(const GemmConfig& c, std::string_view field) {
  if (const std::size_t comma = field.find(", "); comma != std::string_view::npos)
    return fmt::format("{}, {}", field_text(c, field.substr(0, comma)), field_text(c, field.substr(comma + 2)));
  const std::string_view key = field.substr(0, field.find(" ("));
  std::string text;
  for_each_field(c, [&](const ConfigField& f, const auto& value, const auto&) {
    if (key == f.key) text = config::text_of(value);
  });
  if (key == "epilogue") return config::quoted(text);
  return key == field ? text : config::extent_of(text, field[key.size() + 2]);
}

bool names_key(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, config::end_of_item(text));
    if (item.substr(0, item.find('=')) == key) return true;
    text.remove_prefix(std::min(text.size(), item.size() + 1));
  }
  return false;
}

Result<void> check_arch(const GemmConfig& config, Arch device) {
  if (config.arch == device) return {};
  return failure(ErrorCode::unsupported, "config, arch", fmt::format("{}, the device's", name_of(device)),
                 name_of(config.arch), "config " + to_text(config));
}

Result<GemmConfig> parse_config(std::string_view text, GemmConfig base, std::optional<Arch> device) {
  base.arch = device.value_or(base.arch);
  std::set<std::string_view> seen;
  while (!text.empty()) {
    const std::string_view item = text.substr(0, config::end_of_item(text));
    const bool comma_ends = text.size() == item.size() + 1;
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return failure(ErrorCode::invalid, "config", "key=value pairs joined by commas", config::quoted(item));
    const std::string_view key = item.substr(0, equals);
    if (!seen.insert(key).second)
      return failure(ErrorCode::invalid, fmt::format("config, key {}", key), "one value", "two");
    WW_CHECK(config::assign(base, key, item.substr(equals + 1)));
    if (comma_ends)
      return failure(ErrorCode::invalid, "config", "key=value pairs joined by commas", "a comma at the end");
  }
  if (device) WW_CHECK(check_arch(base, *device));
  return base;
}

std::vector<ConfigFieldFlag> config_field_flags() {
  std::vector<ConfigFieldFlag> flags;
  const GemmConfig c;
  for_each_field(c, [&](const ConfigField& field, const auto& value, const auto&) {
    if (*field.help == 0) return;
    std::string flag = "--" + std::string(field.key);
    std::replace(flag.begin(), flag.end(), '_', '-');
    const std::string_view member = field.member;
    const bool of_rows = member.starts_with("row_groups."), of_k = member.starts_with("k_groups.");
    const bool dense = field.dense || member.starts_with("dense.");
    flags.push_back(
        {flag, field.key, config::choices(value), field.help, !of_rows && !of_k, !dense && !of_k, !dense && !of_rows});
  });
  return flags;
}

Result<DType> parse_dtype(std::string_view text, std::string_view argument) {
  return config::parse_enum<DType>(text, std::string(argument));
}
Result<MatrixLayout> parse_layout(std::string_view text, std::string_view argument) {
  MatrixLayout layout;
  WW_CHECK(config::read(text, 0, std::string(argument), layout));
  return layout;
}

}  // namespace ww
