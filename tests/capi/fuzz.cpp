// SPDX-License-Identifier: Apache-2.0
// Random calls of the C interface on emulated devices: structures of any size and content, null and misaligned
// pointers, outputs that overlap inputs, huge extents, NaN scales, handles that were freed, made up or of another
// device, texts that are no config. Every call must return a status, and a failure must say something; a program that
// ends otherwise has found a defect. The memory that a pointer is said to have is there: the operands are buffers that
// hold every problem which the fuzzer runs.
//   capi_fuzz --calls N [--seed S]      prints the seed, and how many calls were accepted and refused
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <warpwright/warpwright.h>

namespace {

constexpr std::int64_t kLargestRun = 64;              // extents of problems that run
constexpr std::size_t kBytes = std::size_t{4} << 20;  // of each buffer, more than such a problem can address

class Fuzzer {
 public:
  explicit Fuzzer(std::uint64_t seed) : random_(seed) {
    for (ww_device& device : devices_)
      ww_device_open(&device == &devices_[kBlackwell] ? "emu:sm100" : "emu:sm90", nullptr, &device);
    for (auto& buffer : buffers_) ww_device_allocate(devices_[0], kBytes, &buffer);
    std::vector<float> host(kBytes / 4);
    for (std::size_t i = 0; i < host.size(); ++i)
      host[i] = chance(20) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i % 7) - 3;
    for (void* const buffer : buffers_) ww_device_upload(devices_[0], buffer, host.data(), kBytes);
    std::vector<std::int32_t> ends(kBytes / 4);
    for (std::size_t i = 0; i < ends.size(); ++i) ends[i] = static_cast<std::int32_t>(random_() % 80) - 8;
    ww_device_upload(devices_[0], buffers_[kSizes], ends.data(), kBytes);
  }
  ~Fuzzer() {
    for (const ww_device device : devices_) ww_device_close(device);
  }

  /// Makes one call. Returns false if it broke the contract.
  bool step() {
    switch (below(17)) {
      case 0: return device_call();
      case 1: return plan_call();
      case 2: return text_call();
      case 3:
      case 4:
      case 5: return operation<ww_gemm_problem, ww_gemm_operands>(kGemm);
      case 6:
      case 7:
      case 8: return operation<ww_grouped_problem, ww_grouped_operands>(kGrouped);
      case 9: return cast<ww_quantize_problem, ww_quantize_operands>(kQuantize);
      case 10: return cast<ww_transpose_problem, ww_transpose_operands>(kTranspose);
      case 11: return cast<ww_pack_scales_problem, ww_pack_scales_operands>(kPackScales);
      case 12: return cast<ww_microscale_problem, ww_microscale_operands>(kMicroscale);
      case 13: return blackwell();
      default: return operation<ww_k_grouped_problem, ww_k_grouped_operands>(kKGrouped);
    }
  }

  std::map<ww_status, int> statuses;
  int ran = 0;  // runs that were accepted

 private:
  template <class Problem, class Operands> struct Functions {
    ww_status (*can)(const Problem*, const ww_options*);
    ww_status (*plan)(ww_device, const Problem*, const ww_options*, ww_plan*);
    ww_status (*cached)(ww_device, const Problem*, const ww_options*, void*, ww_plan*);
    ww_status (*run)(ww_plan, const Operands*, void*);
    ww_status (*both)(ww_device, const Problem*, const ww_options*, const Operands*, void*);
    ww_status (*explain)(ww_device, const Problem*, const ww_options*, ww_report*);
  };
  static constexpr Functions<ww_gemm_problem, ww_gemm_operands> kGemm = {
      ww_gemm_can_implement, ww_gemm_plan, ww_gemm_cached, ww_gemm_run, ww_gemm, ww_gemm_explain};
  static constexpr Functions<ww_grouped_problem, ww_grouped_operands> kGrouped = {
      ww_grouped_can_implement, ww_grouped_plan, ww_grouped_cached, ww_grouped_run, ww_grouped, ww_grouped_explain};
  static constexpr Functions<ww_k_grouped_problem, ww_k_grouped_operands> kKGrouped = {
      ww_k_grouped_can_implement, ww_k_grouped_plan, ww_k_grouped_cached,
      ww_k_grouped_run,           ww_k_grouped,      ww_k_grouped_explain};

