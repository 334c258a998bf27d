// SPDX-License-Identifier: Apache-2.0
// The correct forms of kernels/patterns.hpp, and their mutants. The launch of the last-block pattern does not
// say that its clusters depend on one another.
#include "kernels/patterns.hpp"

#include <numeric>
#include <random>

#include "case.hpp"

namespace ww::check_test {
namespace {

using R = Rule;
constexpr Needs kAny = Needs::every_run, kSome = Needs::some_schedule;

Case make(const char* name, const char* kernel, u32 threads, std::size_t in_words, std::size_t out_words) {
  Case c{name, kernel, threads};
  std::mt19937 generator(static_cast<u32>(in_words));
  c.in.resize(in_words);
  for (u32& word : c.in) word = generator();
  c.out.assign(out_words, 0);
  c.expected = c.out;
  c.shared_bytes = 4 * kPatternTileWords + 64;
  return c;
}

TensorOf tile_of(bool in_output, u32 rows) {
  TensorOf tensor{in_output, {}};
  tensor.spec.element = f32;
  tensor.spec.rank = 2;
  tensor.spec.extent[0] = 32, tensor.spec.extent[1] = rows;
  tensor.spec.stride_bytes[1] = 128;
  tensor.spec.box[0] = 32, tensor.spec.box[1] = 16;
  tensor.spec.swizzle = runtime::SmemSwizzle::none;
  return tensor;
}

Case items(u32 rounds) {
  Case c = make("items", "check_items", 96, 32 * rounds, 64);
  c.arg = {static_cast<i32>(rounds)};
  for (u32 t = 0; t < 64; ++t)
    for (u32 k = 0; k < rounds; ++k) c.expected[t] = c.expected[t] * 5 + c.in[32 * k + (t + 1) % 32];
  return c;
}

Case slot(const char* name, SlotForm form, u32 rounds) {
  Case c = make(name, "check_slot", 128, 64 * rounds, 192);
  const bool shared = form == kSharedFlags;
  c.grid = shared ? 1 : 2;
  c.cross_cta = !shared;
  c.arg = {static_cast<i32>(rounds), form};
  if (!shared) c.expected[0] = c.expected[32] = rounds;
  for (u32 t = 0; t < 64; ++t) {
    if (!shared) c.expected[64 + t] = c.in[64 * (rounds - 1) + t];
    for (u32 k = 0; k < rounds; ++k) c.expected[128 + t] = c.expected[128 + t] * 5 + c.in[64 * k + t];
  }
  return c;
}

Case inplace() {
  Case c = make("inplace", "check_inplace", 128, 1, kPatternTileWords);
  c.tensors = {tile_of(true, 16)};
  std::iota(c.out.begin(), c.out.end(), 100u);
  for (u32 w = 0; w < kPatternTileWords; ++w) c.expected[w] = 3 * c.out[w];
  return c;
}

Case reuse(u32 tiles) {
  Case c = make("reuse", "check_reuse", 160, kPatternTileWords * tiles, 128);
  c.arg = {static_cast<i32>(tiles)};
  c.tensors = {tile_of(false, 16 * tiles)};
  for (u32 t = 0; t < 128; ++t)
    for (u32 k = 0; k < tiles; ++k) c.expected[t] = c.expected[t] * 3 + c.in[kPatternTileWords * k + t];
  return c;
}

Case handed() {
  Case c = make("handed", "check_handed", 128, kPatternTileWords, 528 + kPatternTileWords);
  c.grid = 2;
  c.cross_cta = true;
  c.tensors = {tile_of(true, 16)};
  c.expected[kPatternTileWords] = 1;
  for (u32 w = 0; w < kPatternTileWords; ++w) c.expected[w] = c.in[w] * 3, c.expected[528 + w] = c.in[w] * 3 + 1;
  return c;
}

Case tally(const char* name, bool count_alone) {
  Case c = make(name, "check_tally", 64, 256, 80);
  c.grid = 4;
  c.arg = {count_alone};
  if (!count_alone)
    for (u32 word : c.in) ++c.expected[16 + word % 8], ++c.expected[32 + word % 8];
  return c;
}

Case pass(const char* name, bool relaxed) {
  Case c = make(name, "check_pass", 64, 64, 192);
  c.grid = 3;
  c.cross_cta = true;
  c.arg = {relaxed};
  c.expected[0] = c.expected[1] = 1;
  for (u32 t = 0; t < 64; ++t) c.expected[64 + t] = c.expected[128 + t] = c.in[t];
  return c;
}

Case branches() {
  Case c = make("branches", "check_branches", 128, 128, 128);
  for (u32 t = 0; t < 128; ++t) c.expected[t] = c.in[127 - t];
  return c;
}

Case signal() {
  Case c = make("signal", "check_signal", 32, 64, 64);
  c.grid = c.cluster = 2;
  for (u32 i = 0; i < 64; ++i) c.expected[i] = c.in[i ^ 32];
  return c;
}

}  // namespace

std::vector<Case> pattern_cases() {
  return {items(7),
          slot("slot_volatile", kVolatileFlags, 4),
          slot("slot_relaxed", kRelaxedFlags, 4),
          slot("slot_wide_fence_first", kWideFenceFirst, 3),
          slot("slot_shared", kSharedFlags, 5),
          inplace(),
          reuse(5),
          handed(),
          tally("tally", false),
          tally("tally_arrivals", true),
          pass("pass", false),
          pass("pass_fenced", true),
          branches(),
          signal()};
}

std::vector<Mutant> pattern_mutants() {
  const std::vector<std::string> slot_marks = {"slot_write", "slot_read"};
  return {
      {"record published behind a shuffle",
       "items",
       Edit::items_shuffle_written,
       {R::data_race},
       {"items_write"},
       kAny},
      {"record released behind a vote", "items", Edit::items_vote_read, {R::data_race}, {"items_read"}, kAny},
      {"volatile flag without a fence before it",
       "slot_volatile",
       Edit::slot_no_release_fence,
       {R::data_race},
       slot_marks,
       kAny},
      {"volatile flag without a fence behind it",
       "slot_volatile",
       Edit::slot_no_acquire_fence,
       {R::data_race},
       slot_marks,
       kAny},
      {"relaxed flag without a fence before it",
       "slot_relaxed",
       Edit::slot_no_release_fence,
       {R::data_race},
       slot_marks,
       kAny},
      {"flag of another CTA behind a fence of CTA scope",
       "slot_relaxed",
       Edit::slot_release_cta,
       {R::scope, R::data_race},
       slot_marks,
       kAny},
      {"shared flag without a fence before it",
       "slot_shared",
       Edit::slot_no_release_fence,
       {R::data_race},
       slot_marks,
       kAny},
      {"shared flag without a fence behind it",
       "slot_shared",
       Edit::slot_no_acquire_fence,
       {R::data_race},
       slot_marks,
       kAny},
      {"slot written before it was read", "slot_volatile", Edit::slot_not_drained, {R::data_race}, slot_marks, kSome},
      {"source of a load overwritten before the load has completed",
       "inplace",
       Edit::drained_early,
       {R::data_race},
       {"inplace_store"},
       kAny},
      {"stage read, released and loaded anew without a proxy fence (DeepEP 642)",
       "reuse",
       Edit::reused_no_fence,
       {R::proxy_fence},
       {"reuse_load"},
       kAny},
      {"words handed to another CTA's load without a proxy fence",
       "handed",
       Edit::handed_no_fence,
       {R::proxy_fence},
       {"handed_load"},
       kAny},
      {"proxy fence of shared memory behind stores to global memory",
       "handed",
       Edit::handed_fence_of_shared,
       {R::proxy_fence},
       {"handed_load"},
       kAny},
      {"counters cleared while others add", "tally", Edit::tally_cleared, {R::data_race}, {"tally_clear"}, kAny},
      {"counters read before all have added",
       "tally",
       Edit::tally_read,
       {R::data_race},
       {"tally_read", "tally_add"},
       kSome},
      {"arrivals counted relaxed and put back by a plain store",
       "tally_arrivals",
       Edit::tally_not_put_back,
       {R::data_race},
       {"tally_reset"},
       kAny},
      {"flag passed on without an acquire", "pass", Edit::pass_relaxed, {R::data_race}, {"pass_read"}, kAny},
      {"flag passed on without a fence", "pass_fenced", Edit::pass_unfenced, {R::data_race}, {"pass_read"}, kAny},
      {"halves of a warp meet at two instructions",
       "branches",
       Edit::half_warps_meet,
       {R::divergent_call},
       {"branches_sync"},
       kAny},
      {"sum on top of an accumulator that nothing set",
       "two_groups",
       Edit::accumulator_never_set,
       {R::uninitialised_read},
       {"groups_first"},
       kAny},
      {"sum on top of the accumulator of another pass",
       "two_groups",
       Edit::accumulator_of_another_pass,
       {R::uninitialised_read},
       {"groups_third"},
       kAny},
      {"words of a peer behind a wait of CTA scope",
       "signal",
       Edit::signal_acquire_cta,
       {R::scope},
       {"pair_write", "pair_read"},
       kAny},
  };
}

}  // namespace ww::check_test
