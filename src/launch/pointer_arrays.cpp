// SPDX-License-Identifier: Apache-2.0
// Checks, launch and memory of pointer arrays.
#include "launch/pointer_arrays.hpp"

#include <array>

#include "launch/gemm_source.hpp"
#include "launch/operand_maps.hpp"
#include "launch/start.hpp"
#include "warpwright/config/sizes.hpp"

namespace ww::adapters {

using runtime::MemoryRange;

Result<PointerArrays> PointerArrays::create(const Device& device, const GemmProblem& problem, int sms, bool pdl) {
  PointerArrays made;
  made.problem_ = problem;
  made.has_c_ = problem.epilogue.has(EpilogueOp::c);
  WW_TRY(made.kernel_, device.backend().kernel(pointer_maps_source()));
  runtime::Launch& launch = made.launch_;
  launch.kernel = made.kernel_.get();
  launch.threads = kernel::PointerMaps::kThreads;
  launch.shared_bytes = kernel::PointerMaps::kSharedBytes;
  launch.params_bytes = sizeof(kernel::PointerMapsArguments);
  launch.grid = static_cast<std::uint32_t>(min<std::int64_t>(problem.batch, sms));
  launch.pdl = pdl;
  return made;
}

Result<void> PointerArrays::check(const GemmOperands& operands) const {
  WW_CHECK(check_pointer("d_pointers", operands.d_pointers, alignof(void*)));
  if (has_c_) WW_CHECK(check_pointer("c_pointers", operands.c_pointers, alignof(void*)));
  if (problem_.k == 0) return {};
  WW_CHECK(check_pointer("a_pointers", operands.a_pointers, alignof(void*)));
  return check_pointer("b_pointers", operands.b_pointers, alignof(void*));
}

Result<void> PointerArrays::launch(const Device& device, const GemmOperands& operands, const arch::TensorMap& a,
                                   const arch::TensorMap& b, const arch::TensorMap& d, arch::TensorMap* to,
                                   Stream stream) const {
  const bool loads = problem_.k > 0;
  kernel::PointerMapsArguments arguments{
      {a, b, d},
      {loads ? operands.a_pointers : nullptr, loads ? operands.b_pointers : nullptr, operands.d_pointers},
      to,
      static_cast<i32>(problem_.batch)};
  std::array<MemoryRange, 4> memory = arrays(operands);
  memory[3] = {"tensor maps", to, pointer_map_bytes(problem_), true};  // the product alone reads C's
  return start(device, launch_, &arguments, memory, stream);
}

std::array<MemoryRange, 4> PointerArrays::arrays(const GemmOperands& operands) const {
  const std::uint64_t array = static_cast<std::uint64_t>(problem_.batch) * sizeof(void*);
  const std::uint64_t loaded = problem_.k > 0 ? array : 0;
  return {{{"a_pointers", operands.a_pointers, loaded, false},
           {"b_pointers", operands.b_pointers, loaded, false},
           {"d_pointers", operands.d_pointers, array, false},
           {"c_pointers", operands.c_pointers, has_c_ ? array : 0, false}}};
}

void PointerArrays::add_memory(const GemmOperands& operands, const void* maps, std::vector<MemoryRange>& memory) const {
  const GemmProblem& p = problem_;
  const auto span = [](std::int64_t rows, std::int64_t columns, std::int64_t ld, DType type) {
    return span_bytes(rows, columns, ld, type);
  };
  const std::int64_t columns = config::output_columns(p.epilogue, p.n);
  const std::uint64_t a = p.a_major == Major::k ? span(p.m, p.k, p.lda, p.a) : span(p.k, p.m, p.lda, p.a);
  const std::uint64_t b = p.b_major == Major::k ? span(p.n, p.k, p.ldb, p.b) : span(p.k, p.n, p.ldb, p.b);
  const std::uint64_t d =
      p.d_layout == OutputLayout::row ? span(p.m, columns, p.ldd, p.d) : span(columns, p.m, p.ldd, p.d);
  memory.push_back({"tensor maps", maps, pointer_map_bytes(p), true});
  if (has_c_) memory.push_back(arrays(operands)[3]);
  DType type_of_c = DType::f32;
  for (int i = 0; i < p.epilogue.size(); ++i)
    if (p.epilogue.node(i).op == EpilogueOp::c) type_of_c = p.epilogue.node(i).type;
  const bool by_row = p.c_layout == OutputLayout::row;
  const std::int64_t ldc = operands.epilogue.ldc != 0 ? operands.epilogue.ldc : by_row ? p.n : p.m;
  const std::uint64_t c = by_row ? span(p.m, p.n, ldc, type_of_c) : span(p.n, p.m, ldc, type_of_c);
  for (std::int64_t l = 0; l < p.batch; ++l) {
    memory.push_back({"d", operands.d_pointers[l], d, true});  // before C, which may be the same
    if (p.k > 0) memory.push_back({"a", operands.a_pointers[l], a, false});
    if (p.k > 0) memory.push_back({"b", operands.b_pointers[l], b, false});
    if (has_c_) memory.push_back({"c", operands.c_pointers[l], c, false});
  }
}

}  // namespace ww::adapters
