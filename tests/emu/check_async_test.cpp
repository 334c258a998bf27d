// SPDX-License-Identifier: Apache-2.0
// The checker's rules of asynchronous copies: sources in use until completion, proxy fences by memory, the strict rules
// and their switches.
#include "check_launch.hpp"
#include "warpwright/host/strict_rules.hpp"
#include "warpwright/pipeline/tma_pipeline.hpp"

namespace ww::emu::test {
namespace {

constexpr u32 kWords = 64, kRowBytes = 4 * kWords;

/// One row of 64 words that threads and copies may both read and write.
struct RowParams {
  arch::TensorMap map;
  u32* row;
  int how;
};

class Row {
 public:
  CheckReport check(void (*kernel)(const RowParams&), int how, Shape shape = {}, EmuOptions options = {}) {
    options.threads = 1;
    return check_launch<call_kernel>(Call{kernel, {*encode(spec()), words_, how}}, shape,
                                     {{"row", words_, sizeof words_, true}}, options);
  }
  void expect(void (*kernel)(const RowParams&), int how, Rule rule, const Shape& shape = {}) {
    for (u64 seed = 0; seed < 6; ++seed) {
      const CheckReport report = check(kernel, how, shape, {.seed = seed});
      EXPECT_TRUE(has(report, rule)) << "case " << how << ", expected " << rule_name(rule) << "\n" << all_of(report);
    }
  }
  void expect_clean(void (*kernel)(const RowParams&), int how, const Shape& shape = {}, EmuOptions options = {}) {
    for (options.seed = 0; options.seed < 6; ++options.seed) {
      const CheckReport report = check(kernel, how, shape, options);
      EXPECT_TRUE(report.findings.empty()) << "case " << how << "\n" << all_of(report);
    }
  }

