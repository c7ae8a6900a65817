// Replaces zstd_encoder.cpp in builds without SPIRLOOM_ZSTD.
#include "compiler/pack/zstd_encoder.h"

namespace spirloom::compiler {

bool HasZstd() { return false; }

std::string CompressZstd(std::string_view) { return {}; }

}  // namespace spirloom::compiler
