// SPDX-License-Identifier: Apache-2.0
// The code that the instructions become under NVRTC: the opcode of each in the PTX of the kernel that uses it, no
// spills and no serialised wgmma (C75xx) from ptxas, and no floating-point operation that the source did not write.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>

#include "case.hpp"
#include "jit/embedded_headers.hpp"
#include "jit/jit.hpp"
#include "jit/nvrtc.hpp"

namespace ww::arch_test {
namespace {

/// NVRTC's PTX of a translation unit, or its log. The library itself only ever asks for cubins.
std::string ptx_of(const std::string& source) {
  void* library = nullptr;
  for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"})
    if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) return "no libnvrtc";
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
  };
  int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*);
  int (*compile)(void*, int, const char* const*);
  int (*ptx_size)(void*, std::size_t*), (*ptx)(void*, char*), (*log_size)(void*, std::size_t*), (*log)(void*, char*);
  int (*destroy)(void**);
  bind(create, "nvrtcCreateProgram");
  bind(compile, "nvrtcCompileProgram");
  bind(ptx_size, "nvrtcGetPTXSize");
  bind(ptx, "nvrtcGetPTX");
  bind(log_size, "nvrtcGetProgramLogSize");
  bind(log, "nvrtcGetProgramLog");
  bind(destroy, "nvrtcDestroyProgram");
  std::vector<const char*> names, texts, flags = {"--gpu-architecture=compute_90a"};
  for (const jit::EmbeddedHeader& header : jit::embedded_headers())
    names.push_back(header.name), texts.push_back(header.text);
  for (const char* flag : jit::Nvrtc::flags())
    if (std::string_view(flag).find("architecture") == std::string_view::npos) flags.push_back(flag);
  void* program = nullptr;
  create(&program, source.c_str(), "test.cu", static_cast<int>(names.size()), texts.data(), names.data());
  const bool compiled = compile(program, static_cast<int>(flags.size()), flags.data()) == 0;
  std::size_t bytes = 0;
  (compiled ? ptx_size : log_size)(program, &bytes);
  std::string text(bytes, '\0');
  (compiled ? ptx : log)(program, text.data());
  destroy(&program);
  return text;
}

using Kernels = std::map<std::string, std::string>;

/// Returns the PTX of each kernel of some headers; for one that does not compile, the compiler's output under its own
/// name.
Kernels kernels_in_ptx(const std::vector<const char*>& headers) {
  Kernels found;
  for (const char* header : headers) {
    const std::string ptx = ptx_of(kernel_source(header));
    const std::regex entry(R"(\.entry (\w+)\()");
    const auto end = std::sregex_iterator();
    auto it = std::sregex_iterator(ptx.begin(), ptx.end(), entry);
    if (it == end) found[header] = ptx;
    for (; it != end; ++it) {
      const auto begin = static_cast<std::size_t>(it->position());
      found[(*it)[1]] = ptx.substr(begin, ptx.find(".entry ", begin + 1) - begin);
    }
  }
  return found;
}

/// The 96 kernels of wgmma_widths have a test of their own, because they take four times as long as all others. Those
/// of sm_100 are assembled by sm100_code.py.
std::vector<const char*> all_but_widths() {
  std::vector<const char*> headers;
  for (const char* header : kernel_headers())
    if (header != std::string_view("wgmma_widths") && !is_sm100(header)) headers.push_back(header);
  return headers;
}

