// SPDX-License-Identifier: Apache-2.0
// NumPy's .npy: magic, version, header length, then a Python dictionary such as
//   {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
// The scanner of the dictionary knows these three keys and nothing else of Python.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "host/messages.hpp"
#include "io/array_file.hpp"

namespace ww::io {
namespace {

constexpr std::string_view kMagic("\x93NUMPY", 6);
constexpr std::uint32_t kLongestHeader = 1 << 20;
constexpr std::size_t kMostDimensions = 32;

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::int64_t> shape;
};

/// Reads the dictionary front to back; a function returns false when it finds something else.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  bool header(Header& header) {
    bool descr = false, order = false, shape = false;
    if (!take('{')) return false;
    while (!take('}')) {
      std::string key;
      if (!string(key) || !take(':')) return false;
      if (key == "descr" && !descr) descr = string(header.descr);
      else if (key == "fortran_order" && !order) order = boolean(header.fortran_order);
      else if (key == "shape" && !shape) shape = tuple(header.shape);
      else return false;
      if (!take(',') && peek() != '}') return false;
    }
    skip();
    return descr && order && shape && text_.empty();
  }

 private:
  void skip() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n");
    text_.remove_prefix(std::min(next, text_.size()));
  }
  char peek() { return skip(), text_.empty() ? '\0' : text_[0]; }
  bool take(char c) {
    if (peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  bool string(std::string& value) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') return false;
    const std::size_t end = text_.find(quote, 1);
    if (end == std::string_view::npos) return false;
    value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return value.find('\\') == std::string::npos;
  }
  bool boolean(bool& value) {
    value = peek() == 'T';
    const std::string_view word = value ? "True" : "False";
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  bool tuple(std::vector<std::int64_t>& shape) {
    if (!take('(')) return false;
    bool comma = true;
    while (!take(')')) {
      skip();
      std::int64_t extent = 0;
      const auto [end, status] = std::from_chars(text_.data(), text_.data() + text_.size(), extent);
      if (!comma || status != std::errc{} || shape.size() == kMostDimensions) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      if (!text_.empty() && text_[0] == 'L') text_.remove_prefix(1);  // files of Python 2
      shape.push_back(extent);
      comma = take(',');
    }
    return shape.size() != 1 || comma;  // (3) is a number, (3,) is a shape
  }

  std::string_view text_;
};

/// Parses "<f4" and the like; returns false for types that no operand can have.
bool parse_descr(const std::string& descr, ElementKind& kind, bool& big_endian) {
  if (descr.size() != 3 || std::string_view("<>|").find(descr[0]) == std::string_view::npos) return false;
  const std::string type = descr.substr(1);
  if (type == "u1" || type == "i1" || type == "V1") kind = ElementKind::raw8;
  else if (type == "f1") kind = ElementKind::e5m2;  // what ml_dtypes.float8_e5m2 is saved as
  else if (type == "u2" || type == "V2") kind = ElementKind::raw16;
  else if (type == "f2") kind = ElementKind::f16;
  else if (type == "f4") kind = ElementKind::f32;
  else if (type == "i4") kind = ElementKind::i32;
  else return false;
  big_endian = descr[0] == '>' && bytes_of(kind) > 1;
  const bool opaque = type[0] == 'V';  // raw bits have no order that could be swapped
  return !(opaque && big_endian) && (descr[0] != '|' || opaque || bytes_of(kind) == 1);
}

}  // namespace

