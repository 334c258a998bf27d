// SPDX-License-Identifier: Apache-2.0
// Epilogue text: a tree that is accepted has no fault and prints as text that means the same tree, by itself and inside
// a config; what is refused is refused in words, with a position inside the text or just behind it.
#include "warpwright/host/epilogue.hpp"
#include "config/config_text.hpp"
#include "fuzz.hpp"
#include "warpwright/config/epilogue_stages.hpp"

void ww::fuzz::repair(std::string&) {}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace ww;
  const std::string_view text(reinterpret_cast<const char*>(data), bytes);
  const Result<EpilogueTree> tree = parse_epilogue(text);
  if (!tree) {
    fuzz::require_well_formed(tree.error());
    const std::size_t at = tree.error().argument.find("position ");
    if (at != std::string::npos)
      fuzz::require(std::stoull(tree.error().argument.substr(at + 9)) <= bytes + 1, "a position beyond the text");
    return 0;
  }
  ++fuzz::counters().accepted;
  fuzz::require(config::fault_of(*tree) == nullptr, "an accepted tree has a fault");
  const std::string printed = to_text(*tree);
  const Result<EpilogueTree> again = parse_epilogue(printed);
  fuzz::require(again.has_value(), "a printed epilogue is refused: " + printed);
  fuzz::require(*again == *tree, "a printed epilogue means another one: " + printed);
  const Result<GemmConfig> config = parse_config("d=f32,epilogue=" + printed + ",stages=4");
  fuzz::require(config && config->epilogue == *tree && config->sm90.stages == 4,
                "a config changes its epilogue: " + printed);
  ++fuzz::counters().compared;
  return 0;
}
