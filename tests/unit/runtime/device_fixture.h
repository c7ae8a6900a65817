// A fixture with a real device and the validation layer on: any message fails the test.
#ifndef SPIRLOOM_TESTS_UNIT_RUNTIME_DEVICE_FIXTURE_H_
#define SPIRLOOM_TESTS_UNIT_RUNTIME_DEVICE_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/vulkan/device.h"

namespace spirloom::testing {

// Skips when the machine has no Vulkan device. The device is shared by all tests of the process.
class DeviceTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  const vulkan::Device& device() const;
  const vulkan::Instance& instance() const;

 private:
  uint64_t messages_before_ = 0;
};

// A new empty folder for the running test.
std::string MakeTestFolder();

// SPIR-V of `glsl`; a failure of the test, and empty, when it does not compile.
std::vector<uint32_t> CompileGlsl(const std::string& glsl);

// Buffer 1 becomes buffer 0 times SCALE (constant 3) plus push constant 0; the local size is
// constants 0, 1, 2.
std::vector<uint32_t> ScaleShader();

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_UNIT_RUNTIME_DEVICE_FIXTURE_H_
