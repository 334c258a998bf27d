// SPDX-License-Identifier: Apache-2.0
// A JSON value as plain data, from which reports are built without the JSON library's header.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "warpwright/host/result.hpp"

namespace ww::io {

struct Value;
/// An object whose keys keep the order in which they were added.
using Fields = std::vector<std::pair<std::string, Value>>;
using List = std::vector<Value>;

/// One JSON value. NaN and Inf have no JSON number: they become the strings "nan", "inf" and "-inf".
struct Value {
  std::variant<std::nullptr_t, bool, std::int64_t, double, std::string, Fields, List> data = nullptr;

  Value() = default;
  Value(bool value) : data(value) {}
  Value(int value) : data(std::int64_t{value}) {}
  Value(std::int64_t value) : data(value) {}
  Value(std::uint64_t value) : data(static_cast<std::int64_t>(value)) {}
  Value(double value) : data(value) {}
  Value(const char* value) : data(std::string(value)) {}
  Value(std::string value) : data(std::move(value)) {}
  Value(Fields value) : data(std::move(value)) {}
  Value(List value) : data(std::move(value)) {}
};

/// What a command hands back: lines for a reader and the same facts as one JSON object. `error` is set when it ran to
/// its end and the result is wrong: facts and error are both shown.
struct Outcome {
  std::string text;
  Fields json;
  std::optional<Error> error;
};

/// {"ok":false,"error":{"code","argument","expected","actual","message"}}
Fields error_fields(const Error& error);

/// Returns one line without a line break; bytes that are not UTF-8 are replaced.
std::string to_json(const Fields& fields);

}  // namespace ww::io
