// The operators that Vulkan kernels compute, by PyTorch's names. Generated from the specs.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_TABLE_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace spirloom::pytorch {

// The type of a spec's argument. Numbers are floats, as calls compute floating-point dtypes only.
enum class SpecType : uint8_t { kTensor, kTensorList, kInt, kFloat, kBool, kInts, kString };

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
  std::vector<SpecArgument> arguments;
};

// All rows, by PyTorch's names.
std::vector<OperatorRow> OperatorTable();

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_TABLE_H_
