// SPDX-License-Identifier: Apache-2.0
// A caller's tensor as the binding reads it, without copying or owning: address, device, element type, extents and
// strides in elements. Sources, by the tensor's type: the DLPack C exchange API (torch), NumPy's array structure (which
// also describes ml_dtypes' types and read-only arrays), __dlpack__ (JAX, CuPy), and attributes (older torch).
#pragma once

#include <cstdint>
#include <string>

#include "dtype.hpp"
#include "python.hpp"

struct DLPackExchangeAPI;

namespace wwpy {

inline constexpr int kMaxRank = 4;

/// Where a tensor lies: in memory of this process, or on a CUDA device.
struct Place {
  bool cuda = false;
  int index = 0;
  bool operator==(const Place&) const = default;
};
std::string name_of(Place place);

enum class Source : std::uint8_t { exchange, array_struct, dlpack, attributes };
enum class Framework : std::uint8_t { numpy, torch, jax, cupy, other };

struct Tensor {
  char* data = nullptr;
  Place place;
  Type type = Type::other;
  Framework framework = Framework::other;
  bool readonly = false;
  int rank = 0;
  std::int64_t shape[kMaxRank] = {};
  std::int64_t stride[kMaxRank] = {};  // in elements; of an extent of 1: whatever the framework says
  Ref keep;  // what holds the memory where the object does not: a capsule, whose destructor releases it

  std::int64_t elements() const {
    std::int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= shape[i];
    return product;
  }
  std::string shape_words() const;
};

/// Reads `object`. Its strides are at least 0, its elements not more than 2^62 bytes apart. False: an exception that
/// names `argument`.
bool read_tensor(PyObject* object, const char* argument, Tensor& tensor);

/// Returns the exchange API by which tensors of `type` were read before; null: none, or by another source.
const DLPackExchangeAPI* exchange_of(PyTypeObject* type);

/// Asks the framework of `object`, a tensor on CUDA device `index`, for its current stream; null where it has none.
bool current_stream(PyObject* object, int index, void*& stream);

}  // namespace wwpy
