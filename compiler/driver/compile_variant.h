// Compiles one variant from GLSL text to a checked module.
#ifndef SPIRLOOM_COMPILER_DRIVER_COMPILE_VARIANT_H_
#define SPIRLOOM_COMPILER_DRIVER_COMPILE_VARIANT_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/base/diagnostics.h"
#include "compiler/driver/time_trace.h"
#include "compiler/manifest/manifest.h"
#include "compiler/pack/cache.h"

namespace spirloom::compiler {

// Exactly one member is not empty: `words` (validated, checked against the manifest),
// `errors`, or `skip_reason` (the error of glslang for a variant that is not portable).
struct CompiledVariant {
  std::vector<uint32_t> words;
  std::vector<Diagnostic> errors;
  std::string skip_reason;
};

// Compiles, optimizes, validates and checks. If `debug_root` is not empty, the result is
// the module before optimization, with debug information, the GLSL, and the templates below that
// directory. `trace` may be null; `thread` is the thread
// index for it. Thread-safe.
CompiledVariant CompileVariant(const Variant& variant, std::string_view glsl,
                               const std::filesystem::path& debug_root, TimeTrace* trace,
                               size_t thread);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_DRIVER_COMPILE_VARIANT_H_
