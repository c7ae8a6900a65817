// What the C API's runtimes are.
#ifndef SPIRLOOM_RUNTIME_C_RUNTIME_H_
#define SPIRLOOM_RUNTIME_C_RUNTIME_H_

#include <utility>

#include "runtime/c/device.h"
#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"

struct spirloom_runtime {
  explicit spirloom_runtime(spirloom::Runtime made)
      : runtime(std::move(made)), device(runtime.device()) {}

  spirloom::Runtime runtime;
  spirloom::c::DeviceView device;
};

#endif  // SPIRLOOM_RUNTIME_C_RUNTIME_H_
