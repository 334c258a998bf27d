// SPDX-License-Identifier: Apache-2.0
// Small files for tests, made byte by byte, in a directory of their own that goes away with the test.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace ww::test {

class Directory {
 public:
  Directory() {
    std::string name = (std::filesystem::temp_directory_path() / "warpwright_test_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  Directory(const Directory&) = delete;
  ~Directory() { std::filesystem::remove_all(path_); }

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

  /// The path of a new file with these bytes.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(*this / name, std::ios::binary | std::ios::trunc) << bytes;
    return *this / name;
  }

  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string counted(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
  return text;
}

/// A .npy file of version `version` with this dictionary, padded as NumPy pads.
inline std::string npy(const std::string& dictionary, const std::string& data, int version = 1) {
  const std::size_t start = version == 1 ? 10 : 12;
  std::string header = dictionary;
  header.append(63 - (start + header.size()) % 64, ' ');
  header += '\n';
  std::string file = std::string("\x93NUMPY", 6) + static_cast<char>(version) + '\0';
  for (std::size_t i = 0; i < start - 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 255);
  return file + header + data;
}

inline std::string npy_of(const std::string& descr, const std::string& shape, const std::string& data) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

inline std::string safetensors(const std::string& header, const std::string& data) {
  std::string file;
  for (int i = 0; i < 8; ++i) file += static_cast<char>(header.size() >> (8 * i) & 255);
  return file + header + data;
}

}  // namespace ww::test
