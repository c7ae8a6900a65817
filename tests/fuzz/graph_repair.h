// Makes a valid graph of one that was changed at random.
#ifndef SPIRLOOM_TESTS_FUZZ_GRAPH_REPAIR_H_
#define SPIRLOOM_TESTS_FUZZ_GRAPH_REPAIR_H_

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_index.h"
#include "tests/fuzz/graph_file.h"

namespace spirloom::fuzz {

// Whether the operator accepts the node's arguments, whose tensors are those of `graph`.
bool Infers(const schema::GraphT& graph, const ops::OpEntry& op, const schema::NodeT& node);

// Gives constants bytes, nodes defined tensors, computed tensors the shapes that their nodes infer,
// and the interface names; drops tensors that nothing uses. A node that infers nothing goes if
// `drop_failing`. A constant of more than `constant_bytes` becomes an input.
void Repair(GraphFile& file, const ops::OpIndex& index, size_t constant_bytes, bool drop_failing,
            uint64_t seed);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_GRAPH_REPAIR_H_
