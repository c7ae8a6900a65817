// Conversions to fp16 round to nearest even on the device, by its mode and in integer arithmetic.
#include "runtime/pack/f16_rounding.h"

#include <memory>
#include <utility>

#include "runtime/pack/capability.h"
#include "tests/runtime/vulkan/conversion_fixture.h"
#include "tests/value_of.h"

namespace spirloom::vulkan {
namespace {

class F16RoundingTest : public ConversionTest {
 protected:
  void ExpectRounded(const Device& device) {
    if ((device.capabilities() & pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit)) == 0)
      GTEST_SKIP() << "StorageBuffer16Bit";
    const F16Cases cases = RoundingCases();
    const auto expect = [&](const std::vector<uint16_t>& y) {
      for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], cases.expected[i]) << cases.x[i];
    };
    expect(Convert<uint16_t>(device, cases.x, "float16_t", "x_data[i]", "i"));
    expect(Convert<uint16_t>(device, cases.x, "uint16_t",
                             "packHalf2x16(vec2(x_data[i], 1.0)) & 0xffffu", "i"));
    expect(Convert<uint16_t>(device, cases.x, "uint16_t",
                             "packHalf2x16(vec2(-3e38, x_data[i])) >> 16", "i"));
    // Vectors are rounded as scalars are.
    expect(Convert<uint16_t>(device, cases.x, "float16_t",
                             "vec4(f16vec4(vec4(0.0, x_data[i], 1e30, x_data[i])))[1 + i % 2 * 2]",
                             "i"));
    for (const uint16_t bits :
         Convert<uint16_t>(device, {NAN, -NAN}, "float16_t", "x_data[i]", "i"))
      EXPECT_GT(bits & 0x7fff, 0x7c00);
  }
};

TEST_F(F16RoundingTest, AsTheDeviceOffers) { ExpectRounded(device()); }

TEST_F(F16RoundingTest, InArithmetic) {
  PhysicalDevice physical = device().physical();
  physical.f16_rounding = pack::F16Rounding::kArithmetic;
  const std::unique_ptr<Device> other =
      ValueOf(Device::Create(instance(), std::move(physical), pack::kAllCapabilities));
  ExpectRounded(*other);
}

}  // namespace
}  // namespace spirloom::vulkan
