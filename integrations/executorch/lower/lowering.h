// Lowers the graph of a delegate to a graph.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_LOWERING_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_LOWERING_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/lower/graph_writer.h"
#include "integrations/executorch/lower/sym_ints.h"
#include "integrations/executorch/names/name_table.h"
#include "spirloom/status.h"

namespace spirloom::delegate {

// An input or output of a delegate: a tensor of dtype `type`, or an int.
struct IoSpec {
  bool is_tensor = false;
  ElementType type{};
  Shape bounds;       // maximum sizes
  uint32_t step = 0;  // of an int output: its index in Lowered::steps
};

struct Lowered {
  GraphParts graph;
  std::vector<IoSpec> inputs;
  std::vector<IoSpec> outputs;  // the graph's outputs are the tensors among them
  // The graph's inputs are the tensors among `inputs`, then those among these; the others are its
  // integer inputs.
  std::vector<IntInput> int_inputs;
  std::vector<SymStep> steps;
  std::vector<IndexStep> index_steps;
  std::string fixed_by;  // the call that requires fixed sizes; empty: sizes are dynamic
};

// The constants of the result are views into those of `program`. Fails with kUnsupported, listing
// all calls without a mapping in `names` and all unsupported values, and with kInvalidFile for an
// invalid program.
Result<Lowered> Lower(const Program& program, const NameTable& names);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_LOWERING_H_
