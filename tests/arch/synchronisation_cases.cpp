// SPDX-License-Identifier: Apache-2.0
// Cases of kernels/mbarrier.hpp and kernels/control.hpp.
#include "case.hpp"

namespace ww::arch_test {
namespace {

Case phases() {
  Case c{"mbarrier_phases", "mbarrier", "arch_mbarrier_phases"};
  c.threads = 32;
  c.shared_bytes = 16;
  // pending, fresh, one of two, two of two, next, both at once, next, invalid and new: pending, done
  const bool seen[] = {false, true, false, true, false, true, false, false, true};
  u32 bits = 0, looks = 0;
  for (bool look : seen) bits |= static_cast<u32>(look) << looks++;
  c.expected = {bits, looks};
  return c;
}

Case handover() {
  Case c{"mbarrier_handover", "mbarrier", "arch_mbarrier_handover"};
  c.shared_bytes = 1024;
  const u32 rounds = 5;
  c.arg[0] = rounds;
  c.in = random_words(128, 1);
  for (u32 t = 0; t < 128; ++t) {
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) sum = sum * 3 + c.in[(t + 37 * (round + 1)) % 128] + round;
    c.expected.push_back(sum);
  }
  return c;
}

Case remote(u32 cluster) {
  Case c{"mbarrier_remote_cluster_" + std::to_string(cluster), "mbarrier", "arch_mbarrier_remote"};
  c.threads = 64;
  c.cluster = cluster;
  c.grid = 2 * cluster;
  c.shared_bytes = 16;
  c.arg[0] = 3;
  c.expected.assign(c.grid * 64, 3);
  return c;
}

Case scopes(u32 cluster) {
  Case c{"mbarrier_scopes_cluster_" + std::to_string(cluster), "mbarrier", "arch_mbarrier_scopes"};
  c.threads = 64;
  c.cluster = cluster;
  c.grid = 2 * cluster;
  c.shared_bytes = 16;
  c.arg[0] = 4;
  c.expected.assign(c.grid * 64, 4);
  return c;
}

Case special(u32 cluster) {
  Case c{"special_cluster_" + std::to_string(cluster), "control", "arch_special"};
  c.threads = 160;
  c.grid = 8;
  c.cluster = cluster;
  for (u32 block = 0; block < c.grid; ++block)
    for (u32 t = 0; t < 160; ++t)
      for (u32 v : {t, 160u, block, c.grid, block % cluster, cluster, t / 32, t % 32, t / 128}) c.expected.push_back(v);
  return c;
}

Case cluster_exchange(u32 cluster) {
  Case c{"cluster_exchange_" + std::to_string(cluster), "control", "arch_cluster_exchange"};
  c.threads = 64;
  c.grid = 2 * cluster;
  c.cluster = cluster;
  c.shared_bytes = 1024;
  c.in = random_words(c.grid * 64, 2);
  for (u32 block = 0; block < c.grid; ++block) {
    const u32 first = block - block % cluster;
    // my second word comes from the CTA two before me, which read it from the CTA after itself
    const u32 sender = (block % cluster + 2 * cluster - 2) % cluster, source = (sender + 1) % cluster;
    for (u32 t = 0; t < 64; ++t)
      c.expected.push_back((c.in[(first + source) * 64 + t] * 5 + sender) ^ c.in[block * 64 + t]);
  }
  return c;
}

Case cluster_store_async(u32 cluster) {
  Case c{"cluster_store_async_" + std::to_string(cluster), "control", "arch_cluster_store_async"};
  c.threads = 64;
  c.grid = 2 * cluster;
  c.cluster = cluster;
  c.shared_bytes = 2048;
  c.in = random_words(c.grid * 256, 4);
  std::vector<u32> v = c.in;
  c.expected.resize(c.grid * 2 * 64 * 5);
  if (cluster == 1) c.error = "an illegal instruction";
  for (u32 round = 0; round < 2; ++round) {
    for (u32 block = 0; block < c.grid; ++block) {
      const u32 rank = block % cluster, first = block - rank;
      const u32 before = first + (rank + cluster - 1) % cluster,
                two_before = first + (rank + 2 * cluster - 2) % cluster;
      for (u32 t = 0; t < 64; ++t) {
        u32* out = &c.expected[5 * ((2 * block + round) * 64 + t)];
        for (u32 w = 0; w < 4; ++w) out[w] = v[(before * 64 + t) * 4 + 3 - w];
        out[4] = t % 3 == 1 ? 0 : v[(two_before * 64 + t) * 4 + round];
      }
    }
    for (u32 i = 0; i < v.size(); ++i) v[i] = v[i] * 3 + i / 256 % cluster;
  }
  return c;
}

Case registers() {
  Case c{"registers", "control", "arch_registers"};
  c.threads = 384;
  c.grid = 3;
  c.arg[0] = 20;
  c.in = random_words(384, 3);
  for (u32 t = 0; t < 384; ++t) {
    u32 sum = t;
    if (t < 128) sum += c.in[t];
    else
      for (u32 i = 0; i < 20; ++i) sum = sum * 3 + c.in[(t + i) % 384];
    c.expected.push_back(sum);
  }
  return c;
}

Case named_barriers() {
  Case c{"named_barriers", "control", "arch_named_barriers"};
  c.threads = 256;
  c.grid = 2;
  c.shared_bytes = 1024;
  c.in = random_words(256, 4);
  std::vector<u32> words(256);
  for (u32 t = 0; t < 128; ++t) words[t] = c.in[t];
  for (u32 t = 128; t < 256; ++t) words[t] = c.in[255 - (128 + (t + 45) % 128)] * 3 + 1;
  for (u32 t = 0; t < 256; ++t) c.expected.push_back(words[(t + 64) % 256]);
  return c;
}

Case fences() {
  Case c{"fences", "control", "arch_fences"};
  c.shared_bytes = 512;
  c.in = c.expected = random_words(128, 5);
  return c;
}

Case clocks() {
  Case c{"clocks", "control", "arch_clocks"};
  c.threads = 32;
  c.in.assign(32, 0);
  c.expected.assign(32, 3);
  return c;
}

Case pdl(bool attribute) {
  Case c{attribute ? "pdl" : "pdl_without_attribute", "control", "arch_pdl"};
  c.threads = 64;
  c.grid = 4;
  c.pdl = attribute;
  c.in = c.expected = random_words(256, 6);
  for (u32& word : c.expected) ++word;
  return c;
}

}  // namespace

std::vector<Case> synchronisation_cases() {
  return {phases(),
          handover(),
          remote(1),
          remote(2),
          remote(4),
          remote(8),
          scopes(1),
          scopes(4),
          special(1),
          special(2),
          special(8),
          cluster_exchange(1),
          cluster_exchange(2),
          cluster_exchange(4),
          cluster_exchange(8),
          cluster_store_async(1),
          cluster_store_async(2),
          cluster_store_async(8),
          registers(),
          named_barriers(),
          fences(),
          clocks(),
          pdl(true),
          pdl(false)};
}

}  // namespace ww::arch_test
