// Declares AHardwareBuffer; no header of Android is required.
#define VK_USE_PLATFORM_ANDROID_KHR
#include "spirloom/external_memory.h"

#include <vulkan/vulkan.h>

#ifndef _WIN32
#include <fcntl.h>
#include <unistd.h>
#endif

#include <bit>
#include <cerrno>
#include <initializer_list>
#include <string>
#include <system_error>
#include <utility>

namespace spirloom {
namespace {

constexpr auto kOpaque = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT;
constexpr auto kDmaBuf = VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT;
constexpr auto kHardwareBuffer = VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID;

Status Error(StatusCode code, std::initializer_list<std::string> pieces) {
  std::string message;
  for (const std::string& piece : pieces) message += piece;
  return Status(code, std::move(message));
}

std::string Text(uint64_t value) { return std::to_string(value); }

// Returns a function of the device. Fails with kUnsupported if its extension is not enabled.
template <typename Function>
Result<Function> Find(const ExternalMemoryDevice& device, const char* name, const char* extension) {
  auto function = reinterpret_cast<Function>(device.get_device_proc_addr(device.device, name));
  if (function != nullptr) return function;
  return Error(StatusCode::kUnsupported, {"The device has no function ", name, ". Enable ",
                                          extension, " in VkDeviceCreateInfo."});
}

Status ToStatus(VkResult result, const char* function) {
  if (result == VK_SUCCESS) return Status();
  const StatusCode code =
      result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY
          ? StatusCode::kOutOfMemory
      : result == VK_ERROR_INVALID_EXTERNAL_HANDLE ? StatusCode::kInvalidArgument
      : result == VK_ERROR_DEVICE_LOST             ? StatusCode::kDeviceLost
                                                   : StatusCode::kInternal;
  return Error(code,
               {function, " failed with VkResult ", std::to_string(static_cast<int>(result)), "."});
}

constexpr const char* kCore = "Vulkan 1.1";

}  // namespace

// Memory to import: its handle type, the struct for VkMemoryAllocateInfo::pNext, the memory types
// that it has, and its size.
struct ImportedMemory {
  VkExternalMemoryHandleTypeFlagBits type = kOpaque;
  const void* next = nullptr;
  uint32_t memory_types = 0;
  uint64_t size = 0;
};

class Importer {
 public:
  // Sets `owned` once the device owns the handle, also if a later call fails.
  static Result<ImportedBuffer> Import(const ExternalMemoryDevice& device,
                                       const ImportedMemory& from, bool* owned = nullptr) {
    ImportedBuffer imported(device);
    imported.size_ = from.size;
    SPIRLOOM_TRY(CreateBuffer(device, from, imported.buffer_));
    // Handles of some types and devices are those of memory for one buffer.
    bool dedicated = false;
    SPIRLOOM_TRY_ASSIGN(const VkMemoryRequirements needs,
                        RequirementsOf(device, imported.buffer_, dedicated));
    const uint32_t types = needs.memoryTypeBits & from.memory_types;
    if (types == 0 || needs.size > from.size) {
      return Error(StatusCode::kUnsupported,
                   {"The imported memory of ", Text(from.size), " bytes and memory types ",
                    Text(from.memory_types), " cannot back a buffer, which requires ",
                    Text(needs.size), " bytes and memory types ", Text(needs.memoryTypeBits), "."});
    }
    VkMemoryDedicatedAllocateInfo buffer{};
    buffer.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO;
    buffer.pNext = from.next;
    buffer.buffer = imported.buffer_;
    VkMemoryAllocateInfo allocation{};
    allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
    allocation.pNext = dedicated ? &buffer : from.next;
    allocation.allocationSize = dedicated && from.type != kHardwareBuffer ? needs.size : from.size;
    allocation.memoryTypeIndex = static_cast<uint32_t>(std::countr_zero(types));
    SPIRLOOM_TRY_ASSIGN(const auto allocate,
                        Find<PFN_vkAllocateMemory>(device, "vkAllocateMemory", kCore));
    SPIRLOOM_TRY_ASSIGN(const auto bind,
                        Find<PFN_vkBindBufferMemory>(device, "vkBindBufferMemory", kCore));
    SPIRLOOM_TRY(
        ToStatus(allocate(device.device, &allocation, /*pAllocator=*/nullptr, &imported.memory_),
                 "vkAllocateMemory"));
    if (owned != nullptr) *owned = true;
    SPIRLOOM_TRY(
        ToStatus(bind(device.device, imported.buffer_, imported.memory_, /*memoryOffset=*/0),
                 "vkBindBufferMemory"));
    return imported;
  }

 private:
  static Status CreateBuffer(const ExternalMemoryDevice& device, const ImportedMemory& from,
                             VkBuffer& buffer) {
    VkExternalMemoryBufferCreateInfo external{};
    external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
    external.handleTypes = from.type;
    VkBufferCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
    info.pNext = &external;
    info.size = from.size;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    SPIRLOOM_TRY_ASSIGN(const auto create,
                        Find<PFN_vkCreateBuffer>(device, "vkCreateBuffer", kCore));
    return ToStatus(create(device.device, &info, /*pAllocator=*/nullptr, &buffer),
                    "vkCreateBuffer");
  }

