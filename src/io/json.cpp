// SPDX-License-Identifier: Apache-2.0
// Formats values and errors as the text of one JSON object.
#include "io/json.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ww::io {
namespace {

using Json = nlohmann::ordered_json;

Json convert(const Value& value);

Json convert(const Fields& fields) {
  Json object = Json::object();
  for (const auto& [key, value] : fields) object[key] = convert(value);
  return object;
}

Json convert(const List& list) {
  Json array = Json::array();
  for (const Value& value : list) array.push_back(convert(value));
  return array;
}

Json convert(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Json convert(const Value& value) {
  return std::visit(
      [](const auto& item) -> Json {
        using T = std::decay_t<decltype(item)>;
        if constexpr (std::is_same_v<T, Fields> || std::is_same_v<T, List> || std::is_same_v<T, double>)
          return convert(item);
        else return item;
      },
      value.data);
}

/// Returns the code as one identifier for programs: "could_not_finish", not "could not finish".
std::string code_text(ErrorCode code) {
  std::string text = name_of(code);
  for (char& c : text)
    if (c == ' ') c = '_';
  return text;
}

}  // namespace

Fields error_fields(const Error& error) {
  return {{"ok", false},
          {"error", Fields{{"code", code_text(error.code)},
                           {"argument", error.argument},
                           {"expected", error.expected},
                           {"actual", error.actual},
                           {"message", error.message}}}};
}

std::string to_json(const Fields& fields) {
  return convert(fields).dump(-1, ' ', true, Json::error_handler_t::replace);
}

}  // namespace ww::io
