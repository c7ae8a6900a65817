// Compiled modules kept between runs, under the hash of everything they depend on.
#ifndef SPIRLOOM_COMPILER_CACHE_H_
#define SPIRLOOM_COMPILER_CACHE_H_

#include <array>
#include <compare>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/manifest.h"

namespace spirloom::compiler {

// XXH3-128 of a variant's GLSL text, its target, what its module is checked against, and the
// versions and flags of compiler and optimiser. Positions in specs are left out.
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

// What is kept of a variant: its checked module, or why it was left out.
struct CacheEntry {
  std::vector<uint32_t> words;
  std::string left_out_reason;  // not empty: there is no module
};

// A folder with one file per key. Corrupt files count as absent and are replaced. Reading changes
// nothing. An empty folder name makes a cache that holds nothing. May be used by several threads
// and processes at once.
class Cache {
 public:
  explicit Cache(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::optional<CacheEntry> Load(const CacheKey& key) const;
  Status Store(const CacheKey& key, const CacheEntry& entry) const;
  // Removes the oldest entries, sparing those in `keep` (CacheKey::ToString()), until the folder
  // holds at most `max_bytes` or nothing else may go.
  void Trim(uintmax_t max_bytes, const std::set<std::string>& keep) const;

 private:
  std::filesystem::path PathOf(const CacheKey& key) const;

  std::filesystem::path folder_;
};

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CACHE_H_
