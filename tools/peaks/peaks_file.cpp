#include "tools/peaks/peaks_file.h"

#include <cstring>
#include <span>
#include <type_traits>

#include "runtime/base/cache_file.h"
#include "runtime/vulkan/pipeline_cache.h"

namespace spirloom::peaks {
namespace {

// The version of Payload. Files of another version are ignored.
constexpr uint64_t kFormat = 1;

struct Payload {
  uint64_t format = kFormat;
  DevicePeaks peaks;
};
static_assert(std::is_trivially_copyable_v<Payload>);

}  // namespace

std::string PeaksPath(const std::string& cache_dir, const DeviceInfo& device) {
  const std::string folder = cache_dir.empty() ? vulkan::DefaultCacheDirectory() : cache_dir;
  if (folder.empty() || folder == "none") return "";
  const std::string id = device.uuid.substr(device.uuid.find(':') + 1);
  return folder + "/peaks-" + id + "-" + std::to_string(device.driver_version_number) + ".bin";
}

std::optional<DevicePeaks> ReadPeaks(const std::string& path) {
  if (path.empty()) return std::nullopt;
  const std::vector<std::byte> bytes = ReadCacheFile(path);
  Payload payload;
  if (bytes.size() != sizeof(payload)) return std::nullopt;
  std::memcpy(&payload, bytes.data(), sizeof(payload));
  if (payload.format != kFormat) return std::nullopt;
  return payload.peaks;
}

void WritePeaks(const std::string& path, const DevicePeaks& found) {
  if (path.empty()) return;
  const Payload payload{kFormat, found};
  WriteCacheFile(path, std::as_bytes(std::span(&payload, 1)));
}

}  // namespace spirloom::peaks
