// Upper bounds of a program's SymInt inputs.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_UPPER_BOUNDS_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_UPPER_BOUNDS_H_

#include <cstdint>
#include <map>

#include "integrations/executorch/blob/program.h"

namespace spirloom::delegate {

class UpperBounds {
 public:
  explicit UpperBounds(const Program& program);

  // The value of a SymInt if all tensors have their declared sizes, from 0 to kMaxSymInt. A program
  // does not store it: it is inferred from the shape of a tensor of which the SymInt determines a
  // size, directly or through arithmetic. Without such a tensor, it is the maximum size of any
  // tensor.
  int64_t Of(uint32_t id) const;

 private:
  std::map<uint32_t, int64_t> inferred_;
  int64_t max_size_ = 1;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_UPPER_BOUNDS_H_
