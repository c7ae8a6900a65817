// Graph files of the probe operators, built in memory.
#ifndef SPIRLOOM_TOOLS_PEAKS_PROBE_GRAPH_H_
#define SPIRLOOM_TOOLS_PEAKS_PROBE_GRAPH_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "schema/graph_generated.h"

namespace spirloom::peaks {

// Builds a graph file, node by node. All tensors are f32 and one-dimensional.
class ProbeGraph {
 public:
  using Tensor = uint32_t;

  // Creates a graph with one input of `count` elements.
  explicit ProbeGraph(uint64_t count);

  Tensor input() const { return 0; }
  // Adds a node `op(x, ints…)` whose result has `count` elements.
  Tensor Add(const std::string& op, Tensor x, const std::vector<int64_t>& ints, uint64_t count);
  // Returns the file, with `outputs` as the graph's outputs.
  std::vector<std::byte> Finish(const std::vector<Tensor>& outputs);

 private:
  Tensor AddTensor(uint64_t count);

  schema::GraphT graph_;
};

}  // namespace spirloom::peaks

#endif  // SPIRLOOM_TOOLS_PEAKS_PROBE_GRAPH_H_
