// SPDX-License-Identifier: Apache-2.0
// cuBLASLt as the peer, opened at run time. It is column-major, so it sees our row-major matrices transposed:
//   ours   D[M,N] = A[M,K] B[N,K]^T        its   D'[N,M] = T(A'[K,N]) B'[K,M]   with A' = our B, B' = our A
// Every scale swaps sides with its operand.
#pragma once

#include <memory>
#include <string>

#include "bench/native/contender.hpp"

namespace ww::bench {

enum class Peer { fp8_per_tensor, fp8_block, half };  // half: bf16 or f16 without scales

class CublasLt {
 public:
  virtual ~CublasLt() = default;
  /// Errors name the files tried. The device's context must be current on this thread, now and later.
  static Result<std::shared_ptr<CublasLt>> open(const std::filesystem::path& requested);

  virtual std::string identity() const = 0;  // "cuBLASLt 13.1.0 (/usr/lib/libcublasLt.so.13)"
  /// Asks the heuristic for `candidates` algorithms; `set` lends the pointers it looks at. Operands must be packed.
  virtual Result<Contender> contender(Peer peer, const GemmProblem& problem, const Device& device, const BufferSet& set,
                                      int candidates) = 0;
};

}  // namespace ww::bench
