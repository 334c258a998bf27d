// SPDX-License-Identifier: Apache-2.0
// Chains of launches in which each reads what the preceding one wrote, and how to run them and compare their results:
// in a device's stream or graph, and on the emulated device. overlap_chains.hpp defines the launches.
//   slots: a matrix that launches pass on has one buffer for each launch, so that every link is compared and one that
//   reads too early finds NaN; or two in alternation, so that one that writes too early overwrites what another still
//   reads
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "warpwright/host/gemm.hpp"

namespace ww::gpu_test {

using Bytes = std::vector<std::uint8_t>;

inline void must(const Result<void>& done) {
  if (!done) throw std::runtime_error(done.error().message);
}
template <class T> T must(Result<T> made) {
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

/// Where launches go, and how bytes on the device are copied between them.
struct Queue {
  Stream stream;
  std::function<Result<void>(void* to, const void* from, std::size_t bytes)> copy;
};

enum class Slots { every, two };

/// What all links of a chain have in common.
struct Setting {
  Device device;
  Pdl pdl = Pdl::off;
  Slots slots = Slots::every;
  int links = 0;
  bool large = false;  // enough work for the SMs of a GPU; else little enough for the emulated device
};

class Chain {
 public:
  using Link = std::function<Result<void>(const Queue&)>;

  explicit Chain(const Setting& setting) : device_(setting.device) {}

  /// Memory that no launch writes, or (workspace) whose content nobody compares.
  void* input(const Bytes& bytes) { return keep(bytes); }
  template <class T> void* input(const std::vector<T>& values) { return keep(bytes_of_values(values)); }

  /// Memory that launches write: back at `first` in every reset(), and compared. `type` says what numbers it holds.
  void* watched(std::string name, Bytes first, std::optional<DType> type) {
    void* const at = keep(first);
    watched_.push_back({std::move(name), at, std::move(first), type});
    return at;
  }

  void add(Link link) { links_.push_back(std::move(link)); }

  Result<void> enqueue(const Queue& queue, int skipped = -1) const {
    for (int i = 0; i < static_cast<int>(links_.size()); ++i)
      if (i != skipped) WW_CHECK(links_[static_cast<std::size_t>(i)](queue));
    return {};
  }

  Result<void> reset() const {
    for (const Watched& w : watched_) WW_CHECK(device_.upload(w.at, w.first.data(), w.first.size()));
    return {};
  }

  /// What is in all watched memory, in the order in which it was named.
  Result<std::vector<Bytes>> results() const {
    std::vector<Bytes> all;
    for (const Watched& w : watched_) {
      Bytes& bytes = all.emplace_back(w.first.size());
      WW_CHECK(device_.download(bytes.data(), w.at, bytes.size()));
    }
    return all;
  }

  /// Where two results of this chain differ first; empty: nowhere.
  std::string difference(const std::vector<Bytes>& got, const std::vector<Bytes>& want) const {
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      if (got[i] == want[i]) continue;
      std::size_t byte = 0, count = 0;
      for (std::size_t j = got[i].size(); j-- > 0;)
        if (got[i][j] != want[i][j]) byte = j, ++count;
      return fmt::format("{}: {} of {} bytes differ, the first at {}: {:#04x} for {:#04x}", watched_[i].name, count,
                         got[i].size(), byte, got[i][byte], want[i][byte]);
    }
    return {};
  }

  /// Returns why results are meaningless: a NaN or an infinity, or a matrix of equal values. Empty: they are numbers.
  std::string emptiness(const std::vector<Bytes>& results) const {
    for (std::size_t i = 0; i < watched_.size(); ++i) {
      if (!watched_[i].type) continue;
      const int size = bytes_of(*watched_[i].type);
      std::set<std::uint32_t> values;
      for (std::size_t at = 0; at + static_cast<std::size_t>(size) <= results[i].size();
           at += static_cast<std::size_t>(size)) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &results[i][at], static_cast<std::size_t>(size));
        if (!is_finite(bits, *watched_[i].type))
          return fmt::format("{}: {:#x} at byte {} is no number", watched_[i].name, bits, at);
        if (values.size() < kValues) values.insert(bits);
      }
      if (values.size() < kValues) return fmt::format("{}: only {} values", watched_[i].name, values.size());
    }
    return {};
  }

 private:
  static constexpr std::size_t kValues = 8;

  struct Watched {
    std::string name;
    void* at;
    Bytes first;
    std::optional<DType> type;
  };

  template <class T> static Bytes bytes_of_values(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
  }
  static bool is_finite(std::uint32_t bits, DType type) {
    const std::uint32_t exponent = type == f32 ? 0x7f800000 : type == bf16 ? 0x7f80 : 0x7f;  // e4m3: one NaN
    return (bits & exponent) != exponent;
  }
  void* keep(const Bytes& bytes) {
    Buffer buffer = must(device_.allocate(bytes.size()));
    must(device_.upload(buffer.data(), bytes.data(), bytes.size()));
    kept_.push_back(buffer);
    return buffer.data();
  }

  Device device_;
  std::vector<Link> links_;
  std::vector<Watched> watched_;
  std::vector<Buffer> kept_;
};

/// Resets, calls `run`, and returns the results of the links.
template <class Run> std::vector<Bytes> results_of(const Chain& chain, Run run) {
  must(chain.reset());
  run();
  return must(chain.results());
}

}  // namespace ww::gpu_test
