// SPDX-License-Identifier: Apache-2.0
// The packs that a process uses, in the order in which they are asked. A pack that is broken, or that the driver
// refuses, is not used, and the reason is kept; a broken kernel counts as absent. Nothing here fails a call.
#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "jit/pack.hpp"
#include "warpwright/host/compile.hpp"

namespace ww::jit {

class PackSet {
 public:
  /// Opens the packs of `folders`, ascending by name in each. A folder that others may write is not used.
  explicit PackSet(const std::vector<fs::path>& folders);

  struct Found {
    Entry entry;
    fs::path pack;
  };
  /// Returns the kernel of `key`. `note` gets the reason for which one was passed over.
  std::optional<Found> find(std::string_view key, std::string& note);

  /// Ends the use of a pack whose kernels the driver refuses, because they all come from one compiler.
  void refuse(const fs::path& pack, const std::string& why);

  std::vector<KernelPack> report(bool check_kernels) const;

  /// Returns the packs of this process, opened at the first call.
  static PackSet& of_process();

 private:
  struct Member {
    std::optional<Pack> pack;  // empty: it could not be opened
    KernelPack facts;
    bool refused = false;
  };
  mutable std::mutex mutex_;
  std::vector<Member> members_;
};

}  // namespace ww::jit
