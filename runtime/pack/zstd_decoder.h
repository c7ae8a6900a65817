// Decompression of modules; requires the CMake option SPIRLOOM_ZSTD.
#ifndef SPIRLOOM_RUNTIME_PACK_ZSTD_DECODER_H_
#define SPIRLOOM_RUNTIME_PACK_ZSTD_DECODER_H_

#include <cstddef>
#include <span>

#include "spirloom/status.h"

namespace spirloom::pack {

// Whether this build supports zstd.
bool HasZstd();

// Decompresses `source` into `target`, which must have exactly the decompressed size. Fails with
// kInvalidFile for damaged data or another size, kUnsupported in a build without zstd. Thread-safe.
Status DecompressZstd(std::span<const std::byte> source, std::span<std::byte> target);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_ZSTD_DECODER_H_