  static constexpr Functions<ww_quantize_problem, ww_quantize_operands> kQuantize = {
      ww_quantize_can_implement, ww_quantize_plan, ww_quantize_cached, ww_quantize_run, ww_quantize, nullptr};
  static constexpr Functions<ww_transpose_problem, ww_transpose_operands> kTranspose = {
      ww_transpose_can_implement, ww_transpose_plan, ww_transpose_cached, ww_transpose_run, ww_transpose, nullptr};
  static constexpr Functions<ww_pack_scales_problem, ww_pack_scales_operands> kPackScales = {
      ww_pack_scales_can_implement, ww_pack_scales_plan, ww_pack_scales_cached,
      ww_pack_scales_run,           ww_pack_scales,      nullptr};

  static constexpr Functions<ww_microscale_problem, ww_microscale_operands> kMicroscale = {
      ww_microscale_can_implement, ww_microscale_plan, ww_microscale_cached, ww_microscale_run, ww_microscale, nullptr};

  enum { kA, kB, kD, kScaleA, kScaleB, kSizes, kWorkspace, kExtra, kBuffers };

  static constexpr int kMatrices = 4;           // of an array of pointers
  static constexpr std::size_t kBlackwell = 2;  // of the devices; device() returns the others

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool chance(int one_in) { return below(static_cast<std::uint64_t>(one_in)) == 0; }
  template <class T> T any_of(std::initializer_list<T> list) { return list.begin()[below(list.size())]; }

  bool note(ww_status status) {
    ++statuses[status];
    if (status == WW_OK) return true;
    const bool said = *ww_error_message() != '\0' && ww_error_status() == status;
    if (!said || status == WW_INTERNAL) std::printf("status %d: \"%s\"\n", status, ww_error_message());
    return said && status != WW_INTERNAL && ww_error_argument() != nullptr && ww_error_actual() != nullptr;
  }

  std::int64_t wild_number() {
    return any_of<std::int64_t>({0, 1, -1, 7, 8, 15, 16, 17, 127, 128, 4096, 4097, std::int64_t{1} << 31,
                                 std::int64_t{1} << 40, INT64_MAX, INT64_MIN, static_cast<std::int64_t>(random_())});
  }

  /// A structure in memory of its own, so that a sanitizer sees every byte that is read behind it.
  template <class Struct> const Struct* placed(const Struct& value, std::unique_ptr<char[]>& memory) {
    if (chance(60)) return nullptr;
    std::size_t size = sizeof(Struct);
    if (chance(12)) size = sizeof(std::size_t) + below(sizeof(Struct));
    if (chance(25)) size = sizeof(Struct) + below(200);
    memory.reset(new char[size]);
    if (size > sizeof(Struct)) std::memset(memory.get(), chance(2) ? 0 : 0x41, size);
    std::memcpy(memory.get(), &value, std::min(size, sizeof value));
    std::size_t said = size;
    if (chance(40)) said = any_of<std::size_t>({0, 1, 7, SIZE_MAX, std::size_t{1} << 20});
    std::memcpy(memory.get(), &said, sizeof said);
    return reinterpret_cast<const Struct*>(memory.get());
  }

  /// Overwrites some words of a structure behind its size.
  template <class Struct> void spoil(Struct& value) {
    auto* const words = reinterpret_cast<std::int32_t*>(&value);
    for (std::uint64_t i = below(3); i > 0; --i)
      words[2 + below(sizeof value / 4 - 2)] = static_cast<std::int32_t>(wild_number());
  }

