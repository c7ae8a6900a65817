#include "runtime/vulkan/memory.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// Property flags that a memory type must and must not have.
struct MemoryTypePreference {
  VkMemoryPropertyFlags required;
  VkMemoryPropertyFlags excluded;
};

// Protected, lazily allocated and vendor-specific uncached types are not used.
constexpr VkMemoryPropertyFlags kExcludedFlags = ~(kLocal | kCached | kMapped);
using Preference = MemoryTypePreference;
constexpr auto kDevicePreferences =
    std::to_array<Preference>({{kLocal, kExcludedFlags | VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT},
                               {kLocal, kExcludedFlags},
                               {0, kExcludedFlags}});
constexpr auto kUploadPreferences =
    std::to_array<Preference>({{kMapped, kExcludedFlags | kLocal | kCached},
                               {kMapped, kExcludedFlags | kLocal},
                               {kMapped, kExcludedFlags}});
constexpr auto kReadbackPreferences =
    std::to_array<Preference>({{kMapped | kCached | kLocal, kExcludedFlags},
                               {kMapped | kCached, kExcludedFlags},
                               {kMapped, kExcludedFlags}});
constexpr auto kSharedPreferences =
    std::to_array<Preference>({{kMapped | kLocal, kExcludedFlags}, {kMapped, kExcludedFlags}});

// In descending order of preference.
std::span<const MemoryTypePreference> PreferencesFor(MemoryUse use) {
  switch (use) {
    case MemoryUse::kUpload:
      return kUploadPreferences;
    case MemoryUse::kReadback:
      return kReadbackPreferences;
    case MemoryUse::kShared:
      return kSharedPreferences;
    case MemoryUse::kDevice:
      break;
  }
  return kDevicePreferences;
}

Status TooLarge(VkDeviceSize size, const char* limit_name, VkDeviceSize limit) {
  return Error(StatusCode::kOutOfMemory,
               "An allocation of {} bytes exceeds the device's {} ({} bytes).", size, limit_name,
               limit);
}

// Adds `size` to the allocated bytes, unless the sum exceeds RuntimeOptions::memory_limit.
Status Reserve(const Device& device, VkDeviceSize size) {
  DeviceCounters& counters = device.counters();
  const uint64_t limit = device.host().memory_limit;
  const uint64_t now = counters.allocated_bytes.fetch_add(size) + size;
  if (limit > 0 && now > limit) {
    counters.allocated_bytes.fetch_sub(size);
    return Error(StatusCode::kOutOfMemory,
                 "An allocation of {} bytes, with {} bytes in use, exceeds "
                 "RuntimeOptions::memory_limit ({} bytes).",
                 size, now - size, limit);
  }
  uint64_t peak = counters.peak_bytes.load();
  while (peak < now && !counters.peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return {};
}

}  // namespace

std::optional<uint32_t> ChooseMemoryType(const VkPhysicalDeviceMemoryProperties& memory,
                                         uint32_t type_bits, MemoryUse use) {
  for (const MemoryTypePreference& preference : PreferencesFor(use)) {
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
      if ((type_bits >> i & 1) == 0) continue;
      if ((flags & preference.required) != preference.required) continue;
      if ((flags & preference.excluded) == 0) return i;
    }
  }
  return std::nullopt;
}

std::optional<std::vector<uint32_t>> ChooseMemoryTypes(
    const VkPhysicalDeviceMemoryProperties& memory, std::span<const uint32_t> type_bits,
    MemoryUse use) {
  uint32_t common_bits = ~uint32_t{0};
  std::vector<uint32_t> types;
  for (uint32_t bits : type_bits) {
    const std::optional<uint32_t> type = ChooseMemoryType(memory, bits, use);
    if (!type) return std::nullopt;
    types.push_back(*type);
    common_bits &= bits;
  }
  const std::optional<uint32_t> common = ChooseMemoryType(memory, common_bits, use);
  const auto as_good = [&](uint32_t type) {
    return memory.memoryTypes[type].propertyFlags == memory.memoryTypes[*common].propertyFlags;
  };
  if (common && std::ranges::all_of(types, as_good)) std::ranges::fill(types, *common);
  return types;
}

