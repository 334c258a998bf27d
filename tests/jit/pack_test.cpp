// SPDX-License-Identifier: Apache-2.0
// Packs: nothing altered is ever used, and a kernel in a pack needs no compiler. The compiler is the stand-in of
// fake_nvrtc.cpp, so that these tests need no CUDA.
#include "jit/pack.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "jit/jit.hpp"
#include "jit/keys.hpp"
#include "jit/memory_cache.hpp"
#include "jit/pack_set.hpp"
#include "support.hpp"

namespace ww::jit {
namespace {

using test::Scratch;
using test::Variable;

std::string key_number(int i) { return key_of({std::to_string(i)}); }

std::map<std::string, Entry> some_kernels() {
  return {{key_number(1), {"cubin one", "log one"}},
          {key_number(2), {std::string("c\0bin", 5), ""}},
          {key_number(3), {"", "only a log"}}};
}

fs::path write(const fs::path& path, const std::string& bytes) {
  fs::create_directories(path.parent_path());
  test::replace_file(path, bytes);
  return path;
}

TEST(Pack, GivesBackWhatWasPutIn) {
  const Scratch scratch;
  const auto kernels = some_kernels();
  const std::string bytes = pack_bytes(kernels, "NVRTC 12.4");
  EXPECT_EQ(bytes, pack_bytes(kernels, "NVRTC 12.4")) << "the same bytes each time";
  const auto pack = Pack::open(write(scratch / "a.wwpack", bytes));
  ASSERT_TRUE(pack) << pack.error().message;
  EXPECT_EQ(pack->compiler(), "NVRTC 12.4");
  EXPECT_EQ(pack->size(), 3u);
  for (const auto& [key, entry] : kernels) {
    const auto read = pack->read(key);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->payload, entry.payload);
    EXPECT_EQ(read->log, entry.log);
  }
  EXPECT_FALSE(pack->contains(key_number(4)));
  EXPECT_FALSE(pack->read(key_number(4)));
  EXPECT_TRUE(Pack::open(write(scratch / "empty.wwpack", pack_bytes({}, ""))));
}

/// Whether the file is refused, or every kernel that it still gives is the one that was put in.
bool is_harmless(const fs::path& path) {
  const auto pack = Pack::open(path);
  if (!pack) return !pack.error().message.empty();
  for (const auto& [key, entry] : some_kernels())
    if (const auto read = pack->read(key); read && (read->payload != entry.payload || read->log != entry.log))
      return false;
  return true;
}

TEST(Pack, EveryCutIsRefused) {
  const Scratch scratch;
  const std::string bytes = pack_bytes(some_kernels(), "NVRTC 12.4");
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(Pack::open(write(scratch / "a.wwpack", bytes.substr(0, length)))) << length;
  EXPECT_FALSE(Pack::open(write(scratch / "a.wwpack", bytes + "x"))) << "longer";
}

TEST(Pack, NoFlippedBitReachesAKernel) {
  const Scratch scratch;
  const std::string bytes = pack_bytes(some_kernels(), "NVRTC 12.4");
  int refused = 0;
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += 7) {
    std::string altered = bytes;
    altered[bit / 8] = static_cast<char>(altered[bit / 8] ^ (1 << bit % 8));
    const fs::path path = write(scratch / "a.wwpack", altered);
    EXPECT_TRUE(is_harmless(path)) << "bit " << bit;
    refused += !Pack::open(path);
  }
  EXPECT_GT(refused, 100) << "header and index";
}

TEST(Pack, ATruncationAfterOpeningIsAnError) {
  const Scratch scratch;
  const fs::path path = write(scratch / "a.wwpack", pack_bytes(some_kernels(), "NVRTC 12.4"));
  const auto pack = Pack::open(path);
  ASSERT_TRUE(pack);
  fs::resize_file(path, 200);
  EXPECT_FALSE(pack->read(key_number(1)));
}

TEST(Pack, OtherFormatsAndTargetsAreNamed) {
  const Scratch scratch;
  const auto said = [&](std::size_t at, char value) {
    std::string bytes = pack_bytes(some_kernels(), "NVRTC 12.4");
    bytes[at] = value;
    return Pack::open(write(scratch / "a.wwpack", bytes)).error().message;
  };
  EXPECT_NE(said(0, 'X').find("not a pack"), std::string::npos);
  EXPECT_NE(said(8, 2).find("format 2, and this library reads format 1"), std::string::npos);
  EXPECT_NE(said(16, 'S').find("kernels for Sm_90a, not for sm_90a or sm_100a"), std::string::npos);
}

