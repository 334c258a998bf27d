// SPDX-License-Identifier: Apache-2.0
// Synchronisation through words of memory: which writes a strong read observes, and what that tells its thread.
//   release pattern: a release of the word; or a fence, or an earlier release of the word by the same thread, and later
//                    a strong write of the word
//   acquire pattern: an acquire of the word; or a strong read of the word, and later a fence or an acquire of the word
// Read-modify-writes continue what they read; any other write starts anew. A pattern reaches no farther than the scope
// of its first part (release) or last part (acquire), and no farther than the scopes of the write and of the read.
// A thread remembers what it saw of the last kSeenWords words, and a word the releases of its last kOwnReleases
// threads; beyond that, pairs of two operations on one word are lost, and what they order is reported
// (docs/memory-model.md).
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "emu/check/clock.hpp"
#include "warpwright/arch/common/emu_table.hpp"

namespace ww::emu {

/// How far two threads are apart: in one CTA, in one cluster, anywhere. Scopes reach as far; that of the system reaches
/// no farther than that of the GPU, because one device is emulated.
enum class Reach : u32 { cta, cluster, gpu };
inline constexpr u32 kReaches = 3;
constexpr Reach reach_of(arch::Scope scope) { return static_cast<Reach>(min(static_cast<u32>(scope), kReaches - 1)); }

/// The words of which a thread remembers what its relaxed reads saw.
inline constexpr std::size_t kSeenWords = 64;
/// The threads whose last release of a word is remembered for their later relaxed writes of it.
inline constexpr std::size_t kOwnReleases = 8;

/// What the fences and the relaxed reads of a thread left behind. Most threads have none.
struct Fences {
  struct Fenced {
    ThreadClock clock;  // as of the last fence of at least this reach
    ClockRef published;
    bool any = false;
  };
  struct Seen {
    u64 place = 0;
    ClockRef known[kReaches];
  };
  /// Returns what relaxed reads saw of the word; null when none is remembered.
  Seen* find(u64 place);
  /// The same, with an entry for the word in any case, in the place of the oldest if there are too many.
  Seen& of_word(u64 place);

  Fenced fenced[kReaches];
  ClockRef seen[kReaches];  // by relaxed reads: what a fence of this reach acquires
  std::vector<Seen> words;  // the same of single words: what an acquire of the word acquires
  std::size_t oldest = 0;   // of kSeenWords
};

/// A thread as synchronisation sees it.
struct SyncThread {
  u32 slot = 0, cta = 0, cluster = 0;
  ThreadClock& clock;
  std::unique_ptr<Fences>& fences;
};

constexpr Reach between(u32 cta_a, u32 cluster_a, u32 cta_b, u32 cluster_b) {
  return cta_a == cta_b ? Reach::cta : cluster_a == cluster_b ? Reach::cluster : Reach::gpu;
}

/// Carries out a fence of the thread: acquires what its relaxed reads saw, and releases what it knows to later writes.
void fence(ClockPool& pool, const SyncThread& thread, Reach reach);
/// Returns the clock of the thread's last fence of at least that reach; null when there is none.
const ThreadClock* last_fence(const SyncThread& thread, Reach reach);
/// Notes knowledge that a fence of at least that reach acquires.
void see(ClockPool& pool, const SyncThread& thread, Reach reach, const ClockRef& known);

class Locations {
 public:
  void clear() { words_.clear(), sc_fences_ = {}, pairs_ = 0; }
  /// Notes a strong access to `bytes`, 4 or 8, at `place`, and changes what the thread knows.
  void access(ClockPool& pool, u64 place, u32 bytes, arch::Access access, arch::Ordering ordering,
              const SyncThread& thread);
  /// Orders a fence.sc after those before it whose scopes and its own reach each other; precedes its fence().
  void fence_sc(ClockPool& pool, const SyncThread& thread, Reach reach);
  /// Notes a weak write: what was released through the bytes is released no more.
  void overwritten(u64 place, u64 bytes) { forget(place, bytes, nullptr); }

 private:
  /// What threads of one CTA released, to threads of the CTA and of its cluster.
  struct Domain {
    u32 cta, cluster;
    ClockRef near[2];  // by Reach
  };
  struct OwnRelease {
    u32 slot;
    Reach reach;
    ClockRef published;
  };
  struct Word {
    u32 bytes = 0;
    u32 cta = 0, cluster = 0;  // of the last writer
    Reach reach = Reach::cta;  // of the last write
    ClockRef all;              // that was released, whatever its reach
    ClockRef far;              // of that, what reaches every thread
    std::vector<Domain> domains;
    std::vector<OwnRelease> own;  // the last releases, for later relaxed writes of their threads
  };

  static ClockRef acquirable(ClockPool& pool, const Word& word, const SyncThread& thread, Reach reach);
  static void read(ClockPool& pool, u64 place, const Word& word, bool observed, arch::Ordering ordering,
                   const SyncThread& thread);
  void write(ClockPool& pool, Word& word, arch::Ordering ordering, const SyncThread& thread);
  void forget(u64 place, u64 bytes, const Word* except);

  std::unordered_map<u64, Word> words_;
  Word sc_fences_;  // as a word that each fence.sc acquires and releases
  u32 pairs_ = 0;   // words of 8 bytes that were ever noted
};

}  // namespace ww::emu
