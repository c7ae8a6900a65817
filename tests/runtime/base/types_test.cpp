// Names and sizes of public types; Status and Result.
#include "spirloom/types.h"

#include <gtest/gtest.h>

#include <memory>

#include "runtime/pack/capability.h"
#include "runtime/vulkan/vk.h"
#include "spirloom/status.h"

namespace spirloom {
namespace {

TEST(Types, DTypes) {
  EXPECT_EQ(ElementSize(DType::kF32), 4U);
  EXPECT_EQ(ElementSize(DType::kF16), 2U);
  EXPECT_EQ(ElementSize(DType::kB8), 1U);
  EXPECT_STREQ(ShortName(DType::kI8), "i8");
  EXPECT_STREQ(LongName(DType::kB8), "bool");
  EXPECT_STREQ(LongName(DType::kU8), "uint8");
  EXPECT_EQ(ElementSize(static_cast<DType>(77)), 0U);
  EXPECT_STREQ(ShortName(static_cast<DType>(77)), "unknown");
}

TEST(Types, Text) {
  EXPECT_STREQ(Name(Storage::kTexture3D), "texture3d");
  EXPECT_STREQ(Name(Storage::kTexture2D), "texture2d");
  EXPECT_STREQ(Name(static_cast<Storage>(77)), "unknown");
  EXPECT_EQ(ToString(Shape{1, 3, 224, 224}), "[1, 3, 224, 224]");
  EXPECT_EQ(ToString(Shape{}), "[]");
}

TEST(Status, AddsContextToErrorsOnly) {
  const Status error = Status(StatusCode::kInternal, "It fails.").While("trying");
  EXPECT_EQ(error.message(), "It fails.\n - While trying.");
  EXPECT_TRUE(Status().While("trying").ok());
  EXPECT_EQ(Status().message(), "");
  EXPECT_STREQ(StatusCodeName(StatusCode::kDeviceLost), "device lost");
}

Result<std::unique_ptr<int>> Half(int value) {
  if (value % 2 != 0) return Status(StatusCode::kInvalidArgument, "It is odd.");
  return std::make_unique<int>(value / 2);
}

Result<int> Quarter(int value) {
  SPIRLOOM_TRY_ASSIGN(const std::unique_ptr<int> half, Half(value));
  SPIRLOOM_TRY_ASSIGN(const std::unique_ptr<int> quarter, Half(*half));
  return *quarter;
}

#ifdef NDEBUG
TEST(Result, OfAnOkStatusIsAnError) {
  const Result<int> result{Status()};
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), StatusCode::kInternal);
}
#endif

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_TRUE(Quarter(8).status().ok());
  EXPECT_EQ(Quarter(6).status().message(), "It is odd.");
}

TEST(Result, MovesItsValue) {
  const std::unique_ptr<int> half = *Half(4);  // moved: it cannot be copied
  EXPECT_EQ(*half, 2);
  const Status odd = Half(3).status();
  EXPECT_EQ(odd.message(), "It is odd.");
  const Result<int> copy = odd;
  EXPECT_EQ(copy.status().message(), odd.message());
}

TEST(Capability, Names) {
  EXPECT_STREQ(pack::CapabilityName(pack::Capability::kStorageBuffer16Bit), "storage_buffer_16bit");
  EXPECT_STREQ(pack::CapabilityName(pack::Capability::kCooperativeMatrix), "cooperative_matrix");
  EXPECT_STREQ(pack::CapabilityName(pack::Capability::kBFloat16Matrix), "bfloat16_matrix");
  EXPECT_EQ(pack::CapabilityNames(0b101 | uint64_t{1} << 40),
            (std::vector<std::string>{"storage_buffer_16bit", "shader_float16", "capability_40"}));
}

TEST(VkResult, BecomesAStatus) {
  EXPECT_TRUE(vulkan::ToStatus(VK_SUCCESS, "vkX").ok());
  const Status lost = vulkan::ToStatus(VK_ERROR_DEVICE_LOST, "vkQueueSubmit");
  EXPECT_EQ(lost.code(), StatusCode::kDeviceLost);
  EXPECT_EQ(lost.message(), "vkQueueSubmit returns VK_ERROR_DEVICE_LOST.");
  EXPECT_EQ(vulkan::ToStatus(VK_ERROR_OUT_OF_DEVICE_MEMORY, "vkX").code(),
            StatusCode::kOutOfMemory);
  EXPECT_EQ(vulkan::ToStatus(VK_ERROR_TOO_MANY_OBJECTS, "vkX").code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(vulkan::ToStatus(VK_NOT_READY, "vkX").code(), StatusCode::kInternal);
  EXPECT_EQ(vulkan::ToStatus(static_cast<VkResult>(-7654321), "vkX").message(),
            "vkX returns VkResult -7654321.");
}

}  // namespace
}  // namespace spirloom
