// SPDX-License-Identifier: Apache-2.0
// The facts about a kernel in its cubin and ptxas' log: registers, spills and stack from the log (ptxas -v), the launch
// bound from the ELF section .nv.info.<kernel>, a list of attributes
//   byte format, byte attribute, 16 bits: the value, or with format 4 the bytes of the value that follows
// Attribute 5 holds the three extents of the largest block (cuobjdump -elf prints it as EIATTR_MAX_THREADS). The code
// itself has instructions of 16 bytes, with the opcode in the low 12 bits.
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
  int moved = 0;      // registers made uniform between one wgmma and the next, such as descriptors that threads hold
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

/// The first section whose name starts so; empty when there is none.
inline std::string_view section_of(std::string_view cubin, std::string_view prefix) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  const auto section_at = [&](std::size_t i) {
    return read_at<Elf64_Shdr>(cubin, header.e_shoff + i * header.e_shentsize);
  };
  const Elf64_Shdr names = section_at(header.e_shstrndx);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr section = section_at(i);
    const std::size_t name = names.sh_offset + section.sh_name;
    if (name >= cubin.size() || cubin.substr(name, prefix.size()) != prefix) continue;
    if (section.sh_offset + section.sh_size > cubin.size()) return {};
    return cubin.substr(section.sh_offset, section.sh_size);
  }
  return {};
}

/// Counts the R2UR between two wgmmas of one k-block in a .text section. Descriptors belong in uniform registers; if
/// ptxas does not know that a mainloop is uniform, every thread computes them and they are moved each time. One move
/// among many wgmmas is none of those: where no other register is left, ptxas keeps the phase of a barrier in one.
inline int moves_in_code(std::string_view code) {
  constexpr std::size_t kInstruction = 16, kNear = 40;  // bytes; instructions from one wgmma of a k-block to the next
  constexpr std::uint32_t kOpcode = 0xfff, kHgmma = 0x9f0, kQgmma = 0x9f3, kR2ur = 0x2ca;
  int moves = 0, since = 0;  // since the last wgmma
  int pairs = 0, moved = 0;  // neighbouring wgmmas, and those with moves between them
  std::size_t last = code.size();
  for (std::size_t at = 0; at + kInstruction <= code.size(); at += kInstruction) {
    const std::uint32_t opcode = read_at<std::uint32_t>(code, at) & kOpcode;
    if (opcode == kR2ur) ++since;
    if (opcode != kHgmma && opcode != kQgmma) continue;
    if (last < at && at - last <= kNear * kInstruction) moves += since, ++pairs, moved += since > 0;
    last = at, since = 0;
  }
  return 8 * moved > pairs ? moves : 0;
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
  notes.threads = threads_of_attributes(section_of(cubin, ".nv.info."));
  notes.moved = moves_in_code(section_of(cubin, ".text."));
  return notes;
}

}  // namespace ww::test
