// Apart from the rest, so that programs that do not tune need not link what measures.
#include "spirloom/model.h"
#include "spirloom/spirloom.h"

const spirloom_tuner* spirloom_measured_kernels() {
  return reinterpret_cast<const spirloom_tuner*>(spirloom::MeasuredKernels());
}
