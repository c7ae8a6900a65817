// Writes the shader pack (runtime/pack/pack_format.h).
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

struct PackOptions {
  bool compress = false;  // modules, each by itself, where that makes them smaller
  size_t threads = 1;     // that compress
};

// `registry` is the generator's registry.bin; `variants` are sorted by key. Modules that are equal
// but for the dimensions of their images are stored once. The bytes depend on the arguments
// and, compressed, on zstd's version. Fails with kUnsupported when the pack outgrows the format's
// 32-bit sizes, or is to be compressed by a build without zstd.
Result<Pack> WritePack(std::string_view registry, const std::vector<PackedVariant>& variants,
                       const PackOptions& options = {});

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_WRITER_H_
