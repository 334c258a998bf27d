// SPDX-License-Identifier: Apache-2.0
// One description of the groups, and nothing of the flags that would describe them again.
#include "cli/group_files.hpp"

#include <fmt/format.h>

#include "host/messages.hpp"
#include "io/array_file.hpp"

namespace ww::cli {
namespace {

using namespace io;

Result<std::vector<std::int32_t>> read_sizes(const std::string& name, const std::string& argument) {
  WW_TRY(const ArrayFile array, open_array(name, argument));
  return read_integers(array);
}

}  // namespace

Result<SizeFiles> open_sizes(const Flags& flags) {
  SizeFiles files;
  struct Choice {
    const Flag* flag;
    const char* argument;
    GroupEncoding encoding;
  };
  for (const Choice& choice : {Choice{&flags.offsets, "--offsets", GroupEncoding::offsets},
                               {&flags.indptr, "--indptr", GroupEncoding::indptr},
                               {&flags.starts, "--starts", GroupEncoding::starts_counts},
                               {&flags.row_ids, "--row-ids", GroupEncoding::row_ids},
                               {&flags.masked, "--masked", GroupEncoding::masked}}) {
    if (!*choice.flag) continue;
    if (files.encoding)
      return failure(ErrorCode::invalid, choice.argument, "one description of the groups", files.argument + " as well");
    files.encoding = choice.encoding, files.argument = choice.argument;
    WW_TRY(files.sizes, read_sizes(**choice.flag, choice.argument));
  }
  if (flags.starts.has_value() != flags.counts.has_value())
    return failure(ErrorCode::invalid, flags.starts ? "--counts" : "--starts", "both --starts and --counts", "one");
  if (flags.counts) {
    WW_TRY(files.sizes2, read_sizes(*flags.counts, "--counts"));
    if (files.sizes2.size() != files.sizes.size())
      return failure(ErrorCode::invalid, "--counts", fmt::format("{} elements as in --starts", files.sizes.size()),
                     fmt::format("{}", files.sizes2.size()));
  }
  for (const auto& [flag, argument] : {std::pair{&flags.rows, "--rows"},
                                       {&flags.ks, "--ks"},
                                       {&flags.distribution, "--distribution"},
                                       {&flags.total, "--total"},
                                       {&flags.gap, "--gap"}})
    if (files.encoding && *flag)
      return failure(ErrorCode::invalid, argument, "nothing: " + files.argument + " says what the groups are",
                     quoted(**flag));
  return files;
}

std::string file_flags(const Flags& flags, const ref::GroupLayout& layout, const char* rows) {
  std::string text = fmt::format("--groups {} {} {}", layout.groups, rows, layout.rows);
  for (const auto& [flag, argument] : {std::pair{&flags.offsets, "--offsets"},
                                       {&flags.indptr, "--indptr"},
                                       {&flags.starts, "--starts"},
                                       {&flags.counts, "--counts"},
                                       {&flags.row_ids, "--row-ids"},
                                       {&flags.masked, "--masked"}})
    if (*flag) text += fmt::format(" {} {}", argument, **flag);
  return layout.alignment > 1 ? fmt::format("{} --align {}", text, layout.alignment) : text;
}

}  // namespace ww::cli
