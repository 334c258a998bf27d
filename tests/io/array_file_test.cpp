// SPDX-License-Identifier: Apache-2.0
// Arrays in files: what is read is what was written, and a damaged or hostile file is an error that names it.
#include "io/array_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "files.hpp"

namespace ww::io {
namespace {

using namespace test;

using Bytes = std::string;

/// The bytes of the matrix that the file holds, row by row, or the error.
Result<Bytes> load(const std::string& name, std::optional<DType> wanted = std::nullopt, std::int64_t padding = 0) {
  WW_TRY(const ArrayFile array, open_array(name, "--a"));
  WW_TRY(const DType type, element_type(array, wanted));
  const std::int64_t rows = array.shape.size() == 2 ? array.shape[0] : 1;
  const std::int64_t cols = array.shape.size() == 2 ? array.shape[1] : *checked_elements(array.shape, 1);
  WW_TRY(const Matrix matrix, read_matrix(array, type, rows, cols, cols + padding));
  return Bytes(reinterpret_cast<const char*>(matrix.data()), matrix.bytes());
}

void expect_invalid(const std::string& name, const std::string& what) {
  const Result<Bytes> result = load(name);
  ASSERT_FALSE(result) << what;
  EXPECT_EQ(result.error().code, ErrorCode::invalid) << what << ": " << result.error().message;
  EXPECT_EQ(result.error().argument, "--a") << what;
  EXPECT_FALSE(result.error().expected.empty()) << what;
  EXPECT_FALSE(result.error().actual.empty()) << what;
}

TEST(Npy, ReadsEveryElementTypeAndVersion) {
  const Directory directory;
  for (const char* descr : {"|u1", "|i1", "|V1", "<u1", "<u2", "<V2", "|V2", "<f2", "<f4"}) {
    const int bytes = descr[2] - '0';
    const Bytes data = counted(static_cast<std::size_t>(6 * bytes));
    EXPECT_EQ(load(directory.write("x.npy", npy_of(descr, "(2, 3)", data))).value(), data) << descr;
  }
  const std::string dictionary = "{\"shape\": (3L , ) ,'fortran_order':False, 'descr': '|u1'}";
  for (int version : {1, 2, 3})
    EXPECT_EQ(load(directory.write("x.npy", npy(dictionary, "abc", version))).value(), "abc") << version;
  EXPECT_EQ(load(directory.write("x.npy", npy_of("<f4", "()", "abcd"))).value(), "abcd");
  EXPECT_EQ(load(directory.write("x.npy", npy_of("<f4", "(0, 128)", ""))).value(), "");
}

TEST(Npy, SwapsBigEndianAndTransposesColumnMajor) {
  const Directory directory;
  EXPECT_EQ(load(directory.write("x.npy", npy_of(">f2", "(1, 2)", "abcd"))).value(), "badc");
  EXPECT_EQ(load(directory.write("x.npy", npy_of(">f4", "(2,)", "abcdefgh"))).value(), "dcbahgfe");
  const std::string columns = "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }";
  EXPECT_EQ(load(directory.write("x.npy", npy(columns, "adbecf"))).value(), "abcdef");
  EXPECT_EQ(load(directory.write("x.npy", npy(columns, "adbecf")), {}, 1).value(), Bytes("abc\0def\0", 8));
}

TEST(Npy, ColumnMajorArraysKeepTheirElementsInOneColumn) {
  const Directory directory;
  const std::string columns = "{'descr': '>f4', 'fortran_order': True, 'shape': (2, 3), }";
  const std::string name = directory.write("x.npy", npy(columns, "AAAABBBBCCCCDDDDEEEEFFFF"));
  const ArrayFile array = open_array(name, "--col0").value();
  for (const auto& [rows, cols, ld] : {std::array{6, 1, 1}, std::array{1, 6, 6}, std::array{3, 2, 2}}) {
    const Matrix matrix = read_matrix(array, f32, rows, cols, ld).value();
    EXPECT_EQ(Bytes(reinterpret_cast<const char*>(matrix.data()), matrix.bytes()), "AAAACCCCEEEEBBBBDDDDFFFF")
        << rows << " rows";
  }
}

TEST(Npy, E5m2IsWhatMlDtypesSaves) {
  const Directory directory;
  const ArrayFile array = open_array(directory.write("x.npy", npy_of("<f1", "(1, 2)", "ab")), "--a").value();
  EXPECT_EQ(element_type(array, std::nullopt).value(), e5m2);
  EXPECT_FALSE(element_type(array, e4m3)) << "the file says that these are e5m2";
  EXPECT_EQ(load(directory / "x.npy", e5m2).value(), "ab");
}

TEST(Npy, PadsRowsWithZeros) {
  const Directory directory;
  EXPECT_EQ(load(directory.write("x.npy", npy_of("|u1", "(2, 2)", "abcd")), {}, 3).value(),
            Bytes("ab\0\0\0cd\0\0\0", 10));
}

TEST(Npy, RefusesWhatIsNotAPlainArray) {
  const Directory directory;
  const auto dictionary = [](const std::string& descr, const std::string& order, const std::string& shape) {
    return "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  };
  for (const std::string& text :
       {dictionary("'<f8'", "False", "(1, 1)"),
        dictionary("'<i2'", "False", "(1, 4)"),
        dictionary("'>V2'", "False", "(1, 4)"),
        dictionary("'|f4'", "False", "(1, 2)"),
        dictionary("'|O'", "False", "(1, 1)"),
        dictionary("'<U2'", "False", "(1, 1)"),
        dictionary("[('a', '<f4'), ('b', '<f4')]", "False", "(1, 1)"),
        dictionary("'|u1'", "0", "(1, 8)"),
        dictionary("'|u1'", "False", "(-1, -8)"),
        dictionary("'|u1'", "False", "(8)"),
        dictionary("'|u1'", "False", "(8, , )"),
        dictionary("'|u1'", "False", "(1 8)"),
        dictionary("'|u1'", "False", "(9223372036854775807, 9223372036854775807)"),
        dictionary("'<f4'", "False", "(4611686018427387904, 4)"),
        dictionary("'|u1'", "False", "(0, 9223372036854775807, 9223372036854775807)"),
        dictionary("'|u1'", "False", "(99999999999999999999, 1)"),
        dictionary("'|u1'", "False", "(1, 1e3)"),
        dictionary("'|u1'", "False", "__import__('os')"),
        dictionary("'|u1'", "False", "(2, 3)"),
        std::string("{'descr': '|u1', 'fortran_order': False}"),
        std::string("{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (8,)}"),
        std::string("{'descr': '|u1', 'fortran_order': False, 'shape': (8,), 'more': 1}"),
        std::string("{'descr': '|u1', 'fortran_order': False, 'shape': (8,)} {}"),
        std::string("{"),
        std::string(""),
        "{'descr': '|u1', 'fortran_order': False, 'shape': (" + std::string(40, '1') + ")}",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (8" + std::string(100, ',') + ")}"})
    expect_invalid(directory.write("x.npy", npy(text, "abcdefgh")), text);
}

TEST(Npy, RefusesDataOfAnotherLength) {
  const Directory directory;
  expect_invalid(directory.write("x.npy", npy_of("|u1", "(2, 4)", "abcdefg")), "one byte short");
  expect_invalid(directory.write("x.npy", npy_of("|u1", "(2, 4)", "abcdefghi")), "one byte more");
  expect_invalid(directory.write("x.npy", npy_of("|u1", "(1000000000000, 4)", "abcdefgh")), "a huge shape");
}

TEST(Npy, EveryTruncationIsRefused) {
  const Directory directory;
  const Bytes whole = npy_of("<u2", "(2, 3)", counted(12));
  ASSERT_TRUE(load(directory.write("x.npy", whole)));
  for (std::size_t length = 0; length < whole.size(); ++length)
    expect_invalid(directory.write("x.npy", whole.substr(0, length)), std::to_string(length) + " bytes");
}

/// Every byte of the header replaced by several others: the result is an error or a matrix of the file's own bytes.
template <class Name>
void mutate(const Bytes& whole, std::size_t header, const Name& name, const Directory& directory) {
  for (std::size_t at = 0; at < header; ++at)
    for (int change : {0x01, 0x10, 0x80, 0xff}) {
      Bytes damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      directory.write("x", damaged);
      const Result<Bytes> result = load(name(directory / "x"));
      if (result) EXPECT_LE(result->size(), whole.size()) << "byte " << at << " xor " << change;
      else EXPECT_EQ(result.error().argument, "--a") << "byte " << at << " xor " << change;
    }
}

TEST(Npy, EveryDamagedHeaderByteIsAnErrorOrAnArray) {
  const Directory directory;
  const Bytes whole = npy_of("<u2", "(2, 3)", counted(12));
  mutate(
      whole, whole.size() - 12, [](const std::string& path) { return path; }, directory);
}

TEST(Npy, WritesWhatItReads) {
  const Directory directory;
  for (DType type : {e4m3, bf16, f16, f32}) {
    Matrix matrix = Matrix::allocate(type, 3, 5, 7, "d").value();
    Bytes packed;
    for (std::int64_t row = 0; row < 3; ++row) {
      const Bytes data = counted(static_cast<std::size_t>(5 * bytes_of(type)));
      std::memcpy(matrix.row(row), data.data(), data.size());
      packed += data;
    }
    ASSERT_TRUE(write_npy(directory / "d.npy", "--out", matrix));
    EXPECT_EQ(load(directory / "d.npy", type).value(), packed) << name_of(type);
    EXPECT_EQ(read_bytes(directory / "d.npy").find('\n') % 64, 63u) << "data starts at a multiple of 64";
  }
  EXPECT_EQ(directory.entries(), 1u) << "no temporary file stays";
}

TEST(OutputFile, MissingDirectoryIsRefusedAndFailureLeavesNothing) {
  const Directory directory;
  for (const std::string& path : {directory / "none/d.npy", directory / "", std::string(), directory / "a/b/"}) {
    const Result<void> result = check_writable(path, "--out");
    ASSERT_FALSE(result) << path;
    EXPECT_EQ(result.error().code, ErrorCode::invalid) << path;
  }
  directory.write("d.npy", "old");
  const Result<void> result =
      write_file(directory / "d.npy", "--out", [](const Sink& sink) { return sink("new", 3) && false; });
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::could_not_finish);
  EXPECT_EQ(read_bytes(directory / "d.npy"), "old");
  EXPECT_EQ(directory.entries(), 1u);
}

TEST(OutputFile, OneFileInTwoSpellingsIsFound) {
  const Directory directory;
  directory.write("there.npy", "old");
  ASSERT_EQ(::symlink("there.npy", (directory / "link.npy").c_str()), 0);
  ASSERT_EQ(::symlink("new.npy", (directory / "dangling.npy").c_str()), 0);
  ASSERT_EQ(::mkdir((directory / "sub").c_str(), 0700), 0);
  for (const auto& [one, other] : {std::pair("new.npy", "./new.npy"),
                                   {"new.npy", "sub/../new.npy"},
                                   {"there.npy", "link.npy"},
                                   {"new.npy", "dangling.npy"}}) {
    EXPECT_TRUE(same_output(directory / one, directory / other)) << one << ", " << other;
    EXPECT_TRUE(same_output(directory / other, directory / one)) << other << ", " << one;
  }
  EXPECT_FALSE(same_output(directory / "new.npy", directory / "there.npy"));
  EXPECT_FALSE(same_output(directory / "new.npy", directory / "sub/new.npy"));
  EXPECT_FALSE(same_output("/dev/null", directory / "new.npy"));
}

TEST(InputFile, OnlyRegularFilesAreRead) {
  const Directory directory;
  ASSERT_EQ(::mkfifo((directory / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {directory / "fifo", directory / "", directory / "missing.npy",
                                  std::string("/dev/zero"), std::string(), std::string(5000, 'x')})
    expect_invalid(path, path);
}

constexpr const char* kHeader =
    R"({"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[4,16]},)"
    R"("s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})";

TEST(Safetensors, ReadsTheTensorAskedFor) {
  const Directory directory;
  const std::string path = directory.write("x.safetensors", safetensors(kHeader, counted(16)));
  EXPECT_EQ(load(path + ":w").value(), counted(16).substr(4));
  EXPECT_EQ(load(path + ":s").value(), counted(4));
  const Result<Bytes> missing = load(path + ":t");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().expected.find("w, s"), std::string::npos) << missing.error().message;
  expect_invalid(path, "no tensor named");
}

