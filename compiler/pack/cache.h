// A content-addressed cache of compiled modules.
#ifndef SPIRLOOM_COMPILER_PACK_CACHE_H_
#define SPIRLOOM_COMPILER_PACK_CACHE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/manifest/manifest.h"

namespace spirloom::compiler {

// XXH3-128 of a variant's GLSL text, target and interface, and of the versions and flags of
// compiler and optimizer. Does not include positions in specs.
struct CacheKey {
  uint64_t high = 0;
  uint64_t low = 0;
  // 32 hexadecimal digits.
  std::string ToString() const;
  auto operator<=>(const CacheKey&) const = default;
};
CacheKey MakeCacheKey(const Variant& variant, std::string_view glsl, std::string_view tool_version);

// GlslangVersion(), OptimizerVersion() and the version of the checks.
std::string ToolVersion();

// The result of a variant: its checked module, or the reason why it was skipped.
struct CacheEntry {
  std::vector<uint32_t> words;
  std::string skip_reason;  // if not empty, there is no module
};

// A directory with one file per key. Corrupt files count as missing and are replaced. Load() writes
// nothing. With an empty directory name, the cache stores nothing. Several threads and processes
// may use a cache concurrently.
class Cache {
 public:
  explicit Cache(std::filesystem::path directory) : directory_(std::move(directory)) {}

  std::optional<CacheEntry> Load(const CacheKey& key) const;
  Status Store(const CacheKey& key, const CacheEntry& entry) const;
  // Removes the oldest entries that are not in `keep` (CacheKey::ToString()), until the size is at
  // most `max_bytes` or only entries in `keep` remain.
  void Trim(uintmax_t max_bytes, const std::set<std::string>& keep) const;

 private:
  std::filesystem::path PathOf(const CacheKey& key) const;

  std::filesystem::path directory_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_CACHE_H_
