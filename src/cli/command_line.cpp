// SPDX-License-Identifier: Apache-2.0
// From argv to a command: the parser is built from the table of commands.cpp, and this is the only file that includes
// CLI11 (it costs seconds to compile). Everything that CLI11 would refuse is refused here, in the program's own words.
#include "cli/command_line.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string_view>

#include "cli/epilogue_request.hpp"
#include "cli/flags.hpp"
#include "cli/request.hpp"
#include "io/file.hpp"
#include "warpwright/host/compile.hpp"

namespace ww::cli {
namespace {

/// A command with its parser, and the options that stand for its rows.
struct Parser {
  const Command* command = nullptr;
  CLI::App* app = nullptr;
  std::vector<std::pair<const FlagRow*, CLI::Option*>> options;
};

void add_options(Parser& parser, Flags& flags) {
  for (const FlagRow& row : flag_rows()) {
    if (!reads(*parser.command, row)) continue;
    CLI::Option* option = nullptr;
    if (is_switch(row)) {
      option = parser.app->add_flag(row.name, flags.*std::get<bool Flags::*>(row.member), row.meaning);
      option->disable_flag_override();
    } else {
      option = parser.app->add_option(row.name, value_of(flags, row), row.meaning);
      option->type_name(row.values);
    }
    // Several are counted after parsing: CLI11's own refusal does not name what came.
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    parser.options.emplace_back(&row, option);
  }
}

std::string footer_of(const Command& command) {
  std::string footer;
  for (const FlagRow& row : flag_rows()) {
    if (!command.run || !reads(command, row) || std::string_view(row.name) != "--epilogue") continue;
    footer += "An epilogue's expression is made of\n";
    for (const std::string& line : epilogue_help()) footer += "  " + line + "\n";
  }
  return footer + "Exit status: " + exit_statuses(command);
}

/// One parser for each command. What is unknown stays in remaining(), so that it can be refused by name.
std::vector<Parser> add_commands(CLI::App& app, Flags& flags) {
  std::vector<Parser> parsers;
  CLI::App *verb = nullptr, *made = &app;
  for (const Command& c : commands()) {
    if (c.verb_bit != kProgram) {
      CLI::App* under = *c.verb && *c.operation ? verb : &app;
      made = under->add_subcommand(*c.operation ? c.operation : c.verb, c.meaning);
    }
    if (!*c.operation) verb = made;
    made->allow_extras()->require_subcommand(0, 1)->footer(footer_of(c));
    parsers.push_back({&c, made, {}});
    add_options(parsers.back(), flags);
  }
  return parsers;
}

std::string program_name(const Command& command) {
  const std::string name = name_of(command);
  return name.empty() ? "warpwright" : "warpwright " + name;
}

/// "gemm, grouped or k-grouped": what may follow `command`.
std::string words_after(const Command& command) {
  std::vector<std::string> words;
  for (const Command& c : commands())
    if (follows(c, command)) words.push_back(*c.operation ? c.operation : c.verb);
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  return text;
}

/// "bash or zsh" for "bash|zsh".
std::string alternatives(const std::string& values) {
  std::string text;
  for (const char c : values) text += c == '|' ? std::string(" or ") : std::string(1, c);
  return text;
}

std::string values_of(const FlagRow& row) {
  return is_switch(row) ? std::string("no value") : "a value: " + std::string(row.values);
}

/// Why `command` does not take `word`, which nothing matched.
Error refuse_word(const Command& command, const std::string& word) {
  if (!word.starts_with("-") || word == "-" || word == "--") {
    const std::string next = words_after(command);
    return make_error(ErrorCode::invalid, program_name(command), next.empty() ? "flags alone" : next, quoted(word));
  }
  const std::string name = word.substr(0, word.find('='));
  for (const Refusal& refusal : refusals())
    if (name == refusal.name && refusal.operations & command.operation_bit && refusal.verbs & command.verb_bit)
      return make_error(command.verb_bit == kCheck ? ErrorCode::invalid : ErrorCode::unsupported, name,
                        refusal.expected, quoted(word));
  std::string readers;
  for (const Command& c : commands())
    for (const FlagRow& row : flag_rows())
      if (c.run && name == row.name && reads(c, row)) {
        readers += (readers.empty() ? "" : ", ") + name_of(c);
        break;
      }
  return make_error(ErrorCode::invalid, printable(name),
                    "a flag of " + program_name(command) + ", as its --help lists them", quoted(word),
                    readers.empty() ? "" : "the commands that have it are " + readers);
}

/// "--flag=": CLI11 would take the next word for the value. "--switch=value": it would take "true".
Result<void> check_values(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word == "--") break;
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) continue;
    for (const FlagRow& row : flag_rows())
      if (word.substr(0, equals) == row.name && (is_switch(row) || equals + 1 == word.size()))
        return failure(ErrorCode::invalid, row.name, values_of(row),
                       is_switch(row) ? quoted(word.substr(equals + 1)) : "nothing");
  }
  return {};
}

/// Rewrites CLI11's refusal with the flag it names first, then what it says.
Error refuse_value(const Parser& parser, const CLI::ParseError& error) {
  const std::string what = error.what();
  for (const auto& [row, option] : parser.options)
    if (what.starts_with(std::string(row->name) + ":"))
      return make_error(ErrorCode::invalid, row->name, values_of(*row), "nothing");
  return make_error(ErrorCode::invalid, "",
                    "a command line as " + program_name(*parser.command) + " --help describes it", what);
}

