// The Vulkan calls of an import, on a device whose functions record them: devices with dma-buf and
// hardware buffers are not available in tests.
#define VK_USE_PLATFORM_ANDROID_KHR
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include <string_view>
#include <utility>

#include "spirloom/external_memory.h"

namespace spirloom {
namespace {

// What the fake functions return, and the calls so far.
struct Recorded {
  VkResult allocate_result = VK_SUCCESS;
  VkResult bind_result = VK_SUCCESS;
  uint32_t memory_types = 0b1100;
  VkExternalMemoryHandleTypeFlags buffer_types = 0;
  VkDeviceSize buffer_size = 0;
  VkDeviceSize allocation_size = 0;
  uint32_t memory_type = 99;
  int fd = -1;
  bool is_dedicated = false;
  VkBuffer own_buffer = VK_NULL_HANDLE;
  AHardwareBuffer* hardware_buffer = nullptr;
  int buffers = 0;   // alive
  int memories = 0;  // alive
};
Recorded recorded;

VkResult CreateBuffer(VkDevice, const VkBufferCreateInfo* info, const VkAllocationCallbacks*,
                      VkBuffer* buffer) {
  recorded.buffer_types =
      static_cast<const VkExternalMemoryBufferCreateInfo*>(info->pNext)->handleTypes;
  recorded.buffer_size = info->size;
  ++recorded.buffers;
  *buffer = reinterpret_cast<VkBuffer>(uintptr_t{1});
  return VK_SUCCESS;
}
void DestroyBuffer(VkDevice, VkBuffer, const VkAllocationCallbacks*) { --recorded.buffers; }
void Requirements(VkDevice, const VkBufferMemoryRequirementsInfo2*, VkMemoryRequirements2* needs) {
  needs->memoryRequirements = {.size = 4096, .alignment = 64, .memoryTypeBits = 0b1010};
  static_cast<VkMemoryDedicatedRequirements*>(needs->pNext)->requiresDedicatedAllocation =
      recorded.is_dedicated ? VK_TRUE : VK_FALSE;
}
VkResult Allocate(VkDevice, const VkMemoryAllocateInfo* info, const VkAllocationCallbacks*,
                  VkDeviceMemory* memory) {
  if (recorded.allocate_result != VK_SUCCESS) return recorded.allocate_result;
  recorded.allocation_size = info->allocationSize;
  recorded.memory_type = info->memoryTypeIndex;
  const auto* next = static_cast<const VkBaseInStructure*>(info->pNext);
  if (next->sType == VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO) {
    recorded.own_buffer = reinterpret_cast<const VkMemoryDedicatedAllocateInfo*>(next)->buffer;
    next = next->pNext;
  }
  if (next->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) {
    recorded.fd = reinterpret_cast<const VkImportMemoryFdInfoKHR*>(next)->fd;
  } else {
    recorded.hardware_buffer =
        reinterpret_cast<const VkImportAndroidHardwareBufferInfoANDROID*>(next)->buffer;
  }
  ++recorded.memories;
  *memory = reinterpret_cast<VkDeviceMemory>(uintptr_t{2});
  return VK_SUCCESS;
}
void Free(VkDevice, VkDeviceMemory, const VkAllocationCallbacks*) {
  --recorded.memories;
  if (recorded.fd >= 0) {
    EXPECT_EQ(close(recorded.fd), 0);
  }
  recorded.fd = -1;
}
VkResult Bind(VkDevice, VkBuffer, VkDeviceMemory, VkDeviceSize) { return recorded.bind_result; }
VkResult FdProperties(VkDevice, VkExternalMemoryHandleTypeFlagBits, int,
                      VkMemoryFdPropertiesKHR* properties) {
  properties->memoryTypeBits = recorded.memory_types;
  return VK_SUCCESS;
}
VkResult HardwareBufferProperties(VkDevice, const AHardwareBuffer*,
                                  VkAndroidHardwareBufferPropertiesANDROID* properties) {
  properties->memoryTypeBits = recorded.memory_types;
  properties->allocationSize = 8192;
  return VK_SUCCESS;
}

PFN_vkVoidFunction Find(VkDevice, const char* name) {
  const std::pair<std::string_view, PFN_vkVoidFunction> functions[] = {
      {"vkCreateBuffer", reinterpret_cast<PFN_vkVoidFunction>(CreateBuffer)},
      {"vkDestroyBuffer", reinterpret_cast<PFN_vkVoidFunction>(DestroyBuffer)},
      {"vkGetBufferMemoryRequirements2", reinterpret_cast<PFN_vkVoidFunction>(Requirements)},
      {"vkAllocateMemory", reinterpret_cast<PFN_vkVoidFunction>(Allocate)},
      {"vkFreeMemory", reinterpret_cast<PFN_vkVoidFunction>(Free)},
      {"vkBindBufferMemory", reinterpret_cast<PFN_vkVoidFunction>(Bind)},
      {"vkGetMemoryFdPropertiesKHR", reinterpret_cast<PFN_vkVoidFunction>(FdProperties)},
      {"vkGetAndroidHardwareBufferPropertiesANDROID",
       reinterpret_cast<PFN_vkVoidFunction>(HardwareBufferProperties)},
  };
  for (const auto& [known, function] : functions) {
    if (known == name) return function;
  }
  return nullptr;
}

class RecordedDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override { recorded = {}; }
  void TearDown() override {
    EXPECT_EQ(recorded.buffers, 0);
    EXPECT_EQ(recorded.memories, 0);
  }