 private:
  struct Call {
    void (*kernel)(const RowParams&);
    RowParams params;
  };
  static void call_kernel(const Call& call) { call.kernel(call.params); }
  TensorMapSpec spec() const {
    return {.base = words_,
            .rank = 2,
            .extent = {kRowBytes, 1},
            .stride_bytes = {0, kRowBytes},
            .box = {kRowBytes, 1},
            .swizzle = SmemSwizzle::none};
  }
  alignas(128) u32 words_[kWords] = {};
};

u32 stage() { return shared_base(); }
u32 full() { return shared_base() + kRowBytes; }
u32 empty() { return full() + 8; }
bool is_first() { return thread_index() == 0; }
void start(u32 readers = 1, Site site = here()) {
  if (is_first()) {
    t().mbarrier_init(full(), 1, site);
    t().mbarrier_init(empty(), readers, site);
    t().fence(arch::Fence::mbarrier_init, site);
  }
  sync_cluster(site);
}
void load(const RowParams& p, u32 multicast = 0, Site site = here()) {
  t().tma_load(&p.map, 2, full(), stage(), {}, multicast, site);
}
void expect_bytes(Site site = here()) { t().mbarrier_arrive_expect_tx(full(), kRowBytes, site); }
void wait_full(u32 parity = 0, Site site = here()) { t().mbarrier_wait(full(), parity, arch::kAcquireCta, site); }
void read_stage(Site site = here()) {
  t().shared_access(stage() + 4 * (thread_index() % 32), 4, arch::Access::read, arch::kWeak, site);
}

// --- the source of a load -------------------------------------------------------------------------

enum Writer { knows_nothing, has_waited, was_told, is_issuer };
void overwrites_source(const RowParams& p) {
  start();
  if (is_first()) {
    expect_bytes();
    load(p);
    if (p.how == is_issuer) write_global(p.row, 1u);
    if (p.how == was_told) wait_full();
  }
  sync_cta();
  if (thread_index() == 32 && p.how != is_issuer) {
    if (p.how == has_waited) wait_full();
    write_global(p.row, 1u);
  }
  if (is_first() && p.how != was_told) wait_full();
}
TEST(CheckAsync, TheSourceOfALoadIsInUseUntilTheLoadCompletes) {
  Row row;
  row.expect(overwrites_source, knows_nothing, Rule::data_race);
  row.expect(overwrites_source, is_issuer, Rule::data_race);
  row.expect_clean(overwrites_source, has_waited);
  row.expect_clean(overwrites_source, was_told);
  const CheckReport report = row.check(overwrites_source, knows_nothing);
  ASSERT_EQ(report.findings.size(), 1u) << all_of(report);
  EXPECT_EQ(report.findings[0].first.operation, "TMA load (read of global memory)");
  EXPECT_EQ(report.findings[0].first.lane, 0);
  EXPECT_NE(report.findings[0].barrier_history.find("256 bytes expected"), std::string::npos) << all_of(report);
}

// CTA 0 loads for both; `how` is the CTA whose barrier tells the writer, 2 for none.
void overwrites_multicast_source(const RowParams& p) {
  start();
  if (is_first()) expect_bytes();
  sync_cluster();
  if (is_first() && cluster_rank() == 0) load(p, 3);
  sync_cluster();
  if (is_first() && static_cast<int>(cluster_rank()) == p.how) {
    wait_full();
    write_global(p.row, 1u);
  }
  if (is_first() && p.how == 2 && cluster_rank() == 1) write_global(p.row, 1u);
  if (is_first()) wait_full();
}
TEST(CheckAsync, AnyDestinationOfAMulticastTellsThatItsSourceWasRead) {
  Row row;
  const Shape pair{.threads = 32, .grid = 2, .cluster = 2};
  row.expect_clean(overwrites_multicast_source, 0, pair);
  row.expect_clean(overwrites_multicast_source, 1, pair);
  row.expect(overwrites_multicast_source, 2, Rule::data_race, pair);
}

// The writer waits on CTA `how`'s barrier only; the other CTA gets what was there before.
void reads_overwritten_multicast(const RowParams& p) {
  overwrites_multicast_source(p);
  if (!is_first()) return;
  EXPECT_EQ(*static_cast<u32*>(t().shared_access(stage(), 4, arch::Access::read, arch::kWeak, here())), 0u);
}
TEST(CheckAsync, AMulticastReadsItsSourceOnce) {
  for (const int how : {0, 1})
    for (u64 seed = 0; seed < 20; ++seed) {
      Row row;
      row.check(reads_overwritten_multicast, how, {.threads = 32, .grid = 2, .cluster = 2}, {.seed = seed});
    }
}

// --- proxy fences ---------------------------------------------------------------------------------

void stores_then_loads(const RowParams& p) {
  start();
  if (thread_index() == 32) {
    write_global(p.row, 1u);
    if (p.how >= 0) t().fence(static_cast<arch::Fence>(p.how), here());
  }
  sync_cta();
  if (!is_first()) return;
  expect_bytes();
  load(p);
  wait_full();
}
TEST(CheckAsync, AFenceOfSharedMemoryDoesNotCoverGlobalMemory) {
  Row row;
  row.expect(stores_then_loads, -1, Rule::proxy_fence);
  row.expect(stores_then_loads, static_cast<int>(arch::Fence::proxy_async_shared), Rule::proxy_fence);
  row.expect_clean(stores_then_loads, static_cast<int>(arch::Fence::proxy_async_global));
  row.expect_clean(stores_then_loads, static_cast<int>(arch::Fence::proxy_async));
}

void stores_from_shared(const RowParams& p) {
  for (u32 i = thread_index(); i < kWords; i += 128) shared<u32>(stage() + 4 * i) = i;
  if (p.how >= 0) t().fence(static_cast<arch::Fence>(p.how), here());
  sync_cta();
  if (!is_first()) return;
  t().tma_store(&p.map, 2, stage(), {}, here());
  t().bulk_commit(here());
  t().bulk_wait(0, false, here());
}
TEST(CheckAsync, AFenceOfGlobalMemoryDoesNotCoverSharedMemory) {
  Row row;
  row.expect(stores_from_shared, static_cast<int>(arch::Fence::proxy_async_global), Rule::proxy_fence);
  row.expect_clean(stores_from_shared, static_cast<int>(arch::Fence::proxy_async_shared));
  row.expect_clean(stores_from_shared, static_cast<int>(arch::Fence::proxy_async));
}

// CTA 1 writes into CTA 0, which stores the bytes.
void stores_what_a_peer_wrote(const RowParams& p) {
  if (cluster_rank() == 1) {
    for (u32 i = thread_index(); i < kWords; i += 32) shared<u32>(t().cluster_map(stage() + 4 * i, 0, here())) = i;
    t().fence(static_cast<arch::Fence>(p.how), here());
  }
  sync_cluster();
  if (cluster_rank() == 0 && is_first()) {
    t().tma_store(&p.map, 2, stage(), {}, here());
    t().bulk_commit(here());
    t().bulk_wait(0, false, here());
  }
}
TEST(CheckAsync, AFenceOfTheOwnSharedMemoryDoesNotCoverThatOfAPeer) {
  Row row;
  const Shape pair{.threads = 32, .grid = 2, .cluster = 2};
  row.expect(stores_what_a_peer_wrote, static_cast<int>(arch::Fence::proxy_async_shared), Rule::proxy_fence, pair);
  row.expect_clean(stores_what_a_peer_wrote, static_cast<int>(arch::Fence::proxy_async), pair);
}

// D = C + 1 in the place of C: the thread reads the row, stages it, and the store overwrites what was read.
void stores_over_what_it_read(const RowParams& p) {
  for (u32 i = thread_index(); i < kWords; i += 32) {
    t().global_access(p.row + i, 4, arch::Access::read, arch::kWeak, here());
    shared<u32>(stage() + 4 * i) = i;
  }
  if (p.how >= 0) t().fence(static_cast<arch::Fence>(p.how), here());
  sync_cta();
  if (!is_first()) return;
  t().tma_store(&p.map, 2, stage(), {}, here());
  t().bulk_commit(here());
  t().bulk_wait(0, false, here());
}
TEST(CheckAsync, AStoreMayReplaceWhatItsInputsWereReadFrom) {
  Row row;
  row.expect(stores_over_what_it_read, -1, Rule::proxy_fence, {.threads = 32});
  row.expect_clean(stores_over_what_it_read, static_cast<int>(arch::Fence::proxy_async_shared), {.threads = 32});
  row.expect_clean(stores_over_what_it_read, static_cast<int>(arch::Fence::proxy_async), {.threads = 32});
}

// Two turns of a stage that threads read: wait, ld.shared, arrive, load over it.
enum FenceBy { nobody, reader, issuer, both };
void reads_then_loads(const RowParams& p) {
  start(32);
  if (is_first()) {
    for (u32 turn = 0; turn < 2; ++turn) {
      t().mbarrier_wait(empty(), turn ^ 1, arch::kAcquireCta, here());
      if (p.how == issuer || p.how == both) t().fence(arch::Fence::proxy_async_shared, here());
      expect_bytes();
      load(p);
    }
  } else if (thread_index() >= 32 && thread_index() < 64) {
    for (u32 turn = 0; turn < 2; ++turn) {
      wait_full(turn);
      read_stage();
      if (p.how == reader || p.how == both) t().fence(arch::Fence::proxy_async_shared, here());
      t().mbarrier_arrive(empty(), 1, arch::kReleaseCta, here());
    }
  }
}
StrictRules without(StrictRules rule) { return default_strict_rules() & ~rule; }
TEST(CheckAsync, AReadNeedsAFenceBeforeACopyOverwritesTheBytes) {
  Row row;
  row.expect(reads_then_loads, nobody, Rule::proxy_fence);
  row.expect(reads_then_loads, issuer, Rule::proxy_fence);
  row.expect_clean(reads_then_loads, reader);
  row.expect_clean(reads_then_loads, both);
  row.expect_clean(reads_then_loads, nobody, {}, {.strict_rules = without(kReadBeforeAsyncWrite)});
  row.expect_clean(reads_then_loads, issuer, {}, {.strict_rules = without(kReaderSideFence)});
  EXPECT_TRUE(
      has(row.check(reads_then_loads, nobody, {}, {.strict_rules = without(kReaderSideFence)}), Rule::proxy_fence));
  const auto text = [&](FenceBy who) { return all_of(row.check(reads_then_loads, who)); };
  EXPECT_NE(text(nobody).find("strict rule read-before-async-write"), std::string::npos) << text(nobody);
  EXPECT_NE(text(issuer).find("strict rule reader-side-fence"), std::string::npos) << text(issuer);
}

void writes_then_stores(const RowParams& p) {
  for (u32 i = thread_index(); i < kWords; i += 128) shared<u32>(stage() + 4 * i) = i;
  if (p.how == reader) t().fence(arch::Fence::proxy_async_shared, here());
  sync_cta();
  if (!is_first()) return;
  if (p.how == issuer) t().fence(arch::Fence::proxy_async_shared, here());
  t().tma_store(&p.map, 2, stage(), {}, here());
  t().bulk_commit(here());
  t().bulk_wait(0, false, here());
}
TEST(CheckAsync, AFenceOfTheIssuerAloneIsStrict) {
  Row row;
  row.expect(writes_then_stores, issuer, Rule::proxy_fence);
  row.expect_clean(writes_then_stores, issuer, {}, {.strict_rules = without(kReaderSideFence)});
  row.expect_clean(writes_then_stores, reader);
}

// Another thread reads what a store writes. Nothing orders it after the wait, which is for the reads of the source only
// or for all.
enum Waited { for_reads, for_all };
void reads_what_was_stored(const RowParams& p) {
  if (is_first()) {
    for (u32 i = 0; i < kWords; ++i) shared<u32>(stage() + 4 * i) = i;
    t().fence(arch::Fence::proxy_async_shared, here());
    t().tma_store(&p.map, 2, stage(), {}, here());
    t().bulk_commit(here());
    t().bulk_wait(0, p.how == for_reads, here());
  }
  t().cluster_arrive(true, here());  // relaxed: it comes later, and nothing orders it
  t().cluster_wait(here());
  if (thread_index() == 32) t().global_access(p.row, 4, arch::Access::read, arch::kWeak, here());
}
TEST(CheckAsync, AFindingSaysForWhatTheThreadOfAStoreHasWaited) {
  Row row;
  const auto completion = [&](Waited how) {
    const CheckReport report = row.check(reads_what_was_stored, how, {.threads = 64}, {.schedule = EmuSchedule::fifo});
    return report.findings.empty() ? "no finding" : report.findings[0].first.completion;
  };
  EXPECT_EQ(completion(for_reads),
            "completes with a bulk group of which its thread has waited for the reads of the source");
  EXPECT_EQ(completion(for_all), "completes with a bulk group for which its thread has waited");
}

// Both CTAs read a stage that CTA 0 fills by multicast; CTA 1 arrives remotely, with the default scope unless `how`.
void releases_reads_remotely(const RowParams& p) {
  if (is_first()) {
    t().mbarrier_init(full(), 1, here());
    t().mbarrier_init(empty(), 2, here());
    t().fence(arch::Fence::mbarrier_init, here());
    expect_bytes();
  }
  sync_cluster();
  if (!is_first()) return;
  for (u32 turn = 0; turn < 2; ++turn) {
    if (cluster_rank() == 0) {
      t().mbarrier_wait(empty(), turn ^ 1, arch::kAcquireCta, here());
      load(p, 3);
    }
    wait_full(turn);
    read_stage();
    t().fence(arch::Fence::proxy_async_shared, here());
    if (turn == 0) expect_bytes();
    t().mbarrier_arrive(t().cluster_map(empty(), 0, here()), 1, arch::kReleaseCta, here());
  }
  if (cluster_rank() == 0) t().mbarrier_wait(empty(), 1, arch::kAcquireCta, here());
}
TEST(CheckAsync, RemoteReleasesOfReadsAreJudgedOnRequest) {
  Row row;
  const Shape pair{.threads = 32, .grid = 2, .cluster = 2};
  row.expect_clean(releases_reads_remotely, 0, pair);
  const CheckReport report =
      row.check(releases_reads_remotely, 0, pair, {.strict_rules = default_strict_rules() | kRemoteReleaseOfReads});
  EXPECT_TRUE(has(report, Rule::scope)) << all_of(report);
  EXPECT_NE(all_of(report).find("strict rule remote-release-of-reads"), std::string::npos) << all_of(report);
}

TEST(CheckAsync, StrictRulesHaveNames) {
  EXPECT_EQ(default_strict_rules(), kReaderSideFence | kReadBeforeAsyncWrite);
  EXPECT_EQ(*strict_rules({"reader-side-fence"}, {"remote-release-of-reads"}),
            kReadBeforeAsyncWrite | kRemoteReleaseOfReads);
  const auto wrong = strict_rules({"reader-fence"}, {});
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().argument, "relaxed");
  EXPECT_EQ(wrong.error().expected,
            "reader-side-fence, read-before-async-write, remote-release-of-reads or remote-acquire-of-writes");
}

// --- memory that nobody wrote ---------------------------------------------------------------------

void reads_workspace(const RowParams& p) {
  start();
  if (p.how == 1) write_global(p.row + thread_index() % kWords, 1u);
  if (p.how == 1) t().fence(arch::Fence::proxy_async, here());
  sync_cta();
  if (!is_first()) return;
  if (p.how == 2) {
    t().global_access(p.row, 4, arch::Access::read, arch::kWeak, here());
    return;
  }
  expect_bytes();
  load(p);
  wait_full();
}
TEST(CheckAsync, GlobalMemoryThatNobodyWroteMayNotBeRead) {
  alignas(128) static u32 words[kWords];
  const TensorMapSpec spec{.base = words,
                           .rank = 2,
                           .extent = {kRowBytes, 1},
                           .stride_bytes = {0, kRowBytes},
                           .box = {kRowBytes, 1},
                           .swizzle = SmemSwizzle::none};
  for (const int how : {0, 1, 2})
    for (const bool unwritten : {false, true}) {
      const RowParams params{*encode(spec), words, how};
      const CheckReport report =
          check_launch<reads_workspace>(params, {.threads = 64}, {{"workspace", words, sizeof words, true, unwritten}});
      EXPECT_EQ(has(report, Rule::uninitialised_read), unwritten && how != 1) << how << "\n" << all_of(report);
    }
}

/// A cluster of two CTAs, whose consumers release each stage in both. The producer leaves after its last stage, or
/// stays until the peer's consumers have arrived.
void leaves_its_peers(const bool& broken) {
  constexpr pipeline::ClusterShape kPair{2, 1};
  constexpr u32 kStageCount = 3, kBlocks = 7;
  using Pipeline = pipeline::TmaPipeline<kStageCount, kPair, 1>;
  const arch::SharedAddress barriers = arch::dynamic_shared();
  if (thread_index() == 0) Pipeline::initialize(barriers);
  pipeline::make_barriers_visible<kPair>();
  if (thread_index() == 0) {
    Pipeline producer(barriers, pipeline::Role::producer);
    for (u32 k = 0; k < kBlocks; ++k) producer.producer_acquire(0);
    if (!broken) producer.producer_tail();
  } else if (thread_index() >= 32) {
    Pipeline consumer(barriers, pipeline::Role::consumer);
    for (u32 k = 0; k < kBlocks; ++k) consumer.consumer_release(consumer.consumer_wait());
  }
}
TEST(CheckAsync, TheProducersTailStaysUntilPeersHaveArrived) {
  arch::install(*table());
  expect_rule<leaves_its_peers>(Rule::exited_cta, {.threads = 64, .grid = 2, .cluster = 2});
}

}  // namespace
}  // namespace ww::emu::test
