// External constants: the constant section in a separate file (schema/graph.fbs).
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_CONSTANTS_FILE_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_CONSTANTS_FILE_H_

#include <cstddef>
#include <span>
#include <string>

#include "schema/graph_generated.h"
#include "spirloom/status.h"

namespace spirloom::graph {

// Returns the name of the constants file of `source`; empty if the graph file contains the
// constants. Fails with kInvalidFile if the name contains a directory.
Result<std::string> ConstantsFileName(const schema::Graph& source);

// Returns the constant section of `file`, the contents of the file `name`. Fails with kInvalidFile
// and both digests if the digest in its footer differs from the digest in `source`. The constants
// themselves are not hashed.
Result<std::span<const std::byte>> ConstantSection(const schema::Graph& source,
                                                   const std::string& name,
                                                   std::span<const std::byte> file);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_CONSTANTS_FILE_H_
