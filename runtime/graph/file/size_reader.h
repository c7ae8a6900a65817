// Reads the symbols and size expressions of a graph file.
#ifndef SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_READER_H_
#define SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_READER_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/file/file_access.h"
#include "runtime/graph/file/graph.h"

namespace spirloom::graph {

// Validates symbols and size expressions and copies them to `graph`.
Status ReadSymbols(const schema::Graph& source, ReadBudget& budget, Graph& graph);

// Validates the integer inputs, after ReadSymbols(), and copies them to `graph`.
Status ReadIntInputs(const schema::Graph& source, ReadBudget& budget, Graph& graph);

// Validates the numbers that depend on sizes, after ReadSymbols(), and copies them to `graph`.
Status ReadNumbers(const schema::Graph& source, ReadBudget& budget, Graph& graph);

// Reads the symbolic sizes of tensors and arguments, after ReadSymbols() and ReadNumbers(). Holds a
// reference to `budget`.
class SizeReader {
 public:
  static Result<SizeReader> Create(const Graph& graph, ReadBudget& budget);

  // Reads the `sizes` field of a tensor or argument, whose maximum values are `values`, into
  // `sizes`. Fails with kInvalidFile unless each value equals its size expression at the maximum of
  // all symbols, or is inferred (if `may_be_inferred`).
  Status Read(const flatbuffers::Vector<uint32_t>* source, std::span<const int64_t> values,
              bool may_be_inferred, std::vector<uint32_t>& sizes) const;

  // Reads the `number` field of an argument, whose value at the maximum sizes is `arg.f`. Fails
  // with kInvalidFile unless the expression has this value, to nine digits.
  Status ReadNumber(uint32_t entry, Arg& arg) const;

 private:
  SizeReader(std::vector<int64_t> values, std::vector<double> numbers, ReadBudget& budget)
      : values_(std::move(values)), numbers_(std::move(numbers)), budget_(&budget) {}

  // Of each expression at the maximum of all symbols.
  std::vector<int64_t> values_;
  std::vector<double> numbers_;
  ReadBudget* budget_;
};

// Fails with kInvalidFile for a symbol that is no integer input, unless an input dimension is
// linear in it (SizeExpr::AsLinear()), or if an input has an inferred size.
Status CheckSymbolsOfInputs(const Graph& graph);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_FILE_SIZE_READER_H_
