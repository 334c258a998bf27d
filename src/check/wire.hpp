// SPDX-License-Identifier: Apache-2.0
// A report as bytes between two processes of one program: numbers of 8 bytes, strings and lists with their length
// first.
// One function describes each struct for both directions, so writer and reader cannot disagree.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "warpwright/host/report.hpp"

namespace ww::campaign {

class WireWriter {
 public:
  std::string bytes;

  template <class T> void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      char slot[8] = {};
      std::memcpy(slot, &value, sizeof value);
      bytes.append(slot, sizeof slot);
    } else if constexpr (std::is_same_v<T, std::string>) {
      std::uint64_t size = value.size();
      (*this)(size);
      bytes += value;
    } else {
      describe(*this, value);
    }
  }
  template <class T> void operator()(std::vector<T>& list) {
    std::uint64_t size = list.size();
    (*this)(size);
    for (T& item : list) (*this)(item);
  }
  void operator()(std::map<std::string, std::uint64_t>& counters) {
    std::uint64_t size = counters.size();
    (*this)(size);
    for (auto& [key, count] : counters) {
      std::string name = key;
      all(name, count);
    }
  }
  template <class... T> void all(T&... values) { ((*this)(values), ...); }
};

/// Reads what WireWriter wrote; `good` is false once the bytes run out.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}
  bool good = true;

  template <class T> void operator()(T& value) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      if (!has(8)) return;
      std::memcpy(&value, rest_.data(), sizeof value);
      rest_.remove_prefix(8);
    } else if constexpr (std::is_same_v<T, std::string>) {
      std::uint64_t size = 0;
      (*this)(size);
      if (!has(size)) return;
      value.assign(rest_.substr(0, size));
      rest_.remove_prefix(size);
    } else {
      describe(*this, value);
    }
  }
  template <class T> void operator()(std::vector<T>& list) {
    std::uint64_t size = 0;
    (*this)(size);
    if (!has(size)) return;  // an item has at least one byte
    list.resize(size);
    for (T& item : list) (*this)(item);
  }
  void operator()(std::map<std::string, std::uint64_t>& counters) {
    std::uint64_t size = 0;
    (*this)(size);
    for (; size > 0 && good; --size) {
      std::string name;
      std::uint64_t count = 0;
      all(name, count);
      counters[name] = count;
    }
  }
  template <class... T> void all(T&... values) { ((*this)(values), ...); }

 private:
  bool has(std::uint64_t bytes) { return good = good && bytes <= rest_.size(); }
  std::string_view rest_;
};

template <class Wire> void describe(Wire& wire, SourceFrame& f) { wire(f.file), wire(f.line), wire(f.function); }
template <class Wire> void describe(Wire& wire, BarrierHistory& h) {
  wire(h.cta), wire(h.offset), wire(h.relation), wire(h.events);
}
template <class Wire> void describe(Wire& wire, FindingParty& p) {
  wire(p.cta), wire(p.warp), wire(p.lane), wire(p.role), wire(p.file), wire(p.line), wire(p.inner_file);
  wire(p.inner_line), wire(p.operation), wire(p.frames), wire(p.completion);
}
template <class Wire> void describe(Wire& wire, Finding& f) {
  wire(f.rule), wire(f.first), wire(f.second), wire(f.parties), wire(f.begin), wire(f.end), wire(f.space),
      wire(f.barrier_history), wire(f.barriers);
  wire(f.advice), wire(f.text);
}
template <class Wire> void describe(Wire& wire, LineTraffic& t) {
  wire(t.file), wire(t.line), wire(t.operation), wire(t.accesses), wire(t.shared_bytes), wire(t.l2_bytes);
  wire(t.wavefronts), wire(t.ideal), wire(t.multicast_saved_bytes), wire(t.hbm_bytes);
}
template <class Wire> void describe(Wire& wire, OperandTraffic& t) {
  wire(t.name), wire(t.hbm_read_bytes), wire(t.hbm_write_bytes);
}
template <class Wire> void describe(Wire& wire, CtaWork& w) { wire.all(w.tiles, w.parts, w.k_blocks); }
template <class Wire> void describe(Wire& wire, EmuStats& s) {
  wire(s.seconds), wire(s.ctas), wire(s.fibers), wire(s.switches), wire(s.tma_loads), wire(s.tma_stores);
  wire(s.wgmmas), wire(s.stores_under_wgmma), wire(s.results_under_wgmma), wire(s.dsmem_bytes);
  wire(s.ummas), wire(s.umma_copies), wire(s.loads_under_umma), wire(s.umma_shared_bytes);
  wire.all(s.work, s.l2_read_bytes, s.l2_write_bytes, s.shared_write_bytes, s.thread_read_bytes, s.thread_write_bytes);
}
template <class Wire> void describe(Wire& wire, CheckReport& r) {
  wire(r.verdict), wire(r.findings), wire(r.why_incomplete), wire(r.stats), wire(r.traffic);
  wire(r.operands);
}

}  // namespace ww::campaign
