// The constant section as a file beside the graph (schema/graph.fbs).
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_CONSTANTS_FILE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_CONSTANTS_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "schema/graph_generated.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// The name of the file that holds the constants of `source`; empty if the graph file does. Fails
// with kInvalidFile if it lies in another folder.
Result<std::string> ConstantsFileName(const schema::Graph& source);

// The constant section in `file`, the content of the file called `name`. The digest at its end must
// be the one that `source` states: two comparisons, however large the constants are. Fails with
// kInvalidFile naming both digests.
Result<std::span<const std::byte>> ConstantSection(const schema::Graph& source,
                                                   const std::string& name,
                                                   std::span<const std::byte> file);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_CONSTANTS_FILE_H_