  const char* epilogue_text() {
    return any_of<const char*>({nullptr, nullptr, nullptr, "", "acc*alpha+bias", "silu(", "quantise(acc)", "acc+c*beta",
                                "row_sum(acc,out1)", "\xff\x01", "swiglu(acc)", "acc*nan", "((((((((acc))))))))",
                                "quantise_mx(acc)", "quantise_nv(acc)"});
  }

  /// What the three problems have in common. Problems that run are small.
  template <class Problem> void common(Problem& p) {
    p.struct_size = sizeof p;
    const auto extent = [&] { return static_cast<std::int64_t>(8 * below(kLargestRun / 8 + 1)); };
    p.n = extent(), p.k = extent();
    p.a_type = any_of({WW_BF16, WW_BF16, WW_E4M3, WW_F16, WW_E5M2, WW_TF32});
    p.b_type = chance(6) ? WW_E4M3 : p.a_type;
    p.d_type = any_of({WW_BF16, WW_F32, WW_F16, WW_E4M3});
    p.scale = any_of({WW_SCALE_NONE, WW_SCALE_NONE, WW_SCALE_TENSOR, WW_SCALE_ROW_COLUMN, WW_SCALE_BLOCK,
                      WW_SCALE_BLOCK_1D, WW_SCALE_BLOCK_SWAPPED});
    if (chance(5)) p.lda = static_cast<std::int64_t>(8 * below(20));
    if (chance(5)) p.ldd = static_cast<std::int64_t>(8 * below(20));
  }
  ww_gemm_problem make(const ww_gemm_problem*) {
    ww_gemm_problem p{};
    common(p);
    p.m = static_cast<std::int64_t>(below(kLargestRun + 1));
    if (chance(4)) p.batched = 1, p.batch = static_cast<std::int64_t>(below(3)), p.batch_a = p.m * p.k;
    if (p.batched != 0 && chance(3)) p.pointer_array = 1;
    if (chance(6)) p.a_major = WW_MAJOR_MN;
    if (chance(6)) p.epilogue = epilogue_text();
    return p;
  }
  template <class Problem> void grouped(Problem& p) {
    p.groups = static_cast<std::int64_t>(below(4));
    p.encoding = static_cast<ww_encoding>(below(5));
    if (chance(4)) p.alignment = any_of<std::int64_t>({1, 8, 16, 128});
  }
  ww_grouped_problem make(const ww_grouped_problem*) {
    ww_grouped_problem p{};
    common(p);
    grouped(p);
    p.rows = static_cast<std::int64_t>(below(kLargestRun + 1));
    p.zero_outside = chance(3);
    if (chance(4)) p.b_major = WW_MAJOR_MN;
    if (chance(8)) p.epilogue = epilogue_text();
    if (chance(6))
      p.expected_sizes = any_of<const char*>({"0", "1", "1,0,2", "99999999999999999999", "1,,2", "-1", ""});
    return p;
  }
  ww_k_grouped_problem make(const ww_k_grouped_problem*) {
    ww_k_grouped_problem p{};
    common(p);
    grouped(p);
    p.m = static_cast<std::int64_t>(8 * below(9));
    p.a_major = p.b_major = chance(3) ? WW_MAJOR_K : WW_MAJOR_MN;
    p.accumulate = chance(3);
    if (chance(3)) {
      p.packing = WW_K_PER_GROUP;
      if (!chance(6)) p.lda = 0, p.k = static_cast<std::int64_t>(128 * below(3));
    }
    return p;
  }

