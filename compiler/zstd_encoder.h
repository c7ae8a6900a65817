// Compression of modules; left out of the compiler without the CMake option SPIRLOOM_ZSTD.
#ifndef SPIRLOOM_COMPILER_ZSTD_ENCODER_H_
#define SPIRLOOM_COMPILER_ZSTD_ENCODER_H_

#include <string>
#include <string_view>

namespace spirloom::compiler {

// Whether this build compresses.
bool HasZstd();

// One zstd frame of `bytes`, of level 19: reading is as quick at any level. The same version of
// zstd makes the same frame. Empty if that fails, or in a build without zstd. Thread-safe.
std::string CompressZstd(std::string_view bytes);

}  // namespace spirloom::compiler

#endif  // SPIRLOOM_COMPILER_ZSTD_ENCODER_H_
