// SPDX-License-Identifier: Apache-2.0
// What the fuzz targets share. A target defines LLVMFuzzerTestOneInput, as clang's libFuzzer expects it; it is linked
// either with libFuzzer or with our own driver (driver.cpp), which needs no particular compiler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "warpwright/host/result.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes);

namespace ww::fuzz {

/// Defined by each target: makes the lengths in a mutated file agree with its content again, because a reader that
/// refuses every mutation at its first bytes is not tested. A target for text leaves its input alone.
void repair(std::string& input);

/// Counts the inputs that the parser accepted, and those whose result was compared with an independent computation.
struct Counters {
  std::uint64_t accepted = 0, compared = 0;
};
Counters& counters();

/// Prints `what` and aborts unless `holds`.
void require(bool holds, std::string_view what);

/// An error of bad input names its argument, what was expected and what came, and is printable: no control character,
/// valid UTF-8.
void require_well_formed(const Error& error);

/// `bytes` in one printable line: \\ and \xNN stand for what is not printable ASCII.
std::string escaped(std::string_view bytes);
std::string unescaped(std::string_view text);

/// A file in memory that holds `bytes`: a path that can be opened as a regular file until the next call.
std::string memory_file(std::string_view bytes);

}  // namespace ww::fuzz
