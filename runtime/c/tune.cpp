// A separate file, so that programs that do not tune do not link the autotuner.
#include "spirloom/model.h"
#include "spirloom/spirloom.h"

const spirloom_tuner* spirloom_kernel_autotuner() {
  return reinterpret_cast<const spirloom_tuner*>(spirloom::KernelAutotuner());
}
