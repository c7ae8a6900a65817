// Reads the constants and tensors of a graph file.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_READER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_READER_H_

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/size_reader.h"

namespace spirloom::graph {

// The constants, as parts of the file's constant section. Fails when one is misaligned or outside.
Result<std::vector<std::span<const std::byte>>> ReadConstants(const schema::Graph& source,
                                                              std::span<const std::byte> section);

// Fails unless `constant` is -1 or the index of one that is as large as the tensor.
Status CheckConstantOf(const Tensor& tensor, int32_t constant,
                       std::span<const std::span<const std::byte>> constants);

// The tensors, checked against `constants`, which they refer to by index.
Result<std::vector<Tensor>> ReadTensors(const schema::Graph& source,
                                        std::span<const std::span<const std::byte>> constants,
                                        const SizeReader& sizes, ReadBudget& budget);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_READER_H_