  ww_quantize_problem make(const ww_quantize_problem*) {
    ww_quantize_problem p{};
    p.struct_size = sizeof p;
    p.m = static_cast<std::int64_t>(below(200)), p.k = static_cast<std::int64_t>(below(200));
    if (chance(4)) p.batch = static_cast<std::int64_t>(below(3));
    p.x_type = any_of({WW_BF16, WW_BF16, WW_F32, WW_E4M3}), p.q_type = any_of<ww_dtype>({0, WW_E4M3, WW_F16});
    p.block = static_cast<ww_quantize_block>(below(2)), p.outputs = static_cast<ww_quantize_outputs>(below(4));
    p.power_of_two = chance(2);
    if (chance(4)) p.min_amax = any_of<double>({-1, 1, 1e300, std::numeric_limits<double>::quiet_NaN()});
    if (chance(4)) p.ldx = static_cast<std::int64_t>(below(300));
    if (chance(4)) p.scale_m = 1, p.scale_k = static_cast<std::int64_t>(below(300));
    if (chance(3)) {
      p.groups = static_cast<std::int64_t>(below(5)), p.encoding = static_cast<ww_encoding>(below(5));
      p.padding = any_of<std::int64_t>({0, 128, 256, 100}), p.one_by_one = chance(3);
    }
    return p;
  }
  ww_transpose_problem make(const ww_transpose_problem*) {
    ww_transpose_problem p{};
    p.struct_size = sizeof p;
    p.n = static_cast<std::int64_t>(below(300)), p.k = static_cast<std::int64_t>(below(300));
    p.type = any_of({WW_E4M3, WW_E4M3, WW_BF16});
    if (chance(4)) p.batch = static_cast<std::int64_t>(below(3)), p.batch_w = static_cast<std::int64_t>(below(9000));
    if (chance(4)) p.ld_transposed = static_cast<std::int64_t>(below(400));
    return p;
  }

  ww_pack_scales_problem make(const ww_pack_scales_problem*) {
    ww_pack_scales_problem p{};
    p.struct_size = sizeof p;
    p.m = static_cast<std::int64_t>(below(300)), p.k = static_cast<std::int64_t>(below(40));
    if (chance(4))
      p.batch = static_cast<std::int64_t>(below(3)), p.batch_packed = static_cast<std::int64_t>(below(9000));
    if (chance(4)) p.scale_m = 1, p.scale_k = static_cast<std::int64_t>(below(400));
    if (chance(4)) p.packed_m = static_cast<std::int64_t>(below(20)), p.packed_k = 1;
    if (chance(3)) {
      p.groups = static_cast<std::int64_t>(below(5)), p.span = any_of<std::int64_t>({0, 32, 128, -1});
      p.words = static_cast<std::int64_t>(below(20));
    }
    return p;
  }

  ww_microscale_problem make(const ww_microscale_problem*) {
    ww_microscale_problem p{};
    p.struct_size = sizeof p;
    p.m = static_cast<std::int64_t>(below(200)), p.k = static_cast<std::int64_t>(below(200));
    if (chance(2)) p.k = p.k / 4 * 4;
    if (chance(4)) p.batch = static_cast<std::int64_t>(below(3)), p.batch_q = static_cast<std::int64_t>(below(50000));
    p.x_type = any_of({WW_BF16, WW_BF16, WW_F32, WW_E4M3});
    p.q_type = any_of({WW_E4M3, WW_E2M1, WW_E2M1, WW_E3M2, WW_F16});
    p.scale = any_of({WW_SCALE_MX, WW_SCALE_NV, WW_SCALE_BLOCK}), p.row_major = chance(2);
    if (chance(4)) p.ldx = static_cast<std::int64_t>(below(300)), p.ldq = static_cast<std::int64_t>(below(300));
    if (chance(6)) p.batch_scales = static_cast<std::int64_t>(below(9000));
    return p;
  }