std::size_t count(const std::string& text, std::string_view part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

#define WW_NEEDS_NVRTC() \
  if (const auto nvrtc = jit::Nvrtc::get(); !nvrtc) GTEST_SKIP() << nvrtc.error().message

struct Expected {
  const char* kernel;
  std::vector<const char*> opcodes;
};

const Expected kExpected[] = {
    {"arch_mbarrier_phases",
     {"mbarrier.init.shared::cta.b64", "mbarrier.inval.shared::cta.b64", "mbarrier.arrive.shared::cta.b64",
      "mbarrier.try_wait.parity.shared::cta.b64"}},
    {"arch_mbarrier_remote",
     {"mapa.shared::cluster.u32", "mbarrier.arrive.shared::cluster.b64",
      "mbarrier.arrive.release.cluster.shared::cluster.b64", "fence.mbarrier_init.release.cluster"}},
    {"arch_tma_load",
     {"prefetch.tensormap", "cp.async.bulk.prefetch.tensor.3d.L2.global.tile", "mbarrier.expect_tx.shared::cta.b64",
      "mbarrier.arrive.expect_tx.shared::cta.b64",
      "cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint",
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint"}},
    {"arch_tma_multicast",
     {"cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
      "fence.proxy.async;"}},
    {"arch_tma_store",
     {"cp.async.bulk.tensor.1d.global.shared::cta.bulk_group", "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group",
      "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group", "cp.async.bulk.commit_group",
      "cp.async.bulk.wait_group 0", "fence.proxy.async.shared::cta"}},
    {"arch_tensor_map_groups",
     {"tensormap.replace.tile.global_address.shared::cta.b1024.b64",
      "tensormap.replace.tile.global_dim.shared::cta.b1024.b32",
      "tensormap.replace.tile.global_stride.shared::cta.b1024.b64",
      "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned",
      "fence.proxy.tensormap::generic.acquire.gpu", "prefetch.tensormap"}},
    {"arch_tma_store_groups", {"cp.async.bulk.wait_group.read 1", "cp.async.bulk.wait_group.read 0"}},
    {"arch_wgmma_e4m3_8", {"wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3"}},
    {"arch_wgmma_e4m3_64", {"wgmma.mma_async.sync.aligned.m64n64k32.f32.e4m3.e4m3"}},
    {"arch_wgmma_e4m3_128", {"wgmma.mma_async.sync.aligned.m64n128k32.f32.e4m3.e4m3", "wgmma.fence.sync.aligned"}},
    {"arch_wgmma_e4m3_136", {"wgmma.mma_async.sync.aligned.m64n136k32.f32.e4m3.e4m3"}},
    {"arch_wgmma_e4m3_256", {"wgmma.mma_async.sync.aligned.m64n256k32.f32.e4m3.e4m3"}},
    {"arch_wgmma_bf16_8", {"wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16"}},
    {"arch_wgmma_bf16_64", {"wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16"}},
    {"arch_wgmma_bf16_128", {"wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"}},
    {"arch_wgmma_bf16_136", {"wgmma.mma_async.sync.aligned.m64n136k16.f32.bf16.bf16"}},
    {"arch_wgmma_bf16_256", {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16"}},
    {"arch_wgmma_f16_8", {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"}},
    {"arch_wgmma_f16_64", {"wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16"}},
    {"arch_wgmma_f16_128", {"wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16"}},
    {"arch_wgmma_f16_136", {"wgmma.mma_async.sync.aligned.m64n136k16.f32.f16.f16"}},
    {"arch_wgmma_f16_256", {"wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16"}},
    {"arch_wgmma_groups",
     {"wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned 1", "wgmma.wait_group.sync.aligned 0"}},
    {"arch_stmatrix",
     {"stmatrix.sync.aligned.m8n8.x1.shared.b16", "stmatrix.sync.aligned.m8n8.x2.shared.b16",
      "stmatrix.sync.aligned.m8n8.x4.shared.b16", "stmatrix.sync.aligned.m8n8.x1.trans.shared.b16",
      "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16", "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}},
    {"arch_ldmatrix", {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"}},
    {"arch_special", {"%tid.x", "%ntid.x", "%ctaid.x", "%nctaid.x", "%cluster_ctarank", "%cluster_nctarank"}},
    {"arch_cluster_exchange",
     {"mapa.shared::cluster.u32", "ld.shared::cluster.u32", "st.shared::cluster.u32",
      "barrier.cluster.arrive.release.aligned", "barrier.cluster.arrive.relaxed.aligned",
      "barrier.cluster.wait.acquire.aligned"}},
    {"arch_cluster_store_async",
     {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32",
      "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32"}},
    {"arch_registers", {"setmaxnreg.dec.sync.aligned.u32 40", "setmaxnreg.inc.sync.aligned.u32 232"}},
    {"arch_named_barriers", {"bar.arrive 2,", "bar.sync 2,", "bar.sync 15,", "bar.sync 0;"}},
    {"arch_fences",
     {"fence.mbarrier_init.release.cluster", "fence.proxy.async.shared::cta", "fence.proxy.async;", "fence.acq_rel.cta",
      "fence.acq_rel.cluster", "fence.acq_rel.gpu", "fence.acq_rel.sys", "fence.proxy.async.global", "fence.sc.cta",
      "fence.sc.cluster", "fence.sc.gpu", "fence.sc.sys"}},
    {"arch_mbarrier_scopes",
     {"mbarrier.arrive.release.cluster.shared::cta.b64", "mbarrier.arrive.release.cluster.shared::cluster.b64",
      "mbarrier.arrive.relaxed.cta.shared::cta.b64", "mbarrier.arrive.relaxed.cluster.shared::cluster.b64",
      "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64",
      "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64"}},
    {"arch_clocks", {"%clock64", "%globaltimer"}},
    {"arch_pdl", {"griddepcontrol.wait", "griddepcontrol.launch_dependents"}},
    {"arch_warp",
     {"elect.sync", "bar.warp.sync", "shfl.sync.idx.b32", "shfl.sync.up.b32", "shfl.sync.down.b32",
      "shfl.sync.bfly.b32", "vote.sync.ballot.b32"}},
    {"arch_global", {"ld.global.u32", "ld.global.nc.f32", "ld.global.v4.u32", "st.global.u32", "st.global.v4.u32"}},
    {"arch_global_bytes", {"ld.global.u8", "st.global.u8", "st.global.v2.u32"}},
    {"arch_global_predicated", {"ld.global.v2.u32", "ld.global.u64", "@p st.global.u32", "@p st.global.v4.u32"}},
    {"arch_shared_atomics",
     {"atom.relaxed.cta.shared::cta.add.u32", "atom.relaxed.cta.shared::cta.min.u32",
      "atom.relaxed.cta.shared::cta.max.u32", "atom.relaxed.cta.shared::cta.or.b32"}},
    {"arch_scan", {"shfl.sync.up.b32", "shfl.sync.idx.b32", "bar.sync 0, "}},
    {"arch_scan_groups", {"bar.sync 1, ", "bar.sync 2, "}},
    {"arch_shared",
     {"ld.shared::cta.u32", "ld.shared::cta.v2.u32", "ld.shared::cta.v4.u32", "st.shared::cta.u32",
      "st.shared::cta.v2.u32", "st.shared::cta.v4.u32"}},
    {"arch_atomics",
     {"atom.relaxed.gpu.global.add.u32", "atom.acq_rel.gpu.global.add.u32", "atom.acq_rel.gpu.global.cas.b32",
      "atom.relaxed.gpu.global.or.b32"}},
    {"arch_turns", {"ld.acquire.gpu.global.u32", "st.release.gpu.global.u32"}},
    {"arch_convert",
     {"cvt.rn.bf16x2.f32", "cvt.rn.f16x2.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32",
      "cvt.rn.bf16.f32", "cvt.rn.f16.f32"}},
    {"arch_math", {"fma.rn.f32", "mul.rn.f32", "add.rn.f32", "div.rn.f32"}},
};

TEST(Ptx, HoldsTheOpcodeOfEachInstruction) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx(all_but_widths());
  for (const Expected& expected : kExpected) {
    ASSERT_TRUE(kernels.count(expected.kernel)) << expected.kernel << "\n" << kernels.begin()->second;
    for (const char* opcode : expected.opcodes)
      EXPECT_GE(count(kernels.at(expected.kernel), opcode), 1u) << expected.kernel << " lacks " << opcode;
  }
}

TEST(Ptx, StrongAccessesOfEachOrderAndScope) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx({"strong"});
  const std::pair<const char*, const char*> spaces[] = {{"arch_strong_global", ".global"},
                                                        {"arch_strong_shared", ".shared::cluster"}};
  for (const auto& [kernel, space] : spaces) {
    ASSERT_TRUE(kernels.count(kernel)) << kernel << "\n" << kernels.begin()->second;
    const auto expect = [&, space = std::string(space)](const std::string& before, const std::string& after) {
      EXPECT_EQ(count(kernels.at(kernel), before + space + after), 1u) << before << space << after;
    };
    for (const std::string scope : {".cta", ".cluster", ".gpu", ".sys"}) {
      for (const char* type : {".u32 ", ".u64 "})
        expect("ld.relaxed" + scope, type), expect("st.relaxed" + scope, type);
      expect("ld.acquire" + scope, ".u32 "), expect("st.release" + scope, ".u32 ");
      for (const std::string order : {".relaxed", ".acquire", ".release", ".acq_rel"})
        for (const char* operation : {".add.u32", ".or.b32", ".exch.b32", ".cas.b32"})
          expect("atom" + order + scope, operation);
    }
    expect("ld.volatile", ".u32 "), expect("st.volatile", ".u32 ");
  }
}

TEST(Ptx, WgmmaChainsAreThoseOfTheSource) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx({"wgmma"});
  const std::map<std::string, std::size_t> steps = {{"arch_wgmma_e4m3_128", 4}, {"arch_wgmma_f16_256", 4},
                                                    {"arch_wgmma_steps_1", 1},  {"arch_wgmma_steps_2", 2},
                                                    {"arch_wgmma_groups", 3},   {"arch_wgmma_pair", 2}};
  for (const auto& [kernel, number] : steps) {
    ASSERT_TRUE(kernels.count(kernel)) << kernel;
    EXPECT_EQ(count(kernels.at(kernel), "wgmma.mma_async"), number) << kernel;
  }
  // negated operands carry their signs
  const std::pair<const char*, const char*> kSigns[] = {{"arch_wgmma_negate_a", R"(p,\s*-1,\s*1\b)"},
                                                        {"arch_wgmma_negate_b", R"(p,\s*1,\s*-1\b)"},
                                                        {"arch_wgmma_negate_both", R"(p,\s*-1,\s*-1\b)"},
                                                        {"arch_wgmma_e4m3_64", R"(p,\s*1,\s*1\b)"}};
  for (const auto& [kernel, signs] : kSigns) {
    ASSERT_TRUE(kernels.count(kernel)) << kernel;
    EXPECT_TRUE(std::regex_search(kernels.at(kernel), std::regex(signs))) << kernel << " lacks " << signs;
  }
}

TEST(Ptx, WgmmaWithAFromRegisters) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx({"wgmma_registers"});
  struct Kind {
    const char *name, *operands, *tail, *load;  // of the instruction; after the predicate; how A comes to registers
  };
  constexpr const char *kRows = "ldmatrix.sync.aligned.m8n8.x4.shared", *kTwo = R"(p,\s*1,\s*1;)",
                       *kColumns = "ldmatrix.sync.aligned.m8n8.x4.trans.shared";
  const Kind kinds[] = {{"e4m3", "k32.f32.e4m3.e4m3 {", kTwo, kRows},
                        {"e5m2", "k32.f32.e5m2.e5m2 {", kTwo, kRows},
                        {"e4m3_e5m2", "k32.f32.e4m3.e5m2 {", kTwo, kRows},
                        {"e5m2_e4m3", "k32.f32.e5m2.e4m3 {", kTwo, kRows},
                        {"bf16", "k16.f32.bf16.bf16 {", R"(p,\s*1,\s*1,\s*0;)", kRows},
                        {"bf16_k_mn", "k16.f32.bf16.bf16 {", R"(p,\s*1,\s*1,\s*1;)", kRows},
                        {"bf16_mn_k", "k16.f32.bf16.bf16 {", R"(p,\s*1,\s*1,\s*0;)", kColumns},
                        {"f16", "k16.f32.f16.f16 {", R"(p,\s*1,\s*1,\s*0;)", kRows},
                        {"f16_mn_mn", "k16.f32.f16.f16 {", R"(p,\s*1,\s*1,\s*1;)", kColumns},
                        {"tf32", "k8.f32.tf32.tf32 {", kTwo, kRows},
                        {"tf32_mn_k", "k8.f32.tf32.tf32 {", kTwo, "ld.shared::cta.u32"}};
  for (const Kind& kind : kinds)
    for (int n : {8, 64, 136, 256}) {
      const std::string name = std::string("arch_wgmma_registers_") + kind.name + "_" + std::to_string(n);
      ASSERT_TRUE(kernels.count(name)) << name;
      const std::string& ptx = kernels.at(name);
      EXPECT_EQ(count(ptx, "wgmma.mma_async"), 4u) << name;
      EXPECT_EQ(count(ptx, "m64n" + std::to_string(n) + kind.operands), 4u) << name;
      EXPECT_GE(count(ptx, kind.load), 4u) << name;
      EXPECT_TRUE(std::regex_search(ptx, std::regex(kind.tail))) << name;
    }
  EXPECT_TRUE(std::regex_search(kernels.at("arch_wgmma_registers_negate"), std::regex(R"(p,\s*-1,\s*1,\s*0;)")));
}

TEST(Ptx, WgmmaOfOtherTypesAndMajors) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx({"wgmma_types"});
  struct Kind {
    const char *name, *operands, *tail;  // of the instruction; after the predicate
  };
  const Kind kinds[] = {{"e5m2", "k32.f32.e5m2.e5m2 {", R"(p,\s*1,\s*1;)"},
                        {"e4m3_e5m2", "k32.f32.e4m3.e5m2 {", R"(p,\s*1,\s*1;)"},
                        {"e5m2_e4m3", "k32.f32.e5m2.e4m3 {", R"(p,\s*1,\s*1;)"},
                        {"tf32", "k8.f32.tf32.tf32 {", R"(p,\s*1,\s*1;)"},
                        {"bf16_mn_k", "k16.f32.bf16.bf16 {", R"(p,\s*1,\s*1,\s*1,\s*0;)"},
                        {"bf16_k_mn", "k16.f32.bf16.bf16 {", R"(p,\s*1,\s*1,\s*0,\s*1;)"},
                        {"bf16_mn_mn", "k16.f32.bf16.bf16 {", R"(p,\s*1,\s*1,\s*1,\s*1;)"},
                        {"f16_mn_mn", "k16.f32.f16.f16 {", R"(p,\s*1,\s*1,\s*1,\s*1;)"}};
  for (const Kind& kind : kinds)
    for (int n : {8, 64, 136, 256}) {
      const std::string name = std::string("arch_wgmma_types_") + kind.name + "_" + std::to_string(n);
      ASSERT_TRUE(kernels.count(name)) << name;
      const std::string opcode = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + kind.operands;
      EXPECT_EQ(count(kernels.at(name), opcode), 4u) << name << " lacks " << opcode;
      EXPECT_TRUE(std::regex_search(kernels.at(name), std::regex(kind.tail))) << name << " lacks " << kind.tail;
    }
}

TEST(Ptx, EveryWgmmaOfEveryTypeAndWidth) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx({"wgmma_widths"});
  for (const char* type : {"e4m3", "bf16", "f16"})
    for (int n = 8; n <= 256; n += 8) {
      const std::string name = std::string("arch_wgmma_width_") + type + "_" + std::to_string(n);
      ASSERT_TRUE(kernels.count(name)) << name << "\n" << kernels.begin()->second;
      const std::string opcode = "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) +
                                 (type == std::string_view("e4m3") ? "k32.f32." : "k16.f32.") + type + "." + type +
                                 " {";
      const std::string& text = kernels.at(name);
      const std::size_t at = text.find(opcode);
      ASSERT_NE(at, std::string::npos) << name << " lacks " << opcode;
      const std::string registers = text.substr(at, text.find('}', at) - at);
      EXPECT_EQ(std::count(registers.begin(), registers.end(), ','), n / 2 - 1) << registers;
    }
}

TEST(Ptx, ArithmeticIsWhatTheSourceSays) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx({"arithmetic"});
  ASSERT_TRUE(kernels.count("arch_counted"));
  const std::string& counted = kernels.at("arch_counted");
  EXPECT_EQ(count(counted, "fma.rn.f32"), 3u);
  EXPECT_EQ(count(counted, "mul.rn.f32"), 3u);
  EXPECT_EQ(count(counted, "add.rn.f32"), 4u);
}

TEST(Ptx, NoApproximationNoFlushNoContraction) {
  WW_NEEDS_NVRTC();
  const Kernels kernels = kernels_in_ptx(all_but_widths());
  EXPECT_GE(kernels.size(), 46u);
  const std::regex mad(R"(\bmad(\.\w+)*\.f32)");
  for (const auto& [name, text] : kernels) {
    EXPECT_EQ(count(text, ".approx"), 0u) << name;
    EXPECT_EQ(count(text, ".ftz"), 0u) << name;
    EXPECT_FALSE(std::regex_search(text, mad)) << name;
    const bool writes_fma = name == "arch_math" || name == "arch_counted";
    EXPECT_TRUE(writes_fma || count(text, "fma.") == 0) << name;
    // rounding is always spelled out: `mul.f32` without .rn is the form that ptxas may fuse
    for (const char* fusible : {"\tmul.f32", "\tadd.f32", "\tsub.f32", "\tdiv.f32", "\tdiv.full"})
      EXPECT_EQ(count(text, fusible), 0u) << name;
  }
}

TEST(Cubin, AssemblesWithoutSpillsOrSerialisedWgmma) {
  WW_NEEDS_NVRTC();
  const auto cache = std::filesystem::temp_directory_path() / "warpwright-arch-test-cache";
  std::size_t kernels = 0;
  for (const char* header : kernel_headers()) {
    if (is_sm100(header)) continue;
    const auto compiled = jit::compile_cubin(kernel_source(header), cache);
    ASSERT_TRUE(compiled) << header << "\n" << compiled.error().message;
    const std::string& log = compiled->log;
    kernels += count(log, "Compiling entry function");
    EXPECT_EQ(count(log, "spill stores"), count(log, " 0 bytes spill stores")) << header << "\n" << log;
    EXPECT_EQ(count(log, "spill loads"), count(log, " 0 bytes spill loads")) << header << "\n" << log;
    EXPECT_EQ(count(log, "C75"), 0u) << header << "\n" << log;
    EXPECT_EQ(count(log, "warning"), 0u) << header << "\n" << log;
    EXPECT_EQ(count(log, "setmaxnreg"), 0u) << header << "\n" << log;
  }
  EXPECT_GE(kernels, 46u + 96) << "ptxas -v names every kernel in its log";
}

}  // namespace
}  // namespace ww::arch_test
