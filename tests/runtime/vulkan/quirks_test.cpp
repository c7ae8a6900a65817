// The rows of spec_model/driver_quirks.inc that apply to described devices.
#include "runtime/vulkan/quirks.h"

#include <gtest/gtest.h>
#include <vulkan/vulkan_core.h>

namespace spirloom::vulkan {
namespace {

constexpr int64_t kUnlimited = pack::DeviceProperties::kUnlimited;
constexpr uint32_t kMesa = 0x10005;
constexpr uint32_t kGoogle = 0x1ae0;

TEST(Quirks, LlvmpipeEndsLoops) {
  const Quirks quirks = QuirksOf({kMesa, VK_DRIVER_ID_MESA_LLVMPIPE, "cpu", 1});
  EXPECT_EQ(quirks.max_loop_iterations, 65535);
  EXPECT_EQ(quirks.reads_texels, 1);
}

TEST(Quirks, SoftwareDevicesReadTexels) {
  const Quirks quirks = QuirksOf({kGoogle, VK_DRIVER_ID_GOOGLE_SWIFTSHADER, "cpu", 0x1400000});
  EXPECT_EQ(quirks.max_loop_iterations, kUnlimited);
  EXPECT_EQ(quirks.reads_texels, 1);
  EXPECT_EQ(QuirksOf({0, 0, "cpu", 0}).reads_texels, 1);
}

TEST(Quirks, DispatchesOfNvidiaAreNotDivided) {
  constexpr uint32_t kNvidia = 0x10de;
  EXPECT_EQ(QuirksOf({kNvidia, VK_DRIVER_ID_NVIDIA_PROPRIETARY, "discrete", 0x9127c100})
                .divides_dispatches,
            0);
  EXPECT_EQ(QuirksOf({kNvidia, VK_DRIVER_ID_MESA_NVK, "discrete", 0x6400000}).divides_dispatches,
            1);
}

TEST(Quirks, MatricesOfNvidiaAreQuads) {
  EXPECT_EQ(QuirksOf({0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, "discrete", 1}).quad_matrices, 1);
  EXPECT_EQ(QuirksOf({0x10de, VK_DRIVER_ID_MESA_NVK, "discrete", 1}).quad_matrices, 0);
}

TEST(Quirks, RegistersOfIntelAndArm) {
  EXPECT_EQ(QuirksOf({0x8086, VK_DRIVER_ID_INTEL_OPEN_SOURCE_MESA, "discrete", 1}).registers, 128);
  EXPECT_EQ(QuirksOf({0x13b5, VK_DRIVER_ID_ARM_PROPRIETARY, "integrated", 1}).registers, 64);
}

TEST(Quirks, GpusHaveNone) {
  for (const uint32_t driver :
       {0U, uint32_t{VK_DRIVER_ID_MESA_RADV}, uint32_t{VK_DRIVER_ID_QUALCOMM_PROPRIETARY}}) {
    for (const char* type : {"discrete", "integrated", "virtual", "other"}) {
      const Quirks quirks = QuirksOf({0x1002, driver, type, 0xffffffff});
      EXPECT_EQ(quirks.max_loop_iterations, kUnlimited);
      EXPECT_EQ(quirks.reads_texels, 0);
      EXPECT_EQ(quirks.divides_dispatches, 1);
      EXPECT_EQ(quirks.quad_matrices, 0);
      EXPECT_EQ(quirks.registers, 256);
    }
  }
}

}  // namespace
}  // namespace spirloom::vulkan
