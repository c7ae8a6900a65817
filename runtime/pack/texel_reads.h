// Reads of storage buffers as fetches of texels. Some drivers, those of software devices above all,
// load from storage buffers one lane at a time, but fetch texels for all lanes at once; a buffer
// can be bound as either. One stored module serves both kinds of device.
#ifndef SPIRLOOM_RUNTIME_PACK_TEXEL_READS_H_
#define SPIRLOOM_RUNTIME_PACK_TEXEL_READS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/pack/pack_format.h"

namespace spirloom::pack {

// Rewrites a SPIR-V module so that it fetches texels of the storage buffers of set 0 that it only
// loads 32-bit numbers from, one by one or by fours. Returns the module's bindings after that:
// `bindings`, with a texel type for each buffer rewritten. What is beyond this (other types,
// stores, pointers that go elsewhere, two variables of one binding) stays a storage buffer; a
// module that is not well formed stays as it is. Either way results are the same but for reads
// beyond a buffer's end.
std::vector<BindingType> ReadAsTexels(std::vector<uint32_t>& module,
                                      std::span<const BindingType> bindings);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_TEXEL_READS_H_