  // Sets `dedicated` to whether the buffer requires an allocation of its own.
  static Result<VkMemoryRequirements> RequirementsOf(const ExternalMemoryDevice& device,
                                                     VkBuffer buffer, bool& dedicated) {
    SPIRLOOM_TRY_ASSIGN(const auto get, Find<PFN_vkGetBufferMemoryRequirements2>(
                                            device, "vkGetBufferMemoryRequirements2", kCore));
    VkBufferMemoryRequirementsInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_REQUIREMENTS_INFO_2;
    info.buffer = buffer;
    VkMemoryDedicatedRequirements own{};
    own.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS;
    VkMemoryRequirements2 needs{};
    needs.sType = VK_STRUCTURE_TYPE_MEMORY_REQUIREMENTS_2;
    needs.pNext = &own;
    get(device.device, &info, &needs);
    dedicated = own.requiresDedicatedAllocation == VK_TRUE;
    return needs.memoryRequirements;
  }
};

ImportedBuffer::ImportedBuffer(ImportedBuffer&& other) noexcept
    : device_(other.device_),
      buffer_(std::exchange(other.buffer_, VK_NULL_HANDLE)),
      memory_(std::exchange(other.memory_, VK_NULL_HANDLE)),
      size_(std::exchange(other.size_, 0)) {}

ImportedBuffer& ImportedBuffer::operator=(ImportedBuffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(buffer_, other.buffer_);
  std::swap(memory_, other.memory_);
  std::swap(size_, other.size_);
  return *this;
}

ImportedBuffer::~ImportedBuffer() {
  if (buffer_ != VK_NULL_HANDLE) {
    if (auto destroy = Find<PFN_vkDestroyBuffer>(device_, "vkDestroyBuffer", kCore); destroy.ok())
      (*destroy)(device_.device, buffer_, /*pAllocator=*/nullptr);
  }
  if (memory_ != VK_NULL_HANDLE) {
    if (auto free = Find<PFN_vkFreeMemory>(device_, "vkFreeMemory", kCore); free.ok())
      (*free)(device_.device, memory_, /*pAllocator=*/nullptr);
  }
}

namespace {

// Imports a duplicate of the descriptor, which a successful allocation owns: if a later call fails,
// freeing the memory closes it. Closes `fd` on success only.
Result<ImportedBuffer> ImportDescriptor(const ExternalMemoryDevice& device, int fd,
                                        VkExternalMemoryHandleTypeFlagBits type,
                                        uint32_t memory_types, uint64_t size) {
#ifdef _WIN32
  return Error(StatusCode::kUnsupported, {"Windows has no file descriptors of memory."});
#else
  const int duplicate = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (duplicate < 0) {
    return Error(StatusCode::kInvalidArgument,
                 {"The file descriptor ", std::to_string(fd),
                  " cannot be duplicated: ", std::generic_category().message(errno), "."});
  }
  VkImportMemoryFdInfoKHR info{};
  info.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR;
  info.handleType = type;
  info.fd = duplicate;
  bool owned = false;
  Result<ImportedBuffer> imported =
      Importer::Import(device, {type, &info, memory_types, size}, &owned);
  if (!owned) close(duplicate);
  if (imported.ok()) close(fd);
  return imported;
#endif
}

}  // namespace

Result<ImportedBuffer> ImportOpaqueFd(const ExternalMemoryDevice& device, int fd, uint64_t size,
                                      uint32_t memory_type) {
  if (memory_type >= VK_MAX_MEMORY_TYPES || size == 0) {
    return Error(StatusCode::kInvalidArgument, {"Memory type ", Text(memory_type), " or size ",
                                                Text(size), " is invalid; expected less than ",
                                                Text(VK_MAX_MEMORY_TYPES), " and at least 1."});
  }
  SPIRLOOM_TRY(Find<PFN_vkGetMemoryFdKHR>(device, "vkGetMemoryFdKHR",
                                          VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)
                   .status());
  return ImportDescriptor(device, fd, kOpaque, 1u << memory_type, size);
}

Result<ImportedBuffer> ImportDmaBuf(const ExternalMemoryDevice& device, int fd, uint64_t size) {
  if (size == 0) {
    return Error(StatusCode::kInvalidArgument,
                 {"The size of the dma-buf is 0; expected at least 1."});
  }
  SPIRLOOM_TRY_ASSIGN(const auto get_properties, Find<PFN_vkGetMemoryFdPropertiesKHR>(
                                                     device, "vkGetMemoryFdPropertiesKHR",
                                                     VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME));
  VkMemoryFdPropertiesKHR properties{};
  properties.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR;
  SPIRLOOM_TRY(ToStatus(get_properties(device.device, kDmaBuf, fd, &properties),
                        "vkGetMemoryFdPropertiesKHR"));
  return ImportDescriptor(device, fd, kDmaBuf, properties.memoryTypeBits, size);
}

Result<ImportedBuffer> ImportHardwareBuffer(const ExternalMemoryDevice& device,
                                            AHardwareBuffer* buffer) {
  if (buffer == nullptr) {
    return Error(StatusCode::kInvalidArgument, {"The hardware buffer is null."});
  }
  SPIRLOOM_TRY_ASSIGN(const auto get_properties,
                      Find<PFN_vkGetAndroidHardwareBufferPropertiesANDROID>(
                          device, "vkGetAndroidHardwareBufferPropertiesANDROID",
                          VK_ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER_EXTENSION_NAME));
  VkAndroidHardwareBufferPropertiesANDROID properties{};
  properties.sType = VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_PROPERTIES_ANDROID;
  SPIRLOOM_TRY(ToStatus(get_properties(device.device, buffer, &properties),
                        "vkGetAndroidHardwareBufferPropertiesANDROID"));
  VkImportAndroidHardwareBufferInfoANDROID info{};
  info.sType = VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID;
  info.buffer = buffer;
  return Importer::Import(
      device, {kHardwareBuffer, &info, properties.memoryTypeBits, properties.allocationSize});
}

}  // namespace spirloom
