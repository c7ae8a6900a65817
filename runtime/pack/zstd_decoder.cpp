#include "runtime/pack/zstd_decoder.h"

#include <zstd.h>

#include "runtime/base/error.h"

namespace spirloom::pack {

bool HasZstd() { return true; }

Status DecompressZstd(std::span<const std::byte> source, std::span<std::byte> target) {
  const size_t size = ZSTD_decompress(target.data(), target.size(), source.data(), source.size());
  if (ZSTD_isError(size) != 0) {
    return InvalidFile("Decompressing a module of a shader pack failed: {}.",
                       ZSTD_getErrorName(size));
  }
  if (size == target.size()) return {};
  return InvalidFile("A module of a shader pack decompresses to {} bytes; expected {}.", size,
                     target.size());
}

}  // namespace spirloom::pack
