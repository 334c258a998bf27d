// SPDX-License-Identifier: Apache-2.0
// What a cubin and ptxas' log say about its kernel: registers, spills and stack from the log (ptxas -v), the launch
// bound from the ELF section .nv.info.<kernel>, a list of attributes
//   byte format, byte attribute, 16 bits: the value, or with format 4 the bytes of the value that follows
// Attribute 5 holds the three extents of the largest block (cuobjdump -elf prints it as EIATTR_MAX_THREADS).
#pragma once

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <regex>
#include <string>
#include <string_view>

namespace ww::test {

struct CubinNotes {
  int functions = 0;  // that the log has lines for
  int registers = 0;  // a thread, of the kernel
  int spilled = 0;    // bytes stored and loaded, of all functions
  int stack = 0;      // bytes
  int threads = 0;    // the launch bound; 0: none
};

template <class T> T read_at(std::string_view bytes, std::size_t at) {
  T value{};
  if (at + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

/// The launch bound in one .nv.info.<kernel> section; 0 when it has none.
inline int threads_of_attributes(std::string_view section) {
  constexpr std::uint8_t kMaxThreads = 5, kSized = 4;
  for (std::size_t at = 0; at + 4 <= section.size();) {
    const auto format = read_at<std::uint8_t>(section, at), attribute = read_at<std::uint8_t>(section, at + 1);
    const auto bytes = read_at<std::uint16_t>(section, at + 2);
    at += 4;
    if (format != kSized) continue;
    if (attribute == kMaxThreads && bytes >= 12)
      return static_cast<int>(read_at<std::uint32_t>(section, at) * read_at<std::uint32_t>(section, at + 4) *
                              read_at<std::uint32_t>(section, at + 8));
    at += bytes;
  }
  return 0;
}

inline int threads_of_cubin(std::string_view cubin) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  const auto section_at = [&](std::size_t i) {
    return read_at<Elf64_Shdr>(cubin, header.e_shoff + i * header.e_shentsize);
  };
  const Elf64_Shdr names = section_at(header.e_shstrndx);
  constexpr std::string_view kPrefix = ".nv.info.";
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = section_at(i);
    const std::size_t name = names.sh_offset + section.sh_name;
    if (name >= cubin.size() || cubin.substr(name, kPrefix.size()) != kPrefix) continue;
    if (section.sh_offset + section.sh_size > cubin.size()) return 0;
    return threads_of_attributes(cubin.substr(section.sh_offset, section.sh_size));
  }
  return 0;
}

inline CubinNotes read_notes(std::string_view cubin, const std::string& log) {
  CubinNotes notes;
  const std::regex frame(R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads)");
  for (std::sregex_iterator it(log.begin(), log.end(), frame), end; it != end; ++it) {
    ++notes.functions;
    notes.stack += std::stoi((*it)[1]);
    notes.spilled += std::stoi((*it)[2]) + std::stoi((*it)[3]);
  }
  std::smatch used;
  if (std::regex_search(log, used, std::regex(R"(Used (\d+) registers)"))) notes.registers = std::stoi(used[1]);
  notes.threads = threads_of_cubin(cubin);
  return notes;
}

}  // namespace ww::test
