// Writes valid and invalid graph files for tests.
#ifndef SPIRLOOM_TESTS_SUPPORT_GRAPH_FILE_BUILDER_H_
#define SPIRLOOM_TESTS_SUPPORT_GRAPH_FILE_BUILDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/file/graph.h"
#include "runtime/graph/file/graph_loader.h"
#include "schema/graph_generated.h"

namespace spirloom::graph {

// The fields of a graph file. Nothing is checked, and enums may have any value.
struct FileTensor {
  std::string name;
  std::vector<uint64_t> shape;
  int dtype = 0;
  int constant = -1;
  int storage = 0;
  int64_t min = INT64_MIN;
  int64_t max = INT64_MAX;
  std::vector<uint32_t> sizes =
      {};  // per dim: 0 if fixed, otherwise 1 + an index of FileGraph::sizes
};

struct FileConstant {
  uint64_t offset;
  uint64_t size;
};

struct FileNode {
  std::string op;
  std::vector<Arg> args;
  std::vector<uint32_t> outputs;
  std::string name;
  std::string source = "";  // not written if empty
};

struct FileState {
  uint32_t tensor;
  uint32_t update;
  int initial = -1;
};

struct FileGraph {
  uint32_t version = static_cast<uint32_t>(schema::FormatVersion::Current);
  std::vector<FileTensor> tensors;
  std::vector<FileConstant> constants;
  std::vector<FileNode> nodes;
  std::vector<uint32_t> inputs;
  std::vector<uint32_t> outputs;
  std::string constants_file;
  std::optional<std::array<uint8_t, 16>> constants_digest = std::nullopt;
  std::vector<std::byte> constant_section;
  std::vector<Symbol> symbols;
  std::vector<SizeExpr> sizes;
  std::vector<NumberExpr> numbers = {};  // Arg::number: 0, or 1 + an index
  std::vector<FileState> states;
  std::string method = {};                                            // name of the method
  std::vector<FileGraph> methods = {};                                // further methods
  std::vector<std::pair<std::string, std::string>> attachments = {};  // names, data
  std::vector<std::string> required_features = {};
  std::vector<IntInput> int_inputs = {};

  // Appends `values` as a constant, and its tensor; returns the index of the tensor.
  template <typename T>
  uint32_t AddConstant(const std::string& name, std::vector<uint64_t> shape, int dtype,
                       const std::vector<T>& values) {
    const size_t offset = (constant_section.size() + 63) / 64 * 64;
    const size_t size = values.size() * sizeof(T);
    constant_section.resize(offset + size);
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    std::copy(bytes, bytes + size, constant_section.begin() + static_cast<std::ptrdiff_t>(offset));
    constants.push_back({offset, size});
    tensors.push_back({name, std::move(shape), dtype, static_cast<int>(constants.size() - 1)});
    return static_cast<uint32_t>(tensors.size() - 1);
  }

  uint32_t AddTensor(const std::string& name, std::vector<uint64_t> shape, int dtype = 0,
                     int storage = 0) {
    tensors.push_back({name, std::move(shape), dtype, -1, storage});
    return static_cast<uint32_t>(tensors.size() - 1);
  }

  // The bytes of the file, 8-byte aligned.
  std::vector<std::byte> Write() const;
};

// The bytes of a constants file: `section`, and a trailer with `digest`.
std::vector<std::byte> ConstantsFile(std::vector<std::byte> section,
                                     const std::array<uint8_t, 16>& digest);

Arg NoneArg();
Arg TensorArg(uint32_t tensor);
Arg TensorsArg(std::vector<uint32_t> tensors);
Arg IntArg(int64_t value);
Arg FloatArg(double value);
Arg BoolArg(bool value);
Arg IntsArg(std::vector<int64_t> values);
Arg StringArg(std::string value);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_TESTS_SUPPORT_GRAPH_FILE_BUILDER_H_
