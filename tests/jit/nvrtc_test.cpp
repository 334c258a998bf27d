// SPDX-License-Identifier: Apache-2.0
// Cubins through NVRTC and the cache. Where no libnvrtc is found the tests check what the error says instead.
#include <gtest/gtest.h>

#include <set>

#include "jit/embedded_headers.hpp"
#include "jit/jit.hpp"
#include "jit/memory_cache.hpp"
#include "jit/nvrtc.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using test::Scratch;

constexpr const char* kKernel =
    "#include \"warpwright/core/meta.hpp\"\nextern \"C\" __global__ void k(ww::u32* p) { p[threadIdx.x] = 7; }\n";

// True when kernels can be compiled here.
bool have_nvrtc() {
  const auto nvrtc = Nvrtc::get();
  if (nvrtc) return true;
  const std::string& why = nvrtc.error().message;
  EXPECT_TRUE(why.find("tried libnvrtc.so.13") != std::string::npos ||
              why.find("WARPWRIGHT_HAS_CUDA=0") != std::string::npos)
      << why;
  return false;
}

// First in the file: a process looks for NVRTC once, so this child must be forked before any other test has looked.
TEST(Cubin, WithoutNvrtcTheErrorSaysWhereItLooked) {
  const std::string said = test::in_child([]() -> std::string {
    ::setenv("WARPWRIGHT_NVRTC", "/nonexistent/libnvrtc.so", 1);
    const auto compiled = compile_cubin(kKernel, "/nonexistent");
    return compiled ? "compiled" : compiled.error().message;
  });
  EXPECT_TRUE(said.find("tried /nonexistent/libnvrtc.so; `pip install warpwright[cu13]`") != std::string::npos ||
              said.find("WARPWRIGHT_HAS_CUDA=0") != std::string::npos)
      << said;
}

TEST(EmbeddedHeaders, HoldTheTextOfTheirFiles) {
  ASSERT_FALSE(embedded_headers().empty());
  const fs::path root = fs::path(__FILE__).parent_path().parent_path().parent_path() / "include";
  bool meta = false;
  for (const EmbeddedHeader& header : embedded_headers()) {
    EXPECT_EQ(header.text, test::read_text(root / header.name)) << header.name;
    meta |= header.name == std::string_view("warpwright/core/meta.hpp");
  }
  EXPECT_TRUE(meta);
}

// Adds `name` and all that it includes.
void reach(const std::string& name, std::set<std::string>& reached) {
  if (!reached.insert(name).second) return;
  for (const EmbeddedHeader& header : embedded_headers()) {
    if (header.name != name) continue;
    const std::string text = header.text, include = "#include \"";
    for (std::size_t at = 0; (at = text.find(include, at)) != std::string::npos;) {
      at += include.size();
      reach(text.substr(at, text.find('"', at) - at), reached);
    }
    return;
  }
  ADD_FAILURE() << name << " is not embedded";
}

// Instantiated in a kernel, the layout algebra was two thirds of what NVRTC had to do.
TEST(EmbeddedHeaders, OfKernelsReachNoLayoutAlgebra) {
  for (const char* kernel : {"gemm", "multistage_gemm", "grouped_gemm", "ragged_gemm", "descriptor_gemm"}) {
    std::set<std::string> reached;
    reach(std::string("warpwright/kernel/") + kernel + ".hpp", reached);
    EXPECT_EQ(reached.count("warpwright/atom/tiles.hpp"), 1u) << kernel;
    for (const char* algebra : {"tuple", "layout", "algebra", "divide", "tensor"})
      EXPECT_EQ(reached.count(std::string("warpwright/layout/") + algebra + ".hpp"), 0u) << kernel << ": " << algebra;
  }
}

TEST(Cubin, CompiledThenCachedWithItsLog) {
  if (!have_nvrtc()) GTEST_SKIP() << "no libnvrtc on this machine";
  const Scratch scratch;
  const auto first = compile_cubin(kKernel, scratch.path());
  ASSERT_TRUE(first) << first.error().message;
  RecordProperty("nvrtc_seconds", std::to_string(first->compile_seconds));
  EXPECT_GT(first->compile_seconds, 0);
  EXPECT_EQ(std::string(first->image.begin(), first->image.begin() + 4),
            "\x7f"
            "ELF");
  EXPECT_NE(first->log.find("registers"), std::string::npos) << first->log;
  EXPECT_NE(first->log.find("0 bytes spill stores"), std::string::npos) << first->log;

  MemoryCache::of_process().clear();
  const auto second = compile_cubin(kKernel, scratch.path());
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->compile_seconds, 0);
  EXPECT_EQ(second->image, first->image);
  EXPECT_EQ(second->log, first->log);

  test::replace_file(first->path, test::read_text(first->path).substr(0, 1000));
  MemoryCache::of_process().clear();
  const auto repaired = compile_cubin(kKernel, scratch.path());
  ASSERT_TRUE(repaired) << repaired.error().message;
  EXPECT_GT(repaired->compile_seconds, 0);
  EXPECT_EQ(repaired->image.size(), first->image.size());
}

TEST(Cubin, CompileErrorCarriesTheCompilersWords) {
  if (!have_nvrtc()) GTEST_SKIP() << "no libnvrtc on this machine";
  const Scratch scratch;
  const auto compiled = compile_cubin("__global__ void k() { undeclared_name(); }", scratch.path());
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, ErrorCode::could_not_finish);
  EXPECT_NE(compiled.error().message.find("undeclared_name"), std::string::npos) << compiled.error().message;
}

}  // namespace
}  // namespace ww::jit