  /// Products with packed types and scales of mx and nv. Few kernels have to be compiled for those that run.
  ww_gemm_problem make_blackwell() {
    ww_gemm_problem p{};
    p.struct_size = sizeof p;
    p.m = static_cast<std::int64_t>(below(kLargestRun + 1)), p.n = kLargestRun;
    p.k = any_of<std::int64_t>({0, 128, 128, 256, 96, 32});
    p.scale = any_of({WW_SCALE_MX, WW_SCALE_NV});
    p.a_type = p.b_type = p.scale == WW_SCALE_NV ? WW_E2M1 : WW_E4M3;
    p.d_type = WW_BF16;
    if (chance(6)) p.a_type = any_of({WW_E2M3, WW_E8M0, WW_BF16});
    if (chance(6)) p.scale_type = static_cast<ww_scale_type>(below(4));
    if (chance(6)) p.lda = static_cast<std::int64_t>(32 * below(12));
    if (chance(8)) p.scale_a_row = 1;
    if (chance(4)) {
      p.batched = 1, p.batch = static_cast<std::int64_t>(below(4));
      p.batch_a = static_cast<std::int64_t>(32 * below(300)), p.batch_d = p.m * p.n;
      p.batch_scale_a = static_cast<std::int64_t>(256 * below(5));
    }
    if (chance(8)) p.a_major = WW_MAJOR_MN;
    if (chance(8)) p.pointer_array = 1;
    return p;
  }
  bool blackwell() {
    ww_gemm_problem problem = make_blackwell();
    const bool wild = chance(3);
    if (wild) spoil(problem), clear_texts(problem);
    ww_options how{};
    how.struct_size = sizeof how, how.config = chance(2) ? "arch=sm100" : nullptr;
    std::unique_ptr<char[]> memory, memory_of_operands;
    const ww_gemm_problem* const p = placed(problem, memory);
    if (wild || chance(3)) {
      ww_report report = nullptr;
      const bool asked =
          chance(2) ? note(kGemm.can(p, &how)) : note(kGemm.explain(devices_[kBlackwell], p, &how, &report));
      return asked && note(ww_report_free(report));
    }
    ww_gemm_operands operands = make_operands<ww_gemm_operands>();
    operands.epilogue = nullptr;
    if (chance(2)) operands.global_scale = static_cast<const float*>(pointer(kExtra));
    const ww_device on = chance(10) ? device() : devices_[kBlackwell];
    return count_run(ww_gemm(on, p, chance(4) ? &how : nullptr, placed(operands, memory_of_operands), nullptr));
  }

  ww_options options() {
    ww_options o{};
    o.struct_size = sizeof o;
    if (chance(4))
      o.config = any_of<const char*>({"tile=64x64", "tile=1x2", "cluster=2x1", "stages=99", "=", "\x80", "swap_ab=on",
                                      "tile=64x64,tile=64x64", "tile_scheduler=stream-k"});
    if (chance(6)) o.sms = any_of<std::int32_t>({1, 2, -1, 1 << 30});
    if (chance(8)) o.batch_invariant = 1;
    if (chance(8)) o.workspace_limit = any_of<std::int64_t>({-1, -2, 1, INT64_MAX});
    if (chance(30)) spoil_options(o);
    return o;
  }
  static void spoil_options(ww_options& o) { o.reserved = 1, o.pdl = 77; }

  /// A buffer, most often in the right place.
  void* pointer(int which) {
    if (chance(25)) return nullptr;
    auto* const base = static_cast<char*>(buffers_[chance(20) ? below(kBuffers) : static_cast<unsigned>(which)]);
    if (chance(20)) return base + any_of({1, 2, 4, 8, 16, 256});
    return base;
  }
  template <class Operands> Operands make_operands() {
    Operands o{};
    o.struct_size = sizeof o;
    o.a = pointer(kA), o.b = pointer(kB), o.d = pointer(kD);
    o.scale_a = pointer(kScaleA), o.scale_b = pointer(kScaleB);
    if (chance(40)) o.global_scale = static_cast<const float*>(pointer(kExtra));
    o.workspace = pointer(kWorkspace);
    o.workspace_bytes = chance(20) ? below(kBytes) : kBytes - 4096;
    if constexpr (requires { o.epilogue; }) {
      if (chance(3)) {
        epilogue_ = {};
        epilogue_.struct_size = sizeof epilogue_;
        epilogue_.c = pointer(kExtra), epilogue_.amax = static_cast<float*>(pointer(kExtra));
        epilogue_.out_scale_chunks = pointer(kExtra);
        if (chance(9)) epilogue_.batch_out_scale_chunks = wild_number();
        for (int i = 0; i < WW_EPILOGUE_SLOTS; ++i) {
          epilogue_.row_vector[i] = pointer(kExtra), epilogue_.out[i] = pointer(kExtra);
          if (chance(9)) epilogue_.ld_out[i] = -1, epilogue_.batch_row_vector[i] = -8;
        }
        epilogue_.scalars_given = static_cast<std::uint32_t>(below(20));
        epilogue_.scalar[0] = std::numeric_limits<float>::quiet_NaN();
        o.epilogue = &epilogue_;
      }
    }
    if constexpr (requires { o.a_pointers; }) {
      const auto array = [&](int which) -> void** {
        if (chance(20)) return nullptr;
        std::fill_n(arrays_[which], kMatrices, buffers_[which]);
        return arrays_[which];
      };
      o.a_pointers = array(kA), o.b_pointers = array(kB), o.d_pointers = array(kD);
    }
    if constexpr (requires { o.sizes; }) {
      o.sizes = static_cast<const std::int32_t*>(pointer(kSizes));
      o.sizes2 = static_cast<const std::int32_t*>(pointer(kSizes));
      if (chance(2)) o.status = static_cast<std::uint32_t*>(pointer(kExtra));
    }
    return o;
  }

