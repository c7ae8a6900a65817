// A small graph file, and expectations, for tests of the graph reader.
#ifndef SPIRLOOM_TESTS_SUPPORT_SMALL_GRAPH_H_
#define SPIRLOOM_TESTS_SUPPORT_SMALL_GRAPH_H_

#include <string>

#include "spirloom/status.h"
#include "tests/support/graph_file_builder.h"

namespace spirloom::graph {

// y = relu(x + w), with a constant w.
FileGraph SmallGraph();

// The status of reading the file.
Status ErrorOf(const FileGraph& file);

// Expects that reading the file fails with `code` and a message that contains `message`.
void ExpectError(const FileGraph& file, const std::string& message,
                 StatusCode code = StatusCode::kInvalidFile);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_TESTS_SUPPORT_SMALL_GRAPH_H_
