#include "runtime/vulkan/imported_memory.h"

#include <bit>
#include <cstdint>

#include "runtime/base/error.h"

namespace spirloom::vulkan {
namespace {

constexpr auto kHostMemory = VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT;

Status Check(const Device& device, std::span<std::byte> bytes) {
  if (device.host_pointer_properties() == nullptr) {
    return Error(StatusCode::kUnsupported,
                 "Host memory cannot be imported: VK_EXT_external_memory_host is {}",
                 device.physical().host_pointer_alignment == 0
                     ? "not supported by the device."
                     : "not enabled. Set RuntimeOptions::import_host_memory, or add it to "
                       "AdoptedDevice::extensions.");
  }
  const uint64_t alignment = device.physical().host_pointer_alignment;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0 && bytes.size() % alignment == 0) {
    return {};
  }
  return Error(StatusCode::kInvalidArgument,
               "Host memory of {} bytes at address {} cannot be imported: size and address must be "
               "multiples of {} (minImportedHostPointerAlignment).",
               bytes.size(), reinterpret_cast<uintptr_t>(bytes.data()), alignment);
}

// The memory types (bits) whose host accesses need no flush or invalidation.
uint32_t CoherentTypes(const VkPhysicalDeviceMemoryProperties& memory) {
  uint32_t types = 0;
  for (uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory.memoryTypes[i].propertyFlags;
    if ((flags & VK_MEMORY_PROPERTY_HOST_COHERENT_BIT) != 0) types |= 1u << i;
  }
  return types;
}

}  // namespace

Result<ImportedMemory> ImportedMemory::Create(const Device& device, std::span<std::byte> bytes) {
  SPIRLOOM_TRY(Check(device, bytes));
  VkExternalMemoryBufferCreateInfo external{};
  external.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO;
  external.handleTypes = kHostMemory;
  VkBufferCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO;
  info.pNext = &external;
  info.size = bytes.size();
  info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  VkBuffer buffer = VK_NULL_HANDLE;
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkCreateBuffer(device.handle(), &info, device.allocator(), &buffer),
               "vkCreateBuffer"));
  ImportedMemory imported;
  imported.buffer_ = {device, buffer};

  VkMemoryRequirements needs{};
  device.fn().vkGetBufferMemoryRequirements(device.handle(), buffer, &needs);
  VkMemoryHostPointerPropertiesEXT properties{};
  properties.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT;
  SPIRLOOM_TRY(ToStatus(
      device.host_pointer_properties()(device.handle(), kHostMemory, bytes.data(), &properties),
      "vkGetMemoryHostPointerPropertiesEXT"));
  const uint32_t types =
      needs.memoryTypeBits & properties.memoryTypeBits & CoherentTypes(device.physical().memory);
  if (types == 0 || needs.size > bytes.size()) {
    return Error(StatusCode::kUnsupported,
                 "The device cannot create a coherent buffer on this host memory.");
  }
  VkImportMemoryHostPointerInfoEXT pointer{};
  pointer.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT;
  pointer.handleType = kHostMemory;
  pointer.pHostPointer = bytes.data();
  VkMemoryAllocateInfo allocation{};
  allocation.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO;
  allocation.pNext = &pointer;
  allocation.allocationSize = bytes.size();
  allocation.memoryTypeIndex = static_cast<uint32_t>(std::countr_zero(types));
  VkDeviceMemory memory = VK_NULL_HANDLE;
  SPIRLOOM_TRY(ToStatus(
      device.fn().vkAllocateMemory(device.handle(), &allocation, device.allocator(), &memory),
      "vkAllocateMemory"));
  imported.memory_ = {device, memory};
  SPIRLOOM_TRY(
      ToStatus(device.fn().vkBindBufferMemory(device.handle(), buffer, memory, /*memoryOffset=*/0),
               "vkBindBufferMemory"));
  return imported;
}

}  // namespace spirloom::vulkan
