// SPDX-License-Identifier: Apache-2.0
// The cache on disk: <root>/<library version>/<target>/<key><suffix>, each file an Entry.
//   read -> whole? use it : remove it, build, publish by rename
// A cache that cannot be written, created or trusted never fails a call: the result is used without being kept, and the
// reason is in `note`. Locks keep processes from building the same entry at once; correctness rests on rename alone.
#pragma once

#include <functional>

#include "jit/entry.hpp"
#include "jit/files.hpp"

namespace ww::jit {

class DiskCache {
 public:
  /// `requested` as in jit::cache_root.
  explicit DiskCache(const fs::path& requested);

  struct Found {
    Entry entry;
    fs::path path;       // of the entry's file; empty when it is not on disk
    bool built = false;  // by this call
    std::string note;    // why the result was not kept
  };
  /// Returns the entry of `key` if it exists and is whole.
  std::optional<Found> find(std::string_view target, const std::string& key, std::string_view suffix) const;
  /// Returns the entry of `key` if it exists and is whole; otherwise the result of `build` in a work directory.
  Result<Found> get(std::string_view target, const std::string& key, std::string_view suffix,
                    const std::function<Result<Entry>(const fs::path& work)>& build) const;

 private:
  Result<WorkDirectory> work_directory() const;

  fs::path base_;         // <root>/<library version>; empty: no cache
  std::string no_cache_;  // then the reason
};

/// Returns the entry in `file`; a broken one is removed and counts as absent.
std::optional<Entry> read_entry(const fs::path& file, std::string_view key);

}  // namespace ww::jit
