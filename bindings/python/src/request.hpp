// SPDX-License-Identifier: Apache-2.0
// What a call asks for, without its addresses: the key of a plan. All of it is plain bytes, zeroed first, so that equal
// requests are equal bytes. Texts are interned Python strings, so that equal texts have one address.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

#include "arguments.hpp"
#include "epilogue_text.hpp"
#include "tensor.hpp"
#include "warpwright/warpwright.h"

namespace wwpy {

struct DeviceObject;

struct Request {
  DeviceObject* device;
  ww_operation operation;
  std::int32_t padding;
  union {
    ww_gemm_problem dense;
    ww_grouped_problem grouped;
    ww_k_grouped_problem k_grouped;
  };
  ww_options options;

  Request() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
  bool operator==(const Request& other) const { return std::memcmp(this, &other, sizeof *this) == 0; }
  std::uint64_t hash() const {
    constexpr std::size_t kWords = sizeof(Request) / 8;
    static_assert(sizeof(Request) % 8 == 0);
    std::uint64_t words[kWords];
    std::memcpy(words, static_cast<const void*>(this), sizeof *this);
    // Two chains, because each step waits for the one before it.
    std::uint64_t even = 0x243f6a8885a308d3, odd = 0x13198a2e03707344;
    for (std::size_t i = 0; i + 1 < kWords; i += 2) {
      even = (even ^ words[i]) * 0x9e3779b97f4a7c15, even ^= even >> 29;
      odd = (odd ^ words[i + 1]) * 0xbf58476d1ce4e5b9, odd ^= odd >> 31;
    }
    if (kWords % 2 != 0) even = (even ^ words[kWords - 1]) * 0x9e3779b97f4a7c15;
    return (even ^ odd >> 7) * 0x94d049bb133111eb >> 8;
  }
};

/// The epilogue of one call: its text, its tensors by number of their argument, and their addresses.
struct EpilogueWork {
  EpilogueText text;
  Tensor tensor[kOperandCount];
  ww_epilogue_operands operands;
};

/// The addresses of one run, of any operation.
union Operands {
  ww_gemm_operands dense;
  ww_grouped_operands grouped;
  ww_k_grouped_operands k_grouped;

  Operands() { std::memset(static_cast<void*>(this), 0, sizeof *this); }
  void set_epilogue(ww_operation operation, const ww_epilogue_operands* epilogue) {
    if (operation == WW_GEMM) dense.epilogue = epilogue;
    if (operation == WW_GROUPED_GEMM) grouped.epilogue = epilogue;
  }
  void set_workspace(ww_operation operation, void* memory, std::size_t bytes) {
    const auto set = [&](auto& operands) { operands.workspace = memory, operands.workspace_bytes = bytes; };
    if (operation == WW_GEMM) set(dense);
    else if (operation == WW_GROUPED_GEMM) set(grouped);
    else set(k_grouped);
  }
};

/// One call: its request, its addresses, and what keeps both alive.
struct Work {
  Request request;
  Arguments arguments;
  Tensor a, b, out, scale_a, scale_b;
  Ref out_object, kept[16];  // what holds the memory of further tensors
  int kept_count = 0;
  bool allocated = false;                                      // the output was not the caller's
  Ref config, epilogue_words, epilogue_given, expected_sizes;  // interned
  std::unique_ptr<EpilogueWork> epilogue;                      // null: there is none
  Operands operands;
  void* stream = nullptr;

  void keep(Tensor& tensor) {
    if (tensor.keep && kept_count < 16) kept[kept_count++] = std::move(tensor.keep);
  }
};

/// Fill request and addresses from the arguments; the output is allocated if none is given.
bool describe_dense(Work& work);
bool describe_pointers(Work& work);
bool describe_grouped(Work& work);
bool describe_k_grouped(Work& work);

}  // namespace wwpy
