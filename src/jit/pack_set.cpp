// SPDX-License-Identifier: Apache-2.0
// Indices are read when the set is made, kernels when they are asked for.
#include "jit/pack_set.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "jit/folders.hpp"

namespace ww::jit {

PackSet::PackSet(const std::vector<fs::path>& folders) {
  std::set<fs::path> seen;
  for (const fs::path& folder : folders) {
    std::error_code ignored;
    const fs::path real = fs::canonical(folder, ignored);
    if (ignored || !seen.insert(real).second) continue;
    std::vector<fs::path> files;
    for (fs::directory_iterator at(real, ignored), end; !ignored && at != end; at.increment(ignored))
      if (at->path().extension() == kPackSuffix) files.push_back(at->path());
    std::sort(files.begin(), files.end());
    const std::string distrust = files.empty() ? std::string() : why_not_trusted(real);
    for (const fs::path& file : files) {
      Member& member = members_.emplace_back();
      member.facts.path = file;
      if (!distrust.empty()) {
        member.facts.problem = fmt::format("its folder is {}, and code is loaded from it", distrust);
        continue;
      }
      Result<Pack> pack = Pack::open(file);
      if (!pack) {
        member.facts.problem = pack.error().message;
        continue;
      }
      member.facts.kernels = pack->size(), member.facts.compiler = pack->compiler();
      member.pack.emplace(std::move(*pack));
    }
  }
}

std::optional<PackSet::Found> PackSet::find(std::string_view key, std::string& note) {
  const std::lock_guard lock(mutex_);
  for (Member& member : members_) {
    if (!member.pack || !member.pack->contains(key)) continue;
    if (member.refused) {
      note = member.facts.problem;
      continue;
    }
    if (Result<Entry> entry = member.pack->read(key)) return Found{std::move(*entry), member.facts.path};
    else member.facts.problem = note = entry.error().message;
  }
  return std::nullopt;
}

void PackSet::refuse(const fs::path& pack, const std::string& why) {
  const std::lock_guard lock(mutex_);
  for (Member& member : members_)
    if (member.facts.path == pack)
      member.refused = true, member.facts.problem = fmt::format("{}: {}", pack.string(), why);
}

std::vector<KernelPack> PackSet::report(bool check_kernels) const {
  const std::lock_guard lock(mutex_);
  std::vector<KernelPack> packs;
  for (const Member& member : members_) {
    KernelPack facts = member.facts;
    if (check_kernels && member.pack && facts.problem.empty())
      for (const std::string& key : member.pack->keys())
        if (const Result<Entry> entry = member.pack->read(key); !entry) facts.problem = entry.error().message;
    packs.push_back(std::move(facts));
  }
  return packs;
}

PackSet& PackSet::of_process() {
  // Never destroyed, because threads may outlive static destructors.
  static PackSet& set = *new PackSet(shipped_folders("WARPWRIGHT_PACK_DIR", "packs"));
  return set;
}

}  // namespace ww::jit
