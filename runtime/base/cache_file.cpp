#include "runtime/base/cache_file.h"

#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/base/file_writer.h"
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

std::vector<std::byte> ReadCacheFile(const std::string& path) {
  const std::filesystem::path file_path = ToPath(path);
  std::error_code error;
  const uintmax_t file_size = std::filesystem::file_size(file_path, error);
  if (error || file_size < sizeof(FileHeader)) return {};
  if (file_size > sizeof(FileHeader) + kMaxCacheBytes) return {};
  std::ifstream file(file_path, std::ios::binary);
  FileHeader header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  // The size comes from the file and must be checked before it is used.
  if (!file || header.size != file_size - sizeof(header)) return {};
  std::vector<std::byte> payload(static_cast<size_t>(header.size));
  file.read(reinterpret_cast<char*>(payload.data()), static_cast<std::streamsize>(payload.size()));
  const FileHeader expected = HeaderOf(payload);
  if (!file || std::memcmp(&header, &expected, sizeof(header)) != 0) return {};
  return payload;
}

bool WriteCacheFile(const std::string& path, std::span<const std::byte> payload) {
  if (payload.size() > kMaxCacheBytes) return false;
  std::error_code error;
  const std::filesystem::path directory = ToPath(path).parent_path();
  std::filesystem::create_directories(directory, error);
  RemoveOrphans(PathText(directory));
  const FileHeader header = HeaderOf(payload);
  return ReplaceFile(path, {std::as_bytes(std::span(&header, 1)), payload}, Durability::kFast).ok();
}

}  // namespace spirloom
