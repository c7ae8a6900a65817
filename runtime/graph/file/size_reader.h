// Reads the symbols of a graph file and what is computed from them.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_READER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_READER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph.h"

namespace spirloom::graph {

// Checks the file's symbols and size expressions and copies them to `graph`.
Status ReadSymbols(const schema::Graph& source, ReadBudget& budget, Graph& graph);

// Reads which numbers of tensors and arguments vary, once ReadSymbols() is done. Refers to
// `budget`.
class SizeReader {
 public:
  static Result<SizeReader> Create(const Graph& graph, ReadBudget& budget);

  // Reads the `sizes` field beside `numbers` of a tensor or argument into `sizes`. Fails with
  // kInvalidFile unless each number is the value of its expression at the greatest sizes, or, where
  // allowed, inferred.
  Status Read(const flatbuffers::Vector<uint32_t>* source, std::span<const int64_t> numbers,
              bool may_be_inferred, std::vector<uint32_t>& sizes) const;

 private:
  SizeReader(std::vector<int64_t> values, ReadBudget& budget)
      : values_(std::move(values)), budget_(&budget) {}

  std::vector<int64_t> values_;  // of each expression at the greatest sizes
  ReadBudget* budget_;
};

// Fails with kInvalidFile for a symbol that no dimension of an input is, so that no shape tells it,
// and for an input with an inferred size.
Status CheckSymbolsOfInputs(const Graph& graph);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_READER_H_
