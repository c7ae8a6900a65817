// Replaces zstd_decoder.cpp in builds without SPIRLOOM_ZSTD.
#include "runtime/pack/zstd_decoder.h"

namespace spirloom::pack {

bool HasZstd() { return false; }

Status DecompressZstd(std::span<const std::byte>, std::span<std::byte>) {
  return {StatusCode::kUnsupported, "This build does not support modules compressed with zstd."};
}

}  // namespace spirloom::pack
