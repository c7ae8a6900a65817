#include "tests/fuzz/device_bytes.h"

#include <algorithm>

namespace spirloom::fuzz {
namespace {

// Reads byte after byte.
class Bytes {
 public:
  explicit Bytes(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t Next() { return at_ < bytes_.size() ? bytes_[at_++] : 0; }
  uint64_t Below(uint64_t count) { return Next() % count; }
  // min · 2^i with i <= doublings, or one less (but not below min).
  uint64_t AtLeast(uint64_t min, unsigned doublings) {
    const uint8_t byte = Next();
    const uint64_t limit = min << (byte >> 1) % (doublings + 1);
    return byte % 2 == 1 && limit > min ? limit - 1 : limit;
  }
  uint64_t Word() {
    uint64_t word = 0;
    for (int i = 0; i < 2; ++i) word = word << 8 | Next();
    return word;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

graph::TextureLimits TextureOf(Bytes& bytes, const graph::TextureLimits& min) {
  graph::TextureLimits limits;
  limits.width = bytes.AtLeast(min.width, 4);
  limits.height = bytes.AtLeast(min.height, 4);
  limits.depth = bytes.AtLeast(min.depth, 3);
  limits.bytes = uint64_t{1} << (10 + bytes.Below(24));
  return limits;
}

void PreferKernels(Bytes& bytes, const ops::OpIndex& index, graph::CompileOptions& options) {
  const uint64_t choice = bytes.Word();
  if (choice == 0 || index.ops().empty()) return;
  const ops::OpInfo& op = *index.ops()[choice % index.ops().size()].op;
  if (!op.kernels.empty()) options.kernels.push_back(op.kernels.back().name);
}

}  // namespace

FuzzedDevice DecodeDevice(std::span<const uint8_t, kDeviceBytes> data, const ops::OpIndex& index) {
  Bytes bytes(data);
  FuzzedDevice device;
  graph::DeviceTraits& traits = device.traits;
  device.options.storage = static_cast<Storage>(bytes.Below(4));
  traits.capabilities = bytes.Word();
  traits.properties.is_cpu = bytes.Below(2) == 1;
  traits.properties.subgroup_size = int64_t{1} << bytes.Below(8);
  if (bytes.Below(2) == 1) traits.properties.max_loop_iterations = int64_t{1} << bytes.Below(20);
  traits.vulkan_minor = static_cast<uint32_t>(1 + bytes.Below(4));
  traits.max_storage_buffer_range = bytes.AtLeast(traits.max_storage_buffer_range, 5);
  traits.buffer_offset_alignment = uint64_t{16} << bytes.Below(5);
  traits.texture3d = TextureOf(bytes, traits.texture3d);
  traits.texture2d = TextureOf(bytes, traits.texture2d);
  for (uint64_t& count : traits.max_group_count) count = bytes.AtLeast(count, 16);
  for (uint32_t& size : traits.max_workgroup) size = static_cast<uint32_t>(bytes.AtLeast(size, 4));
  traits.max_workgroup_invocations = static_cast<uint32_t>(bytes.AtLeast(128, 4));
  traits.bindings = {.storage_buffers = 16, .sampled_images = 16, .storage_images = 16};
  device.max_block = bytes.AtLeast(uint64_t{1} << 16, 24);
  device.granularity = uint64_t{1} << bytes.Below(17);
  PreferKernels(bytes, index, device.options);
  device.symbol_choice = bytes.Word();
  traits.properties.cores = int64_t{1} << bytes.Below(9);
  return device;
}

}  // namespace spirloom::fuzz
