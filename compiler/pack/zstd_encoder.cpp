#include "compiler/pack/zstd_encoder.h"

#include <zstd.h>

namespace spirloom::compiler {
namespace {

constexpr int kLevel = 19;

}  // namespace

bool HasZstd() { return true; }

std::string CompressZstd(std::string_view bytes) {
  std::string frame(ZSTD_compressBound(bytes.size()), '\0');
  const size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), kLevel);
  frame.resize(ZSTD_isError(size) != 0 ? 0 : size);
  return frame;
}

}  // namespace spirloom::compiler
