// Graphs that also return the results of their nodes, for ExecuTorch's debug buffer.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_INTERMEDIATES_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_INTERMEDIATES_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::delegate {

struct ObservedNode {
  std::string name;
  size_t output = 0;  // index of the node's first result among the outputs
};

struct ObservedGraph {
  std::vector<std::byte> file;      // the graph; results of nodes follow its outputs
  std::vector<ObservedNode> nodes;  // in order
  size_t further_outputs = 0;
};

// Adds the first result of each node to the outputs of a graph file with one method, except new
// values of states. Fails with kInvalidFile for a malformed file.
Result<ObservedGraph> WithIntermediates(std::span<const std::byte> file);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_INTERMEDIATES_H_