  const ExternalMemoryDevice device_{reinterpret_cast<VkDevice>(uintptr_t{3}), Find};
};

// A descriptor of a new file.
int NewFile() {
  char path[] = "/tmp/spirloom-imported-XXXXXX";
  const int fd = mkstemp(path);
  EXPECT_GE(fd, 0);
  unlink(path);
  return fd;
}

// The inode of an open descriptor, or 0.
ino_t InodeOf(int fd) {
  struct stat info = {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

TEST_F(RecordedDeviceTest, ImportsADmaBuf) {
  const int fd = NewFile();
  const ino_t inode = InodeOf(fd);
  Result<ImportedBuffer> imported = ImportDmaBuf(device_, fd, 4096);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(InodeOf(fd), 0u) << "the device owns the descriptor";
  const ImportedBuffer moved = *std::move(imported);
  EXPECT_EQ(recorded.buffer_types, VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT);
  EXPECT_EQ(InodeOf(recorded.fd), inode);
  EXPECT_EQ(recorded.memory_type, 3u);  // of both the memory and the buffer
  EXPECT_EQ(moved.range().size, 4096u);
  EXPECT_EQ(moved.range().buffer, moved.buffer());
}

TEST_F(RecordedDeviceTest, MemoryOfOneBufferIsAllocatedForIt) {
  EXPECT_TRUE(ImportDmaBuf(device_, NewFile(), 8192).ok());
  EXPECT_EQ(recorded.own_buffer, VkBuffer{VK_NULL_HANDLE});
  EXPECT_EQ(recorded.allocation_size, 8192u);
  recorded.is_dedicated = true;
  EXPECT_TRUE(ImportDmaBuf(device_, NewFile(), 8192).ok());
  EXPECT_EQ(recorded.own_buffer, reinterpret_cast<VkBuffer>(uintptr_t{1}));
  EXPECT_EQ(recorded.allocation_size, 4096u);  // that of the buffer
}

TEST_F(RecordedDeviceTest, ImportsAHardwareBuffer) {
  char storage = 0;
  auto* const buffer = reinterpret_cast<AHardwareBuffer*>(&storage);
  const Result<ImportedBuffer> imported = ImportHardwareBuffer(device_, buffer);
  ASSERT_TRUE(imported.ok()) << imported.status().message();
  EXPECT_EQ(recorded.buffer_types,
            VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID);
  EXPECT_EQ(recorded.hardware_buffer, buffer);
  EXPECT_EQ(recorded.allocation_size, 8192u);
  EXPECT_EQ(recorded.buffer_size, 8192u);
}

TEST_F(RecordedDeviceTest, TheCallerKeepsTheDescriptorOfAFailedImport) {
  const int fd = NewFile();
  const ino_t inode = InodeOf(fd);
  recorded.bind_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;  // after the device has taken a descriptor
  EXPECT_EQ(ImportDmaBuf(device_, fd, 4096).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(InodeOf(fd), inode);
  recorded.allocate_result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
  EXPECT_EQ(ImportDmaBuf(device_, fd, 4096).status().code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(InodeOf(fd), inode);
  EXPECT_EQ(ImportDmaBuf(device_, fd, 0).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(ImportDmaBuf(device_, fd, 4096).status().code(), StatusCode::kInvalidArgument);
}

TEST_F(RecordedDeviceTest, ReportsUnusableMemory) {
  const int fd = NewFile();
  recorded.memory_types = 0b0100;
  const Status types = ImportDmaBuf(device_, fd, 4096).status();
  EXPECT_EQ(types.code(), StatusCode::kUnsupported);
  EXPECT_EQ(types.message(),
            "The imported memory of 4096 bytes and memory types 4 cannot back a buffer, which "
            "requires 4096 bytes and memory types 10.");
  recorded.memory_types = 0b1000;
  EXPECT_EQ(ImportDmaBuf(device_, fd, 4095).status().code(), StatusCode::kUnsupported);
  recorded.allocate_result = VK_ERROR_INVALID_EXTERNAL_HANDLE;
  const Status handle = ImportDmaBuf(device_, fd, 4096).status();
  EXPECT_EQ(handle.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(handle.message(), "vkAllocateMemory failed with VkResult -1000072003.");
  EXPECT_EQ(ImportOpaqueFd(device_, fd, 4096, 1).status().message(),
            "The device has no function vkGetMemoryFdKHR. Enable VK_KHR_external_memory_fd in "
            "VkDeviceCreateInfo.");
  EXPECT_EQ(close(fd), 0);
}

}  // namespace
}  // namespace spirloom
