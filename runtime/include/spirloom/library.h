// A ShaderLibrary: operators and their compiled kernels as constant data. An application names the
// libraries it wants when it creates a Runtime; nothing registers itself.
#ifndef SPIRLOOM_LIBRARY_H_
#define SPIRLOOM_LIBRARY_H_

#include <cstddef>
#include <cstdint>
#include <span>

namespace spirloom {

namespace ops {
struct OpInfo;  // runtime/ops/registry.h
}

// Constant data made by the build. Copyable; refers to memory of static duration.
struct ShaderLibrary {
  const char* name;                  // for messages, e.g. "spirloom::shaders_all"
  std::span<const ops::OpInfo> ops;  // sorted by op name
  std::span<const std::byte> pack;   // the shader pack (runtime/ops/pack_format.h), 64-byte aligned
  uint64_t digest;  // of the kernel list; equals the pack's, or the two are from different builds
};

// The library with every operator this build contains. Defined by the target spirloom::shaders_all.
const ShaderLibrary& AllShaders();

}  // namespace spirloom

#endif  // SPIRLOOM_LIBRARY_H_
