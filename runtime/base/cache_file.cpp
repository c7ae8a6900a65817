#include "runtime/base/cache_file.h"

#include <xxhash.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <thread>

#include "runtime/base/text.h"

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

// A name beside `path` that no other writer, in this process or another, uses now.
std::filesystem::path TemporaryPath(const std::string& path) {
  const auto time = std::chrono::steady_clock::now().time_since_epoch().count();
  const size_t thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  return Concat({path, ".", time, "-", thread, ".tmp"});
}

bool WriteFile(const std::filesystem::path& path, const FileHeader& header,
               std::span<const std::byte> payload) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(&header), sizeof(header));
  file.write(reinterpret_cast<const char*>(payload.data()),
             static_cast<std::streamsize>(payload.size()));
  file.close();
  return file.good();
}

}  // namespace

std::vector<std::byte> ReadCacheFile(const std::string& path) {
  std::error_code error;
  const uintmax_t file_size = std::filesystem::file_size(path, error);
  if (error || file_size < sizeof(FileHeader)) return {};
  std::ifstream file(path, std::ios::binary);
  FileHeader header{};
  file.read(reinterpret_cast<char*>(&header), sizeof(header));
  // The size is checked against the file before it is believed.
  if (!file || header.size != file_size - sizeof(header)) return {};
  std::vector<std::byte> payload(header.size);
  file.read(reinterpret_cast<char*>(payload.data()), static_cast<std::streamsize>(payload.size()));
  const FileHeader expected = HeaderOf(payload);
  if (!file || std::memcmp(&header, &expected, sizeof(header)) != 0) return {};
  return payload;
}

bool WriteCacheFile(const std::string& path, std::span<const std::byte> payload) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const std::filesystem::path temporary = TemporaryPath(path);
  bool written = WriteFile(temporary, HeaderOf(payload), payload);
  if (written) {
    std::filesystem::rename(temporary, path, error);
    written = !error;
  }
  if (!written) std::filesystem::remove(temporary, error);
  return written;
}

}  // namespace spirloom
