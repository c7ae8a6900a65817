// Which pack::Capability ("need") a SPIR-V capability belongs to, and needs as text.
#ifndef SPIRLOOM_COMPILER_CAPABILITIES_H_
#define SPIRLOOM_COMPILER_CAPABILITIES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/pack/pack_format.h"

namespace spirloom::compiler {

// Of SPV_KHR_cooperative_matrix and SPV_KHR_bfloat16, which these SPIR-V headers do not name.
inline constexpr uint32_t kCooperativeMatrixKhr = 6022;
inline constexpr uint32_t kBFloat16TypeKhr = 5116;
inline constexpr uint32_t kBFloat16CooperativeMatrixKhr = 5118;

// By the name used in op specs, e.g. "storage_buffer_16bit".
std::optional<pack::Capability> ParseNeed(std::string_view name);
// e.g. "storage_buffer_16bit, shader_int8"; "nothing" when `needs` (bit i: Capability i) is 0.
std::string NeedNames(uint64_t needs);

// `needs` with what it implies: every subgroup operation implies subgroup_basic, matrices and 48
// KiB of shared memory imply 32.
uint64_t WithImpliedNeeds(uint64_t needs);

// The bytes of shared memory that a device with `needs` has for a workgroup.
uint32_t SharedBytesOf(uint64_t needs);
// The need for so many, 0 where Vulkan promises them; what no need stands for has the largest one.
uint64_t NeedOfSharedBytes(uint64_t bytes);

// What a SPIR-V capability asks of a device: nothing beyond Vulkan 1.1 (`needs` is 0), the given
// need, or, when `known` is false, something no need stands for.
struct CapabilityNeed {
  bool known;
  uint64_t needs;
};
CapabilityNeed NeedOfSpirvCapability(uint32_t capability);
// e.g. "Float64 (10)".
std::string SpirvCapabilityName(uint32_t capability);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CAPABILITIES_H_
