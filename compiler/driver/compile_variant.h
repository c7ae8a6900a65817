// Compiles one variant from GLSL text to a checked module.
#ifndef SPIRLOOM_COMPILER_DRIVER_COMPILE_VARIANT_H_
#define SPIRLOOM_COMPILER_DRIVER_COMPILE_VARIANT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/diagnostics.h"
#include "compiler/driver/time_trace.h"
#include "compiler/manifest/manifest.h"
#include "compiler/pack/cache.h"

namespace spirloom::compiler {

// Exactly one member is not empty: `words` (optimized, validated, checked against the manifest),
// `errors`, or `skip_reason` (the error of glslang for a variant that is not portable).
struct CompiledVariant {
  std::vector<uint32_t> words;
  std::vector<Diagnostic> errors;
  std::string skip_reason;
};

// Compiles, optimizes, validates and checks. `trace` may be null; `thread` is the thread index for
// it. Thread-safe.
CompiledVariant CompileVariant(const Variant& variant, std::string_view glsl, TimeTrace* trace,
                               size_t thread);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DRIVER_COMPILE_VARIANT_H_
