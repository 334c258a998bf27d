// SPDX-License-Identifier: Apache-2.0
// Where NVRTC is looked for, with stand-ins in folders like those of wheels. A process looks once, and every test is a
// process of its own.
#include "jit/nvrtc_search.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "jit/nvrtc.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using test::Scratch;

/// Copies the stand-in of a version, and its builtins, to `folder`.
fs::path put_nvrtc(const fs::path& folder, const std::string& name = "libnvrtc.so.12", bool builtins = true) {
  fs::create_directories(folder);
  fs::copy_file(WW_TEST_NVRTC, folder / name);
  if (builtins) fs::copy_file(WW_TEST_NVRTC_BUILTINS, folder / "libnvrtc-builtins.so.12.4");
  return folder / name;
}

bool has_cuda() {
  const auto nvrtc = Nvrtc::get();
  return nvrtc || nvrtc.error().message.find("WARPWRIGHT_HAS_CUDA=0") == std::string::npos;
}

TEST(NvrtcSearch, WheelsAroundTheLibraryComeBeforeTheLoader) {
  const Scratch scratch;
  const fs::path site = scratch / "venv/lib/python3.11/site-packages";
  const fs::path thirteen = put_nvrtc(site / "nvidia/cu13/lib", "libnvrtc.so.13");
  const fs::path twelve = put_nvrtc(site / "nvidia/cuda_nvrtc/lib");
  ::unsetenv("WARPWRIGHT_NVRTC");
  const auto paths = nvrtc_candidates(site / "warpwright/lib/libwarpwright.so", {"/torch/libnvrtc-1a2b.so.12"});
  ASSERT_GE(paths.size(), 4u);
  EXPECT_EQ(paths[0], "/torch/libnvrtc-1a2b.so.12") << "loaded already";
  EXPECT_EQ(paths[1], thirteen);
  EXPECT_EQ(paths[2], twelve);
  EXPECT_EQ(paths[3], "libnvrtc.so.13") << "then the loader's search path";
  EXPECT_EQ(paths.back(), "/usr/local/cuda/lib64/libnvrtc.so");
}

TEST(NvrtcSearch, OtherFoldersAroundTheLibraryAreNotSearched) {
  const Scratch scratch;
  put_nvrtc(scratch / "nvidia/cuda_nvrtc/lib");
  ::unsetenv("WARPWRIGHT_NVRTC");
  EXPECT_EQ(nvrtc_candidates(scratch / "warpwright/libwarpwright.so", {}).front(), "libnvrtc.so.13");
}

TEST(NvrtcSearch, TheVariableNamesAFileOrAFolderAndNothingElseIsTried) {
  const Scratch scratch;
  const fs::path file = put_nvrtc(scratch / "folder");
  const fs::path site = scratch / "site-packages";
  put_nvrtc(site / "nvidia/cuda_nvrtc/lib");
  const test::Variable named("WARPWRIGHT_NVRTC", file);
  EXPECT_EQ(nvrtc_candidates(site / "warpwright/x.so", {}), std::vector<std::string>{file});
  const test::Variable folder("WARPWRIGHT_NVRTC", scratch / "folder");
  const auto paths = nvrtc_candidates(site / "warpwright/x.so", {});
  EXPECT_EQ(paths.size(), 3u);
  EXPECT_EQ(paths[1], file);
}

TEST(NvrtcSearch, OneThatIsLoadedIsUsedWhateverTheVariableSays) {
  const Scratch scratch;
  const fs::path loaded = put_nvrtc(scratch / "torch/lib", "libnvrtc-1a2b3c.so.12");
  ASSERT_NE(::dlopen(loaded.c_str(), RTLD_NOW | RTLD_LOCAL), nullptr) << ::dlerror();
  ASSERT_EQ(loaded_nvrtc(), std::vector<std::string>{loaded});
  const test::Variable other("WARPWRIGHT_NVRTC", put_nvrtc(scratch / "other").string());
  if (!has_cuda()) GTEST_SKIP() << "a library without CUDA";
  const auto nvrtc = Nvrtc::get();
  ASSERT_TRUE(nvrtc) << nvrtc.error().message;
  EXPECT_EQ((*nvrtc)->path(), loaded);
}

TEST(NvrtcSearch, BuiltinsAreTakenFromBesideIt) {
  const Scratch scratch;
  const test::Variable named("WARPWRIGHT_NVRTC", put_nvrtc(scratch / "lib"));
  if (!has_cuda()) GTEST_SKIP() << "a library without CUDA";
  const auto compiled = (*Nvrtc::get())->compile("// text\n");
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(compiled->payload, "// text\n");
}

TEST(NvrtcSearch, WithoutBuiltinsItsOwnWordsAreShown) {
  const Scratch scratch;
  const test::Variable named("WARPWRIGHT_NVRTC", put_nvrtc(scratch / "lib", "libnvrtc.so.12", false));
  if (!has_cuda()) GTEST_SKIP() << "a library without CUDA";
  const auto compiled = (*Nvrtc::get())->compile("// text\n");
  ASSERT_FALSE(compiled);
  EXPECT_NE(compiled.error().message.find("failed to open libnvrtc-builtins.so.12.4"), std::string::npos)
      << compiled.error().message;
}

TEST(NvrtcSearch, RenamedBuiltinsAreFoundByTheirVersion) {
  const Scratch scratch;
  const fs::path nvrtc = put_nvrtc(scratch / "lib", "libnvrtc-1a2b.so.12", false);
  EXPECT_EQ(nvrtc_builtins(nvrtc, 12, 4), fs::path());
  fs::copy_file(WW_TEST_NVRTC_BUILTINS, scratch / "lib/libnvrtc-builtins-77.so.12.4");
  EXPECT_EQ(nvrtc_builtins(nvrtc, 12, 4), scratch / "lib/libnvrtc-builtins-77.so.12.4");
  EXPECT_EQ(nvrtc_builtins(nvrtc, 12, 5), fs::path());
}

TEST(NvrtcSearch, OneThatIsTooOldIsPassedOverWithTheReason) {
  const Scratch scratch;
  const fs::path old = scratch / "libnvrtc.so.11.2";
  fs::copy_file(WW_TEST_OLD_NVRTC, old);
  const test::Variable named("WARPWRIGHT_NVRTC", old);
  if (!has_cuda()) GTEST_SKIP() << "a library without CUDA";
  const auto nvrtc = Nvrtc::get();
  ASSERT_FALSE(nvrtc);
  const std::string& said = nvrtc.error().message;
  EXPECT_NE(said.find("expected NVRTC 12.1 or later, got 11.2"), std::string::npos) << said;
  EXPECT_NE(said.find("pip install warpwright[cu13]"), std::string::npos) << said;
}

}  // namespace
}  // namespace ww::jit