  void fill(ww_quantize_operands& o) {
    o.x = pointer(kA), o.q = pointer(kB), o.transposed = pointer(kD);
    o.scales = static_cast<float*>(pointer(kScaleA)), o.transposed_scales = static_cast<float*>(pointer(kScaleB));
    o.sizes = static_cast<const std::int32_t*>(pointer(kSizes));
    o.sizes2 = static_cast<const std::int32_t*>(pointer(kSizes));
    if (chance(2)) o.padded_ends = static_cast<std::int32_t*>(pointer(kWorkspace));
    if (chance(2)) o.status = static_cast<std::uint32_t*>(pointer(kExtra));
  }
  void fill(ww_transpose_operands& o) {
    o.w = pointer(kA), o.transposed = pointer(kD);
    if (chance(2)) o.scales = static_cast<const float*>(pointer(kScaleA));
    if (chance(2)) o.transposed_scales = static_cast<float*>(pointer(kScaleB));
  }

  void fill(ww_pack_scales_operands& o) {
    o.scales = static_cast<const float*>(pointer(kScaleA)), o.packed = static_cast<std::uint32_t*>(pointer(kD));
    o.sizes = static_cast<const std::int32_t*>(pointer(kSizes));
  }

  void fill(ww_microscale_operands& o) {
    o.x = pointer(kA), o.q = pointer(kD), o.scales = static_cast<std::uint8_t*>(pointer(kScaleA));
    if (chance(2)) o.tensor_scale = static_cast<const float*>(pointer(kExtra));
  }

  /// A cast or transpose, which is run unless words of the problem were spoiled.
  template <class Problem, class Operands> bool cast(const Functions<Problem, Operands>& call) {
    Problem problem = make(static_cast<Problem*>(nullptr));
    const bool wild = chance(3);
    if (wild) spoil(problem);
    const ww_options how = options();
    std::unique_ptr<char[]> memory, memory_of_options, memory_of_operands;
    const Problem* const p = placed(problem, memory);
    const ww_options* const o = chance(2) ? nullptr : placed(how, memory_of_options);
    if (wild) return note(call.can(p, o));
    Operands operands{};
    operands.struct_size = sizeof operands;
    fill(operands);
    const Operands* const x = placed(operands, memory_of_operands);
    if (chance(2)) return count_run(call.both(device(), p, o, x, nullptr));
    ww_plan made = nullptr;
    if (!note((chance(2) ? call.plan(device(), p, o, &made) : call.cached(device(), p, o, nullptr, &made))))
      return false;
    if (made != nullptr) plans_.push_back(made);
    return count_run(call.run(made != nullptr && !chance(10) ? made : plan(), x, nullptr));
  }

