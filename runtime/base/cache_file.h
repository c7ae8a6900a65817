// Cache files: replaced atomically, and ignored if damaged.
#ifndef SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_
#define SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace spirloom {

// Maximum size of a payload; bounds the memory that reading an untrusted file allocates.
inline constexpr uint64_t kMaxCacheBytes = uint64_t{256} << 20;

// Returns the payload of a file of WriteCacheFile(); empty if the file does not exist, or is
// truncated, modified or too large.
std::vector<std::byte> ReadCacheFile(const std::string& path);

// Replaces the file at `path` by `payload`, preceded by its size and digest. Creates directories.
// Returns false if that fails or `payload` is too large; the file is then unchanged.
bool WriteCacheFile(const std::string& path, std::span<const std::byte> payload);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_CACHE_FILE_H_