TEST(PackSet, BrokenAndForeignPacksAreIgnoredWithAReason) {
  const Scratch scratch;
  const std::string good = pack_bytes(some_kernels(), "NVRTC 12.4");
  write(scratch / "packs/1.wwpack", good.substr(0, 300));
  write(scratch / "packs/2.wwpack", good);
  write(scratch / "packs/notes.txt", "no pack");
  write(scratch / "open/3.wwpack", good);
  ASSERT_EQ(::chmod((scratch / "open").c_str(), 0777), 0);
  PackSet set({scratch / "packs", scratch / "missing", scratch / "open", scratch / "packs"});
  std::string note;
  const auto found = set.find(key_number(1), note);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->entry.payload, "cubin one");
  EXPECT_EQ(found->pack, fs::canonical(scratch / "packs") / "2.wwpack");
  const auto report = set.report(true);
  ASSERT_EQ(report.size(), 3u);
  EXPECT_NE(report[0].problem.find("300 bytes long"), std::string::npos) << report[0].problem;
  EXPECT_EQ(report[1].problem, "");
  EXPECT_EQ(report[1].kernels, 3u);
  EXPECT_NE(report[2].problem.find("writable by everybody"), std::string::npos) << report[2].problem;
}

TEST(PackSet, AnAlteredKernelIsAbsentAndTheOthersServe) {
  const Scratch scratch;
  std::string bytes = pack_bytes(some_kernels(), "NVRTC 12.4");
  bytes[bytes.find("cubin one")] = 'C';
  write(scratch / "a.wwpack", bytes);
  write(scratch / "b.wwpack", pack_bytes({{key_number(1), {"cubin of b", ""}}}, "NVRTC 12.4"));
  PackSet set({scratch.path()});
  std::string note;
  EXPECT_TRUE(set.find(key_number(2), note));
  EXPECT_EQ(note, "");
  EXPECT_EQ(set.find(key_number(1), note)->entry.payload, "cubin of b");
  EXPECT_NE(note.find("the checksum of kernel"), std::string::npos) << note;
}

TEST(PackSet, ARefusedPackIsNotAskedAgain) {
  const Scratch scratch;
  const fs::path path = write(fs::canonical(scratch.path()) / "a.wwpack", pack_bytes(some_kernels(), "NVRTC 12.4"));
  PackSet set({scratch.path()});
  set.refuse(path, "the driver does not take it");
  std::string note;
  EXPECT_FALSE(set.find(key_number(1), note));
  EXPECT_NE(note.find("the driver does not take it"), std::string::npos) << note;
}

// --- through compile_cubin -------------------------------------------------------------------------------------------

constexpr const char* kInPack = "// arch=sm90,packed\nextern \"C\" __global__ void k();\n";
constexpr const char* kElsewhere = "// arch=sm90,elsewhere\nextern \"C\" __global__ void k();\n";

class PackedKernels : public testing::Test {
 protected:
  void SetUp() override {
    write(scratch_ / "packs/a.wwpack",
          pack_bytes({{cubin_source_key(kInPack), {"packed cubin", "log"}}}, "NVRTC 12.0"));
    fs::create_directories(scratch_ / "nvrtc");
    fs::copy_file(WW_TEST_NVRTC, scratch_ / "nvrtc/libnvrtc.so.12");
    fs::copy_file(WW_TEST_NVRTC_BUILTINS, scratch_ / "nvrtc/libnvrtc-builtins.so.12.4");
    const auto nothing = compile_cubin("// nothing\n", scratch_ / "first");
    if (!nothing && nothing.error().message.find("WARPWRIGHT_HAS_CUDA=0") != std::string::npos)
      GTEST_SKIP() << "a library without CUDA";
    before_ = kernel_counts();
  }

  Scratch scratch_;
  Variable packs_{"WARPWRIGHT_PACK_DIR", scratch_ / "packs"};
  Variable nvrtc_{"WARPWRIGHT_NVRTC", scratch_ / "nvrtc/libnvrtc.so.12"};
  KernelCounts before_;
};

class WithoutNvrtc : public PackedKernels {
  Variable no_nvrtc_{"WARPWRIGHT_NVRTC", "/nonexistent/libnvrtc.so"};
};

