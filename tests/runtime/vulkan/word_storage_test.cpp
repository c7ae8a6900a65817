// Kernels with elements of 8 and 16 bits, rewritten to 32-bit words, on the device.
#include "runtime/pack/word_storage.h"

#include "runtime/pack/capability.h"
#include "tests/runtime/vulkan/conversion_fixture.h"

namespace spirloom::vulkan {
namespace {

using WordStorageTest = ConversionTest;

TEST_F(WordStorageTest, RoundsToNearestEvenFp16) {
  const auto convert = [&](const std::vector<float>& x) {
    return Convert<uint16_t>(device(), x, "float16_t", "x_data[i]", "i",
                             pack::kStorageCapabilities);
  };
  const F16Cases cases = RoundingCases();
  const std::vector<uint16_t> y = convert(cases.x);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], cases.expected[i]) << cases.x[i];
  for (const uint16_t bits : convert({NAN, -NAN})) EXPECT_GT(bits & 0x7fff, 0x7c00);
}

// The elements of a word are written by different workgroups.
TEST_F(WordStorageTest, WorkgroupsWriteElementsOfOneWord) {
  constexpr uint32_t kSize = 1U << 18;
  std::vector<float> x(kSize);
  for (uint32_t i = 0; i < kSize; ++i) x[i] = static_cast<float>(i % 251);
  // Consecutive elements are 64 workgroups apart.
  constexpr char kPermuted[] = "i % 4096 * 64 + i / 4096";
  const auto bytes = Convert<uint8_t>(device(), x, "uint8_t", "uint(x_data[i])", kPermuted,
                                      pack::kStorageCapabilities);
  const auto halves = Convert<uint16_t>(device(), x, "uint16_t", "uint(x_data[i])", kPermuted,
                                        pack::kStorageCapabilities);
  for (uint32_t i = 0; i < kSize; ++i) {
    const uint32_t j = i % 4096 * 64 + i / 4096;
    ASSERT_EQ(bytes[j], i % 251) << i;
    ASSERT_EQ(halves[j], i % 251) << i;
  }
}

}  // namespace
}  // namespace spirloom::vulkan
