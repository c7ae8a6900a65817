// A ShaderLibrary: operators and their compiled kernels as data, in the program or in a file. An
// application names the libraries it wants when it creates a Runtime; nothing registers itself.
#ifndef SPIRLOOM_LIBRARY_H_
#define SPIRLOOM_LIBRARY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "spirloom/export.h"
#include "spirloom/status.h"

namespace spirloom {

// Operators and their kernels. Copyable: refers to the bytes.
struct SPIRLOOM_API ShaderLibrary {
  // Opens the shader library in the file at `path` (.slpack, docs/how-to/shrink-the-binary.md). The
  // path is its name. Maps the file and checks the digest, every offset and every formula. The
  // kernels' SPIR-V goes to the driver as it is, so use files from whom you would take a program.
  // The file must not be written to while in use; replacing it by another (rename) is fine. Fails
  // with kNotFound when it does not exist, kPermission when it may not be read, kInvalidFile when
  // it is damaged or no shader pack, kUnsupported for another version of the format.
  static Result<ShaderLibrary> Open(const std::string& path);

  std::string name;  // for messages, e.g. "spirloom::shaders_all"
  // The shader pack (runtime/pack/pack_format.h), 8-byte aligned.
  std::span<const std::byte> pack;
  // Its ops replace those of the same name in other libraries; also if the pack says so (OVERRIDE).
  bool overrides = false;
  // Keeps the bytes; a Runtime holds on to it. Null: they live as long as the program.
  std::shared_ptr<const void> owner = nullptr;
};

// The library with every operator this build contains. Defined by the target spirloom::shaders_all.
SPIRLOOM_API const ShaderLibrary& AllShaders();

}  // namespace spirloom

#endif  // SPIRLOOM_LIBRARY_H_
