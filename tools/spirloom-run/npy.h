// Reads and writes NumPy's .npy files.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_NPY_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_NPY_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::run {

// A dense row-major array; `bytes` contains the elements, little-endian.
struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;
  std::string_view converted_from = {};  // the file's element type, if it differs from dtype
};

// Parses an untrusted .npy file, format versions 1 to 3. Other integer types are converted to
// int32, and float64 to float32. bfloat16 and 8-bit floats are structures with one field of the
// type's name, which contains the bits, as the Python runtime returns them. Fails with kInvalidFile
// for a malformed or truncated file, a big-endian or column-major (Fortran order) array, an
// unsupported element type, or a value that does not fit.
Result<Array> ParseNpy(std::span<const std::byte> file);

// Reads the file at `path`; error messages contain the path.
Result<Array> ReadNpy(const std::string& path);

// Writes format version 1.0. Fails with kInvalidArgument; the message contains the path.
Status WriteNpy(const std::string& path, const Array& array);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_NPY_H_