std::vector<uint32_t> MemoryTypesFor(const VkPhysicalDeviceMemoryProperties& memory,
                                     uint32_t type_bits, MemoryUse use) {
  std::vector<uint32_t> types;
  while (const std::optional<uint32_t> type = ChooseMemoryType(memory, type_bits, use)) {
    types.push_back(*type);
    for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
      const bool same = memory.memoryTypes[i].heapIndex == memory.memoryTypes[*type].heapIndex;
      if (same) type_bits &= ~(uint32_t{1} << i);
    }
  }
  return types;
}

Result<DeviceMemory> DeviceMemory::Create(const Device& device, VkDeviceSize size,
                                          uint32_t type_bits, MemoryUse use) {
  const PhysicalDevice& physical = device.physical();
  const std::vector<uint32_t> types = MemoryTypesFor(physical.memory, type_bits, use);
  if (types.empty()) {
    return Error(StatusCode::kUnsupported, "The device has no memory type for this use.");
  }
  if (size > physical.max_memory_allocation_size) {
    return TooLarge(size, "maxMemoryAllocationSize", physical.max_memory_allocation_size);
  }
  SPIRLOOM_TRY(Reserve(device, size));
  DeviceMemory memory;
  if (Status status = memory.Allocate(device, size, types); !status.ok()) {
    device.counters().allocated_bytes.fetch_sub(size);
    return status;
  }
  if (use == MemoryUse::kDevice) return memory;
  void* mapped = nullptr;
  SPIRLOOM_TRY(ToStatus(device.fn().vkMapMemory(device.handle(), memory.handle_, /*offset=*/0,
                                                VK_WHOLE_SIZE, /*flags=*/0, &mapped),
                        "vkMapMemory"));
  memory.mapped_ = static_cast<std::byte*>(mapped);
  return memory;
}

Status DeviceMemory::Allocate(const Device& device, VkDeviceSize size,
                              std::span<const uint32_t> types) {
  const VkPhysicalDeviceMemoryProperties& offered = device.physical().memory;
  Status first;  // the error of the preferred type, which is returned
  for (uint32_t type : types) {
    const VkDeviceSize heap = offered.memoryHeaps[offered.memoryTypes[type].heapIndex].size;
    if (size > heap) {
      if (first.ok()) first = TooLarge(size, "memory heap", heap);
      continue;
    }
    VkMemoryAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    info.allocationSize = size;
    info.memoryTypeIndex = type;
    const VkResult result =
        device.fn().vkAllocateMemory(device.handle(), &info, device.allocator(), &handle_);
    if (result == VK_SUCCESS) {
      device_ = &device;
      size_ = size;
      type_ = type;
      device.counters().memory_allocations.fetch_add(1);
      return {};
    }
    if (first.ok()) {
      first = While(ToStatus(result, "vkAllocateMemory"), "allocating {} bytes", size);
    }
    if (result != VK_ERROR_OUT_OF_DEVICE_MEMORY) break;
  }
  return first;
}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept
    : device_(std::exchange(other.device_, nullptr)),
      handle_(std::exchange(other.handle_, VK_NULL_HANDLE)),
      size_(std::exchange(other.size_, 0)),
      type_(other.type_),
      mapped_(std::exchange(other.mapped_, nullptr)) {}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  DeviceMemory moved(std::move(other));
  std::swap(device_, moved.device_);
  std::swap(handle_, moved.handle_);
  std::swap(size_, moved.size_);
  std::swap(type_, moved.type_);
  std::swap(mapped_, moved.mapped_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (device_ == nullptr || device_->abandoned()) return;
  device_->counters().memory_frees.fetch_add(1);
  assert(device_->counters().allocated_bytes >= size_);
  device_->counters().allocated_bytes.fetch_sub(size_);
  device_->fn().vkFreeMemory(device_->handle(), handle_, device_->allocator());
}

}  // namespace spirloom::vulkan
