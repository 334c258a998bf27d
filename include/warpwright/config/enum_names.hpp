// SPDX-License-Identifier: Apache-2.0
// The names of enumerators in text. names_of(E{}) lists them by value, once for printing, parsing, help and errors.
#pragma once

#include "warpwright/core/dtype.hpp"
#include "warpwright/core/machine.hpp"

namespace ww {

struct EnumNames {
  const char* type = nullptr;  // of the enumeration, in namespace ww
  const char* value[12] = {};  // by number; null after the last
  u32 unlisted = 0;            // bit i: value i is not available to users, so that help and errors omit it
  WW_HOST_DEVICE constexpr int count() const {
    int n = 0;
    while (value[n] != nullptr) ++n;
    return n;
  }
  WW_HOST_DEVICE constexpr bool lists(int i) const { return (unlisted >> i & 1) == 0; }
};

WW_HOST_DEVICE constexpr EnumNames names_of(Arch) {
  EnumNames names{"Arch"};
  for (int i = 0; i < kArchs; ++i) names.value[i] = name_of(static_cast<Arch>(i));
  return names;
}
WW_HOST_DEVICE constexpr EnumNames names_of(DType) {
  return {"DType",
          {name_of(e4m3), name_of(bf16), name_of(f16), name_of(f32), name_of(e5m2), name_of(tf32), name_of(e2m1),
           name_of(e3m2), name_of(e2m3), name_of(e8m0)},
          1u << static_cast<int>(e8m0)};
}

template <class E> concept NamedEnum = requires(E e) { names_of(e); };

template <NamedEnum E> WW_HOST_DEVICE constexpr const char* name_of(E e) {
  return names_of(e).value[static_cast<int>(e)];
}

}  // namespace ww
