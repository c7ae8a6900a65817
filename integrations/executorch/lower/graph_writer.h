// Builds a graph file (schema/graph.fbs) in memory.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_GRAPH_WRITER_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_GRAPH_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "integrations/executorch/lower/sym_ints.h"
#include "schema/graph_generated.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::delegate {

// An int at the maximum sizes, and its entry of `sizes` in schema/graph.fbs (0: constant).
struct SizedInt {
  int64_t value = 0;
  uint32_t size = 0;
};

// The offset at or after `size` that is aligned for the constant section, or a constant in it.
constexpr size_t AlignedForConstants(size_t size) { return (size + 63) / 64 * 64; }

schema::ArgT TensorArg(uint32_t tensor);
schema::ArgT TensorsArg(std::span<const uint32_t> tensors);
schema::ArgT IntArg(SizedInt value);
schema::ArgT IntsArg(std::span<const SizedInt> values);
schema::ArgT FloatArg(double value);
schema::ArgT BoolArg(bool value);
schema::ArgT TextArg(std::string value);

// A graph file without its constants, and these by index.
struct GraphParts {
  std::vector<std::byte> file;                        // schema/graph.fbs
  std::vector<std::span<const std::byte>> constants;  // in the program, or in `buffers`
  std::vector<std::vector<std::byte>> buffers;        // those that the program does not contain
};

// Methods return and accept indices into the file's vectors.
class GraphWriter {
 public:
  // `program_bytes` is the size of the program, which bounds the memory that Allocate() returns.
  explicit GraphWriter(uint64_t program_bytes) : budget_(kFreeBytes + 2 * program_bytes) {}

  uint32_t AddTensor(std::string name, DType dtype, const Shape& shape);
  // `bytes` must outlive the result of Write(). Constants of the same bytes are stored once.
  uint32_t AddConstant(std::string name, DType dtype, const Shape& shape,
                       std::span<const std::byte> bytes);
  // Zeroed bytes of the writer for a constant that the program does not contain. Fails with
  // kUnsupported if all of them exceed the budget.
  Result<std::span<std::byte>> Allocate(uint64_t bytes);
  // Makes `tensor` a state with these initial bytes, which must outlive the result of Write().
  // `update` is its value after a run.
  void AddState(uint32_t tensor, uint32_t update, std::span<const std::byte> initial);
  void AddNode(std::string op, std::string name, std::vector<schema::ArgT> args,
               std::vector<uint32_t> outputs);
  void AddInput(uint32_t tensor) { graph_.inputs.push_back(tensor); }
  // Adds an integer input, after the inputs so far: the value of a symbol.
  void AddIntInput(std::string name, uint32_t symbol);
  void AddOutput(uint32_t tensor) { graph_.outputs.push_back(tensor); }

  // Adds a symbol for a size between 0 and `max`.
  uint32_t AddSymbol(std::string name, int64_t max);
  size_t symbols() const { return graph_.symbols.size(); }
  // Adds the size expression and returns its entry.
  uint32_t SizeEntry(const SymExpr& expr);
  void SetSizes(uint32_t tensor, std::vector<uint32_t> entries);

  DType dtype(uint32_t tensor) const;
  // Valid as long as the writer.
  const Shape& shape(uint32_t tensor) const { return shapes_[tensor]; }
  // The bytes of a constant tensor; none for other tensors.
  std::optional<std::span<const std::byte>> ConstantOf(uint32_t tensor) const;
  // Whether a node computes it.
  bool is_computed(uint32_t tensor) const;

  // Returns the graph. With symbols, the shapes of computed tensors are inferred from their nodes.
  GraphParts Write() &&;

 private:
  // The budget of an empty program. Enough for four tables of the maximum size.
  static constexpr uint64_t kFreeBytes = uint64_t{16} << 20;

  // The index of the constant with these bytes.
  int32_t IndexOf(std::span<const std::byte> bytes);

  schema::GraphT graph_;
  std::deque<Shape> shapes_;  // references stay valid when tensors are added
  std::vector<std::span<const std::byte>> constants_;
  std::map<std::pair<const std::byte*, size_t>, int32_t> constant_of_;
  std::vector<std::vector<std::byte>> buffers_;
  uint64_t budget_;
  uint64_t allocated_ = 0;
};

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_GRAPH_WRITER_H_