Result<ArrayFile> open_npy(InputFile file) {
  const std::string argument = file.argument();
  const auto refuse = [&](std::string expected, std::string actual) {
    return failure(ErrorCode::invalid, argument, std::move(expected), std::move(actual),
                   "file " + printable(file.path()));
  };
  unsigned char fixed[12] = {};
  const std::size_t head = static_cast<std::size_t>(std::min<std::uint64_t>(file.bytes(), 12));
  WW_CHECK(file.read(0, fixed, head));
  if (head < 10 || std::string_view(reinterpret_cast<char*>(fixed), 6) != kMagic)
    return refuse("a .npy file or FILE.safetensors:TENSOR",
                  head < 10 ? fmt::format("{} bytes", head) : "another format");
  const bool one = fixed[6] == 1;
  if (fixed[6] < 1 || fixed[6] > 3 || fixed[7] != 0)
    return refuse("a .npy file of version 1.0, 2.0 or 3.0", fmt::format("version {}.{}", fixed[6], fixed[7]));
  const std::uint64_t start = one ? 10 : 12;
  const std::uint32_t length =
      one ? fixed[8] | fixed[9] << 8
          : fixed[8] | fixed[9] << 8 | fixed[10] << 16 | static_cast<std::uint32_t>(fixed[11]) << 24;
  if (file.bytes() < start || length > kLongestHeader || length > file.bytes() - start)
    return refuse(fmt::format("a header of at most {} bytes inside the file", kLongestHeader),
                  fmt::format("a header of {} bytes in a file of {} bytes", length, file.bytes()));
  std::string text(length, '\0');
  WW_CHECK(file.read(start, text.data(), text.size()));

  Header header;
  if (!Scanner(text).header(header))
    return refuse("a header {'descr': …, 'fortran_order': …, 'shape': (…)} of one plain element type",
                  quoted(text.substr(0, 120)));
  ArrayFile array{
      .file = std::move(file), .shape = header.shape, .column_major = header.fortran_order, .offset = start + length};
  const auto refuse_array = [&](std::string expected, std::string actual) {
    return failure(ErrorCode::invalid, argument, std::move(expected), std::move(actual),
                   "file " + printable(array.file.path()));
  };
  if (!parse_descr(header.descr, array.kind, array.big_endian))
    return refuse_array("element type u1, i1, V1, f1, u2, V2, f2, f4 or i4", quoted(header.descr));
  const std::optional<std::int64_t> elements = checked_elements(array.shape, bytes_of(array.kind));
  if (!elements) return refuse_array("a shape that fits memory", shape_text(array.shape));
  const std::uint64_t present = array.file.bytes() - array.offset;
  const std::uint64_t needed = static_cast<std::uint64_t>(*elements) * static_cast<std::uint64_t>(bytes_of(array.kind));
  if (present != needed)
    return refuse_array(fmt::format("{} bytes of data for shape {}", needed, shape_text(array.shape)),
                        fmt::format("{} bytes", present));
  return array;
}

Result<void> write_npy_batch(const std::string& path, const std::string& argument, const Matrix& matrix,
                             std::int64_t matrices) {
  if (matrices == 0) return write_npy(path, argument, matrix);
  return write_npy(path, argument, matrix, {matrices, matrix.rows() / matrices, matrix.cols()});
}

Result<void> write_npy(const std::string& path, const std::string& argument, const Matrix& matrix,
                       const std::vector<std::int64_t>& shape) {
  const char* descr = matrix.type() == DType::f32    ? "<f4"
                      : matrix.type() == DType::f16  ? "<f2"
                      : matrix.type() == DType::bf16 ? "<V2"
                                                     : "|V1";
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr,
                                   shape_text(shape.empty() ? std::vector{matrix.rows(), matrix.cols()} : shape));
  header.append(63 - (10 + header.size()) % 64, ' ');  // data starts at a multiple of 64 bytes
  header += '\n';
  std::string prefix(kMagic);
  prefix += {1, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  return write_file(path, argument, [&](const Sink& sink) {
    bool good = sink(prefix.data(), prefix.size()) && sink(header.data(), header.size());
    const std::size_t row_bytes = static_cast<std::size_t>(matrix.cols() * bytes_of(matrix.type()));
    if (matrix.ld() == matrix.cols()) return good && sink(matrix.data(), matrix.bytes());
    for (std::int64_t row = 0; good && row < matrix.rows(); ++row) good = sink(matrix.row(row), row_bytes);
    return good;
  });
}

}  // namespace ww::io