TEST(Safetensors, EveryElementTypeHasItsOwnName) {
  const Directory directory;
  const std::pair<const char*, DType> types[] = {{"F8_E4M3", e4m3}, {"BF16", bf16}, {"F16", f16}, {"F32", f32}};
  for (const auto& [name, type] : types) {
    const std::string bytes = std::to_string(bytes_of(type));
    const std::string header =
        "{\"w\":{\"dtype\":\"" + std::string(name) + "\",\"shape\":[1],\"data_offsets\":[0," + bytes + "]}}";
    directory.write("x.safetensors", safetensors(header, counted(static_cast<std::size_t>(bytes_of(type)))));
    const ArrayFile array = open_array(directory / "x.safetensors:w", "--a").value();
    EXPECT_EQ(element_type(array, std::nullopt).value(), type);
    EXPECT_FALSE(element_type(array, type == bf16 ? f16 : bf16)) << "a named type is never read as another";
  }
}

TEST(Safetensors, RefusesHostileHeaders) {
  const Directory directory;
  const std::string deep(100'000, '[');
  for (const std::string& header : std::initializer_list<std::string>{
           "",
           "[]",
           "null",
           "{",
           R"({"w":1})",
           R"({"w":{}})",
           R"({"w":{"dtype":"F32","shape":[1]}})",
           R"({"w":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4,4]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}})",
           R"({"w":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[18446744073709551612,4]}})",
           R"({"w":{"dtype":"F64","shape":[],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":{"x":1},"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
           R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
           R"("x":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})",
           R"({"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
           R"("x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
           R"("w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
           R"({"w":{"dtype":"F16","shape":[1],"data_offsets":[2,4]}})",
           "{\"w\":" + deep,
           "{\"w\":{\"x\":" + deep,
           deep,
           "{\"\xff\":1}"})
    expect_invalid(directory.write("x.safetensors", safetensors(header, "abcd")) + ":w", header.substr(0, 100));
  expect_invalid(directory.write("x.safetensors", Bytes("\xff\xff\xff\xff\xff\xff\xff\xff{}", 10)) + ":w",
                 "header of 2^64 - 1");
  expect_invalid(directory.write("x.safetensors", Bytes("\xff\xff\xff\x00\x00\x00\x00\x00{}", 10)) + ":w",
                 "header beyond the file");
}

TEST(Safetensors, EveryTruncationIsRefused) {
  const Directory directory;
  const Bytes whole = safetensors(kHeader, counted(16));
  for (std::size_t length = 0; length < whole.size(); ++length)
    expect_invalid(directory.write("x.safetensors", whole.substr(0, length)) + ":s", std::to_string(length) + " bytes");
  expect_invalid(directory.write("x.safetensors", whole + "x") + ":s", "one byte more");
}

TEST(Safetensors, EveryDamagedHeaderByteIsAnErrorOrAnArray) {
  const Directory directory;
  const Bytes whole = safetensors(kHeader, counted(16));
  mutate(
      whole, whole.size() - 16,
      [&](const std::string& path) {
        std::filesystem::rename(path, directory / "x.safetensors");
        return directory / "x.safetensors:w";
      },
      directory);
}

TEST(ElementType, RawBitsTakeTheTypeThatIsAskedFor) {
  const Directory directory;
  const auto type = [&](const char* descr, std::optional<DType> wanted) {
    directory.write("x.npy", npy_of(descr, "(1, 1)", counted(static_cast<std::size_t>(descr[2] - '0'))));
    return element_type(open_array(directory / "x.npy", "--a").value(), wanted);
  };
  EXPECT_EQ(type("<u2", std::nullopt).value(), bf16);
  EXPECT_EQ(type("<u2", f16).value(), f16);
  EXPECT_EQ(type("<V2", bf16).value(), bf16);
  EXPECT_EQ(type("|u1", e4m3).value(), e4m3);
  EXPECT_EQ(type("<f2", std::nullopt).value(), f16);
  EXPECT_FALSE(type("<f2", bf16));
  EXPECT_FALSE(type("|u1", bf16));
  EXPECT_FALSE(type("<u2", e4m3));
  EXPECT_FALSE(type("<f4", e4m3));
}

}  // namespace
}  // namespace ww::io
