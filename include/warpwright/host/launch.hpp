// SPDX-License-Identifier: Apache-2.0
// The parts of a kernel launch that both executors share: its source, the memory that it may access, and descriptions
// of the tensors that TMA copies. host/kernel.hpp compiles and launches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "warpwright/arch/common/tensor_map.hpp"
#include "warpwright/core/dtype.hpp"

namespace ww {

/// The permutation that TMA applies to the chunks of a box in shared memory, named by the bytes of its rows. Chunks are
/// of 16 bytes unless the name says 32.
enum class SmemSwizzle {
  none,         // no permutation
  b32,          // rows of up to 32 bytes
  b64,          // rows of up to 64 bytes
  b128,         // rows of up to 128 bytes
  b128_unit32,  // the same in chunks of 32 bytes (CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B); only from sm_100 on
};

/// Elements of 4 and 6 bits, 16 of which form a unit in memory. Only devices of sm_100 and later take them.
enum class NarrowElements {
  none,          // elements of whole bytes: TensorMapSpec::element
  bits4,         // 8 bytes in global and in shared memory (CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B)
  bits4_padded,  // 8 bytes, followed by 8 undefined ones in shared memory (16U4_ALIGN16B); loads only
  bits6_padded,  // 12 bytes, followed by 4 undefined ones in shared memory (16U6_ALIGN16B); loads only
};

/// A tiled tensor map: extents and boxes in elements, innermost dimension first.
struct TensorMapSpec {
  const void* base = nullptr;  // 16-byte aligned
  DType element = DType::e4m3;
  int rank = 2;                        // 1..3 (the driver allows 5)
  std::uint64_t extent[5] = {};        // >= 1
  std::uint64_t stride_bytes[5] = {};  // of dimensions 1..rank-1, multiples of 16; [0] is ignored
  std::uint32_t box[5] = {};           // 1..256; box[0] * element size a multiple of 16 and within the swizzle's span
  SmemSwizzle swizzle = SmemSwizzle::b128;
  // With another value than `none`, `element` is ignored. bits4: extent[0] is even, box[0] a multiple of 32. The padded
  // ones: `base` and strides are multiples of 32 bytes, extent[0] and the innermost coordinate of a copy multiples of
  // 128, box[0] is 128, the swizzle none or b128; an mbarrier counts the bytes of global memory.
  NarrowElements narrow = NarrowElements::none;

  /// Describes a row-major matrix (rows, columns) at `base` whose rows are `stride` elements apart. One copy moves
  /// `box_rows` rows of `box_columns` elements.
  static TensorMapSpec matrix(const void* base, DType element, std::int64_t rows, std::int64_t columns,
                              std::int64_t stride, int box_rows, int box_columns, SmemSwizzle swizzle) {
    TensorMapSpec spec;
    spec.base = base;
    spec.element = element;
    spec.extent[0] = static_cast<std::uint64_t>(columns);
    spec.extent[1] = static_cast<std::uint64_t>(rows);
    spec.stride_bytes[1] = static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(bytes_of(element));
    spec.box[0] = static_cast<std::uint32_t>(box_columns);
    spec.box[1] = static_cast<std::uint32_t>(box_rows);
    spec.swizzle = swizzle;
    return spec;
  }
};

/// One translation unit for either executor: NVRTC compiles it for a GPU, the host's compiler for an emulated device.
/// `name` is the kernel's entry, as given to WW_KERNEL. `text` may include every header below warpwright/ up to
/// warpwright/kernel/, and ends with WW_MODULE().
struct KernelSource {
  std::string name;
  std::string text;
};

/// Global memory that a launch may access. An emulated device checks every access against these ranges and counts bytes
/// by `name`. Most members have no initial values, because every call would have to initialise an array with room for
/// many.
struct MemoryRange {
  const char* name;     // in reports and statistics
  const void* base;     // its first byte
  std::uint64_t bytes;  // its size
  bool writable;        // whether the kernel may write there
  // Nobody has written it: the checker reports reads of bytes before the kernel writes them.
  bool unwritten = false;
  // Counters and flags, 32-bit words that are zero before a launch: the checker reports those that are not zero after
  // it.
  bool counters = false;
};

}  // namespace ww
