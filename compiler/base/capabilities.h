// Maps SPIR-V capabilities to pack::Capability ("need"), and needs to text.
#ifndef SPIRLOOM_COMPILER_BASE_CAPABILITIES_H_
#define SPIRLOOM_COMPILER_BASE_CAPABILITIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/pack/pack_format.h"

namespace spirloom::compiler {

// Capabilities of SPV_KHR_cooperative_matrix and SPV_KHR_bfloat16. The distribution's SPIR-V
// headers do not define them.
inline constexpr uint32_t kCooperativeMatrixKhr = 6022;
inline constexpr uint32_t kBFloat16TypeKhr = 5116;
inline constexpr uint32_t kBFloat16CooperativeMatrixKhr = 5118;

// Parses a name from `needs` of op specs, e.g. "storage_buffer_16bit".
std::optional<pack::Capability> ParseNeed(std::string_view name);
// e.g. "storage_buffer_16bit, shader_int8"; "nothing" when `needs` (bit i: Capability i) is 0.
std::string NeedNames(uint64_t needs);

// Adds implied needs: subgroup operations imply subgroup_basic; cooperative matrices and
// shared_memory_48k imply shared_memory_32k.
uint64_t WithImpliedNeeds(uint64_t needs);

// The shared memory per workgroup, in bytes, that a device with `needs` guarantees.
uint32_t SharedBytesOf(uint64_t needs);
// The need that guarantees `bytes` of shared memory; 0 if Vulkan itself does. Sizes above all
// limits return the need with the largest limit.
uint64_t NeedOfSharedBytes(uint64_t bytes);

// The device requirement of a SPIR-V capability: none beyond Vulkan 1.1 (`needs` is 0), a need, or,
// if `known` is false, a feature that no need represents.
struct CapabilityNeed {
  bool known;
  uint64_t needs;
};
CapabilityNeed NeedOfSpirvCapability(uint32_t capability);
// e.g. "Float64 (10)".
std::string SpirvCapabilityName(uint32_t capability);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_BASE_CAPABILITIES_H_
