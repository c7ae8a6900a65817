#include "integrations/executorch/blob/blob.h"

#include <cstdint>
#include <cstring>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

// Byte offsets of the header's fields, little-endian. The first four bytes are zero. The magic is
// at the offset at which a FlatBuffer without a header has its identifier.
constexpr size_t kMagicAt = 4;
constexpr char kMagic[] = "VH00";
constexpr size_t kSizeAt = 8;          // u16
constexpr size_t kGraphOffsetAt = 10;  // u32
constexpr size_t kGraphSizeAt = 14;    // u32
constexpr size_t kBytesOffsetAt = 18;  // u32
constexpr size_t kBytesSizeAt = 22;    // u64
constexpr size_t kHeaderBytes = 30;

uint64_t ReadUint(std::span<const std::byte> blob, size_t offset, size_t bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < bytes; ++i) value |= static_cast<uint64_t>(blob[offset + i]) << (8 * i);
  return value;
}

Result<std::span<const std::byte>> Section(std::span<const std::byte> blob, const char* what,
                                           uint64_t offset, uint64_t size) {
  if (offset <= blob.size() && size <= blob.size() - offset) {
    return blob.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
  }
  return InvalidFile("The {} of the delegate ({} bytes at offset {}) exceeds its blob ({} bytes).",
                     what, size, offset, blob.size());
}

}  // namespace

Result<BlobParts> SplitBlob(std::span<const std::byte> blob) {
  if (blob.size() < kHeaderBytes) {
    return InvalidFile("A delegate of {} bytes is too short for its header of {}.", blob.size(),
                       kHeaderBytes);
  }
  if (std::memcmp(blob.data() + kMagicAt, kMagic, sizeof(kMagic) - 1) != 0) {
    return InvalidFile(
        "The delegate is not a blob of ExecuTorch's Vulkan backend: 'VH00' is missing.");
  }
  const uint64_t header = ReadUint(blob, kSizeAt, 2);
  if (header < kHeaderBytes) {
    return InvalidFile("The header of the delegate ({} bytes) is shorter than {} bytes.", header,
                       kHeaderBytes);
  }
  BlobParts parts;
  SPIRLOOM_TRY_ASSIGN(parts.graph, Section(blob, "graph", ReadUint(blob, kGraphOffsetAt, 4),
                                           ReadUint(blob, kGraphSizeAt, 4)));
  SPIRLOOM_TRY_ASSIGN(parts.constants,
                      Section(blob, "constant data", ReadUint(blob, kBytesOffsetAt, 4),
                              ReadUint(blob, kBytesSizeAt, 8)));
  return parts;
}

}  // namespace spirloom::delegate
