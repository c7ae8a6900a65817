// Files whose loss does no harm: written as a whole or not at all, and ignored when damaged.
#ifndef SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_
#define SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirloom {

// What a file holds at most: memory for it is taken when it is read, whoever wrote it.
inline constexpr uint64_t kMaxCacheBytes = uint64_t{256} << 20;

// The payload of a file that WriteCacheFile() wrote; empty when there is none, or it is truncated,
// altered or too large.
std::vector<std::byte> ReadCacheFile(const std::string& path);

// Puts `payload`, with its size and digest before it, in the place of `path`, making the folders.
// Returns false when that cannot be done or it is too large; what was there then remains.
bool WriteCacheFile(const std::string& path, std::span<const std::byte> payload);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_
