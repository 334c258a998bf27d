// SPDX-License-Identifier: Apache-2.0
// Handles: numbers in the shape of pointers, which are looked up and never dereferenced, so that one that was freed or
// made up is refused. Objects are counted while they are in use; whoever ends the last use destroys a removed one.
//   handle = generation << 32 | kind << 24 | index
// A slot's generation is odd while its handle is valid, and even from its removal until it is used again.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

namespace ww::capi {

template <class T> class HandleTable {
  struct Slot;

 public:
  explicit HandleTable(std::uint8_t kind) : kind_(kind) {}

  /// An object that stays alive as long as this does. Empty if the handle is none.
  class Use {
   public:
    Use() = default;
    Use(Use&& other) noexcept : table_(other.table_), slot_(std::exchange(other.slot_, nullptr)) {}
    Use& operator=(Use&& other) noexcept {
      std::swap(table_, other.table_), std::swap(slot_, other.slot_);
      return *this;
    }
    ~Use() {
      if (slot_ != nullptr) table_->end_use(*slot_);
    }
    explicit operator bool() const { return slot_ != nullptr; }
    T& operator*() const { return *slot_->object; }
    T* operator->() const { return slot_->object; }

   private:
    friend class HandleTable;
    Use(HandleTable* table, Slot* slot) : table_(table), slot_(slot) {}
    HandleTable* table_ = nullptr;
    Slot* slot_ = nullptr;
  };

  Use find(const void* handle) {
    const auto bits = reinterpret_cast<std::uint64_t>(handle);
    const std::size_t index = bits & kIndexMask;
    const bool live = (bits >> 32) % 2 == 1;
    if (!live || (bits >> kIndexBits & 0xff) != kind_) return {};
    Slot* const chunk = chunks_[index / kChunk].load(std::memory_order_acquire);
    if (chunk == nullptr) return {};
    Slot& slot = chunk[index % kChunk];
    std::uint64_t state = slot.state.load(std::memory_order_relaxed);
    do {
      if (state >> 32 != bits >> 32) return {};
    } while (!slot.state.compare_exchange_weak(state, state + 1, std::memory_order_acquire));
    return Use(this, &slot);
  }

  /// Returns a handle that owns `object`. Throws std::bad_alloc.
  void* add(std::unique_ptr<T> object) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) grow();
    const std::size_t index = free_.back();
    free_.pop_back();
    Slot& slot = chunks_[index / kChunk].load(std::memory_order_relaxed)[index % kChunk];
    slot.object = object.release();
    // The slot's owner is its first use.
    const std::uint64_t generation = (slot.state.load(std::memory_order_relaxed) >> 32) + 1;
    slot.state.store(generation << 32 | 1, std::memory_order_release);
    return reinterpret_cast<void*>(generation << 32 | std::uint64_t{kind_} << kIndexBits | index);
  }

  /// Makes `handle` invalid and ends the owner's use. Returns false if it was invalid, or `mine` false of the object.
  template <class Mine> bool remove(const void* handle, const Mine& mine) {
    const Use use = find(handle);
    if (!use || !mine(*use)) return false;
    Slot& slot = *use.slot_;
    const auto generation = static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(handle) >> 32);
    const std::uint32_t next = generation + 1;  // even; 0 after the largest
    std::uint64_t state = slot.state.load(std::memory_order_relaxed);
    do {
      if (state >> 32 != generation) return false;  // another thread was faster
    } while (!slot.state.compare_exchange_weak(state, std::uint64_t{next} << 32 | (state & kUsesMask)));
    end_use(slot);
    return true;
  }

  /// For forks: the child must not inherit a lock that another thread of the parent held.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static constexpr int kIndexBits = 24;
  static constexpr std::uint64_t kIndexMask = (1u << kIndexBits) - 1, kUsesMask = 0xffffffff;
  static constexpr std::size_t kChunk = 1024, kChunks = (std::size_t{1} << kIndexBits) / kChunk;

  struct alignas(32) Slot {
    std::atomic<std::uint64_t> state{0};  // generation << 32 | uses
    T* object = nullptr;
    std::uint32_t index = 0;
  };

  void end_use(Slot& slot) {
    if ((slot.state.fetch_sub(1, std::memory_order_acq_rel) & kUsesMask) != 1) return;
    delete std::exchange(slot.object, nullptr);
    const std::lock_guard lock(mutex_);
    free_.push_back(slot.index);  // has room: grow() reserved it
  }

  void grow() {
    if (used_ == kChunks) throw std::bad_alloc();
    free_.reserve((used_ + 1) * kChunk);
    auto* const chunk = new Slot[kChunk];
    for (std::size_t i = kChunk; i-- > 0;) {
      chunk[i].index = static_cast<std::uint32_t>(used_ * kChunk + i);
      free_.push_back(chunk[i].index);
    }
    chunks_[used_++].store(chunk, std::memory_order_release);
  }

  const std::uint8_t kind_;
  std::mutex mutex_;
  std::size_t used_ = 0;
  std::vector<std::uint32_t> free_;
  std::atomic<Slot*> chunks_[kChunks] = {};  // never freed, so that a late look-up finds a slot and not nothing
};

}  // namespace ww::capi
