// A graph file as objects that can be changed, and back.
#ifndef SPIRLOOM_TESTS_FUZZ_GRAPH_FILE_H_
#define SPIRLOOM_TESTS_FUZZ_GRAPH_FILE_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schema/graph_generated.h"

namespace spirloom::fuzz {

struct GraphFile {
  schema::GraphT graph;
  std::vector<std::byte> constants;  // the section
};

// Takes a file apart, of which nothing is trusted; an empty graph where that cannot be done.
GraphFile ReadGraphFile(std::span<const std::byte> file);

std::vector<std::byte> WriteGraphFile(const GraphFile& file);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_GRAPH_FILE_H_
