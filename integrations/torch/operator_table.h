// The operators that Vulkan kernels compute, by PyTorch's names. Generated from the specs.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_TABLE_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace spirloom::pytorch {

// The type of a spec's argument. Numbers are floats. kIndex: a tensor of int32 where PyTorch has
// int64 indices; kMask: a tensor of bool.
enum class SpecType : uint8_t {
  kTensor,
  kTensorList,
  kInt,
  kFloat,
  kBool,
  kInts,
  kString,
  kIndex,
  kMask
};

// Properties of a row.
enum RowFlag : uint32_t {
  kPromotes = 1,     // tensors are converted to their common dtype first
  kBools = 2,        // computes with bool what PyTorch does
  kInts = 4,         // the same with int32
  kPairs = 8,        // moves int64 elements as pairs of int32 in a further dimension
  kIndexed = 16,     // indices have the rank of the moved tensor
  kConverted = 32,   // integers are converted to the default floating-point dtype
  kTakesInt64 = 64,  // tensors are int64: pairs of int32 in a further dimension
  kFused = 128,      // also computes an operator that PyTorch decomposes
};

// An argument of a spec, with the default in the member for its type; ints and bools are in `ints`.
struct SpecArgument {
  std::string name;
  SpecType type;
  bool optional;  // a tensor that may be absent
  bool has_default;
  double f;
  std::vector<int64_t> ints;
  std::string s;
  int default_of;  // the earlier argument whose value is the default; -1: none
};

struct OperatorRow {
  std::string aten;  // "aten::add.Tensor"
  std::string op;    // the runtime's operator: "aten.add.Tensor"
  uint32_t flags;    // of RowFlag
  size_t results;
  uint32_t wide;  // bits of the results that are int64 in PyTorch, and int32 here
  std::vector<SpecArgument> arguments;

  bool Has(RowFlag flag) const { return (flags & flag) != 0; }
};

// All rows, by PyTorch's names. Two rows with the same name: floats, and int64.
std::vector<OperatorRow> OperatorTable();

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_TABLE_H_
