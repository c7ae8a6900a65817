// What the C API's models are.
#ifndef SPIRLOOM_RUNTIME_C_MODEL_H_
#define SPIRLOOM_RUNTIME_C_MODEL_H_

#include <span>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/spirloom.h"

namespace spirloom::c {

// What tensors' dimensions are, as arrays of C strings, which refer to the infos.
class DimTexts {
 public:
  // Refers to `infos` from now on. Only allocates when there are more of them, or of higher rank,
  // than the last time: of one model there never are.
  void Refer(std::span<const TensorInfo> infos);

  const char* const* operator[](size_t i) const { return texts_[i].data(); }

 private:
  std::vector<std::vector<const char*>> texts_;
};

}  // namespace spirloom::c

struct spirloom_model {
  explicit spirloom_model(spirloom::Model made);

  // To be called when the model's infos are others.
  void ReferToInfos();

  spirloom::Model model;
  spirloom::c::DimTexts input_dims;
  spirloom::c::DimTexts output_dims;
  spirloom::c::DimTexts state_dims;
};

#endif  // SPIRLOOM_RUNTIME_C_MODEL_H_
