// SPDX-License-Identifier: Apache-2.0
// Tensor memory of sm_100: allocation, every shape of tcgen05.ld and tcgen05.st, every copy from shared memory.
#pragma once

#include "sm100_tensor.hpp"

namespace ww::arch_test {

using arch::CopyShape;
using arch::CopyUnpack;

/// Loads kRepetitions of the shape, then twice as many, as long as they exist; `out` moves on.
template <TensorShape kShape, bool kPacked, u32 kSplit, int kRepetitions = 1>
WW_DEVICE void load_each(arch::TensorAddress from, u32* out) {
  if constexpr (arch::tensor::exists(kShape, kRepetitions)) {
    constexpr int kCount = kRepetitions * arch::registers_of(kShape);
    arch::TensorRegisters<kCount> r;
    arch::tensor::load<kShape, kRepetitions, kPacked, kSplit>(r, from);
    arch::tensor::wait_load(r);
    WW_UNROLL
    for (int v = 0; v < kCount; ++v)
      arch::global::store(out + arch::thread_index() * kCount + static_cast<u32>(v), r[v]);
    load_each<kShape, kPacked, kSplit, 2 * kRepetitions>(from, out + 128 * kCount);
  }
}
/// Loads from lane arg[0] and column arg[1] on, with each number of repetitions. Output: for each, the registers of
/// each thread (thread, register).
template <TensorShape kShape, bool kPacked, u32 kSplit> WW_DEVICE void load_shape(const Params& p) {
  const arch::TensorAddress base = allocate<CtaGroup::one>(512);
  fill(base, 512);
  load_each<kShape, kPacked, kSplit>(quarter(base).down(static_cast<u32>(p.arg[0])) + static_cast<u32>(p.arg[1]),
                                     p.out);
  release<CtaGroup::one>(base, 512);
}

template <TensorShape kShape, bool kPacked, u32 kSplit, int kRepetitions = 1>
WW_DEVICE void store_each(arch::TensorAddress base, arch::TensorAddress to, u32* out) {
  if constexpr (arch::tensor::exists(kShape, kRepetitions)) {
    constexpr int kCount = kRepetitions * arch::registers_of(kShape);
    fill(base, 512);
    arch::TensorRegisters<kCount> r;
    WW_UNROLL
    for (int v = 0; v < kCount; ++v) r[v] = 1000 * arch::thread_index() + static_cast<u32>(v);
    arch::tensor::store<kShape, kRepetitions, kPacked, kSplit>(to, r);
    arch::tensor::wait_store();
    read_back(out, base, 512);
    store_each<kShape, kPacked, kSplit, 2 * kRepetitions>(base, to, out + 128 * 512);
  }
}
/// Stores to lane arg[0] and column arg[1] on, with each number of repetitions; register v of thread t gets 1000 t + v.
/// Output: for each, all lanes of 512 columns, which had their background before.
template <TensorShape kShape, bool kPacked, u32 kSplit> WW_DEVICE void store_shape(const Params& p) {
  const arch::TensorAddress base = allocate<CtaGroup::one>(512);
  store_each<kShape, kPacked, kSplit>(base, quarter(base).down(static_cast<u32>(p.arg[0])) + static_cast<u32>(p.arg[1]),
                                      p.out);
  release<CtaGroup::one>(base, 512);
}

#define WW_TEST_TENSOR_SHAPE(name, shape, packed, split)                                                  \
  WW_KERNEL(arch_sm100_load_##name, 128, Params, p) { load_shape<TensorShape::shape, packed, split>(p); } \
  WW_KERNEL(arch_sm100_store_##name, 128, Params, p) { store_shape<TensorShape::shape, packed, split>(p); }
WW_TEST_TENSOR_SHAPE(32x32b, lanes32_bits32, false, 0)
WW_TEST_TENSOR_SHAPE(16x64b, lanes16_bits64, false, 0)
WW_TEST_TENSOR_SHAPE(16x128b, lanes16_bits128, false, 0)
WW_TEST_TENSOR_SHAPE(16x256b, lanes16_bits256, false, 0)
WW_TEST_TENSOR_SHAPE(16x32bx2, lanes16_bits32_split, false, 130)
WW_TEST_TENSOR_SHAPE(32x32b_packed, lanes32_bits32, true, 0)
WW_TEST_TENSOR_SHAPE(16x256b_packed, lanes16_bits256, true, 0)

/// Allocates 256, 128 and 64 columns one after the other, frees the second, and allocates 64 in what is free. Output:
/// whether all addresses have lane 0 and the ranges are inside of tensor memory and apart; then a value from each range
/// but the freed one.
WW_KERNEL(arch_sm100_alloc, 128, Params, p) {
  const arch::SharedAddress slots = arch::dynamic_shared();
  const u32 sizes[] = {256, 128, 64, 64};
  const bool allocates = arch::warp_index() == 1;
  if (allocates) {
    for (u32 i = 0; i < 3; ++i) arch::tensor::alloc<CtaGroup::one>(slots + 4 * i, sizes[i]);
    arch::warp::sync();
    arch::tensor::dealloc<CtaGroup::one>({arch::shared::load(slots + 4)}, sizes[1]);
    arch::tensor::alloc<CtaGroup::one>(slots + 12, sizes[3]);
    arch::tensor::relinquish<CtaGroup::one>();
  }
  sync_tensor<CtaGroup::one>();
  u32 right = 1;
  for (u32 i = 0; i < 4; ++i)
    for (u32 j = 0; j < 4; ++j) {
      const u32 a = arch::shared::load(slots + 4 * i), b = arch::shared::load(slots + 4 * j);
      const bool apart = i == j || i == 1 || j == 1 || a + sizes[i] <= b || b + sizes[j] <= a;
      if (!apart || a + sizes[i] > 512) right = 0;
    }
  if (arch::thread_index() == 0) arch::global::store(p.out, right);
  for (u32 i = 0; i < 4; ++i) {
    if (i == 1) continue;
    const arch::TensorAddress at = quarter({arch::shared::load(slots + 4 * i)}) + (sizes[i] - 1);
    arch::TensorRegisters<1> put, got;
    put[0] = 100 * i + arch::thread_index();
    arch::tensor::store<TensorShape::lanes32_bits32, 1>(at, put);
    arch::tensor::wait_store();
    arch::tensor::load<TensorShape::lanes32_bits32, 1>(got, at);
    arch::tensor::wait_load(got);
    arch::global::store(p.out + 1 + 128 * (i == 0 ? 0 : i - 1) + arch::thread_index(), got[0]);
  }
  sync_tensor<CtaGroup::one>();
  if (allocates)
    for (u32 i = 0; i < 4; ++i)
      if (i != 1) arch::tensor::dealloc<CtaGroup::one>({arch::shared::load(slots + 4 * i)}, sizes[i]);
}

/// Copies to column arg[3] what the descriptor of swizzle arg[0], leading offset arg[1] and stride arg[2] names in
/// arg[4] bytes of the input. Output: all lanes of 32 columns.
template <CopyShape kShape, CopyUnpack kUnpack> WW_DEVICE void copy_shape(const Params& p) {
  const arch::TensorAddress base = allocate<CtaGroup::one>(32);
  const arch::SharedAddress image = arch::dynamic_shared() + kHead;
  const arch::MBarrier done{arch::dynamic_shared()};
  copy_in(p.in, image, static_cast<u32>(p.arg[4]) / 4);
  fill(base, 32);
  arch::fence::proxy_async_shared();
  sync_tensor<CtaGroup::one>();
  if (arch::warp_index() == 0 && arch::warp::elect()) {
    arch::tensor::copy<CtaGroup::one, kShape, kUnpack>(
        base + static_cast<u32>(p.arg[3]),
        arch::sm100::make_descriptor(image, static_cast<arch::sm100::MatrixSwizzle>(p.arg[0]),
                                     static_cast<u32>(p.arg[1]), static_cast<u32>(p.arg[2])));
    arch::umma::commit<CtaGroup::one>(done);
  }
  arch::mbarrier::wait(done, 0);
  arch::umma::fence_after();
  read_back(p.out, base, 32);
  release<CtaGroup::one>(base, 32);
}
#define WW_TEST_TENSOR_COPY(name, shape)                                                                   \
  WW_KERNEL(arch_sm100_copy_##name, 128, Params, p) { copy_shape<CopyShape::shape, CopyUnpack::none>(p); } \
  WW_KERNEL(arch_sm100_copy_##name##_4, 128, Params, p) {                                                  \
    copy_shape<CopyShape::shape, CopyUnpack::from4_padded64>(p);                                           \
  }                                                                                                        \
  WW_KERNEL(arch_sm100_copy_##name##_6, 128, Params, p) { copy_shape<CopyShape::shape, CopyUnpack::from6_padded32>(p); }
WW_TEST_TENSOR_COPY(128x256b, rows128_bits256)
WW_TEST_TENSOR_COPY(4x256b, rows4_bits256)
WW_TEST_TENSOR_COPY(128x128b, rows128_bits128)
WW_TEST_TENSOR_COPY(64x128b_02_13, rows64_bits128_02_13)
WW_TEST_TENSOR_COPY(64x128b_01_23, rows64_bits128_01_23)
WW_TEST_TENSOR_COPY(32x128b, rows32_bits128_all)

}  // namespace ww::arch_test
