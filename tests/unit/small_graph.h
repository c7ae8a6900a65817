// A graph file for tests of its reader, and what they expect of the reader.
#ifndef SPIRLOOM_TESTS_UNIT_SMALL_GRAPH_H_
#define SPIRLOOM_TESTS_UNIT_SMALL_GRAPH_H_

#include <string>

#include "spirloom/status.h"
#include "tests/unit/graph_file_builder.h"

namespace spirloom::graph {

// y = relu(x + w), with a constant w.
FileGraph SmallGraph();

// Of reading the file; ok for one that can be read.
Status ErrorOf(const FileGraph& file);

// Fails the test unless reading the file gives the code and a message with `message` in it.
void ExpectError(const FileGraph& file, const std::string& message,
                 StatusCode code = StatusCode::kInvalidFile);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_TESTS_UNIT_SMALL_GRAPH_H_
