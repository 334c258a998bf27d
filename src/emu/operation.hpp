// SPDX-License-Identifier: Apache-2.0
// An asynchronous operation that was issued and has not taken effect yet. The scheduler decides when each is executed;
// until then nothing observes it. An operation takes effect at one moment: a multicast load is one operation per
// destination, a bulk store two.
#pragma once

#include <memory>
#include <vector>

#include "emu/tensor_map.hpp"
#include "emu/thread.hpp"

namespace ww::emu {

/// The source of a multicast as its first destination read it. One read serves all destinations, so that the barrier of
/// any of them tells that the source may be written again.
struct SourceRows {
  bool read = false;
  std::vector<u8> bytes;  // the box, row by row
};

struct Operation {
  enum class Kind : u8 { tma_load, store_read, store_write, engine, remote_arrive, store_async };
  Kind kind{};
  Origin origin;
  Cta* cta = nullptr;         // the CTA whose shared memory is read, written or signalled
  u32 shared = 0;             // offset of the box
  u32 barrier = 0;            // offset of the mbarrier
  Cta* counted_at = nullptr;  // of a TMA load: the CTA of the mbarrier
  TensorMapData map{};        // as the operation saw it
  arch::TmaCoordinates at{};
  u32 range = 0;     // index of the memory range that holds the tensor
  u32 group = 0;     // bulk group of the issuing thread
  u32 arrivals = 0;  // remote arrive
  u32 note = 0;      // the checker's
  i64 expect_bytes = 0;
  Engine* engine = nullptr;          // executes it, when the kind is engine
  std::vector<u8> bytes;             // of a store between its two moments, of a store_async
  std::shared_ptr<SourceRows> rows;  // of a multicast from memory that may change
};

/// Recycles operations, and with them the buffers of stores.
class OperationPool {
 public:
  Operation& take(Operation::Kind kind, Origin origin) {
    if (idle_.empty()) {
      all_.push_back(std::make_unique<Operation>());
      idle_.push_back(all_.back().get());
    }
    Operation& operation = *idle_.back();
    idle_.pop_back();
    operation.kind = kind;
    operation.origin = origin;
    return operation;
  }
  void give_back(Operation& operation) { idle_.push_back(&operation); }

 private:
  std::vector<std::unique_ptr<Operation>> all_;
  std::vector<Operation*> idle_;
};

}  // namespace ww::emu
