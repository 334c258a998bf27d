// SPDX-License-Identifier: Apache-2.0
// Renders outcomes and errors. This is the only file that writes to stdout.
#include "cli/report.hpp"

#include <cstdio>

#include <fmt/format.h>

#include "host/messages.hpp"
#include "warpwright/core/machine.hpp"

namespace ww::cli {

int show(const Result<Outcome>& result, bool json, std::FILE* stream) {
  const Error* error = !result ? &result.error() : result->error ? &*result->error : nullptr;
  std::string out;
  if (json) {
    Fields fields = result ? result->json : error_fields(*error);
    if (result && error) fields.push_back(error_fields(*error)[1]);
    out = to_json(fields) + "\n";
  } else if (result) {
    out = printable_lines(result->text);
  }
  const bool written = std::fwrite(out.data(), 1, out.size(), stream) == out.size() && std::fflush(stream) == 0;
  if (error && !json) std::fprintf(stderr, "warpwright: %s\n", error->message.c_str());
  if (error) return exit_status(error->code);
  if (!written) std::fprintf(stderr, "warpwright: could not finish: the report could not be written\n");
  return written ? 0 : exit_status(ErrorCode::could_not_finish);
}

std::string request_for_results(const DeviceInfo& info) {
  if (info.emulated || machine_of(info.arch).measured) return {};
  return fmt::format(
      "please send what this prints, right or wrong (docs/blackwell.md): python3 -B "
      "tests/parity/sm100_parity.py check warpwright tests/parity/sm100_hashes.txt {}",
      info.name);
}

}  // namespace ww::cli
