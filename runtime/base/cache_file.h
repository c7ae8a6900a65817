// Files whose loss does no harm: written as a whole or not at all, and ignored when damaged.
#ifndef SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_
#define SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace spirloom {

// The payload of a file that WriteCacheFile() wrote; empty when there is none, or it is truncated
// or altered.
std::vector<std::byte> ReadCacheFile(const std::string& path);

// Puts `payload`, with its size and digest before it, in the place of `path`, making the folders.
// Returns false when that cannot be done; what was there then remains.
bool WriteCacheFile(const std::string& path, std::span<const std::byte> payload);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_
