// Structure-aware mutation of graphs: operators, arguments, shapes, constants, storages, symbols.
// The loader accepts most of the results.
#ifndef SPIRLOOM_TESTS_FUZZ_GRAPH_MUTATOR_H_
#define SPIRLOOM_TESTS_FUZZ_GRAPH_MUTATOR_H_

#include <cstdint>
#include <random>

#include "runtime/ops/op_index.h"
#include "tests/fuzz/graph_file.h"

namespace spirloom::fuzz {

struct MutatorLimits {
  size_t nodes = 24;
  size_t tensors = 64;
  size_t constant_bytes = 2048;  // of one constant
  // Also extreme values, sizes beyond any memory, and damage to single fields.
  bool hostile = true;
};

class GraphMutator {
 public:
  // Uses the operators of `index`, which must outlive the mutator.
  GraphMutator(const ops::OpIndex& index, uint64_t seed, MutatorLimits limits = {})
      : index_(index), random_(seed), limits_(limits) {}

  // Applies a few random changes, then usually repairs the graph.
  void Mutate(GraphFile& file);
  // Appends the nodes of `other` to those of `file`, then usually repairs the graph.
  void Append(GraphFile& file, const GraphFile& other);

 private:
  uint64_t Below(uint64_t count) { return count == 0 ? 0 : random_() % count; }
  bool OneIn(uint64_t count) { return Below(count) == 0; }
  int64_t SomeInt();
  uint64_t SomeDim();
  double SomeFloat();
  std::vector<int64_t> SomeInts(const ops::ArgInfo& arg);

  uint32_t AddTensor(GraphFile& file, schema::DType dtype, std::vector<uint64_t> shape);
  uint32_t AddInput(GraphFile& file);
  uint32_t AddConstant(GraphFile& file);
  uint32_t SomeTensor(GraphFile& file);
  schema::ArgT SomeArg(GraphFile& file, const ops::ArgInfo& info);
  void FillArgs(GraphFile& file, const ops::OpInfo& op, schema::NodeT& node);

  void MutateOnce(GraphFile& file);
  void AddNode(GraphFile& file);
  void ReplaceOp(GraphFile& file);
  void ChangeArg(GraphFile& file);
  void ChangeTensor(GraphFile& file);
  void ChangeNodes(GraphFile& file);
  void ChangeInterface(GraphFile& file);
  void ChangeSizes(GraphFile& file);
  void DamageField(GraphFile& file);

  const ops::OpIndex& index_;
  std::mt19937_64 random_;
  const MutatorLimits limits_;
};

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_GRAPH_MUTATOR_H_
