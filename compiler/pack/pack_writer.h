// Writes the shader pack (runtime/pack/pack_format.h).
#ifndef SPIRLOOM_COMPILER_PACK_PACK_WRITER_H_
#define SPIRLOOM_COMPILER_PACK_PACK_WRITER_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/manifest/manifest.h"
#include "spirloom/status.h"

namespace spirloom::compiler {

// A variant and its module; `words` is not empty.
struct PackedVariant {
  const Variant* variant;
  std::vector<uint32_t> words;
};

struct Pack {
  std::string bytes;
  size_t module_count = 0;  // distinct modules
};

struct PackOptions {
  bool compress = false;  // compress each module that becomes smaller
  size_t threads = 1;     // for compression
};

// `registry` is the content of registry.bin; `variants` are sorted by key. Modules that differ only
// in the dimensions of their images or the default workgroup size are stored once. The bytes depend
// only on the arguments and, with compression, on the version of zstd. Fails with kUnsupported if
// the pack exceeds the 32-bit sizes of the format, or if a build without zstd is to compress.
Result<Pack> WritePack(std::string_view registry, const std::vector<PackedVariant>& variants,
                       const PackOptions& options = {});

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_PACK_WRITER_H_
