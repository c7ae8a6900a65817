// Binds the arguments of PyTorch's operators to those of specs.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_BINDING_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_BINDING_H_

#include <ATen/core/function_schema.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "integrations/torch/operator_table.h"

namespace spirloom::pytorch {

// What an overload does with its results.
enum class CallForm : uint8_t {
  kFunctional,  // new tensors
  kInPlace,     // the first argument
  kOut,         // the last argument
};

// For each argument of a schema, other than the results of kOut, the index of the spec's argument,
// or kUnbound: the value must be the schema's default, or None.
struct Binding {
  static constexpr int kUnbound = -1;
  CallForm form = CallForm::kFunctional;
  std::vector<int> arguments;
};

// Whether an argument that specs do not have has no effect with this value.
bool ChangesNothing(const std::string& name, const c10::IValue& value);

// Binds by name, otherwise positional arguments by position, as importers do. None if an argument
// has another type than the spec's, or if the results are of another kind.
std::optional<Binding> Bind(const c10::FunctionSchema& schema, const OperatorRow& row);

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_BINDING_H_
