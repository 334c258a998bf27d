// SPDX-License-Identifier: Apache-2.0
// .safetensors files, one of whose tensors is asked for by name. What opens is compared with the header as a whole,
// read by another reader: no tensor of the file overlaps another or leaves bytes of the data to none.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "array_checks.hpp"

namespace ww::fuzz {
namespace {

/// The tensors that corpora have; a mutated name is asked for as well, when the header names no other.
std::string name_in(const std::string& header) {
  const nlohmann::json json = nlohmann::json::parse(header, nullptr, false);
  if (json.is_object())
    for (const auto& [name, tensor] : json.items())
      if (name != "__metadata__") return name;
  return "a";
}

void check_header(const std::string& header, const std::string& name, const io::ArrayFile& array,
                  std::uint64_t data_bytes) {
  const nlohmann::json json = nlohmann::json::parse(header, nullptr, false);
  require(json.is_object() && json.contains(name), "the header of an open tensor names it");
  require(json[name]["shape"].get<std::vector<std::int64_t>>() == array.shape, "a tensor has the header's shape");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
  for (const auto& [key, tensor] : json.items())
    if (key != "__metadata__") ranges.emplace_back(tensor["data_offsets"][0], tensor["data_offsets"][1]);
  std::sort(ranges.begin(), ranges.end());
  std::uint64_t end = 0;
  for (const auto& [first, last] : ranges) {
    require(first == end && last >= first, "tensors lie one behind the other");
    end = last;
  }
  require(end == data_bytes, "tensors are all of the data");
}

}  // namespace

/// The header ends where its braces do, data where the last tensor does.
void repair(std::string& input) {
  std::size_t end = 8;
  for (int depth = 0; end < input.size(); ++end) {
    depth += (input[end] == '{') - (input[end] == '}');
    if (depth == 0) break;
  }
  if (end >= input.size()) return;
  const std::size_t length = end - 7;
  for (std::size_t i = 0; i < 8; ++i) input[i] = static_cast<char>(i < 4 ? length >> (8 * i) : 0);
  const nlohmann::json json = nlohmann::json::parse(input.substr(8, length), nullptr, false);
  std::uint64_t bytes = 0;
  if (json.is_object())
    for (const auto& [key, tensor] : json.items())
      if (tensor.is_object() && tensor.contains("data_offsets"))
        for (const auto& offset : tensor["data_offsets"])
          if (offset.is_number_unsigned()) bytes = std::max(bytes, offset.get<std::uint64_t>());
  if (bytes < 4096) input.resize(8 + length + bytes, 'x');
}

}  // namespace ww::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  using namespace ww;
  const std::string content(reinterpret_cast<const char*>(data), bytes);
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < 8 && i < bytes; ++i) length |= std::uint64_t{data[i]} << (8 * i);
  const std::string header = bytes > 8 && length <= bytes - 8 ? content.substr(8, length) : "";
  const std::string name = fuzz::name_in(header);
  Result<io::InputFile> file = io::InputFile::open(fuzz::memory_file(content), "--b");
  fuzz::require(file.has_value(), "a file in memory opens");
  const Result<io::ArrayFile> array = io::open_safetensors(std::move(*file), name);
  if (!array) return fuzz::require_well_formed(array.error()), 0;
  fuzz::check_header(header, name, *array, bytes - 8 - length);
  fuzz::check_array(*array);
  return 0;
}
