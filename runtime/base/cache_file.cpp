#include "runtime/base/cache_file.h"

#include <xxhash.h>

#include <cstdint>
#include <cstring>

#include "runtime/base/file_writer.h"
#include "runtime/base/mapped_file.h"
#include "runtime/base/path.h"

namespace spirloom {
namespace {

constexpr uint32_t kMagic = 0x43504c53;  // "SLPC"
constexpr uint32_t kVersion = 1;

struct FileHeader {
  uint32_t magic;
  uint32_t version;
  uint64_t size;    // of the payload
  uint64_t digest;  // XXH64 of the payload
};

FileHeader HeaderOf(std::span<const std::byte> payload) {
  return {kMagic, kVersion, payload.size(), XXH64(payload.data(), payload.size(), /*seed=*/0)};
}

}  // namespace

// Streams and std::filesystem would add libstdc++'s locales to a static program, 700 kB.
std::vector<std::byte> ReadCacheFile(const std::string& path) {
  const Result<MappedFile> file = MappedFile::Open(path);
  if (!file.ok()) return {};
  const std::span<const std::byte> bytes = file->bytes();
  FileHeader header{};
  if (bytes.size() < sizeof(header) || bytes.size() > sizeof(header) + kMaxCacheBytes) return {};
  std::memcpy(&header, bytes.data(), sizeof(header));
  // The size comes from the file and must be checked before it is used.
  if (header.size != bytes.size() - sizeof(header)) return {};
  const std::span<const std::byte> rest = bytes.subspan(sizeof(header));
  std::vector<std::byte> payload(rest.begin(), rest.end());
  const FileHeader expected = HeaderOf(payload);
  if (std::memcmp(&header, &expected, sizeof(header)) != 0) return {};
  return payload;
}

bool WriteCacheFile(const std::string& path, std::span<const std::byte> payload) {
  if (payload.size() > kMaxCacheBytes) return false;
  const std::string directory = DirectoryOf(path);
  CreateDirectories(directory);
  RemoveOrphans(directory);
  const FileHeader header = HeaderOf(payload);
  return ReplaceFile(path, {std::as_bytes(std::span(&header, 1)), payload}, Durability::kFast).ok();
}

}  // namespace spirloom
