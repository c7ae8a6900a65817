// Models of the C API.
#ifndef SPIRLOOM_RUNTIME_C_MODEL_H_
#define SPIRLOOM_RUNTIME_C_MODEL_H_

#include <span>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

// TensorInfo::dims of several tensors as arrays of C strings.
class DimStrings {
 public:
  // Refers to `infos`. Allocates only if there are more infos, or infos of higher rank, than in the
  // previous call; the infos of one model never grow.
  void Set(std::span<const TensorInfo> infos);

  const char* const* operator[](size_t i) const { return strings_[i].data(); }

 private:
  std::vector<std::vector<const char*>> strings_;
};

}  // namespace spirloom::c

struct spirloom_model {
  explicit spirloom_model(spirloom::Model new_model);

  // Must be called after the model's infos have changed.
  void UpdateInfos();

  spirloom::Model model;
  spirloom::c::DimStrings input_dims;
  spirloom::c::DimStrings output_dims;
  spirloom::c::DimStrings state_dims;
};

#endif  // SPIRLOOM_RUNTIME_C_MODEL_H_
