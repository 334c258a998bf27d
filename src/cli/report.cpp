// SPDX-License-Identifier: Apache-2.0
// Renders outcomes and errors. The only file that writes to stdout.
#include "cli/report.hpp"

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ww::cli {
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

/// Codes are words for programs: "could_not_finish", not "could not finish".
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
  return convert(fields).dump(-1, ' ', false, Json::error_handler_t::replace);
}

int show(const Result<Outcome>& result, bool json) {
  const Error* error = !result ? &result.error() : result->error ? &*result->error : nullptr;
  std::string out;
  if (json) {
    Fields fields = result ? result->json : error_fields(*error);
    if (result && error) fields.push_back(error_fields(*error)[1]);
    out = to_json(fields) + "\n";
  } else if (result) {
    out = result->text;
  }
  const bool written = std::fwrite(out.data(), 1, out.size(), stdout) == out.size() && std::fflush(stdout) == 0;
  if (error && !json) std::fprintf(stderr, "warpwright: %s\n", error->message.c_str());
  if (error) return exit_status(error->code);
  if (!written) std::fprintf(stderr, "warpwright: could not finish: writing to stdout failed\n");
  return written ? 0 : exit_status(ErrorCode::could_not_finish);
}

}  // namespace ww::cli
