// Names of device capabilities, as in op specs.
#ifndef SPIRLOOM_RUNTIME_PACK_CAPABILITY_H_
#define SPIRLOOM_RUNTIME_PACK_CAPABILITY_H_

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/pack/pack_format.h"

namespace spirloom::pack {

// The names in op specs, by bit.
inline constexpr auto kCapabilityNames = std::to_array<const char*>({
#define SPIRLOOM_CAPABILITY(id, name, ...) #name,
#include "spec_model/capabilities.inc"
});
inline constexpr uint32_t kCapabilityCount = kCapabilityNames.size();
inline constexpr uint64_t kAllCapabilities = (uint64_t{1} << kCapabilityCount) - 1;

// The bit of a capability in VariantRow::needs.
constexpr uint64_t CapabilityBit(Capability capability) {
  return uint64_t{1} << static_cast<uint32_t>(capability);
}

// 8-bit and 16-bit storage.
inline constexpr uint64_t kStorageCapabilities =
    CapabilityBit(Capability::kStorageBuffer8Bit) | CapabilityBit(Capability::kStorageBuffer16Bit);

// The capabilities in `needs` that a device with `capabilities` lacks. 8-bit and 16-bit storage are
// not among them if the runtime can rewrite the module for the device (word_storage.h): those that
// need no arithmetic of these widths.
uint64_t LackingCapabilities(uint64_t needs, uint64_t capabilities);

// The capabilities of a device whose workgroups have at most `bytes` of shared memory.
uint64_t SharedMemoryCapabilities(uint64_t bytes);

// E.g. "storage_buffer_16bit".
const char* CapabilityName(Capability capability);

// The names of the set bits in ascending order; unknown bits are "capability_<index>".
std::vector<std::string> CapabilityNames(uint64_t bits);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_CAPABILITY_H_
