// Absent operands of a kernel: bindings without a descriptor.
#ifndef SPIRLOOM_RUNTIME_PACK_ABSENT_BINDINGS_H_
#define SPIRLOOM_RUNTIME_PACK_ABSENT_BINDINGS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/pack/pack_format.h"

namespace spirloom::pack {

// A set of bindings: bit i is binding i.
using BindingSet = uint32_t;

// Rewrites a SPIR-V module so that the storage buffers in `absent`, which the module declares and
// does not access, need no descriptor: their variables get the binding of another storage buffer
// (Vulkan allows several variables with one binding). Returns the new bindings: `bindings`, with
// kAbsent for those without a descriptor; unchanged if all storage buffers are absent. Stops at
// malformed SPIR-V.
std::vector<BindingType> RemoveAbsentBindings(std::span<uint32_t> module,
                                              std::span<const BindingType> bindings,
                                              BindingSet absent);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_ABSENT_BINDINGS_H_
