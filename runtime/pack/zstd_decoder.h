// Decompression of modules; left out of the runtime without the CMake option SPIRLOOM_ZSTD.
#ifndef SPIRLOOM_RUNTIME_PACK_ZSTD_DECODER_H_
#define SPIRLOOM_RUNTIME_PACK_ZSTD_DECODER_H_

#include <cstddef>
#include <span>

#include "spirloom/status.h"

namespace spirloom::pack {

// Whether this build decompresses.
bool HasZstd();

// Decompresses `source` into `target`, which it must fill exactly. Fails with kInvalidFile when it
// does not or is damaged, with kUnsupported in a build without zstd. Thread-safe.
Status DecompressZstd(std::span<const std::byte> source, std::span<std::byte> target);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_ZSTD_DECODER_H_
