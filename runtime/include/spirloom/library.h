// ShaderLibrary: operators and their compiled kernels, in the program or in a file. An application
// passes its libraries to Runtime::Create(); there is no global registration.
//
//   SPIRLOOM_TRY_ASSIGN(spirloom::ShaderLibrary library,
//                       spirloom::ShaderLibrary::Open("my_ops.slpack"));
//   options.libraries = {&spirloom::AllShaders(), &library};
#ifndef SPIRLOOM_LIBRARY_H_
#define SPIRLOOM_LIBRARY_H_

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "spirloom/export.h"
#include "spirloom/status.h"

namespace spirloom {

// Operators and their kernels. Copyable; refers to the bytes of the shader pack.
struct SPIRLOOM_API ShaderLibrary {
  // Opens the shader library at `path` (.slpack, docs/how-to/shrink-the-binary.md); the path
  // becomes its name. Maps the file and checks the digest, every offset and every formula. The
  // SPIR-V goes to the driver unmodified, so only open files from trusted sources. The file must
  // not be modified while in use; replacing it (rename) is allowed. Fails with kNotFound if it does
  // not exist, kPermission if it is not readable, kInvalidFile if it is damaged or not a shader
  // pack, kUnsupported for another version of the format.
  static Result<ShaderLibrary> Open(const std::string& path);

  std::string name;  // for messages, e.g. "spirloom::shaders_all"
  // The shader pack (runtime/pack/pack_format.h), 8-byte aligned.
  std::span<const std::byte> pack;
  // Whether its operators replace those of the same name in other libraries. A pack that was built
  // with OVERRIDE does so in any case.
  bool overrides = false;
  // Owns the bytes; a Runtime keeps it. Null: the bytes are valid as long as the program.
  std::shared_ptr<const void> owner = nullptr;
};

// The library with all operators of this build, defined by the target spirloom::shaders_all.
SPIRLOOM_API const ShaderLibrary& AllShaders();

}  // namespace spirloom

#endif  // SPIRLOOM_LIBRARY_H_
