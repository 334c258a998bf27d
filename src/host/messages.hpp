// SPDX-License-Identifier: Apache-2.0
// The text of messages, and numbers in text. What came from a file or a command line is made safe for a terminal:
// escape sequences, NUL and characters that reorder or hide others are spelled out.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "warpwright/host/result.hpp"

namespace ww {

/// `text` with control characters, bytes that are not UTF-8, and invisible or direction-changing characters as \xHH.
std::string printable(std::string_view text);
/// The same, but line breaks and tabs stay: a report of several lines.
std::string printable_lines(std::string_view text);
/// printable() between double quotes.
std::string quoted(const std::string& text);
/// The same; without it std::quoted, found beside a std::string, would be the better match.
inline std::string quoted(std::string& text) { return quoted(static_cast<const std::string&>(text)); }

/// What Device::open() takes: "auto, emu:sm90 or cuda:<ordinal>".
std::string accepted_devices();
/// The same where these are the emulated devices.
std::string accepted_devices(const std::vector<std::string>& emulated);

/// An integer in [least, most], or the error of `argument`.
Result<std::int64_t> parse_integer(const std::string& text, const std::string& argument, std::int64_t least,
                                   std::int64_t most = INT64_MAX);

/// The integers of "340,377,12", each in [least, most], or the error of `argument`.
Result<std::vector<std::int64_t>> parse_integers(const std::string& text, const std::string& argument,
                                                 std::int64_t least, std::int64_t most = INT64_MAX);

/// The parts of "NAME,NAME"; none of an empty text.
std::vector<std::string> names_in(const std::string& list);

/// `error` under the caller's name for its argument: a stride's own name, a flag.
Error with_argument(Error error, std::string argument);

}  // namespace ww
