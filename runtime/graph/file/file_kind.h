// Recognizes files of other formats, for messages.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_KIND_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_KIND_H_

#include <cstddef>
#include <span>
#include <string>

namespace spirloom::graph {

// Returns a space and sentences about the format of `file`, which is no graph file: its name, and
// what to do with it. Empty for unknown formats.
std::string AdviceOn(std::span<const std::byte> file);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_FILE_KIND_H_
