// SPDX-License-Identifier: Apache-2.0
// .safetensors: 8 bytes of header length, a JSON object of {"name": {"dtype", "shape", "data_offsets": [begin, end]}},
// then the data. The header is read as a stream of events. Only the requested tensor and every tensor's name
// and offsets are stored, and depth is limited, so that a hostile header costs no more than its own length.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "host/messages.hpp"
#include "io/array_file.hpp"

namespace ww::io {
namespace {

constexpr std::uint64_t kLongestHeader = 100'000'000;  // the format's own limit
constexpr std::size_t kMostDimensions = 32;
constexpr std::size_t kNamesShown = 8;

struct Tensor {
  std::string dtype;
  std::vector<std::int64_t> shape, offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

/// Receives the JSON events. `problem` says what was wrong when parsing stopped early.
class Header : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Header(const std::string& wanted) : wanted_(wanted) {}

  Tensor found;
  bool has_found = false;
  std::vector<std::pair<std::int64_t, std::int64_t>> extents;  // data_offsets of every tensor
  std::vector<std::string> names;                              // the first few
  std::string problem;

  bool null() override { return scalar("null"); }
  bool boolean(bool) override { return scalar("true or false"); }
  bool number_float(double, const std::string&) override { return scalar("a fraction"); }
  bool binary(nlohmann::json::binary_t&) override { return scalar("binary"); }
  bool number_integer(std::int64_t) override { return scalar("a negative number"); }
  bool number_unsigned(std::uint64_t value) override {
    if (value > INT64_MAX) return refuse("a number beyond 2^63");
    if (depth_ != 3 || metadata_) return scalar("a number");
    if (field_ == "shape" && tensor_.shape.size() < kMostDimensions)
      tensor_.shape.push_back(static_cast<std::int64_t>(value));
    else if (field_ == "data_offsets" && tensor_.offsets.size() < 2)
      tensor_.offsets.push_back(static_cast<std::int64_t>(value));
    else return refuse(fmt::format("too many numbers in {}", printable(field_)));
    return true;
  }
  bool string(std::string& value) override {
    if (depth_ == 2 && metadata_) return true;
    if (depth_ != 2 || field_ != "dtype") return scalar("a string");
    tensor_.dtype = value;
    return tensor_.has_dtype = true;
  }
  bool start_object(std::size_t) override {
    if (depth_ > 1 || in_array_) return refuse("an object inside a tensor");
    ++depth_;
    if (depth_ == 2) tensor_ = {};
    return true;
  }
  bool key(std::string& name) override {
    if (depth_ == 2) {
      field_ = name;
      return true;
    }
    // The format forbids names that occur twice: readers would disagree which of the tensors is meant.
    if (!seen_.insert(name).second) return refuse(fmt::format("{} more than once", quoted(name)));
    tensor_name_ = name;
    metadata_ = name == "__metadata__";
    if (!metadata_ && names.size() <= kNamesShown) names.push_back(printable(name));
    return true;
  }
  bool end_object() override {
    if (depth_-- != 2 || metadata_) return true;
    if (!tensor_.has_dtype || !tensor_.has_shape || !tensor_.has_offsets || tensor_.offsets.size() != 2)
      return refuse(fmt::format("tensor {} without dtype, shape and two data_offsets", quoted(tensor_name_)));
    extents.emplace_back(tensor_.offsets[0], tensor_.offsets[1]);
    if (tensor_name_ == wanted_) found = tensor_, has_found = true;
    return true;
  }
  bool start_array(std::size_t) override {
    const bool shape = field_ == "shape", offsets = field_ == "data_offsets";
    if (depth_ != 2 || metadata_ || !(shape || offsets) || (shape ? tensor_.has_shape : tensor_.has_offsets))
      return refuse("an unexpected array");
    (shape ? tensor_.has_shape : tensor_.has_offsets) = true;
    ++depth_;
    return in_array_ = true;
  }
  bool end_array() override {
    --depth_;
    in_array_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return refuse(fmt::format("broken JSON at byte {} of the header", position));
  }

