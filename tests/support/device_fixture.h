// A fixture with a device and the validation layers. Any validation message fails the test.
#ifndef SPIRLOOM_TESTS_SUPPORT_DEVICE_FIXTURE_H_
#define SPIRLOOM_TESTS_SUPPORT_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/vulkan/device.h"

namespace spirloom::testing {

// Skips the test if the machine has no Vulkan device. All tests of the process share the device.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  const vulkan::Device& device() const;
  const vulkan::Instance& instance() const;

 private:
  uint64_t messages_before_ = 0;
};

// Creates an empty directory for the running test.
std::string MakeTestDirectory();

// Compiles `glsl` to SPIR-V. On a compile error, fails the test and returns an empty module.
std::vector<uint32_t> CompileGlsl(const std::string& glsl);

// A shader: buffer 1 = buffer 0 * SCALE (specialization constant 3) + push constant 0. The
// specialization constants 0, 1, 2 are the workgroup size.
std::vector<uint32_t> ScaleShader();

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_SUPPORT_DEVICE_FIXTURE_H_
