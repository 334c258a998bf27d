// SPDX-License-Identifier: Apache-2.0
// Finds the cache directory. Modules found there are loaded into the process, so nobody else may own or write it.
#include <pwd.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "jit/files.hpp"
#include "jit/jit.hpp"

namespace ww::jit {
namespace {

fs::path from_environment(const char* variable) {
  const char* value = std::getenv(variable);
  return value ? fs::path(value) : fs::path();
}

fs::path home() {
  if (fs::path home = from_environment("HOME"); !home.empty()) return home;
  std::vector<char> buffer(16384);
  struct passwd entry {};
  struct passwd* found = nullptr;
  ::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found && found->pw_dir ? fs::path(found->pw_dir) : fs::path();
}

fs::path choose(const fs::path& requested) {
  if (!requested.empty()) return requested;
  if (fs::path own = from_environment("WARPWRIGHT_CACHE_DIR"); !own.empty()) return own;
  // The XDG specification says to ignore relative paths.
  if (fs::path xdg = from_environment("XDG_CACHE_HOME"); xdg.is_absolute()) return xdg / "warpwright";
  if (fs::path user = home(); !user.empty()) return user / ".cache" / "warpwright";
  return {};
}

}  // namespace

Result<fs::path> cache_root(const fs::path& requested) {
  const fs::path chosen = choose(requested);
  if (chosen.empty())
    return failure(ErrorCode::could_not_finish, "cache directory",
                   "WARPWRIGHT_CACHE_DIR, XDG_CACHE_HOME or HOME to be set", "none of them");
  std::error_code error;
  const fs::path root = fs::absolute(chosen, error).lexically_normal();
  if (error) return failure(file_error("absolute path of", chosen, error.value()));
  WW_CHECK(make_directories(root));
  if (const std::string why = why_not_trusted(root); !why.empty())
    return failure(ErrorCode::could_not_finish, "cache directory",
                   root.string() + " to belong to this user alone, since code is loaded from it", why);
  return root;
}

}  // namespace ww::jit
