// SPDX-License-Identifier: Apache-2.0
// The few functions of cuBLASLt that one matmul needs, with their types from its header.
#include "bench/native/cublaslt.hpp"

#if WARPWRIGHT_HAS_CUDA && __has_include(<cublasLt.h>)

#include <cublasLt.h>
#include <dlfcn.h>
#include <glob.h>

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

// clang-format off
#define WW_CUBLASLT_FUNCTIONS(X)                                                                                     \
  X(cublasLtCreate) X(cublasLtDestroy) X(cublasLtGetVersion) X(cublasLtMatmul) X(cublasLtMatmulAlgoGetHeuristic)     \
  X(cublasLtMatmulDescCreate) X(cublasLtMatmulDescDestroy) X(cublasLtMatmulDescSetAttribute)                         \
  X(cublasLtMatrixLayoutCreate) X(cublasLtMatrixLayoutDestroy)                                                       \
  X(cublasLtMatmulPreferenceCreate) X(cublasLtMatmulPreferenceDestroy) X(cublasLtMatmulPreferenceSetAttribute)
// clang-format on

namespace ww::bench {
namespace {

constexpr std::size_t kWorkspaceBytes = std::size_t{64} << 20;
constexpr std::size_t kFirstWithBlockScales = 120900;

struct Functions {
#define WW_MEMBER(name) decltype(&::name) name = nullptr;
  WW_CUBLASLT_FUNCTIONS(WW_MEMBER)
#undef WW_MEMBER
};

auto failed(std::string why) { return failure(ErrorCode::could_not_finish, "", "", "", std::move(why)); }

Result<void> check(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return {};
  return failed(fmt::format("{}: cuBLAS status {}{}", what, static_cast<int>(status),
                            status == CUBLAS_STATUS_NOT_SUPPORTED ? " (not supported)" : ""));
}

/// Returns where toolkits and PyTorch's wheels keep the library, newest major version first.
std::vector<std::string> places(const std::filesystem::path& requested) {
  if (!requested.empty()) return {requested.string()};
  if (const char* named = std::getenv("WARPWRIGHT_CUBLASLT"); named != nullptr && *named != '\0') return {named};
  std::vector<std::string> list = {"libcublasLt.so.13", "libcublasLt.so.12"};
  std::vector<std::string> patterns = {"/usr/local/cuda*/lib64/", "/usr/local/cuda*/lib/",
                                       "/usr/local/cuda*/targets/x86_64-linux/lib/"};
  const std::string wheel = "/lib/python3*/site-packages/nvidia/*/lib/";
  if (const char* venv = std::getenv("VIRTUAL_ENV")) patterns.push_back(venv + wheel);
  for (const char* root : {"/opt/*/.venv", "/opt/*", "/usr/local", "/usr"}) patterns.push_back(root + wheel);
  for (const std::string& pattern : patterns) {
    glob_t found{};
    if (glob((pattern + "libcublasLt.so.1[23]").c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = found.gl_pathc; i-- > 0;) list.emplace_back(found.gl_pathv[i]);
    globfree(&found);
  }
  return list;
}

cudaDataType_t type_of(DType type) {
  switch (type) {
    case DType::e4m3: return CUDA_R_8F_E4M3;
    case DType::bf16: return CUDA_R_16BF;
    case DType::f16: return CUDA_R_16F;
    case DType::tf32:
    case DType::f32: return CUDA_R_32F;
    case DType::e5m2: return CUDA_R_8F_E5M2;
    case DType::e2m1:  // not benchmarked
    case DType::e3m2:
    case DType::e2m3:
    case DType::e8m0: break;
  }
  return CUDA_R_32F;
}

/// Descriptors of one matmul and the algorithms found for it; shared by its alternatives.
class Matmul {
 public:
  Matmul(const Functions& f, cublasLtHandle_t handle, Peer peer) : f_(f), handle_(handle), peer_(peer) {}
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;
  ~Matmul() {
    if (preference_ != nullptr) f_.cublasLtMatmulPreferenceDestroy(preference_);
    for (cublasLtMatrixLayout_t layout : {a_, b_, d_})
      if (layout != nullptr) f_.cublasLtMatrixLayoutDestroy(layout);
    if (operation_ != nullptr) f_.cublasLtMatmulDescDestroy(operation_);
  }

  Result<void> describe(const GemmProblem& p) {
    WW_CHECK(
        check(f_.cublasLtMatmulDescCreate(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate"));
    WW_CHECK(set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T));
    WW_CHECK(set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N));
    if (peer_ == Peer::fp8_per_tensor) WW_CHECK(set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, std::int8_t{1}));
#if CUBLAS_VERSION >= 120900
    if (peer_ == Peer::fp8_block) {
      WW_CHECK(set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F));
      WW_CHECK(set(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F));
    }
#endif
    WW_CHECK(layout(a_, p.b, p.k, p.n));
    WW_CHECK(layout(b_, p.a, p.k, p.m));
    WW_CHECK(layout(d_, p.d, p.n, p.m));
    WW_CHECK(check(f_.cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate"));
    return check(f_.cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                         &kWorkspaceBytes, sizeof(kWorkspaceBytes)),
                 "setting the workspace limit");
  }

  Result<int> find_algorithms(const BufferSet& set, int candidates) {
    WW_CHECK(point_at_scales(set));
    found_.resize(static_cast<std::size_t>(std::clamp(candidates, 1, 32)));
    int count = 0;
    WW_CHECK(check(f_.cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_, b_, d_, d_, preference_,
                                                     static_cast<int>(found_.size()), found_.data(), &count),
                   "cublasLtMatmulAlgoGetHeuristic"));
    if (count == 0) return failed("cuBLASLt has no algorithm for this problem");
    found_.resize(static_cast<std::size_t>(count));
    return count;
  }

  Result<void> enqueue(std::size_t algorithm, const BufferSet& set, ::ww::Stream stream, void* workspace) {
    WW_CHECK(point_at_scales(set));
    const float one = 1, zero = 0;
    return check(f_.cublasLtMatmul(handle_, operation_, &one, set.b.data(), a_, set.a.data(), b_, &zero, set.d.data(),
                                   d_, set.d.data(), d_, &found_[algorithm].algo, workspace, kWorkspaceBytes,
                                   static_cast<cudaStream_t>(stream.handle)),
                 "cublasLtMatmul");
  }

 private:
  template <class Value> Result<void> set(cublasLtMatmulDescAttributes_t attribute, const Value& value) {
    return check(f_.cublasLtMatmulDescSetAttribute(operation_, attribute, &value, sizeof(value)),
                 fmt::format("setting matmul attribute {}", static_cast<int>(attribute)));
  }

  Result<void> layout(cublasLtMatrixLayout_t& result, DType type, std::int64_t rows, std::int64_t columns) {
    return check(f_.cublasLtMatrixLayoutCreate(&result, type_of(type), static_cast<std::uint64_t>(rows),
                                               static_cast<std::uint64_t>(columns), rows),
                 "cublasLtMatrixLayoutCreate");
  }

  Result<void> point_at_scales(const BufferSet& buffers) {
    if (peer_ == Peer::half) return {};
    const bool block = peer_ == Peer::fp8_block;
    const void* of_a = block ? buffers.scale_b.data() : buffers.tensor_scale_b();
    const void* of_b = block ? buffers.scale_a.data() : buffers.tensor_scale_a();
    WW_CHECK(set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, of_a));
    return set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, of_b);
  }