  ww_device device() {
    if (chance(40)) return reinterpret_cast<ww_device>(random_());
    if (chance(60)) return nullptr;
    return devices_[chance(10) ? 1 : 0];
  }
  ww_plan plan() {
    if (plans_.empty() || chance(30)) return reinterpret_cast<ww_plan>(random_());
    return plans_[below(plans_.size())];
  }

  /// Questions about a problem, runs of its plans. A problem whose extents were spoiled is not run: it may be legal and
  /// larger than the buffers.
  template <class Problem, class Operands> bool operation(const Functions<Problem, Operands>& call) {
    Problem problem = make(static_cast<Problem*>(nullptr));
    const bool wild = chance(3);
    if (wild) spoil(problem), clear_texts(problem);
    const ww_options how = options();
    std::unique_ptr<char[]> memory, memory_of_options, memory_of_operands;
    const Problem* const p = placed(problem, memory);
    const ww_options* const o = chance(2) ? nullptr : placed(how, memory_of_options);
    if (wild || chance(3)) {
      if (chance(3)) {
        ww_report report = nullptr;
        const bool told = note(call.explain(chance(2) ? nullptr : device(), p, o, chance(20) ? nullptr : &report));
        if (report != nullptr && (ww_report_text(report, nullptr) == nullptr || ww_report_free(report) != WW_OK))
          return false;
        return told;
      }
      return note(call.can(p, o));
    }
    // Kernels that would have to be compiled take seconds each; plans of small problems come from the shipped ones.
    const Operands operands = make_operands<Operands>();
    const Operands* const x = placed(operands, memory_of_operands);
    if (how.config != nullptr || has_epilogue(problem)) return note(call.can(p, o));
    if (chance(3)) return count_run(call.both(device(), p, o, x, nullptr));
    ww_plan made = nullptr;
    const ww_device on = device();
    const bool cached = chance(2);
    const ww_status status = cached ? call.cached(on, p, o, nullptr, chance(40) ? nullptr : &made)
                                    : call.plan(on, p, o, chance(40) ? nullptr : &made);
    if (!note(status)) return false;
    if (made != nullptr) plans_.push_back(made);
    if (plans_.size() > 64) plans_.erase(plans_.begin());
    const ww_plan of = made != nullptr && !chance(10) ? made : plan();
    if (!count_run(call.run(of, x, nullptr))) return false;
    if (made == nullptr || !chance(2)) return true;
    return note(ww_plan_free(made)) && note(call.run(made, x, nullptr)) && note(ww_plan_free(made));
  }
  bool count_run(ww_status status) {
    ran += status == WW_OK;
    return note(status);
  }
  static void clear_texts(ww_gemm_problem& p) { p.epilogue = nullptr; }
  static void clear_texts(ww_grouped_problem& p) { p.epilogue = p.expected_sizes = nullptr; }
  static void clear_texts(ww_k_grouped_problem&) {}
  static bool has_epilogue(const ww_gemm_problem& p) { return p.epilogue != nullptr; }
  static bool has_epilogue(const ww_grouped_problem& p) { return p.epilogue != nullptr; }
  static bool has_epilogue(const ww_k_grouped_problem& p) { return p.accumulate != 0; }

