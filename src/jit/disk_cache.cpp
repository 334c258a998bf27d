// SPDX-License-Identifier: Apache-2.0
// Look, lock, look again, build, publish. A step that fails still leaves a correct result, with a note that says why it
// was not kept; only the build itself can fail a call.
#include "jit/disk_cache.hpp"

#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "jit/build_facts.hpp"
#include "jit/jit.hpp"

namespace ww::jit {
namespace {

// Longer than any compile; after it a process stops waiting for another and compiles for itself.
constexpr std::chrono::seconds kLockTimeout{120};

}  // namespace

std::optional<Entry> read_entry(const fs::path& file, std::string_view key) {
  const Result<std::string> bytes = read_file(file);
  if (!bytes) return std::nullopt;
  std::optional<Entry> entry = unpack(*bytes, key);
  if (!entry) ::unlink(file.c_str());
  return entry;
}

DiskCache::DiskCache(const fs::path& requested) {
  if (const Result<fs::path> root = cache_root(requested)) {
    base_ = *root / library_version();
  } else {
    no_cache_ = root.error().message;
  }
}

Result<WorkDirectory> DiskCache::work_directory() const {
  std::string why = no_cache_;
  if (!base_.empty()) {
    const Result<void> made = make_directories(base_ / "work");
    if (made) {
      sweep_leftovers(base_ / "work");
      if (Result<WorkDirectory> work = WorkDirectory::make(base_ / "work")) return work;
      else why = work.error().message;
    } else {
      why = made.error().message;
    }
  }
  const char* temporary = std::getenv("TMPDIR");
  for (const char* parent : {temporary, "/tmp", "/dev/shm"}) {
    if (!parent || !*parent) continue;
    sweep_leftovers(parent);
    if (Result<WorkDirectory> work = WorkDirectory::make(fs::absolute(parent))) return work;
    else why += "; " + work.error().message;
  }
  return failure(ErrorCode::could_not_finish, {}, "a directory to compile in (cache, TMPDIR, /tmp or /dev/shm)", "none",
                 why);
}

std::optional<DiskCache::Found> DiskCache::find(std::string_view target, const std::string& key,
                                                std::string_view suffix) const {
  if (base_.empty()) return std::nullopt;
  Found found{.entry = {}, .path = base_ / target / fmt::format("{}{}", key, suffix), .note = {}};
  std::optional<Entry> entry = read_entry(found.path, key);
  if (!entry) return std::nullopt;
  found.entry = std::move(*entry);
  return found;
}

Result<DiskCache::Found> DiskCache::get(std::string_view target, const std::string& key, std::string_view suffix,
                                        const std::function<Result<Entry>(const fs::path& work)>& build) const {
  Found found;
  const auto build_in_work = [&]() -> Result<void> {
    WW_TRY(const WorkDirectory work, work_directory());
    WW_TRY(found.entry, build(work.path()));
    found.built = true;
    return {};
  };
  if (base_.empty()) {
    WW_CHECK(build_in_work());
    found.note = "cache not used: " + no_cache_;
    return found;
  }
  if (std::optional<Found> there = find(target, key, suffix)) return std::move(*there);
  const fs::path directory = base_ / target;
  const fs::path file = directory / fmt::format("{}{}", key, suffix);

  const fs::path lock_file = directory / fmt::format(".ww-{}.lock", key);
  const Result<void> made = make_directories(directory);
  const Result<std::optional<FileDescriptor>> tried = advisory_lock(lock_file, kLockTimeout);
  const bool locked = tried && *tried;  // a lock only saves work, and the cache goes on without
  if (std::optional<Found> there = find(target, key, suffix)) return std::move(*there);  // another process was first
  sweep_leftovers(directory);
  if (const Result<void> built = build_in_work(); !built) {
    if (locked) ::unlink(lock_file.c_str());  // nothing of the failed build remains
    return failure(built.error());
  }
  const Result<void> published = made ? publish_file(file, pack(found.entry, key)) : made;
  if (published) found.path = file;
  else found.note = "cache not written: " + published.error().message;
  if (locked) ::unlink(lock_file.c_str());
  return found;
}

}  // namespace ww::jit
