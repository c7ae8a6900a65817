#include "integrations/torch/operator_table.h"

#include <cmath>

namespace spirloom::pytorch {

std::vector<OperatorRow> OperatorTable() {
  return {
#include "operators.inc"
  };
}

}  // namespace spirloom::pytorch
