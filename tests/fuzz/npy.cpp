// SPDX-License-Identifier: Apache-2.0
// .npy files: the bytes of a file in memory, opened as the program opens one that a user names.
#include <algorithm>

#include "array_checks.hpp"

namespace ww::fuzz {
namespace {

/// The product of the numbers of the shape and the digit of the type; nothing when it is large.
std::size_t data_bytes(std::string_view header) {
  const std::size_t shape = header.find('('), type = header.find_first_of("<>|");
  std::size_t bytes = type + 2 < header.size() ? static_cast<std::size_t>(header[type + 2] - '0') : 1;
  for (std::size_t at = std::min(shape, header.size()); at < header.size() && header[at] != ')';) {
    std::size_t value = 0, digits = 0;
    for (; at < header.size() && header[at] >= '0' && header[at] <= '9' && digits < 6; ++at, ++digits)
      value = value * 10 + static_cast<std::size_t>(header[at] - '0');
    if (digits == 0) ++at;
    else bytes = std::min<std::size_t>(bytes * value, 1 << 20);
  }
  return bytes < 4096 ? bytes : 0;
}

}  // namespace

/// The length of the header is up to its line feed, else its closing brace; data is as long as the header says.
void repair(std::string& input) {
  if (input.size() < 12) return;
  const std::size_t start = input[6] == 1 ? 10 : 12;
  std::size_t end = input.find("}");
  if (end == std::string::npos || end < start) return;
  end = input.find_first_not_of(" \n", end + 1);
  if (end == std::string::npos) end = input.size();
  const std::size_t length = end - start;
  input[8] = static_cast<char>(length), input[9] = static_cast<char>(length >> 8);
  if (start == 12) input[10] = input[11] = 0;
  input.resize(end + data_bytes(std::string_view(input).substr(0, end)), 'x');
}

}  // namespace ww::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace ww;
  const std::string path = fuzz::memory_file({reinterpret_cast<const char*>(data), bytes});
  Result<io::InputFile> file = io::InputFile::open(path, "--a");
  fuzz::require(file.has_value(), "a file in memory opens");
  const Result<io::ArrayFile> array = io::open_npy(std::move(*file));
  if (!array) return fuzz::require_well_formed(array.error()), 0;
  const auto needed = static_cast<std::uint64_t>(*io::checked_elements(array->shape, io::bytes_of(array->kind)));
  fuzz::require(array->offset + needed * static_cast<std::uint64_t>(io::bytes_of(array->kind)) == bytes,
                "a .npy file ends with its data");
  fuzz::check_array(*array);
  return 0;
}
