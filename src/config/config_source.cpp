// SPDX-License-Identifier: Apache-2.0
// Walks the field table, in which the members of one structure are consecutive.
#include "config/config_source.hpp"

#include "config/value_text.hpp"
#include "warpwright/config/fields.hpp"

namespace ww {
namespace config {

std::string source_of(const EpilogueTree& tree) {
  std::string code, constants;
  for (u64 word : tree.code) code += fmt::format("{}{:#x}", code.empty() ? "" : ", ", word);
  for (u32 bits : tree.constant) constants += fmt::format("{}{:#x}", constants.empty() ? "" : ", ", bits);
  return fmt::format("{{{{{}}}, {{{}}}}}", code, constants);
}

namespace {

/// Collects ".sm90 = {.schedule = ..., .stages = ...}" and the like, one line for each structure.
class Initialiser {
 public:
  void add(std::string_view member, const std::string& value) {
    const std::size_t dot = member.find('.');
    if (dot == std::string_view::npos) {
      close();
      text_ += fmt::format("    .{} = {},\n", member, value);
      return;
    }
    const std::string_view structure = member.substr(0, dot);
    if (structure != open_) {
      close();
      text_ += fmt::format("    .{} = {{", structure);
      open_ = structure;
    } else {
      text_ += ", ";
    }
    text_ += fmt::format(".{} = {}", member.substr(dot + 1), value);
  }
  std::string take() {
    close();
    return "{\n" + text_ + "}";
  }

 private:
  void close() {
    if (!open_.empty()) text_ += "},\n";
    open_ = {};
  }

  std::string text_;
  std::string_view open_;
};

}  // namespace
}  // namespace config

std::string to_source(const GemmConfig& config) {
  config::Initialiser made;
  for_each_field(config, [&](const ConfigField& field, const auto& value, const auto& otherwise) {
    if (value != otherwise) made.add(field.member, config::source_of(value));
  });
  return made.take();
}

}  // namespace ww
