// SPDX-License-Identifier: Apache-2.0
// Counts traffic line by line.
#include "emu/check/traffic.hpp"

#include "emu/check/source_lines.hpp"
#include "emu/cta.hpp"

namespace ww::emu {

void bank_passes(const u32* offset, u32 count, u32 bytes, u64& passes, u64& ideal) {
  u32 words[32][32], held[32] = {};
  u32 most = 0, different = 0;
  for (u32 i = 0; i < count; ++i)
    for (u32 word = offset[i] / 4; word <= (offset[i] + bytes - 1) / 4; ++word) {
      const u32 bank = word % 32;
      bool known = false;
      for (u32 j = 0; j < held[bank] && !known; ++j) known = words[bank][j] == word;
      if (known || held[bank] == 32) continue;
      words[bank][held[bank]++] = word;
      most = max(most, held[bank]);
      ++different;
    }
  passes += most;
  ideal += (different + 31) / 32;
}

void Traffic::clear() {
  lines_.clear();
  sectors_.clear();
  pending_.clear();
  last_ = nullptr;
}

u32 Traffic::line_of(Access kind, arch::Site site) {
  const auto is = [&](const Line& line) {
    return line.kind == kind && line.site.line == site.line && line.site.file == site.file;
  };
  if (last_line_ < lines_.size() && is(lines_[last_line_])) return last_line_;
  for (u32 i = 0; i < lines_.size(); ++i)
    if (is(lines_[i])) return last_line_ = i;
  lines_.push_back({site, kind, {}});
  LineTraffic& sum = lines_.back().sum;
  if (site.line < 0) {  // a plain access: an address in the module
    const SourceLines source = source_lines(site.file);
    sum.file = source.inner_file;
    sum.line = source.inner_line;
  } else {
    sum.file = site.file ? site.file : "";
    sum.line = site.line;
  }
  sum.operation = name_of(kind, *model_);
  return last_line_ = static_cast<u32>(lines_.size() - 1);
}

void Traffic::count(u32 line, const Group& group) {
  LineTraffic& sum = lines_[line].sum;
  const Access kind = lines_[line].kind;
  ++sum.accesses;
  u32 offsets[32];
  u32 widest = 0;
  for (u32 lane = 0; lane < 32; ++lane)
    if (group.lanes >> lane & 1) {
      widest = max(widest, u32{group.bytes[lane]});
      sum.shared_bytes += group.bytes[lane];
    }
  const bool matrix = kind == Access::stmatrix || kind == Access::ldmatrix;
  u64 passes = 0, ideal = 0;
  const u32 together = matrix || widest >= 16 ? 8 : widest >= 8 ? 16 : 32;
  for (u32 first = 0; first < 32; first += together) {
    u32 count = 0;
    for (u32 lane = first; lane < first + together; ++lane)
      if (group.lanes >> lane & 1) offsets[count++] = group.offset[lane];
    if (count) bank_passes(offsets, count, widest, passes, ideal);
  }
  sum.wavefronts += passes;
  sum.ideal += ideal;
}

void Traffic::shared(const Thread& thread, u32 offset, u32 bytes, Access kind, arch::Site site) {
  if (!on_) return;
  const u32 line = line_of(kind, site), lane = thread.lane();
  if (!last_ || last_->warp != thread.warp || last_->line != line) {
    last_ = &pending_[{thread.warp, line}];
    last_->warp = thread.warp;
    last_->line = line;
  }
  WarpLine& pending = *last_;
  pending.next[lane] = max(pending.next[lane], pending.first);
  const u32 which = pending.next[lane]++ - pending.first;
  if (which >= pending.groups.size()) pending.groups.resize(which + 1);
  Group& group = pending.groups[which];
  group.lanes |= 1u << lane;
  group.offset[lane] = offset;
  group.bytes[lane] = static_cast<u8>(min(bytes, 255u));
  constexpr std::size_t kMostOpen = 64;  // one lane may come repeatedly while the others never do
  if (pending.groups.front().lanes != ~0u && pending.groups.size() < kMostOpen) return;
  count(line, pending.groups.front());
  pending.groups.erase(pending.groups.begin());
  ++pending.first;
}

void Traffic::copy(Access kind, arch::Site site, u64 shared_bytes, u64 l2_bytes, u64 saved) {
  if (!on_) return;
  LineTraffic& sum = lines_[line_of(kind, site)].sum;
  ++sum.accesses;
  sum.shared_bytes += shared_bytes;
  sum.l2_bytes += l2_bytes;
  sum.multicast_saved_bytes += saved;
}

void Traffic::global(Access kind, arch::Site site, u32 range, u64 offset, u32 bytes, bool write) {
  if (on_) sectors_.touch(range, offset, bytes, write, line_of(kind, site));
}

std::vector<LineTraffic> Traffic::take() {
  for (auto& [key, pending] : pending_)
    for (const Group& group : pending.groups)
      if (group.lanes) count(pending.line, group);
  std::vector<LineTraffic> result;
  for (Line& line : lines_) result.push_back(std::move(line.sum));
  clear();
  return result;
}

}  // namespace ww::emu
