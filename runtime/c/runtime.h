// Runtimes of the C API.
#ifndef SPIRLOOM_RUNTIME_C_RUNTIME_H_
#define SPIRLOOM_RUNTIME_C_RUNTIME_H_

#include <utility>
#include <vector>

#include "runtime/c/device.h"
#include "spirloom/runtime.h"
#include "spirloom/spirloom.h"
#include "spirloom/stream.h"

struct spirloom_runtime {
  explicit spirloom_runtime(spirloom::Runtime new_runtime)
      : runtime(std::move(new_runtime)),
        device(runtime.device()),
        signatures(spirloom::SignaturesOf(runtime)) {}

  spirloom::Runtime runtime;
  spirloom::c::DeviceView device;
  std::vector<spirloom::OperatorSignature> signatures;
};

#endif  // SPIRLOOM_RUNTIME_C_RUNTIME_H_