  const Functions& f_;
  cublasLtHandle_t handle_;
  Peer peer_;
  cublasLtMatmulDesc_t operation_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr, b_ = nullptr, d_ = nullptr;
  cublasLtMatmulPreference_t preference_ = nullptr;
  std::vector<cublasLtMatmulHeuristicResult_t> found_;
};

class LoadedCublasLt final : public CublasLt, public std::enable_shared_from_this<LoadedCublasLt> {
 public:
  ~LoadedCublasLt() override {
    if (handle_ != nullptr) f_.cublasLtDestroy(handle_);
  }

  Result<void> load(const std::vector<std::string>& names) {
    void* library = nullptr;
    for (std::size_t i = 0; i < names.size() && library == nullptr; ++i) {
      library = dlopen(names[i].c_str(), RTLD_NOW | RTLD_LOCAL);
      path_ = names[i];
    }
    if (library == nullptr) return failed(fmt::format("no cuBLASLt: tried {}", fmt::join(names, ", ")));
#define WW_LOAD(name)                                                   \
  f_.name = reinterpret_cast<decltype(f_.name)>(dlsym(library, #name)); \
  if (f_.name == nullptr) return failed(path_ + " does not export " #name);
    WW_CUBLASLT_FUNCTIONS(WW_LOAD)
#undef WW_LOAD
    version_ = f_.cublasLtGetVersion();
    return check(f_.cublasLtCreate(&handle_), "cublasLtCreate");
  }

  std::string identity() const override {
    return fmt::format("cuBLASLt {}.{}.{} ({})", version_ / 10000, version_ / 100 % 100, version_ % 100, path_);
  }

  Result<Contender> contender(Peer peer, const GemmProblem& p, const Device& device, const BufferSet& set,
                              int candidates) override {
    WW_CHECK(can_run(peer, p));
    if (workspace_.bytes() == 0) {
      WW_TRY(workspace_, device.allocate(kWorkspaceBytes));
    }
    const auto matmul = std::make_shared<Matmul>(f_, handle_, peer);
    WW_CHECK(matmul->describe(p));
    WW_TRY(const int count, matmul->find_algorithms(set, candidates));

    Contender result;
    result.name = peer == Peer::fp8_per_tensor ? "cublaslt_fp8_per_tensor"
                  : peer == Peer::fp8_block    ? "cublaslt_fp8_1x128_128x128"
                                               : fmt::format("cublaslt_{}", name_of(p.a));
    result.detail = fmt::format("{}; {} of the heuristic", identity(),
                                candidates > 1 ? fmt::format("fastest of the first {}", count) : "first");
    result.recipe = peer == Peer::fp8_per_tensor ? Recipe::tensor
                    : peer == Peer::fp8_block    ? Recipe::problem
                                                 : Recipe::unscaled;
    for (int i = 0; i < count; ++i)
      result.alternatives.push_back(
          [matmul, i, self = shared_from_this()](const BufferSet& buffers, ::ww::Stream stream) {
            return matmul->enqueue(static_cast<std::size_t>(i), buffers, stream, self->workspace_.data());
          });
    return result;
  }

 private:
  Result<void> can_run(Peer peer, const GemmProblem& p) const {
    if (peer != Peer::fp8_block) return {};
    if (std::min<std::size_t>(version_, CUBLAS_VERSION) < kFirstWithBlockScales)
      return failed("block scales need cuBLASLt 12.9 or newer, at build time and here");
    if (p.m % 4 != 0 || p.n % 4 != 0) return failed("cuBLASLt's block scales need M and N that are multiples of 4");
    return {};
  }

  Functions f_;
  std::size_t version_ = 0;
  std::string path_;
  cublasLtHandle_t handle_ = nullptr;
  Buffer workspace_;
};

}  // namespace

Result<std::shared_ptr<CublasLt>> CublasLt::open(const std::filesystem::path& requested) {
  auto library = std::make_shared<LoadedCublasLt>();
  WW_CHECK(library->load(places(requested)));
  return library;
}

}  // namespace ww::bench

#else

namespace ww::bench {

Result<std::shared_ptr<CublasLt>> CublasLt::open(const std::filesystem::path&) {
  return failure(ErrorCode::unsupported, "", "", "", "this program was built without cublasLt.h");
}

}  // namespace ww::bench

#endif
