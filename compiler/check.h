// Compares what a compiled module says of itself with what the specs say of it.
#ifndef SPIRLOOM_COMPILER_CHECK_H_
#define SPIRLOOM_COMPILER_CHECK_H_

#include <cstdint>
#include <vector>

#include "compiler/diagnostics.h"
#include "compiler/manifest.h"
#include "compiler/reflect.h"

namespace spirloom::compiler {

// Returns one diagnostic, at the spec's line and with both values, for each contradiction.
// `declared` is of the module before optimisation: names, declarations, the push-constant block.
// `optimized` is of the module that runs: what it really uses and needs.
std::vector<Diagnostic> CheckVariant(const Variant& variant, const Reflection& declared,
                                     const Reflection& optimized);

// What the variant asks of a device (bit i: pack::Capability i): what its spec names, and of what
// follows from dtypes that which the module uses.
uint64_t NeedsOf(const Variant& variant, const Reflection& optimized);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECK_H_