 private:
  bool refuse(std::string what) {
    if (problem.empty()) problem = std::move(what);
    return false;
  }
  /// Handles a value where the format has none; unknown plain fields of a tensor are skipped.
  bool scalar(const char* what) {
    if (depth_ == 2 && !metadata_ && field_ != "dtype" && field_ != "shape" && field_ != "data_offsets") return true;
    return refuse(fmt::format("{} where the format has none", what));
  }

  std::string wanted_, tensor_name_, field_;
  std::unordered_set<std::string> seen_;
  Tensor tensor_;
  int depth_ = 0;
  bool metadata_ = false, in_array_ = false;
};

bool parse_kind(const std::string& dtype, ElementKind& kind) {
  if (dtype == "F8_E4M3") kind = ElementKind::e4m3;
  else if (dtype == "F8_E5M2") kind = ElementKind::e5m2;
  else if (dtype == "BF16") kind = ElementKind::bf16;
  else if (dtype == "F16") kind = ElementKind::f16;
  else if (dtype == "F32") kind = ElementKind::f32;
  else if (dtype == "I32") kind = ElementKind::i32;
  else return false;
  return true;
}

}  // namespace

Result<ArrayFile> open_safetensors(InputFile file, const std::string& wanted) {
  ArrayFile array{.file = std::move(file)};
  const auto refuse = [&](std::string expected, std::string actual) {
    return failure(ErrorCode::invalid, array.file.argument(), std::move(expected), std::move(actual),
                   "file " + printable(array.file.path()));
  };
  const std::uint64_t bytes = array.file.bytes();
  if (bytes < 8) return refuse("a .safetensors file", fmt::format("{} bytes", bytes));
  unsigned char prefix[8];
  WW_CHECK(array.file.read(0, prefix, 8));
  std::uint64_t length = 0;
  for (int i = 0; i < 8; ++i) length |= static_cast<std::uint64_t>(prefix[i]) << (8 * i);
  if (length > kLongestHeader || length > bytes - 8)
    return refuse(fmt::format("a header of at most {} bytes inside the file", kLongestHeader),
                  fmt::format("a header of {} bytes in a file of {} bytes", length, bytes));
  std::string text(static_cast<std::size_t>(length), '\0');
  WW_CHECK(array.file.read(8, text.data(), text.size()));

  Header header(wanted);
  if (text.empty() || text[0] != '{' || !nlohmann::json::sax_parse(text, &header))
    return refuse("a header of tensors with dtype, shape and data_offsets",
                  header.problem.empty() ? "no JSON object" : header.problem);
  std::sort(header.extents.begin(), header.extents.end());
  std::int64_t end_of_data = 0;
  for (const auto& [begin, end] : header.extents) {
    if (begin != end_of_data || end < begin)
      return refuse(fmt::format("tensors that follow one another: data_offsets that begin at {}", end_of_data),
                    fmt::format("[{}, {}]", begin, end));
    end_of_data = end;
  }
  const std::uint64_t data_bytes = bytes - 8 - length;
  if (static_cast<std::uint64_t>(end_of_data) != data_bytes)
    return refuse(fmt::format("{} bytes of data, as the header says", end_of_data),
                  fmt::format("{} bytes", data_bytes));
  if (!header.has_found) {
    const bool more = header.names.size() > kNamesShown;
    if (more) header.names.pop_back();
    return refuse(fmt::format("FILE.safetensors:TENSOR with one of the tensors {}{}", fmt::join(header.names, ", "),
                              more ? ", …" : ""),
                  quoted(wanted));
  }

  const Tensor& tensor = header.found;
  if (!parse_kind(tensor.dtype, array.kind))
    return refuse("dtype F8_E4M3, F8_E5M2, BF16, F16, F32 or I32", quoted(tensor.dtype));
  array.shape = tensor.shape;
  array.offset = 8 + length + static_cast<std::uint64_t>(tensor.offsets[0]);
  const std::optional<std::int64_t> elements = checked_elements(tensor.shape, bytes_of(array.kind));
  const std::int64_t begin = tensor.offsets[0], end = tensor.offsets[1];
  if (!elements || begin > end || end - begin != *elements * bytes_of(array.kind))
    return refuse(fmt::format("data_offsets that hold shape {} of {}", shape_text(tensor.shape), tensor.dtype),
                  fmt::format("[{}, {}]", begin, end));
  return array;
}

}  // namespace ww::io
