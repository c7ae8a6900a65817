// Compression of modules. Requires the CMake option SPIRLOOM_ZSTD.
#ifndef SPIRLOOM_COMPILER_PACK_ZSTD_ENCODER_H_
#define SPIRLOOM_COMPILER_PACK_ZSTD_ENCODER_H_

#include <string>
#include <string_view>

namespace spirloom::compiler {

// Whether this build supports compression.
bool HasZstd();

// Compresses `bytes` to one zstd frame at level 19; the level does not affect decompression speed.
// The result depends only on `bytes` and the version of zstd. Empty on failure, and in a build
// without zstd. Thread-safe.
std::string CompressZstd(std::string_view bytes);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_PACK_ZSTD_ENCODER_H_
