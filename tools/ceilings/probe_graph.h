// Graphs of the probes, in memory.
#ifndef SPIRLOOM_TOOLS_CEILINGS_PROBE_GRAPH_H_
#define SPIRLOOM_TOOLS_CEILINGS_PROBE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/graph_generated.h"

namespace spirloom::ceilings {

// Builds a graph file, node by node. Tensors are of f32 and one dimension.
class ProbeGraph {
 public:
  using Tensor = uint32_t;

  // The graph's input, of `count` elements.
  explicit ProbeGraph(uint64_t count);

  Tensor input() const { return 0; }
  // Adds a node `op(x)`, or `op(x, numbers…)`, whose result has `count` elements.
  Tensor Add(const std::string& op, Tensor x, const std::vector<int64_t>& numbers, uint64_t count);
  // The file, whose outputs are those tensors.
  std::vector<std::byte> Finish(const std::vector<Tensor>& outputs);

 private:
  Tensor AddTensor(uint64_t count);

  schema::GraphT graph_;
};

}  // namespace spirloom::ceilings

#endif  // SPIRLOOM_TOOLS_CEILINGS_PROBE_GRAPH_H_
