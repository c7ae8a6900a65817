// A ShaderLibrary: operators and their compiled kernels as data. An application names the libraries
// it wants when it creates a Runtime; nothing registers itself.
#ifndef SPIRLOOM_LIBRARY_H_
#define SPIRLOOM_LIBRARY_H_

#include <cstddef>
#include <span>
#include <string>

namespace spirloom {

// Operators and their kernels. Copyable: refers to the bytes.
struct ShaderLibrary {
  std::string name;  // for messages, e.g. "spirloom::shaders_all"
  // The shader pack (runtime/ops/pack_format.h), 8-byte aligned.
  std::span<const std::byte> pack;
};

// The library with every operator this build contains. Defined by the target spirloom::shaders_all.
const ShaderLibrary& AllShaders();

}  // namespace spirloom

#endif  // SPIRLOOM_LIBRARY_H_
