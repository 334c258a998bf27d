// SPDX-License-Identifier: Apache-2.0
// `warpwright layout <expr>`: evaluates the layout algebra as text, in the language of src/layout/text.hpp.
#include "cli/flags.hpp"
#include "layout/text.hpp"

namespace ww::cli {

Result<Outcome> run_layout(const Flags& flags) {
  const std::string& expression = *flags.expression;
  WW_TRY(std::string text, evaluate_layout(expression));
  Outcome outcome;
  outcome.json = {{"ok", true}, {"expression", expression}, {"result", text}};
  outcome.text = std::move(text);
  if (!outcome.text.ends_with('\n')) outcome.text += '\n';
  return outcome;
}

}  // namespace ww::cli
