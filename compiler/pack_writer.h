// Writes the shader pack (runtime/ops/pack_format.h).
#ifndef SPIRLOOM_COMPILER_PACK_WRITER_H_
#define SPIRLOOM_COMPILER_PACK_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/manifest.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

// A variant and its module; `words` is not empty.
struct PackedVariant {
  const Variant* variant;
  std::vector<uint32_t> words;
};

struct Pack {
  std::string bytes;
  size_t module_count = 0;  // after equal ones were merged
};

// `registry` is the generator's registry.bin; `variants` are sorted by key. Modules that are equal
// but for the dimensions of their images are stored once. The bytes depend on the arguments alone.
// Fails with kUnsupported when the pack outgrows the format's 32-bit sizes.
Result<Pack> WritePack(std::string_view registry, const std::vector<PackedVariant>& variants);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_WRITER_H_
