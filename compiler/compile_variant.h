// One variant, from GLSL text to a module that may go into the pack.
#ifndef SPIRLOOM_COMPILER_COMPILE_VARIANT_H_
#define SPIRLOOM_COMPILER_COMPILE_VARIANT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/cache.h"
#include "compiler/diagnostics.h"
#include "compiler/manifest.h"
#include "compiler/time_trace.h"

namespace spirloom::compiler {

// Exactly one of these is not empty: `words` (optimised, validated, checked against the manifest),
// `errors`, or `left_out_reason` (glslang cannot express a variant that is not portable).
struct CompiledVariant {
  std::vector<uint32_t> words;
  std::vector<Diagnostic> errors;
  std::string left_out_reason;
};

// Parses, optimises, validates, reflects and checks. `trace` may be null; `thread` is its list.
// Thread-safe.
CompiledVariant CompileVariant(const Variant& variant, std::string_view glsl, TimeTrace* trace,
                               size_t thread);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_COMPILE_VARIANT_H_
