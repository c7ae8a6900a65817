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

// The bytes of a graph's constants.
struct ConstantBytes {
  std::span<const std::byte> section = {};  // in which the file has offsets
  // By index. Empty: the constants are in `section`.
  std::span<const std::span<const std::byte>> separate = {};

  uint64_t size() const;
};

// Returns the constants as views into their bytes. Fails with kInvalidFile if one is
// misaligned or out of range, or if the sizes of separate constants differ from the file's.
Result<std::vector<std::span<const std::byte>>> ReadConstants(const schema::Graph& source,
                                                              const ConstantBytes& bytes);

// Fails with kInvalidFile unless `constant` is -1 or the index of a constant of the tensor's size.
Status CheckConstantOf(const Tensor& tensor, int32_t constant,
                       std::span<const std::span<const std::byte>> constants);

// Returns the tensors. Their constant indices and sizes are checked against `constants`.
Result<std::vector<Tensor>> ReadTensors(const schema::Graph& source,
                                        std::span<const std::span<const std::byte>> constants,
                                        const SizeReader& sizes, ReadBudget& budget);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_TENSOR_READER_H_
