#include "runtime/pack/capability.h"

#include "runtime/base/text.h"

namespace spirloom::pack {
uint64_t LackingCapabilities(uint64_t needs, uint64_t capabilities) {
  constexpr uint64_t kArithmetic =
      CapabilityBit(Capability::kShaderFloat16) | CapabilityBit(Capability::kShaderInt8) |
      CapabilityBit(Capability::kShaderInt16) | CapabilityBit(Capability::kShaderInt64);
  const uint64_t lacking = needs & ~capabilities;
  return (needs & kArithmetic) == 0 ? lacking & ~kStorageCapabilities : lacking;
}

uint64_t SharedMemoryCapabilities(uint64_t bytes) {
  uint64_t bits = 0;
  if (bytes >= kSharedBytes32k) bits |= CapabilityBit(Capability::kSharedMemory32k);
  if (bytes >= kSharedBytes48k) bits |= CapabilityBit(Capability::kSharedMemory48k);
  return bits;
}

const char* CapabilityName(Capability capability) {
  const auto i = static_cast<size_t>(capability);
  return i < kCapabilityNames.size() ? kCapabilityNames[i] : "unknown";
}

std::vector<std::string> CapabilityNames(uint64_t bits) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < 64; ++i) {
    if ((bits >> i & 1) == 0) continue;
    names.push_back(i < kCapabilityCount ? kCapabilityNames[i] : Concat("capability_", i));
  }
  return names;
}

}  // namespace spirloom::pack
