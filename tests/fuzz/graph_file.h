// Unpacks a graph file to mutable objects, and packs it again.
#ifndef SPIRLOOM_TESTS_FUZZ_GRAPH_FILE_H_
#define SPIRLOOM_TESTS_FUZZ_GRAPH_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schema/graph_generated.h"

namespace spirloom::fuzz {

// Of TensorT::sizes: the size follows from the operator.
inline constexpr uint32_t kInferredEntry = UINT32_MAX;

struct GraphFile {
  schema::GraphT graph;
  std::vector<std::byte> constants;  // the constant section
};

// Unpacks an untrusted file; returns an empty graph for a malformed one.
GraphFile ReadGraphFile(std::span<const std::byte> file);

std::vector<std::byte> WriteGraphFile(const GraphFile& file);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_GRAPH_FILE_H_
