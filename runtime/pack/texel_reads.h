// Converts loads from storage buffers to texel fetches. Drivers of software devices load from
// storage buffers one lane at a time, but fetch texels for all lanes at once. A buffer can be bound
// as either type, so one stored module serves both kinds of devices.
#ifndef SPIRLOOM_RUNTIME_PACK_TEXEL_READS_H_
#define SPIRLOOM_RUNTIME_PACK_TEXEL_READS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/pack/pack_format.h"

namespace spirloom::pack {

// Rewrites a SPIR-V module to fetch texels from the storage buffers of set 0 from which it only
// loads 32-bit scalars or vec4s. Returns the new bindings: `bindings`, with a texel type for each
// rewritten buffer. Other buffers (other types, stores, other uses of pointers, two variables with
// one binding) remain storage buffers; malformed modules are unchanged. Results only differ for
// reads out of bounds.
std::vector<BindingType> ReadAsTexels(std::vector<uint32_t>& module,
                                      std::span<const BindingType> bindings);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_TEXEL_READS_H_
