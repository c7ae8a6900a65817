#include "runtime/pack/capability.h"

#include <array>

#include "runtime/base/text.h"

namespace spirloom::pack {
namespace {

constexpr std::array<const char*, kCapabilityCount> kNames = {
    "storage_buffer_16bit", "storage_buffer_8bit", "shader_float16",    "shader_int8",
    "shader_int16",         "shader_int64",        "subgroup_basic",    "subgroup_vote",
    "subgroup_arithmetic",  "subgroup_ballot",     "subgroup_shuffle",  "integer_dot_product",
    "cooperative_matrix",   "shared_memory_32k",   "shared_memory_48k", "bfloat16_matrix"};

}  // namespace

uint64_t SharedMemoryCapabilities(uint64_t bytes) {
  uint64_t bits = 0;
  if (bytes >= kSharedBytes32k) bits |= CapabilityBit(Capability::kSharedMemory32k);
  if (bytes >= kSharedBytes48k) bits |= CapabilityBit(Capability::kSharedMemory48k);
  return bits;
}

const char* CapabilityName(Capability capability) {
  const auto i = static_cast<size_t>(capability);
  return i < kNames.size() ? kNames[i] : "unknown";
}

std::vector<std::string> CapabilityNames(uint64_t bits) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < 64; ++i) {
    if ((bits >> i & 1) == 0) continue;
    names.push_back(i < kCapabilityCount ? kNames[i] : Concat({"capability_", i}));
  }
  return names;
}

}  // namespace spirloom::pack
