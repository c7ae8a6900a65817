// Compares a compiled module with its spec.
#ifndef SPIRLOOM_COMPILER_CHECKS_CHECK_H_
#define SPIRLOOM_COMPILER_CHECKS_CHECK_H_

#include <cstdint>
#include <vector>

#include "compiler/base/diagnostics.h"
#include "compiler/checks/reflect.h"
#include "compiler/manifest/manifest.h"

namespace spirloom::compiler {

// Returns a diagnostic for each contradiction, with the spec's position and both values. `declared`
// reflects the module before optimization: names, declarations, the push-constant block.
// `optimized` reflects the module that runs: actual accesses and requirements.
std::vector<Diagnostic> CheckVariant(const Variant& variant, const Reflection& declared,
                                     const Reflection& optimized);

// The device requirements of the variant (bit i: pack::Capability i): the needs of its spec, and
// those implied by dtypes that the module uses.
uint64_t NeedsOf(const Variant& variant, const Reflection& optimized);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_CHECKS_CHECK_H_
