// From a delegate's network to a graph file.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_LOWERING_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_LOWERING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/sym_ints.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// What passes the delegate's border: a tensor of elements `type`, or a number.
struct Border {
  bool is_tensor = false;
  ElementType type{};
  Shape bounds;       // the greatest sizes
  uint32_t step = 0;  // of an output that is a number
};

struct Lowered {
  std::vector<std::byte> graph;  // schema/graph.fbs
  std::vector<Border> inputs;
  std::vector<Border> outputs;  // of which the graph has the tensors
  // The graph's inputs are the tensors among `inputs`; then, for each of these steps, a tensor of
  // bytes whose length is the step's value: so it becomes a size of the graph.
  std::vector<uint32_t> size_steps;
  std::vector<SymStep> steps;
  std::vector<PlaceStep> places;
  std::string fixed_by;  // what keeps the sizes from varying; empty: nothing does
};

// Fails with kUnsupported, listing every call that `names` do not serve and every value that cannot
// be, and with kInvalidFile for a network that makes no sense.
Result<Lowered> Lower(const Program& program, const NameTable& names);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_LOWERING_H_
