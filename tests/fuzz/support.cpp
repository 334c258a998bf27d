// SPDX-License-Identifier: Apache-2.0
// Invariants that every parser keeps, and the text form of inputs.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "fuzz.hpp"

namespace ww::fuzz {
namespace {

/// Bytes of the UTF-8 character at `at`, 0 when there is none or it is a control character.
std::size_t character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const unsigned first = byte(at);
  std::size_t count = 1;
  unsigned code = first;
  if (first >= 0xf0 && first < 0xf8) count = 4, code = first & 0x07;
  else if (first >= 0xe0 && first < 0xf0) count = 3, code = first & 0x0f;
  else if (first >= 0xc0 && first < 0xe0) count = 2, code = first & 0x1f;
  else if (first >= 0x80) return 0;
  for (std::size_t i = 1; i < count; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(at + i) & 0x3f);
  }
  const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  const bool no_character = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
  return code < least[count] || control || no_character ? 0 : count;
}

bool printable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t count = character(text, at);
    if (count == 0) return false;
    at += count;
  }
  return true;
}

}  // namespace

Counters& counters() {
  static Counters instance;
  return instance;
}

void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

void require_well_formed(const Error& error) {
  const std::string shown = escaped(error.message);
  require(error.code == ErrorCode::invalid || error.code == ErrorCode::unsupported,
          "an error of bad input is invalid or unsupported: " + shown);
  require(!error.argument.empty() && !error.expected.empty() && !error.actual.empty(),
          "an error names argument, expected and actual: " + shown);
  for (const std::string* part : {&error.argument, &error.expected, &error.actual, &error.message})
    require(printable(*part), "an error is printable: " + shown);
}

std::string escaped(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '\\') text += "\\\\";
    else if (byte >= 0x20 && byte < 0x7f) text += c;
    else text += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return text;
}

std::string unescaped(std::string_view text) {
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      bytes += text[i];
    } else if (text[++i] == 'x' && i + 2 < text.size()) {
      bytes += static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

std::string memory_file(std::string_view bytes) {
  static const int file = ::memfd_create("fuzz", MFD_CLOEXEC);
  require(file >= 0 && ::ftruncate(file, 0) == 0, "a file in memory");
  const auto size = static_cast<ssize_t>(bytes.size());
  require(::pwrite(file, bytes.data(), bytes.size(), 0) == size, "a file in memory that can be written");
  return "/proc/self/fd/" + std::to_string(file);
}

}  // namespace ww::fuzz
