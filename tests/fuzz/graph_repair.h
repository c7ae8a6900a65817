// Repairs a randomly mutated graph.
#ifndef SPIRLOOM_TESTS_FUZZ_GRAPH_REPAIR_H_
#define SPIRLOOM_TESTS_FUZZ_GRAPH_REPAIR_H_

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_index.h"
#include "tests/fuzz/graph_file.h"

namespace spirloom::fuzz {

// Whether the operator accepts the node's arguments. Their tensors are those of `graph`.
bool Infers(const schema::GraphT& graph, const ops::OpEntry& op, const schema::NodeT& node);

// Allocates the bytes of constants, replaces undefined inputs of nodes, infers the shapes of
// computed tensors, names inputs and outputs, and removes unused tensors. With `drop_failing`,
// removes nodes whose outputs cannot be inferred. Constants above `constant_bytes` become inputs.
void Repair(GraphFile& file, const ops::OpIndex& index, size_t constant_bytes, bool drop_failing,
            uint64_t seed);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_GRAPH_REPAIR_H_
