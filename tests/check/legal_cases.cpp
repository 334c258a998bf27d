// SPDX-License-Identifier: Apache-2.0
// Every correct kernel with its input and, computed here without the emulator, the output it must leave.
#include <bit>
#include <random>
#include <stdexcept>

#include "case.hpp"
#include "kernels/early.hpp"
#include "kernels/global.hpp"
#include "kernels/pipelines.hpp"
#include "kernels/ring.hpp"
#include "warpwright/arch/common/convert.hpp"

namespace ww::check_test {
namespace {

using runtime::SmemSwizzle;

constexpr u32 kUnwritten = 0xC0DEDEADu;

std::vector<u32> random_words(std::size_t count) {
  std::mt19937_64 generator(count);
  std::vector<u32> words(count);
  for (u32& word : words) word = static_cast<u32>(generator());
  return words;
}

TensorOf matrix(bool in_output, DType type, u32 columns, u32 rows, u32 box_columns, u32 box_rows,
                SmemSwizzle swizzle = SmemSwizzle::none) {
  TensorOf tensor{in_output, {}};
  tensor.spec.element = type;
  tensor.spec.rank = 2;
  tensor.spec.extent[0] = columns, tensor.spec.extent[1] = rows;
  tensor.spec.stride_bytes[1] = columns * static_cast<u32>(bytes_of(type));
  tensor.spec.box[0] = box_columns, tensor.spec.box[1] = box_rows;
  tensor.spec.swizzle = swizzle;
  return tensor;
}

Case make(const char* name, const char* kernel, u32 threads, std::size_t in_words, std::size_t out_words) {
  Case c{name, kernel, threads};
  c.in = random_words(in_words);
  c.out.assign(out_words, kUnwritten);
  c.expected = c.out;
  return c;
}

// --- ring.hpp, clusters.hpp: readers' sums over blocks of 512 words -----------------------------------------------

u32 ring_sum(const Case& c, u32 first, u32 last, u32 t, u32 sum = 0) {
  for (u32 k = first; k < last; ++k) sum = sum * 3 + c.in[k * 512 + 4 * t];
  return sum;
}

Case ring(const char* name, i32 blocks, RingForm form) {
  Case c = make(name, "check_ring", 160, static_cast<std::size_t>(512 * max(blocks, 1)), 128);
  c.shared_bytes = kRingBytes;
  c.arg = {blocks, form};
  c.tensors = {matrix(false, e4m3, 128, static_cast<u32>(16 * max(blocks, 1)), 128, 16)};
  for (u32 t = 0; t < 128; ++t) c.expected[t] = ring_sum(c, 0, static_cast<u32>(blocks), t);
  return c;
}

Case multicast(const char* name, u32 blocks, u32 grid) {
  Case c = make(name, "check_multicast", 160, 512 * blocks, 128 * grid);
  c.grid = grid, c.cluster = 2;
  c.shared_bytes = kRingBytes;
  c.arg = {static_cast<i32>(blocks)};
  c.tensors = {matrix(false, e4m3, 128, 16 * blocks, 128, 8)};
  for (u32 i = 0; i < 128 * grid; ++i) c.expected[i] = ring_sum(c, 0, blocks, i % 128);
  return c;
}

Case shared_epilogue(u32 tiles, u32 grid) {
  Case c = make("shared_epilogue", "check_shared_epilogue", 160, 1024 * tiles, tiles * grid * 128);
  c.grid = grid, c.cluster = 2;
  c.shared_bytes = kRingBytes;
  c.arg = {static_cast<i32>(tiles)};
  TensorOf out{true, {}};
  out.spec.element = f32;
  out.spec.rank = 1;
  out.spec.extent[0] = tiles * grid * 128;
  out.spec.box[0] = 128;
  out.spec.swizzle = SmemSwizzle::none;
  c.tensors = {matrix(false, e4m3, 128, 32 * tiles, 128, 8), out};
  for (u32 i = 0; i < tiles * grid * 128; ++i) {
    const u32 tile = i / 128 / grid;
    c.expected[i] = ring_sum(c, 2 * tile, 2 * tile + 2, i % 128);
  }
  return c;
}

Case late_peer(const char* name, i32 looks) {
  Case c = make(name, "check_late_peer", 128, 512, 256);
  c.grid = c.cluster = 2;
  c.shared_bytes = kRingBytes;
  c.arg = {looks};
  c.tensors = {matrix(false, e4m3, 128, 16, 128, 16)};
  for (u32 i = 0; i < 256; ++i) c.expected[i] = c.in[i % 128];
  return c;
}

Case exchange() {
  Case c = make("exchange", "check_exchange", 64, 256, 256);
  c.grid = 4, c.cluster = 2;
  for (u32 i = 0; i < 256; ++i) c.expected[i] = c.in[i ^ 64] * 2 + c.in[i];
  return c;
}

Case remote_signal() {
  Case c = make("remote_signal", "check_remote_signal", 32, 4, 4);
  c.grid = 4, c.cluster = 2;
  for (u32 i = 0; i < 4; ++i) c.expected[i] = c.in[i ^ 1];
  return c;
}

// --- pipelines.hpp ---------------------------------------------------------------------------------------------------

Case tokens(i32 blocks) {
  Case c = make("tokens", "check_tokens", 160, static_cast<std::size_t>(512 * blocks), 128);
  c.shared_bytes = kPipeBytes;
  c.arg = {blocks};
  c.tensors = {matrix(false, e4m3, 128, static_cast<u32>(16 * blocks), 128, 16)};
  for (u32 t = 0; t < 128; ++t) c.expected[t] = ring_sum(c, 0, static_cast<u32>(blocks), t);
  return c;
}

Case transactions(i32 blocks) {
  Case c = make("transactions", "check_transactions", 192, static_cast<std::size_t>(512 * blocks), 128);
  c.shared_bytes = kPipeBytes;
  c.arg = {blocks};
  c.tensors = {matrix(false, e4m3, 128, static_cast<u32>(16 * blocks), 128, 8)};
  for (u32 t = 0; t < 128; ++t) {
    u32 sum = 0;
    for (u32 k = 0; k < static_cast<u32>(blocks); ++k) sum = sum * 3 + c.in[k * 512 + 4 * t] + k;
    c.expected[t] = sum;
  }
  return c;
}

Case order(i32 rounds) {
  Case c = make("order", "check_order", 128, kOrderThreads, kOrderSections * kOrderThreads);
  c.shared_bytes = kOrderBytes;
  c.arg = {rounds};
  for (u32 i = 0; i < kOrderSections * kOrderThreads; ++i) {
    u32 word = c.in[i % kOrderThreads];
    for (i32 round = 0; round < rounds; ++round)
      for (u32 group = 0; group < kOrderGroups; ++group) word = 3 * word + group + 1;
    c.expected[i] = word;
  }
  return c;
}

// --- shared.hpp ---------------------------------------------------------------------------------------------------

Case handover() {
  Case c = make("handover", "check_handover", 160, 128, 128);
  for (u32 t = 0; t < 128; ++t) c.expected[t] = c.in[127 - t] * 3;
  return c;
}

Case mailbox() {
  Case c = make("mailbox", "check_mailbox", 64, 6 * 32, 32);
  c.arg = {6};
  for (u32 lane = 0; lane < 32; ++lane) {
    u32 sum = 0;
    for (u32 round = 0; round < 6; ++round) sum = sum * 5 + c.in[32 * round + 31 - lane];
    c.expected[lane] = sum;
  }
  return c;
}

Case phases() {
  Case c = make("phases", "check_phases", 64, 1, 1);
  c.expected = {1};
  return c;
}

Case barrier_memory() {
  Case c = make("barrier_memory", "check_barrier_memory", 64, 64, 64);
  for (u32 t = 0; t < 64; ++t) c.expected[t] = c.in[t ^ 1];
  return c;
}

Case turns() {
  Case c = make("turns", "check_turns", 64, 32, 32);
  c.arg = {5};
  for (u32 lane = 0; lane < 32; ++lane) {
    u32 word = c.in[lane];
    for (u32 round = 0; round < 5; ++round) word = (word * 7) * 7 + 1;
    c.expected[lane] = word;
  }
  return c;
}

Case neighbours() {
  Case c = make("neighbours", "check_neighbours", 128, 128, 128);
  std::vector<u32> words(128);
  for (u32 t = 0; t < 128; ++t) words[t * 37 % 128] = c.in[t];
  for (u32 t = 0; t < 128; ++t) {
    c.expected[t] = c.in[t];
    for (u32 i = 0; i < 128; i += 4) c.expected[t] += words[i + t % 4];
  }
  return c;
}

Case named_ids() {
  Case c = make("named_ids", "check_named_ids", 128, 64, 64);
  c.arg = {3};
  for (u32 t = 0; t < 64; ++t) c.expected[t] = c.in[t] + 3;
  return c;
}

Case warp_values() {
  Case c = make("warp_values", "check_warp_values", 96, 3, 96);
  for (u32 warp : {0u, 2u})
    for (u32 lane = 0; lane < 32; ++lane) c.expected[32 * warp + lane] = c.in[warp] + 1 + 31 - (lane ^ 9);
  return c;
}

// --- product.hpp --------------------------------------------------------------------------------------------------

int small_integer(u32 word) { return static_cast<int>(word % 5) - 2; }

/// Four times the e4m3 of that integer.
u32 e4m3_word(int value) { return arch::to_e4m3(static_cast<float>(value)) * 0x01010101u; }

/// Thread t's value v of sum over blocks of 128 a[block][row] b[block][column].
template <class A, class B> u32 product_bits(u32 t, u32 v, u32 blocks, A a, B b) {
  const u32 row = 16 * (t / 32) + t % 32 / 4 + 8 * (v / 2 % 2), column = 2 * (t % 4) + v % 2 + 8 * (v / 4);
  int sum = 0;
  for (u32 k = 0; k < blocks; ++k) sum += 128 * a(k, row) * b(k, column);
  return std::bit_cast<u32>(static_cast<float>(sum));
}

Case product(const char* name, u32 passes) {
  Case c = make(name, "check_product", 128, 128 * passes, 128 * 32);
  c.shared_bytes = 16384;
  c.arg = {static_cast<i32>(passes)};
  const std::vector<u32> raw = c.in;
  for (u32& word : c.in) word = e4m3_word(small_integer(word));
  const auto value = [&](u32 k, u32 row) { return small_integer(raw[128 * k + row]); };
  for (u32 i = 0; i < 128 * 32; ++i)
    c.expected[i] = product_bits(i / 32, i % 32, passes, value, [&](u32 k, u32 n) { return value(k, 64 + n); });
  return c;
}

Case fragments(const char* name, u32 passes) {
  Case c = product(name, passes);
  c.kernel = "check_fragments";
  return c;
}

Case two_groups() {
  Case c = product("two_groups", 1);
  c.kernel = "check_two_groups";
  c.out.resize(2 * 128 * 32, kUnwritten);
  c.expected.insert(c.expected.end(), c.expected.begin(), c.expected.end());
  for (u32 i = 0; i < 128 * 32; ++i) c.expected[i] = std::bit_cast<u32>(std::bit_cast<float>(c.expected[i]) + 1);
  return c;
}

Case pipelined(const char* name, u32 blocks) {
  Case c = make(name, "check_pipelined", 256, 128 * 32 * blocks, 128 * 32);
  c.shared_bytes = 4 * 8192 + 64;
  c.arg = {static_cast<i32>(blocks)};
  c.tensors = {matrix(false, e4m3, 128 * blocks, 128, 128, 64, SmemSwizzle::b128)};
  const std::vector<u32> raw = random_words(128 * blocks);
  const auto value = [&](u32 k, u32 row) { return small_integer(raw[128 * k + row]); };
  for (u32 i = 0; i < c.in.size(); ++i) c.in[i] = e4m3_word(value(i / 32 % blocks, i / 32 / blocks));
  for (u32 i = 0; i < 128 * 32; ++i)
    c.expected[i] = product_bits(i / 32, i % 32, blocks, value, [&](u32 k, u32 n) { return value(k, 64 + n); });
  return c;
}

Case registers() {
  Case c = make("registers", "check_registers", 384, 1, 384);
  for (u32 t = 0; t < 384; ++t) c.expected[t] = t;
  return c;
}

// --- store.hpp ----------------------------------------------------------------------------------------------------

Case store(const char* name, u32 tiles) {
  Case c = make(name, "check_store", 128, 2048, 2048 * tiles);
  c.shared_bytes = 8192;
  c.arg = {static_cast<i32>(tiles)};
  c.tensors = {matrix(true, f32, 32, 64 * tiles, 32, 64)};
  for (u32 i = 0; i < 2048 * tiles; ++i) c.expected[i] = c.in[i % 2048] + i / 2048;
  return c;
}

Case matrix_store() {
  Case c = make("matrix_store", "check_matrix_store", 128, 1, 2048 * 5);
  c.shared_bytes = 2 * 8192;
  c.arg = {5};
  c.tensors = {matrix(true, f32, 32, 64 * 5, 32, 64)};
  for (u32 i = 0; i < 2048 * 5; ++i) c.expected[i] = i / 2048 << 16 | i / 32 % 64 << 8 | i % 32;
  return c;
}

Case read_back() {
  Case c = make("read_back", "check_read_back", 128, 2048, 4096);
  c.shared_bytes = 8192;
  c.tensors = {matrix(true, f32, 32, 64, 32, 64)};
  for (u32 i = 0; i < 2048; ++i) c.expected[i] = c.in[i], c.expected[2048 + i] = c.in[i] * 3;
  return c;
}

Case reload() {
  Case c = make("reload", "check_reload", 128, 4096, 2048);
  c.shared_bytes = 8192 + 8;
  c.tensors = {matrix(false, f32, 32, 128, 32, 64)};
  for (u32 i = 0; i < 2048; ++i) c.expected[i] = c.in[16 * (127 - i / 16) + i % 16] + c.in[2048 + i];
  return c;
}

// --- global.hpp ---------------------------------------------------------------------------------------------------

Case flag(const char* name, i32 by_store) {
  Case c = make(name, "check_flag", 64, 64, 192);
  c.grid = 2;
  c.cross_cta = true;
  c.arg = {by_store};
  c.out[0] = 0;
  c.expected[0] = 1;
  for (u32 t = 0; t < 64; ++t) c.expected[64 + t] = c.in[t] * 3, c.expected[128 + t] = c.in[t] * 3 + 1;
  return c;
}

Case last() {
  Case c = make("last", "check_last", 64, 256, 1088);
  c.grid = 4;
  c.cross_cta = true;
  c.out[0] = 0;
  c.expected[0] = 4;
  for (u32 i = 0; i < 256; ++i) c.expected[64 + i] = c.in[i] * 5;
  for (u32 t = 0; t < 64; ++t) c.expected[1024 + t] = (c.in[t] + c.in[64 + t] + c.in[128 + t] + c.in[192 + t]) * 5;
  return c;
}

Case spin(const char* name, SpinForm form, u32 grid) {
  Case c = make(name, "check_spin", 64, 64, 64 + 64 * grid);
  c.grid = grid;
  c.cross_cta = true;
  c.arg = {form};
  c.out[0] = 0;
  c.expected[0] = 1;
  for (u32 t = 0; t < 64; ++t) {
    c.expected[64 + t] = c.in[t] * 3;
    for (u32 block = 0; block + 1 < grid; ++block) c.expected[128 + 64 * block + t] = c.in[t] * 3 + block;
  }
  return c;
}

Case long_count(i32 count) {
  Case c = make("long_count", "check_long_count", 64, 1, 64);
  c.arg = {count};
  c.out[0] = 0;
  u32 sum = 0;
  for (i32 i = 0; i < count; ++i) sum = sum * 3 + c.in[0];
  for (i32 i = 0; i < count; ++i) sum = sum * 5 + c.in[0];
  c.expected[0] = 1;
  c.expected[1] = c.expected[2] = sum;
  return c;
}

Case chain() {
  Case c = make("chain", "check_chain", 64, 1, 80);
  c.grid = 4;
  c.cross_cta = true;
  c.out[0] = 0;
  for (u32 t = 0; t < 64; ++t) c.out[16 + t] = t * t;
  c.expected = c.out;
  c.expected[0] = 4;
  for (u32 turn = 0; turn < 4; ++turn) {
    const std::vector<u32> before = c.expected;
    for (u32 t = 0; t < 64; ++t) c.expected[16 + t] = before[16 + (t + 1) % 64] * 3 + turn;
  }
  return c;
}

Case neighbour_tiles(const char* name, bool cross_cta) {
  Case c = make(name, "check_neighbour_tiles", 64, 64, 256);
  c.grid = 4;
  c.cross_cta = cross_cta;
  for (u32 i = 0; i < 256; ++i) {
    u32 sum = i / 64;
    for (u32 j = 0; j < 64; ++j) sum += c.in[j] * (j + i % 64);
    c.expected[i] = sum;
  }
  return c;
}

// --- counts.hpp ---------------------------------------------------------------------------------------------------

Case counts() {
  Case c = make("counts", "check_counts", 128, 512, 256);
  for (u32 t = 0; t < 128; ++t) {
    c.expected[t] = 0;
    for (u32 word : c.in) c.expected[t] += word % 128 < t;
    c.expected[128 + t] = t == 0 ? 0 : c.expected[127 + t] + c.expected[t - 1];
  }
  return c;
}

// --- tensor_map.hpp -----------------------------------------------------------------------------------------------

Case tensor_map(const char* name, u32 groups, i32 other_acquires) {
  Case c = make(name, "check_tensor_map", 64, 256 * groups, 32 + 256 * groups);
  c.shared_bytes = 1024 + 1024;
  c.arg = {static_cast<i32>(groups), other_acquires};
  c.tensors = {matrix(false, f32, 32, 1, 32, 8)};
  std::fill(c.expected.begin(), c.expected.begin() + 32, 0);
  std::copy(c.in.begin(), c.in.end(), c.expected.begin() + 32);
  return c;
}

Case resident_map(const char* name, bool parameter) {
  Case c = make(name, "check_resident_map", 32, 256, 32 + 256);
  c.shared_bytes = 1024 + 8;
  c.arg = {parameter};
  c.map_in_out = true;
  c.tensors = {matrix(false, f32, 32, 8, 32, 8)};
  std::copy(c.in.begin(), c.in.end(), c.expected.begin() + 32);
  return c;
}

Case map_across() {
  Case c = make("map_across", "check_map_across", 32, 512, 64 + 256);
  c.grid = 2;
  c.cross_cta = true;
  c.shared_bytes = 1024 + 1024;
  c.tensors = {matrix(false, f32, 32, 1, 32, 8)};
  c.out[32] = 0;
  c.expected[32] = 1;
  std::fill(c.expected.begin(), c.expected.begin() + 32, 0);
  std::copy(c.in.begin() + 256, c.in.end(), c.expected.begin() + 64);
  return c;
}

Case map_store(const char* name, u32 groups) {
  Case c = make(name, "check_map_store", 32, 256, 32 + 256 * groups);
  c.shared_bytes = 1024 + 2 * 1024;
  c.arg = {static_cast<i32>(groups)};
  c.tensors = {matrix(true, f32, 32, 1, 32, 8)};
  std::fill(c.expected.begin(), c.expected.begin() + 32, 0);
  for (u32 i = 0; i < 256 * groups; ++i) c.expected[32 + i] = c.in[i % 256] + i / 256;
  return c;
}

// --- early.hpp ----------------------------------------------------------------------------------------------------

Case early(const char* name, EarlyForm form, u32 cluster = 1) {
  Case c = make(name, "check_early", 64, 128, 1024 + 64);
  c.grid = 2, c.cluster = cluster;
  c.pdl = form != kNobodyWaits;  // nothing to wait for
  c.arg = {form};
  c.tensors = {matrix(false, f32, 64, 2, 64, 1)};
  c.out[1024] = 0;
  c.expected[1024] = 128;
  for (u32 i = 0; i < 128; ++i) c.expected[i] = c.in[i % 64] + c.in[64 + i % 64];
  return c;
}

Case early_store() {
  Case c = make("early_store", "check_early_store", 32, 1, 32 + 256);
  c.pdl = true;
  c.map_in_out = true;
  c.tensors = {matrix(true, f32, 32, 9, 32, 8)};
  for (u32 w = 0; w < 256; ++w) c.expected[32 + w] = 3 * w;
  return c;
}

}  // namespace

const std::vector<Case>& legal_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> list = {
        ring("ring", 8, kPlainWait),
        ring("ring_of_none", 0, kPlainWait),
        ring("ring_of_one", 1, kPlainWait),
        ring("ring_tries", 7, kTryWait),
        ring("ring_every_lane_arrives", 6, kEveryLaneArrives),
        ring("ring_one_lane_waits", 6, kOneLaneWaits),
        ring("ring_split_expect", 5, kSplitExpect),
        tokens(9),
        transactions(7),
        order(4),
        handover(),
        mailbox(),
        phases(),
        barrier_memory(),
        turns(),
        neighbours(),
        named_ids(),
        warp_values(),
        product("product", 1),
        product("product_again", 3),
        two_groups(),
        fragments("fragments", 1),
        fragments("fragments_again", 3),
        pipelined("pipelined", 6),
        pipelined("pipelined_one", 1),
        registers(),
        store("store", 3),
        store("store_one", 1),
        matrix_store(),
        read_back(),
        reload(),
        exchange(),
        remote_signal(),
        multicast("multicast", 7, 2),
        multicast("multicast_clusters", 4, 6),
        shared_epilogue(3, 2),
        late_peer("late_peer", 40),
        late_peer("prompt_peer", 0),
        flag("flag_fence", 0),
        flag("flag_release", 1),
        last(),
        chain(),
        spin("spin_acquire", kAcquireSpin, 4),
        spin("spin_atomic", kAtomicSpin, 3),
        spin("spin_vote", kVoteSpin, 3),
        spin("spin_shared", kSharedSpin, 2),
        long_count(60000),
        neighbour_tiles("neighbour_tiles", false),
        neighbour_tiles("neighbour_tiles_together", true),
        counts(),
        tensor_map("tensor_map", 5, 0),
        tensor_map("tensor_map_one", 1, 0),
        tensor_map("tensor_map_other_acquires", 4, 1),
        resident_map("resident_map", false),
        resident_map("parameter_map", true),
        map_across(),
        map_store("map_store", 5),
        early("early_all", kAllWait),
        early("early_named_barrier", kNamedBarrier),
        early("early_mbarrier", kMBarrier),
        early("early_cluster_barrier", kClusterBarrier, 2),
        early("early_bytes_landed", kBytesLanded),
        early("early_without_attribute", kNobodyWaits),
        early_store(),
    };
    for (Case& c : pattern_cases()) list.push_back(std::move(c));
    return list;
  }();
  return cases;
}

}  // namespace ww::check_test
