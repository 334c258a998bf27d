// SPDX-License-Identifier: Apache-2.0
// Modules compiled with the library are found without a compiler, and only while they are whole.
#include <gtest/gtest.h>

#include "jit/jit.hpp"
#include "jit/memory_cache.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using test::answer_of;
using test::Scratch;

class Shipped : public testing::Test {
  void SetUp() override { MemoryCache::of_process().clear(); }
};

TEST_F(Shipped, NeedNoCompilerAndNoCache) {
  const test::Variable compiler("WARPWRIGHT_CXX", "no-such-compiler");
  const test::Variable modules("WARPWRIGHT_MODULE_DIR", WW_TEST_MODULES);
  for (unsigned answer : {1001u, 1002u}) {
    const auto module = compile_module(test::source_answering(answer), "/nonexistent/cache");
    ASSERT_TRUE(module) << module.error().message;
    EXPECT_EQ(module->compile_seconds, 0);
    EXPECT_EQ(answer_of(module->path), answer);
  }
  EXPECT_FALSE(compile_module(test::source_answering(1003), "/nonexistent/cache"));
}

TEST_F(Shipped, ABrokenOneIsPassedOver) {
  const Scratch scratch;
  fs::copy(WW_TEST_MODULES, scratch / "modules");
  for (const auto& at : fs::directory_iterator(scratch / "modules"))
    test::replace_file(at.path(), test::read_text(at.path()).substr(0, 5000));
  const test::Variable modules("WARPWRIGHT_MODULE_DIR", (scratch / "modules"));
  const auto module = compile_module(test::source_answering(1001), scratch / "cache");
  ASSERT_TRUE(module) << module.error().message;
  EXPECT_GT(module->compile_seconds, 0);
  EXPECT_EQ(answer_of(module->path), 1001u);
}

TEST_F(Shipped, NotFromADirectoryThatOthersMayWrite) {
  const Scratch scratch;
  fs::copy(WW_TEST_MODULES, scratch / "modules");
  fs::permissions(scratch / "modules", fs::perms::all);
  const test::Variable modules("WARPWRIGHT_MODULE_DIR", (scratch / "modules"));
  const test::Variable compiler("WARPWRIGHT_CXX", "no-such-compiler");
  EXPECT_FALSE(compile_module(test::source_answering(1001), scratch / "cache"));
}

}  // namespace
}  // namespace ww::jit
