// SPDX-License-Identifier: Apache-2.0
// What holds for every array file that opens: its data lies inside the file, it can be read, and what is read and
// written again as .npy reads back bit for bit.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "fuzz.hpp"
#include "io/array_file.hpp"

namespace ww::fuzz {

inline constexpr std::int64_t kMostElements = 1 << 16;  // that are read back

/// A name that is this process's own, in memory where there is such a folder: every file is synchronised to its disk.
inline std::string scratch_file() {
  const char* folder = ::access("/dev/shm", W_OK) == 0 ? "/dev/shm" : std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/ww_fuzz_" + std::to_string(::getpid()) + ".npy";
}

inline void require_same_data(const ref::Matrix& a, const ref::Matrix& b) {
  require(a.rows() == b.rows() && a.cols() == b.cols() && a.type() == b.type(), "an array that changes its shape");
  require(a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0, "an array that changes its data");
}

inline void check_array(const io::ArrayFile& array) {
  const std::optional<std::int64_t> elements = io::checked_elements(array.shape, io::bytes_of(array.kind));
  require(elements.has_value(), "the shape of an open array fits memory");
  const auto needed = static_cast<std::uint64_t>(*elements) * static_cast<std::uint64_t>(io::bytes_of(array.kind));
  require(array.offset <= array.file.bytes() && needed <= array.file.bytes() - array.offset,
          "the data of an open array lies inside its file");
  ++counters().accepted;
  if (*elements > kMostElements || array.shape.size() != 2) return;
  const Result<DType> type = io::element_type(array, std::nullopt);
  if (!type) return require_well_formed(type.error());
  const Result<ref::Matrix> matrix = io::read_matrix(array, *type, array.shape[0], array.shape[1], array.shape[1]);
  require(matrix.has_value(), "an open array can be read");
  if (*type == DType::e5m2) return;  // NumPy has no name for it
  const std::string path = scratch_file();
  require(io::write_npy(path, "--out", *matrix).has_value(), "an array can be written");
  const Result<io::ArrayFile> again = io::open_array(path, "--a");
  ::unlink(path.c_str());
  require(again.has_value(), "an array that was written opens");
  require(again->shape == array.shape, "an array that was written has its shape");
  const Result<ref::Matrix> copy = io::read_matrix(*again, *type, array.shape[0], array.shape[1], array.shape[1]);
  require(copy.has_value(), "an array that was written can be read");
  require_same_data(*matrix, *copy);
  ++counters().compared;
}

}  // namespace ww::fuzz
