// SPDX-License-Identifier: Apache-2.0
// Release and acquire patterns through words of memory, and fences.
#include "emu/check/locations.hpp"

namespace ww::emu {
namespace {

Fences& fences_of(const SyncThread& thread) {
  if (!thread.fences) thread.fences = std::make_unique<Fences>();
  return *thread.fences;
}

bool acquires(arch::Ordering ordering) {
  return ordering.order == arch::MemoryOrder::acquire || ordering.order == arch::MemoryOrder::acq_rel;
}

ClockRef publish(ClockPool& pool, const ThreadClock& clock, u32 slot) {
  Gathering released;
  released.add(pool, clock, slot);
  return released.take();
}

/// Returns what a write of the thread publishes on behalf of its last fence of at least that reach.
ClockRef published(ClockPool& pool, const SyncThread& thread, u32 reach) {
  if (!thread.fences || !thread.fences->fenced[reach].any) return {};
  Fences::Fenced& wanted = thread.fences->fenced[reach];
  if (wanted.published) return wanted.published;
  wanted.published = publish(pool, wanted.clock, thread.slot);
  for (Fences::Fenced& other : thread.fences->fenced)  // one fence serves several
    if (other.any && other.clock.epoch == wanted.clock.epoch) other.published = wanted.published;
  return wanted.published;
}

}  // namespace

void fence(ClockPool& pool, const SyncThread& thread, Reach reach) {
  Fences& fences = fences_of(thread);
  const u32 last = static_cast<u32>(reach);
  thread.clock.base = pool.join(thread.clock.base, fences.seen[last]);
  for (u32 i = 0; i <= last; ++i) {
    fences.seen[i] = {};
    fences.fenced[i] = {thread.clock, {}, true};
  }
  ++thread.clock.epoch;
}

const ThreadClock* last_fence(const SyncThread& thread, Reach reach) {
  if (!thread.fences) return nullptr;
  const Fences::Fenced& found = thread.fences->fenced[static_cast<u32>(reach)];
  return found.any ? &found.clock : nullptr;
}

void see(ClockPool& pool, const SyncThread& thread, Reach reach, const ClockRef& known) {
  if (!known) return;
  Fences& fences = fences_of(thread);
  for (u32 i = static_cast<u32>(reach); i < kReaches; ++i) fences.seen[i] = pool.join(fences.seen[i], known);
}

void Locations::access(ClockPool& pool, u64 place, u32 bytes, arch::Access access, arch::Ordering ordering,
                       const SyncThread& thread) {
  const auto found = words_.find(place);
  Word* word = found == words_.end() || found->second.bytes != bytes ? nullptr : &found->second;
  const Reach apart = word ? between(word->cta, word->cluster, thread.cta, thread.cluster) : Reach::cta;
  const bool observed = word && apart <= word->reach && apart <= reach_of(ordering.scope);  // as by a strong pair
  if (access != arch::Access::write && acquires(ordering) && thread.fences) {  // after a relaxed read of the word
    const u32 reach = static_cast<u32>(reach_of(ordering.scope));
    const Fences::Seen* seen = thread.fences->find(place);
    if (seen) thread.clock.base = pool.join(thread.clock.base, seen->known[reach]);
  }
  if (access != arch::Access::write && word) read(pool, place, *word, observed, ordering, thread);
  if (access == arch::Access::read) return;
  if (bytes > 4 || pairs_ != 0) {  // otherwise all words have 4 bytes, and none overlap
    forget(place, bytes, word);
    pairs_ += bytes > 4;
  }
  if (!word) word = &words_[place];
  if (access == arch::Access::write) word->all = {};
  if (access == arch::Access::write || !observed) {
    word->far = {};
    word->domains.clear();
  }
  word->bytes = bytes;
  word->cta = thread.cta, word->cluster = thread.cluster;
  word->reach = reach_of(ordering.scope);
  write(pool, *word, ordering, thread);
}

Fences::Seen* Fences::find(u64 place) {
  for (std::size_t i = words.size(); i-- > 0;)  // the latest first: most threads poll one word
    if (words[i].place == place) return &words[i];
  return nullptr;
}

Fences::Seen& Fences::of_word(u64 place) {
  if (Seen* known = find(place)) return *known;
  if (words.size() < kSeenWords) return words.emplace_back(Seen{place, {}});
  Seen& word = words[oldest++ % kSeenWords];
  word = {place, {}};
  return word;
}

void Locations::fence_sc(ClockPool& pool, const SyncThread& thread, Reach reach) {
  constexpr arch::Scope kScopes[] = {arch::Scope::cta, arch::Scope::cluster, arch::Scope::gpu};
  const arch::Ordering ordering{arch::MemoryOrder::acq_rel, kScopes[static_cast<u32>(reach)]};
  read(pool, ~u64{0}, sc_fences_, true, ordering, thread);
  sc_fences_.reach = reach;
  write(pool, sc_fences_, ordering, thread);
  sc_fences_.own.clear();
}

/// Returns what an acquire of that reach by the thread learns from the word.
ClockRef Locations::acquirable(ClockPool& pool, const Word& word, const SyncThread& thread, Reach reach) {
  ClockRef known;
  if (reach == Reach::gpu) known = word.far;
  for (const Domain& domain : word.domains) {
    const Reach apart = between(domain.cta, domain.cluster, thread.cta, thread.cluster);
    if (apart <= reach && apart != Reach::gpu) known = pool.join(known, domain.near[static_cast<u32>(apart)]);
  }
  return known;
}

void Locations::read(ClockPool& pool, u64 place, const Word& word, bool observed, arch::Ordering ordering,
                     const SyncThread& thread) {
  if (!word.all) return;
  ClockRef executed;  // its order of execution is known if its causality order is not
  const auto learnt = [&](Reach of) {
    ClockRef known = observed ? acquirable(pool, word, thread, of) : ClockRef{};
    if (known == word.all) return known;
    if (!executed) executed = pool.executed_only(word.all);
    return pool.join(known, executed);
  };
  if (acquires(ordering)) {
    thread.clock.base = pool.join(thread.clock.base, learnt(reach_of(ordering.scope)));
    return;
  }
  Fences& fences = fences_of(thread);
  Fences::Seen& here = fences.of_word(place);
  for (u32 i = 0; i < kReaches; ++i) {
    const ClockRef known = learnt(static_cast<Reach>(i));
    fences.seen[i] = pool.join(fences.seen[i], known);
    here.known[i] = pool.join(here.known[i], known);
  }
}

/// Adds what a strong write of the thread publishes.
void Locations::write(ClockPool& pool, Word& word, arch::Ordering ordering, const SyncThread& thread) {
  const bool releases = ordering.order == arch::MemoryOrder::release || ordering.order == arch::MemoryOrder::acq_rel;
  ClockRef now;
  if (releases) {
    now = publish(pool, thread.clock, thread.slot);
    ++thread.clock.epoch;
    std::erase_if(word.own, [&](const OwnRelease& own) { return own.slot == thread.slot; });
    if (word.own.size() == kOwnReleases) word.own.erase(word.own.begin());
    word.own.push_back({thread.slot, word.reach, now});
  }
  const OwnRelease* before = nullptr;
  for (const OwnRelease& own : word.own)
    if (!releases && own.slot == thread.slot) before = &own;
  Domain* domain = nullptr;
  for (Domain& known : word.domains)
    if (known.cta == thread.cta) domain = &known;
  for (u32 i = 0; i <= static_cast<u32>(word.reach); ++i) {
    ClockRef part = releases ? now : published(pool, thread, i);
    if (before && i <= static_cast<u32>(before->reach)) part = pool.join(part, before->published);
    if (!part) continue;
    if (i == 0) word.all = pool.join(word.all, part);
    if (static_cast<Reach>(i) == Reach::gpu) {
      word.far = pool.join(word.far, part);
      continue;
    }
    if (!domain) domain = &word.domains.emplace_back(Domain{thread.cta, thread.cluster, {}});
    domain->near[i] = pool.join(domain->near[i], part);
  }
}

/// Forgets the words that overlap the bytes, all but `except`.
void Locations::forget(u64 place, u64 bytes, const Word* except) {
  for (u64 at = place / 4 * 4 - 4; at < place + bytes; at += 4) {
    const auto found = words_.find(at);
    if (found != words_.end() && &found->second != except && at + found->second.bytes > place) words_.erase(found);
  }
}

}  // namespace ww::emu
