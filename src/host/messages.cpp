// SPDX-License-Identifier: Apache-2.0
// Decodes UTF-8 and spells out what a terminal would not show as a character.
#include "host/messages.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include <cstdint>

#include "warpwright/core/machine.hpp"

namespace ww {
namespace {

/// Bytes of the character that begins `text` and its code point; 1 and -1 where that is no UTF-8.
struct Character {
  std::size_t bytes;
  std::int32_t code;
};

Character first_of(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char head = byte(0);
  if (head < 0x80) return {1, head};
  const std::size_t bytes = head >= 0xf0 && head < 0xf5 ? 4 : head >= 0xe0 && head < 0xf0 ? 3 : head >= 0xc2 ? 2 : 0;
  if (bytes == 0 || head >= 0xf5 || text.size() < bytes) return {1, -1};
  std::int32_t code = head & (0xff >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {1, -1};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {1, -1};
  return {bytes, code};
}

/// Characters that are seen as themselves: no controls, no marks of direction, no separators of lines, no byte order
/// mark and no characters of width zero.
bool is_shown(std::int32_t code) {
  return code >= 0x20 && (code < 0x7f || code >= 0xa0) && !(code >= 0x200b && code <= 0x200f) &&
         !(code >= 0x2028 && code <= 0x202e) && !(code >= 0x2060 && code <= 0x206f) && code != 0xfeff;
}

std::string escaped(std::string_view text, bool lines) {
  std::string result;
  while (!text.empty()) {
    const auto [bytes, code] = first_of(text);
    if (is_shown(code) || (lines && (code == '\n' || code == '\t'))) result += text.substr(0, bytes);
    else
      for (const char c : text.substr(0, bytes)) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }
std::string printable_lines(std::string_view text) { return escaped(text, true); }

std::string accepted_devices(const std::vector<std::string>& emulated) {
  return fmt::format("auto, {} or cuda:<ordinal>", fmt::join(emulated, ", "));
}
std::string accepted_devices() {
  std::vector<std::string> emulated;
  for (int i = 0; i < kArchs; ++i) emulated.emplace_back(machine_of(static_cast<Arch>(i)).emulated_device);
  return accepted_devices(emulated);
}
std::string quoted(const std::string& text) { return fmt::format("\"{}\"", printable(text)); }

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names;
  for (std::size_t at = 0; !list.empty() && at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    names.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return names;
}

Error with_argument(Error error, std::string argument) {
  const std::string before = fmt::format(": argument {}", error.argument);
  if (const std::size_t at = error.message.find(before); !error.argument.empty() && at != std::string::npos)
    error.message.replace(at, before.size(), fmt::format(": argument {}", argument));
  error.argument = std::move(argument);
  return error;
}

Result<std::int64_t> parse_integer(const std::string& text, const std::string& argument, std::int64_t least,
                                   std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
  return failure(ErrorCode::invalid, argument, fmt::format("an integer from {} to {}", least, most), quoted(text));
}

Result<std::vector<std::int64_t>> parse_integers(const std::string& text, const std::string& argument,
                                                 std::int64_t least, std::int64_t most) {
  std::vector<std::int64_t> values;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    WW_TRY(const std::int64_t value, parse_integer(text.substr(at, end - at), argument, least, most));
    values.push_back(value);
    at = end + 1;
  }
  return values;
}

}  // namespace ww