  bool device_call() {
    void* memory = nullptr;
    char host[64] = {};
    std::int32_t capturing = 0;
    switch (below(7)) {
      case 0: {
        ww_device_options o{};
        o.struct_size = sizeof o;
        o.emu_schedule = static_cast<ww_schedule>(below(7)), o.emu_math = static_cast<ww_math>(below(5));
        o.emu_threads = static_cast<std::int32_t>(wild_number()), o.emu_sms = any_of<std::int32_t>({0, 1, 2, -1, 5000});
        std::unique_ptr<char[]> of_options;
        ww_device made = nullptr;
        const char* const name =
            any_of<const char*>({"emu:sm90", "emu:sm100", "cuda:99", "cuda:x", "", nullptr, "\xfe"});
        return note(ww_device_open(name, placed(o, of_options), &made)) && note(ww_device_close(made));
      }
      case 1: return note(ww_device_allocate(device(), below(4096), &memory)) && note(ww_device_free(device(), memory));
      case 2: return note(ww_device_free(device(), reinterpret_cast<void*>(random_())));
      case 3: return note(ww_device_download(device(), chance(4) ? nullptr : host, pointer(kA), below(sizeof host)));
      case 4: return note(ww_device_is_capturing(device(), nullptr, chance(9) ? nullptr : &capturing));
      case 5:
        return note(ww_device_allocate(device(), static_cast<std::size_t>(random_()) | std::size_t{1} << 50, &memory));
      default: {
        ww_device_info info{};
        info.struct_size = below(2 * sizeof info);
        std::vector<char> memory_of_info(std::max(sizeof info, info.struct_size));
        std::memcpy(memory_of_info.data(), &info.struct_size, sizeof info.struct_size);
        return note(ww_device_get_info(device(), reinterpret_cast<ww_device_info*>(memory_of_info.data())));
      }
    }
  }

  bool plan_call() {
    std::size_t bytes = 0, count = 0;
    const char* config = nullptr;
    ww_operation operation = 0;
    ww_report report = nullptr;
    ww_tile_width widths[2];
    switch (below(6)) {
      case 0: return note(ww_plan_workspace_bytes(plan(), chance(9) ? nullptr : &bytes));
      case 1: return note(ww_plan_config(plan(), &config));
      case 2: return note(ww_plan_operation(plan(), &operation));
      case 3: return note(ww_plan_stats(plan(), &report)) && note(ww_report_free(report));
      case 4: return note(ww_grouped_widths(plan(), buffers_[kWorkspace], chance(5) ? nullptr : widths, 2, &count));
      default: return note(ww_plan_free(plan()));
    }
  }

  bool text_call() {
    const auto number = static_cast<std::int32_t>(wild_number());
    for (const char* const name : {ww_dtype_name(number), ww_scale_name(number), ww_encoding_name(number),
                                   ww_rule_name(number), ww_status_name(number)})
      if (name != nullptr && *name == '\0') return false;
    return ww_report_text(reinterpret_cast<ww_report>(random_()), nullptr) == nullptr &&
           note(ww_report_free(reinterpret_cast<ww_report>(random_())));
  }

  std::mt19937_64 random_;
  std::array<ww_device, 3> devices_ = {};
  std::array<void*, kBuffers> buffers_ = {};
  std::vector<ww_plan> plans_;
  void* arrays_[kD + 1][kMatrices] = {};
  ww_epilogue_operands epilogue_ = {};
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t calls = 1000, seed = 1;
  for (int i = 1; i + 1 < argc; i += 2) {
    const bool hexadecimal = std::strncmp(argv[i + 1], "0x", 2) == 0;
    char* end = nullptr;
    const std::uint64_t number = std::strtoull(argv[i + 1], &end, hexadecimal ? 16 : 10);
    if (end == argv[i + 1] || *end != '\0')
      return std::printf("%s: expected a number, got %s\n", argv[i], argv[i + 1]), 2;
    if (std::strcmp(argv[i], "--calls") == 0) calls = number;
    if (std::strcmp(argv[i], "--seed") == 0) seed = number;
  }
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Fuzzer fuzzer(seed);
  for (std::uint64_t call = 0; call < calls; ++call)
    if (!fuzzer.step()) {
      std::printf("call %llu broke the contract: --seed %llu\n", static_cast<unsigned long long>(call),
                  static_cast<unsigned long long>(seed));
      return 1;
    }
  for (const auto& [status, count] : fuzzer.statuses) std::printf("%8d %s\n", count, ww_status_name(status));
  std::printf("%8d runs were accepted\n", fuzzer.ran);
  // A fuzzer whose every call is refused tests little.
  return fuzzer.ran * 200 >= static_cast<int>(calls) || calls < 500 ? 0 : 1;
}
