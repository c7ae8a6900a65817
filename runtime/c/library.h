// Shader libraries of the C API.
#ifndef SPIRLOOM_RUNTIME_C_LIBRARY_H_
#define SPIRLOOM_RUNTIME_C_LIBRARY_H_

#include <vector>

#include "spirloom/library.h"
#include "spirloom/spirloom.h"
#include "spirloom/status.h"

struct spirloom_library {
  spirloom::ShaderLibrary library;
};

namespace spirloom::c {

// Refers to the caller's libraries. Fails with kInvalidArgument if one is null.
Result<std::vector<const ShaderLibrary*>> ReadLibraries(const spirloom_library* const* libraries,
                                                        size_t count);

}  // namespace spirloom::c

#endif  // SPIRLOOM_RUNTIME_C_LIBRARY_H_
