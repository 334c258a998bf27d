// SPDX-License-Identifier: Apache-2.0
// Config text: what is accepted prints as text that means the same config; what is refused is refused in words.
#include "config/config_text.hpp"
#include "fuzz.hpp"

void ww::fuzz::repair(std::string&) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace ww;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const Result<GemmConfig> config = parse_config(text);
  if (!config) return fuzz::require_well_formed(config.error()), 0;
  ++fuzz::counters().accepted;
  const std::string printed = to_text(*config);
  const Result<GemmConfig> again = parse_config(printed);
  fuzz::require(again.has_value(), "a printed config is refused: " + printed);
  fuzz::require(*again == *config, "a printed config means another one: " + printed);
  fuzz::require(to_text(*again) == printed, "a config prints in two ways: " + printed);
  ++fuzz::counters().compared;
  return 0;
}
