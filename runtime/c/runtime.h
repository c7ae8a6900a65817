// Runtimes of the C API.
#ifndef SPIRLOOM_RUNTIME_C_RUNTIME_H_
#define SPIRLOOM_RUNTIME_C_RUNTIME_H_

#include <string>
#include <utility>
#include <vector>

#include "runtime/c/device.h"
#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"

struct spirloom_runtime {
  explicit spirloom_runtime(spirloom::Runtime new_runtime)
      : runtime(std::move(new_runtime)),
        device(runtime.device()),
        operators(runtime.operator_names()) {}

  spirloom::Runtime runtime;
  spirloom::c::DeviceView device;
  std::vector<std::string> operators;
};

#endif  // SPIRLOOM_RUNTIME_C_RUNTIME_H_
