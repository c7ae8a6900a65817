// Tables of Vulkan functions.
#include "runtime/vulkan/functions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>

namespace spirloom::vulkan {
namespace {

using ::testing::HasSubstr;

void VKAPI_PTR Known() {}

// A driver without the functions vkCreateBuffer and vkDestroyFence.
PFN_vkVoidFunction VKAPI_PTR Incomplete(VkDevice, const char* name) {
  const std::string_view wanted = name;
  return wanted == "vkCreateBuffer" || wanted == "vkDestroyFence" ? nullptr : &Known;
}

// Destructors use the functions that exist, although creating the device has failed.
TEST(DeviceFunctions, AMissingFunctionDoesNotHideLaterOnes) {
  DeviceFunctions functions;
  const Status status = functions.Load(&Incomplete, VK_NULL_HANDLE);
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("no function vkCreateBuffer."));
  EXPECT_EQ(functions.vkCreateBuffer, nullptr);
  EXPECT_EQ(functions.vkDestroyFence, nullptr);
  EXPECT_NE(functions.vkAllocateCommandBuffers, nullptr);
  EXPECT_NE(functions.vkDestroyDevice, nullptr);
  EXPECT_NE(functions.vkCmdCopyImageToBuffer, nullptr);
}

}  // namespace
}  // namespace spirloom::vulkan
