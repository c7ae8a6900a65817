#include "tools/plan/accessed_tensors.h"

#include <cstddef>
#include <set>

namespace spirloom::tools {

std::vector<uint32_t> AccessedTensors(const graph::Plan& plan, const graph::Dispatch& dispatch,
                                      bool write) {
  const bool copy = dispatch.pipeline == graph::kBufferCopy;
  std::set<uint32_t> tensors;
  for (size_t i = 0; i < dispatch.tensors.size(); ++i) {
    if (dispatch.tensors[i] == graph::kNoTensor) continue;
    const ops::Access access = copy ? (i == 0 ? ops::Access::kRead : ops::Access::kWrite)
                                    : plan.nodes[dispatch.node].kernel->operands[i].access;
    if (access != (write ? ops::Access::kRead : ops::Access::kWrite))
      tensors.insert(dispatch.tensors[i]);
  }
  return {tensors.begin(), tensors.end()};
}

}  // namespace spirloom::tools
