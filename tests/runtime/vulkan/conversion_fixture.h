// Runs conversions of floats on the device.
#ifndef SPIRLOOM_TESTS_RUNTIME_VULKAN_CONVERSION_FIXTURE_H_
#define SPIRLOOM_TESTS_RUNTIME_VULKAN_CONVERSION_FIXTURE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/pack/word_storage.h"
#include "runtime/vulkan/buffer.h"
#include "runtime/vulkan/command_buffer.h"
#include "runtime/vulkan/descriptors.h"
#include "runtime/vulkan/pipeline.h"
#include "tests/support/device_fixture.h"

namespace spirloom::vulkan {

inline constexpr uint32_t kWorkgroup = 64;

class ConversionTest : public testing::DeviceTest {
 protected:
  // Runs `y_data[j] = type(value)` for each i < x.size(), with the GLSL expressions `value` of
  // x_data and i, and `j` of i, rewritten for a device that lacks some capabilities. Returns y,
  // whose elements T have the size of `type`.
  template <typename T>
  std::vector<T> Convert(const Device& device, const std::vector<float>& x, const std::string& type,
                         const std::string& value, const std::string& j, uint64_t lacking = 0) {
    std::vector<uint32_t> module = testing::CompileGlsl(
        "#version 450\n"
        "#extension GL_EXT_shader_16bit_storage : require\n"
        "#extension GL_EXT_shader_8bit_storage : require\n"
        "layout(local_size_x = 64) in;\n"
        "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n"
        "layout(push_constant) uniform Push { uint n; };\n"
        "layout(set = 0, binding = 0) readonly buffer X { float x_data[]; };\n"
        "layout(set = 0, binding = 1) writeonly buffer Y { " +
        type +
        " y_data[]; };\n"
        "void main() {\n"
        "  uint i = gl_GlobalInvocationID.x;\n"
        "  if (i < n) y_data[" +
        j + "] = " + type + "(" + value + ");\n}\n");
    EXPECT_TRUE(pack::StoreInWords(module, lacking).ok());
    std::vector<T> y(x.size());
    const Status status =
        Run(device, module, std::as_bytes(std::span(x)), static_cast<uint32_t>(x.size()),
            std::as_writable_bytes(std::span(y)));
    EXPECT_TRUE(status.ok()) << status.message();
    return y;
  }

 private:
  Status Run(const Device& device, const std::vector<uint32_t>& module,
             std::span<const std::byte> x, uint32_t n, std::span<std::byte> y) {
    constexpr std::array kBindings = {pack::BindingType::kStorageBuffer,
                                      pack::BindingType::kStorageBuffer};
    LayoutCache layouts(device);
    const uint64_t y_size = (y.size() + 15) / 16 * 16;
    SPIRLOOM_TRY_ASSIGN(Buffer source, Buffer::Create(device, x.size(), MemoryUse::kUpload));
    SPIRLOOM_TRY_ASSIGN(Buffer target, Buffer::Create(device, y_size, MemoryUse::kReadback));
    std::ranges::copy(x, source.mapped());
    SPIRLOOM_TRY_ASSIGN(ComputePipeline pipeline,
                        ComputePipeline::Create(device, layouts, VK_NULL_HANDLE,
                                                {.name = "convert",
                                                 .module = pack::StoredModule::Raw(module),
                                                 .bindings = kBindings,
                                                 .push_bytes = 4,
                                                 .workgroup = {kWorkgroup, 1, 1}}));
    DescriptorCounts counts;
    counts.Add(pipeline.bindings());
    SPIRLOOM_TRY_ASSIGN(DescriptorPool pool, DescriptorPool::Create(device, counts));
    SPIRLOOM_TRY_ASSIGN(const VkDescriptorSet set, pool.Allocate(pipeline.layout().set));
    std::vector<BufferView> views;
    std::vector<Descriptor> descriptors;
    for (const Buffer* buffer : {&source, &target}) {
      const pack::BindingType type = pipeline.bindings()[descriptors.size()];
      SPIRLOOM_TRY_ASSIGN(const Descriptor descriptor,
                          BufferDescriptor(*buffer, 0, buffer->size(), type, views));
      descriptors.push_back(descriptor);
    }
    UpdateDescriptorSet(device, set, descriptors);
    SPIRLOOM_TRY_ASSIGN(CommandBuffer commands, CommandBuffer::Create(device));
    SPIRLOOM_TRY(commands.Begin());
    commands.BindPipeline(pipeline);
    commands.BindDescriptorSet(pipeline.layout(), set);
    commands.PushConstants(pipeline.layout(), std::as_bytes(std::span(&n, 1)));
    commands.Dispatch({}, {(n + kWorkgroup - 1) / kWorkgroup, 1, 1});
    constexpr VkMemoryBarrier kToHost{VK_STRUCTURE_TYPE_MEMORY_BARRIER, nullptr,
                                      VK_ACCESS_SHADER_WRITE_BIT, VK_ACCESS_HOST_READ_BIT};
    commands.Barrier(VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                     std::span(&kToHost, 1), {}, {});
    SPIRLOOM_TRY(commands.End());
    SPIRLOOM_TRY(device.SubmitAndWait(commands.handle()));
    std::copy_n(target.mapped(), y.size(), y.begin());
    return {};
  }
};

// Floats, and the bits of the nearest fp16 numbers.
struct F16Cases {
  std::vector<float> x;
  std::vector<uint16_t> expected;
};

inline float HalfValue(uint32_t bits) {
  const auto exponent = static_cast<int>(bits >> 10);
  const auto fraction = static_cast<float>(bits & 0x3ff);
  return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(fraction + 1024, exponent - 25);
}

// Every fp16 number, the middle between it and the next, and both neighbors of the middle in fp32.
inline F16Cases RoundingCases() {
  constexpr uint32_t kInfinity = 0x7c00;
  constexpr uint32_t kSign = 0x8000;
  F16Cases cases;
  const auto add = [&](float value, uint32_t bits) {
    for (const uint32_t sign : {0U, kSign}) {
      cases.x.push_back(sign == 0 ? value : -value);
      cases.expected.push_back(static_cast<uint16_t>(sign | bits));
    }
  };
  for (uint32_t bits = 0; bits < kInfinity; ++bits) {
    const float middle = (HalfValue(bits) + HalfValue(bits + 1)) / 2;  // 65536 follows 65504
    add(HalfValue(bits), bits);
    add(std::nextafter(middle, 0.0F), bits);
    add(middle, bits + (bits & 1));
    add(std::nextafter(middle, INFINITY), bits + 1);
  }
  add(65536.0F, kInfinity);
  add(1e30F, kInfinity);
  add(INFINITY, kInfinity);
  add(1e-30F, 0);
  return cases;
}

}  // namespace spirloom::vulkan

#endif  // SPIRLOOM_TESTS_RUNTIME_VULKAN_CONVERSION_FIXTURE_H_