TEST_F(WithoutNvrtc, AKernelInAPackNeedsNone) {
  const auto found = compile_cubin(kInPack, scratch_ / "cache");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->origin, KernelOrigin::pack);
  EXPECT_EQ(std::string(found->image.begin(), found->image.end()), "packed cubin");
  EXPECT_EQ(found->compile_seconds, 0);
  EXPECT_EQ(kernel_counts().pack, before_.pack + 1);
  ASSERT_TRUE(compile_cubin(kInPack, scratch_ / "cache"));
  EXPECT_EQ(kernel_counts().pack, before_.pack + 1) << "from memory";
  EXPECT_FALSE(fs::exists(scratch_ / "cache")) << "a pack is asked before the cache";
  const auto other = compile_cubin(kElsewhere, scratch_ / "cache");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("tried /nonexistent/libnvrtc.so"), std::string::npos) << other.error().message;
}

TEST_F(PackedKernels, OthersAreCompiledAndCountedAndTold) {
  std::vector<KernelNotice> notices;
  set_kernel_listener([&](const KernelNotice& notice) { notices.push_back(notice); });
  ASSERT_TRUE(compile_cubin(kElsewhere, scratch_ / "cache"));
  MemoryCache::of_process().clear();
  ASSERT_TRUE(compile_cubin(kElsewhere, scratch_ / "cache"));
  ASSERT_TRUE(compile_cubin(kInPack, scratch_ / "cache", false)) << "without packs";
  set_kernel_listener({});
  ASSERT_EQ(notices.size(), 3u);
  EXPECT_EQ(notices[0].origin, KernelOrigin::compiled);
  EXPECT_EQ(notices[0].kernel, "arch=sm90,elsewhere");
  EXPECT_EQ(notices[1].origin, KernelOrigin::cache);
  EXPECT_EQ(notices[2].origin, KernelOrigin::compiled);
  EXPECT_EQ(kernel_counts().compiled, before_.compiled + 2);
  EXPECT_EQ(kernel_counts().cache, before_.cache + 1);
  EXPECT_EQ(kernel_counts().pack, before_.pack);
}

TEST_F(PackedKernels, FlagsForDebuggingAreNotInThePack) {
  const Variable watchdog("WARPWRIGHT_WATCHDOG_MS", "100");
  const auto compiled = compile_cubin(kInPack, scratch_ / "cache");
  ASSERT_TRUE(compiled) << compiled.error().message;
  EXPECT_EQ(compiled->origin, KernelOrigin::compiled);
}

TEST_F(PackedKernels, WithJitOffNothingIsCompiledAndTheErrorSaysHow) {
  ASSERT_TRUE(compile_cubin(kElsewhere, scratch_ / "cache"));
  MemoryCache::of_process().clear();
  const Variable off("WARPWRIGHT_JIT", "off");
  EXPECT_EQ(compile_cubin(kInPack, scratch_ / "cache")->origin, KernelOrigin::pack);
  EXPECT_EQ(compile_cubin(kElsewhere, scratch_ / "cache")->origin, KernelOrigin::cache);
  const auto missing = compile_cubin("// arch=sm90,missing\n", scratch_ / "cache");
  ASSERT_FALSE(missing);
  const std::string& said = missing.error().message;
  EXPECT_NE(said.find("WARPWRIGHT_JIT=off"), std::string::npos) << said;
  EXPECT_NE(said.find("got arch=sm90,missing"), std::string::npos) << said;
  EXPECT_NE(said.find("warpwright prepare --config 'arch=sm90,missing' --pack FILE"), std::string::npos) << said;
  EXPECT_EQ(kernel_counts().compiled, before_.compiled + 1);
}

TEST_F(PackedKernels, OfTheEmulatedDeviceDoNotApply) {
  const Variable off("WARPWRIGHT_JIT", "off");
  const Variable modules("WARPWRIGHT_MODULE_DIR", WW_TEST_MODULES);
  const auto shipped = compile_module(test::source_answering(1001), scratch_ / "cache");
  ASSERT_TRUE(shipped) << shipped.error().message;
  EXPECT_EQ(shipped->origin, KernelOrigin::module);
  const auto missing = compile_module(test::source_answering(1003), scratch_ / "cache");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("--device emu:sm90"), std::string::npos) << missing.error().message;
}

TEST_F(PackedKernels, AModeThatIsNoneIsRefused) {
  const Variable wrong("WARPWRIGHT_JIT", "never");
  const auto compiled = compile_cubin(kInPack, scratch_ / "cache");
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().argument, "WARPWRIGHT_JIT");
  EXPECT_EQ(compiled.error().actual, "never");
}

}  // namespace
}  // namespace ww::jit
