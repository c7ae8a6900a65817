// NumPy's .npy files, as far as tensors need them.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_NPY_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_NPY_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::run {

// A dense row-major array; `bytes` are its elements, little-endian.
struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;
};

// Parses a whole .npy file, format versions 1 to 3. Nothing in it is trusted. Fails with
// kInvalidFile for a malformed or truncated file, a big-endian or column-major (Fortran order)
// array, or an element type that tensors do not have. Other integers become int32 and
// float64 becomes float32 if all numbers fit.
Result<Array> ParseNpy(std::span<const std::byte> file);

// Reads the file at `path`; errors name it.
Result<Array> ReadNpy(const std::string& path);

// Writes format version 1.0. Fails with kInvalidArgument naming the path.
Status WriteNpy(const std::string& path, const Array& array);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_NPY_H_
