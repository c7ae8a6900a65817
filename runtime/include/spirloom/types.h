// Types shared by the API, the operator registry and the file formats: element types, storages,
// shapes, attachments.
#ifndef SPIRLOOM_TYPES_H_
#define SPIRLOOM_TYPES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "spirloom/export.h"

namespace spirloom {

// Element types. The values are part of the file formats.
enum class DType : uint8_t {
  // Rows of data_types.inc: k{id} = {code},
  kF32 = 0,
  kF16 = 1,
  kI32 = 2,
  kI8 = 3,
  kU8 = 4,
  kB8 = 5,
  kF8E4M3 = 6,
  kF8E5M2 = 7,
  kBF16 = 8,
  // End of rows.
};

// The kind of device memory of a tensor. The values are part of the file formats.
//   buffer:    dense, row-major (NCHW for images), any rank up to 8.
//   texture3d: a 3-D image, rank <= 4; the shape is padded on the left with ones to (N, C, H, W);
//              texel (w, h, n * ceil(C / 4) + c / 4) contains channels c .. c + 3; components at or
//              beyond C are zero.
//   texture2d: the same texels in a layered 2-D image; the third coordinate is the layer.
enum class Storage : uint8_t {
  // Rows of storages.inc: k{id} = {code},
  kAuto = 0,
  kBuffer = 1,
  kTexture3D = 2,
  kTexture2D = 3,
  // End of rows.
};

// Whether tensors of this storage are images.
constexpr bool IsTexture(Storage storage) {
  return storage == Storage::kTexture3D || storage == Storage::kTexture2D;
}

// The maximum rank of a tensor.
inline constexpr size_t kMaxRank = 8;

// Sizes of the dimensions, outermost first. Rank 0 is a scalar.
using Shape = std::vector<int64_t>;

// Bytes of one element in memory: 4 for f32, 1 for b8.
SPIRLOOM_API size_t ElementSize(DType dtype);

// The short name, used in ids ("f16"), and the long name, used in text and .npy files ("float16",
// "bool").
SPIRLOOM_API const char* ShortName(DType dtype);
SPIRLOOM_API const char* LongName(DType dtype);
SPIRLOOM_API const char* Name(Storage storage);

// Returns e.g. "[1, 3, 224, 224]".
SPIRLOOM_API std::string ToString(const Shape& shape);

// Bytes in a graph file that the runtime does not interpret, e.g. a tokenizer.
struct Attachment {
  std::string name;  // unique, e.g. "tokenizer.json"
  std::vector<std::byte> data;
};

}  // namespace spirloom

#endif  // SPIRLOOM_TYPES_H_
