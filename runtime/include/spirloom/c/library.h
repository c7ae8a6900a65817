// Shader libraries in the C API. Part of spirloom.h, which documents the conventions.
#ifndef SPIRLOOM_C_LIBRARY_H_
#define SPIRLOOM_C_LIBRARY_H_

#include <stdbool.h>
#include <stddef.h>

#include "spirloom/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Shader libraries --------------------------------------------------------------------------

// Operators and their compiled kernels, from a file or from bytes in the program.
typedef struct spirloom_library spirloom_library;

// Opens the shader library at `path` (.slpack, docs/how-to/shrink-the-binary.md). Maps the file and
// checks its digest and structure. The SPIR-V goes to the driver unmodified, so only open files
// from trusted sources. The file must not be modified while in use; replacing it (rename) is
// allowed. Fails with SPIRLOOM_NOT_FOUND if it does not exist, SPIRLOOM_PERMISSION if it is not
// readable, SPIRLOOM_INVALID_FILE if it is damaged or not a shader pack, SPIRLOOM_UNSUPPORTED for
// another version of the format.
SPIRLOOM_C_API spirloom_status spirloom_library_open(const char* path, spirloom_library** library,
                                                     spirloom_error** error);

// The bytes of a shader library in memory.
typedef struct spirloom_pack {
  size_t struct_size;
  const char* name;  // for messages, e.g. "spirloom::shaders_all"
  const void* data;  // the contents of a .slpack file, 8-byte aligned
  size_t size;
} spirloom_pack;

// Creates a library of these bytes, which must stay valid until the library and all runtimes and
// models created with it are destroyed. They are trusted like code: spirloom_runtime_create()
// checks their structure, but not their digest. `pack` and its name are copied.
SPIRLOOM_C_API spirloom_status spirloom_library_from_pack(const spirloom_pack* pack,
                                                          spirloom_library** library,
                                                          spirloom_error** error);

// The bytes of the shader library of the target spirloom::shaders_all. CMake's
// spirloom_add_shader_library(FUNCTION Name) defines spirloom_Name(), which the program declares in
// the same way.
const spirloom_pack* spirloom_AllShaders(void);

SPIRLOOM_C_API void spirloom_library_destroy(spirloom_library* library);
// Its path, or the pack's name; "" if `library` is NULL.
SPIRLOOM_C_API const char* spirloom_library_name(const spirloom_library* library);
// Sets whether the library's operators replace those of the same name in other libraries; false by
// default. No effect on a library that was built with OVERRIDE. Applies to runtimes created later.
// Not thread-safe: no other thread may use the library during the call.
SPIRLOOM_C_API void spirloom_library_set_overrides(spirloom_library* library, bool overrides);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SPIRLOOM_C_LIBRARY_H_