/// The command that the words name, down to its operation.
const Parser& chosen(const std::vector<Parser>& parsers) {
  const CLI::App* at = parsers.front().app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *std::find_if(parsers.begin(), parsers.end(), [&](const Parser& p) { return p.app == at; });
}

/// An option that was given: once, to the command that reads it, and with no other flag for a value.
Result<void> check_option(const FlagRow& row, const CLI::Option& option, bool in_place, const Command& command) {
  if (!in_place)
    return failure(ErrorCode::invalid, row.name,
                   reads(command, row) ? "its place after " + program_name(command) : "no command after it",
                   reads(command, row) ? "it before that" : quoted(name_of(command)));
  if (option.count() > 1)
    return failure(ErrorCode::invalid, row.name, "to be given once", fmt::format("it {} times", option.count()));
  const std::string value = is_switch(row) ? "" : option.results().front();
  if (!value.starts_with("--")) return {};
  return failure(ErrorCode::invalid, row.name, values_of(row), "the flag " + quoted(value));
}

/// Refuses what CLI11 left over or read without a word: unknown flags, flags given twice or before the command that
/// reads them, contradictions.
Result<void> check_words(const std::vector<Parser>& parsers, const Parser& parser, const Flags& flags) {
  for (const Parser& p : parsers) {
    if (!p.app->parsed()) continue;
    for (const auto& [row, option] : p.options)
      if (option->count() > 0) WW_CHECK(check_option(*row, *option, p.app == parser.app, *parser.command));
    const std::vector<std::string> left = p.app->remaining();
    if (!left.empty()) return failure(refuse_word(*p.command, left.front()));
  }
  if (flags.verify && flags.no_verify)
    return failure(ErrorCode::invalid, "--no-verify", "nothing beside --verify", "both");
  for (const auto& [row, option] : parser.options)
    if (is_positional(*row) && option->count() == 0)
      return failure(ErrorCode::invalid, row->name, alternatives(row->values), "nothing");
  const bool complete = parser.command->verb_bit == kProgram ? flags.version : parser.command->run != nullptr;
  if (!complete)
    return failure(ErrorCode::invalid, program_name(*parser.command), words_after(*parser.command), "nothing");
  return {};
}

bool wants_json(const std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (word == "--json" || word == "--") return word == "--json";
  return false;
}

/// Whether one of the files that the command writes is standard output: its report goes to stderr then.
bool writes_standard_output(const Flags& flags) {
  for (const Flag* file : {&flags.out, &flags.out_scales, &flags.out0, &flags.out1, &flags.out2, &flags.out3,
                           &flags.amax, &flags.result, &flags.list})
    if (*file && io::is_standard_output(**file)) return true;
  return false;
}

/// With WARPWRIGHT_JIT=trace, prints a line for each kernel that was not in memory.
void trace_kernels() {
  const char* mode = std::getenv("WARPWRIGHT_JIT");
  if (mode == nullptr || std::string_view(mode) != "trace") return;
  set_kernel_listener([](const KernelNotice& notice) {
    fmt::print(stderr, "kernel {:<8} {:6.3f} s  {}{}\n", name_of(notice.origin), notice.seconds, notice.kernel,
               notice.note.empty() ? "" : " (" + notice.note + ")");
  });
}

int run_verb(const std::vector<std::string>& words, const char* const* argv) {
  CLI::App app(commands().front().meaning, "warpwright");
  Flags flags;
  const std::vector<Parser> parsers = add_commands(app, flags);
  const bool json = wants_json(words);  // before parsing, because a broken command line has no flags yet
  if (Result<void> good = check_values(words); !good) return show(failure(good.error()), json);
  try {
    app.parse(static_cast<int>(words.size()) + 1, argv);
  } catch (const CLI::Success&) {  // --help
    Outcome help;
    help.text = app.help();  // that of the command which was named
    return show(help, false);
  } catch (const CLI::ParseError& error) {
    return show(failure(refuse_value(chosen(parsers), error)), json);
  }
  const Parser& parser = chosen(parsers);
  if (Result<void> good = check_words(parsers, parser, flags); !good) return show(failure(good.error()), json);
  flags.command_line = "warpwright";
  for (const std::string& word : words) flags.command_line += " " + word;
  trace_kernels();
  Result<Outcome> outcome = parser.command->run(flags);
  if (!outcome) outcome = failure(in_flags(outcome.error(), flags));
  else if (outcome->error) outcome->error = in_flags(*outcome->error, flags);
  return show(outcome, json, writes_standard_output(flags) ? stderr : stdout);
}

}  // namespace

int run_program(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  try {
    return run_verb(words, argv);
  } catch (const std::bad_alloc&) {
    return show(failure(ErrorCode::could_not_finish, "", "", "", "out of memory"), wants_json(words));
  } catch (const std::exception& error) {  // the program's last resort; the library does not throw
    return show(failure(ErrorCode::could_not_finish, "", "", error.what()), wants_json(words));
  }
}

}  // namespace ww::cli
