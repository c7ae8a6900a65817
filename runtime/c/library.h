// What the C API's shader libraries are.
#ifndef SPIRLOOM_RUNTIME_C_LIBRARY_H_
#define SPIRLOOM_RUNTIME_C_LIBRARY_H_

#include "spirloom/library.h"
#include "spirloom/spirloom.h"

struct spirloom_library {
  spirloom::ShaderLibrary library;
};

#endif  // SPIRLOOM_RUNTIME_C_LIBRARY_H_
