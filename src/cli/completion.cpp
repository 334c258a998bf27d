// SPDX-License-Identifier: Apache-2.0
// `warpwright completion bash|zsh`: a script that offers the commands, each command's flags, and the values of flags
// that have a list of them. Everything comes from the table of commands.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/request.hpp"

namespace ww::cli {
namespace {

/// The values of "auto|1|2"; none where "INT" or "auto|MxN" only describe them.
std::vector<std::string> words_of(const std::string& values) {
  std::vector<std::string> words;
  for (std::size_t at = 0; at < values.size();) {
    const std::size_t end = std::min(values.find('|', at), values.size());
    const std::string word = values.substr(at, end - at);
    // Capitals stand for a number or a size, except in the names of devices.
    const bool described = std::any_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (!described) words.push_back(word);
    at = end + 1;
  }
  return words;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string flags_of(const Command& command) {
  std::vector<std::string> words{"-h", "--help"};
  for (const FlagRow& row : flag_rows())
    if (reads(command, row) && !is_positional(row)) words.push_back(row.name);
  return joined(words);
}

/// The words that may follow: commands, and the values of a positional argument.
std::string words_after(const Command& command) {
  std::vector<std::string> words;
  for (const Command& c : commands())
    if (follows(c, command)) words.push_back(*c.operation ? c.operation : c.verb);
  for (const FlagRow& row : flag_rows())
    if (reads(command, row) && is_positional(row))
      for (const std::string& word : words_of(row.values)) words.push_back(word);
  return joined(words);
}

/// One line for each flag with a value: the pattern "command flag" and what to offer.
std::string value_cases(const char* files, const char* offer) {
  std::string text;
  for (const Command& c : commands())
    for (const FlagRow& row : flag_rows()) {
      if (!reads(c, row) || is_switch(row) || is_positional(row)) continue;
      const std::string words = joined(words_of(row.values));
      const bool file = std::string_view(row.values) == "FILE";
      text += fmt::format("    '{} {}') {} ;;\n", name_of(c), row.name,
                          file            ? std::string(files)
                          : words.empty() ? std::string(":")
                                          : fmt::format(fmt::runtime(offer), words));
    }
  return text;
}

/// "'gemm') words=...": one line for each command.
std::string command_cases() {
  std::string text;
  for (const Command& c : commands())
    text += fmt::format("        '{}') flags='{}' next='{}' ;;\n", name_of(c), flags_of(c), words_after(c));
  return text;
}

/// Both find the command first: the longest sequence of words before the cursor that names one.
constexpr const char* kBash = R"(# bash completion of warpwright; written by `warpwright completion bash`
_warpwright() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD-1]}} command= flags= next= i
  # "--flag=value" comes as three words, because "=" is one of COMP_WORDBREAKS.
  if [[ $current == = ]]; then current=; elif [[ $previous == = ]]; then previous=${{COMP_WORDS[COMP_CWORD-2]}}; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{command:+$command }}${{COMP_WORDS[i]}}" in
{names}      *) break ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
{values}    *)
      case "$command" in
{commands}      esac
      case "$current" in
        -*) COMPREPLY=($(compgen -W "$flags" -- "$current")) ;;
        *) COMPREPLY=($(compgen -W "$next" -- "$current")) ;;
      esac ;;
  esac
}}
complete -F _warpwright warpwright
)";

constexpr const char* kZsh = R"(#compdef warpwright
# zsh completion of warpwright; written by `warpwright completion zsh`
_warpwright() {{
  local current=${{words[CURRENT]}} previous=${{words[CURRENT-1]}} command= flags= next= i
  local -a line=("${{words[@]}}")
  for ((i = 2; i < CURRENT; i++)); do
    case "${{command:+$command }}${{line[i]}}" in
{names}      *) break ;;
    esac
  done
  if [[ $current == --*=* ]]; then previous=${{current%%=*}}; compset -P '*='; fi
  case "$command $previous" in
{values}    *)
      case "$command" in
{commands}      esac
      if [[ $current == -* ]]; then compadd -- ${{=flags}}; else compadd -- ${{=next}}; fi ;;
  esac
}}
if [[ $funcstack[1] == _warpwright ]]; then _warpwright "$@"; else compdef _warpwright warpwright; fi
)";

/// One line for each word or pair of words that names a command.
std::string name_cases() {
  std::string text;
  for (const Command& c : commands())
    if (c.verb_bit != kProgram) text += fmt::format("      '{}') command='{}' ;;\n", name_of(c), name_of(c));
  return text;
}

}  // namespace

Result<Outcome> run_completion(const Flags& flags) {
  WW_TRY(const int shell, parse_choice(flags.shell, "shell", {"bash", "zsh"}, 0));
  Outcome outcome;
  const std::string list = command_cases();
  if (shell == 0) {
    outcome.text = fmt::format(fmt::runtime(kBash), fmt::arg("names", name_cases()), fmt::arg("commands", list),
                               fmt::arg("values", value_cases("mapfile -t COMPREPLY < <(compgen -f -- \"$current\")",
                                                              "COMPREPLY=($(compgen -W '{}' -- \"$current\"))")));
    return outcome;
  }
  outcome.text = fmt::format(fmt::runtime(kZsh), fmt::arg("names", name_cases()), fmt::arg("commands", list),
                             fmt::arg("values", value_cases("_files", "compadd -- {}")));
  return outcome;
}

}  // namespace ww::cli
