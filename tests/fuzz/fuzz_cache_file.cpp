// Reads arbitrary bytes as a file of the cache directory, and its payload as tuning results and as
// a pipeline cache; and the bytes as verdicts, whose file has no header.
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/cache_file.h"
#include "runtime/session/quarantine.h"
#include "runtime/session/tuning_store.h"
#include "runtime/vulkan/pipeline_cache.h"
#include "tests/fuzz/fuzzing.h"
#include "tests/fuzz/memory_file.h"

namespace {

using spirloom::fuzz::Require;

// Magic, version, payload size and XXH64 of the payload (runtime/base/cache_file.cpp).
constexpr size_t kHeaderBytes = 24;

void CheckTuning(std::string_view text) {
  const spirloom::session::TunedKernels kernels = spirloom::session::ParseTuning(text);
  const std::string again = spirloom::session::FormatTuning(kernels);
  Require(spirloom::session::ParseTuning(again) == kernels, "tuning results survive a round trip");
}

void CheckPipelineCache(std::span<const std::byte> payload) {
  const spirloom::vulkan::PhysicalDevice device{};
  if (!spirloom::vulkan::IsOwnPipelineCache(device, payload)) return;
  Require(payload.size() >= sizeof(VkPipelineCacheHeaderVersionOne),
          "a pipeline cache has a header");
}

void CheckVerdicts(std::string_view text) {
  static spirloom::fuzz::Tally read("files of verdicts read");
  const spirloom::ops::OpIndex no_libraries;
  spirloom::session::Quarantine quarantine(no_libraries);
  const auto names = quarantine.AddVerdicts(text, "driver");
  read.Count(names.ok());
  if (names.ok()) Require(names->empty(), "no variants are found without libraries");
  Require(quarantine.variants().empty(), "no variants are quarantined without libraries");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static spirloom::fuzz::MemoryFile file;
  const std::span<const std::byte> bytes = spirloom::fuzz::BytesOf(data, size);
  file.Write(bytes);
  const std::vector<std::byte> payload = spirloom::ReadCacheFile(file.path());
  static spirloom::fuzz::Tally read("cache files read");
  read.Count(!payload.empty());
  Require(payload.empty() || payload.size() == size - kHeaderBytes,
          "the payload has the file's size");
  const std::string_view text(reinterpret_cast<const char*>(payload.data()), payload.size());
  CheckVerdicts({reinterpret_cast<const char*>(data), size});
  CheckTuning(text);
  CheckPipelineCache(payload);
  return 0;
}

// Corrects size and digest of most inputs; otherwise the payload would be ignored.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (size < kHeaderBytes || seed % 8 == 0) return size;
  const uint64_t payload = size - kHeaderBytes;
  const uint64_t digest = XXH64(data + kHeaderBytes, payload, /*seed=*/0);
  constexpr uint32_t kHeading[] = {0x43504c53, 1};
  std::memcpy(data, kHeading, sizeof(kHeading));
  std::memcpy(data + 8, &payload, sizeof(payload));
  std::memcpy(data + 16, &digest, sizeof(digest));
  return size;
}
