// A call of a runtime's operator with arguments of PyTorch's.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_CALL_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_CALL_H_

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "integrations/torch/binding.h"
#include "integrations/torch/operator_table.h"
#include "spirloom/spirloom.h"

namespace spirloom::pytorch {

// Raises RuntimeError unless the tensor is on the device, as PyTorch does for its own devices.
void CheckOnDevice(const at::Tensor& tensor);

// Converts arguments and runs one call. Holds references to the row.
class OperatorCall {
 public:
  explicit OperatorCall(const OperatorRow& row) : row_(row), arguments_(row.arguments.size()) {}

  // Sets the arguments from values of the schema, in its order. False if no kernel computes calls
  // with such values, which reason() then explains.
  bool SetArguments(const c10::FunctionSchema& schema, const Binding& binding,
                    c10::ArrayRef<c10::IValue> values);
  // Runs the call with operator `op` of the runtime, and returns its result in memory of its own.
  // None, with a reason, if no kernel supports it.
  std::optional<at::Tensor> Run(size_t op);

  // Why the last function failed, for CountOnCpu().
  const std::string& reason() const { return reason_; }

 private:
  bool Fail(std::string reason);
  // The floating-point dtype of the device's tensors, which must have the same; `values` are those
  // of the schema.
  bool FindType(c10::ArrayRef<c10::IValue> values);
  bool CheckTensor(const at::Tensor& tensor);
  bool Set(size_t index, const c10::IValue& value);
  bool SetDefault(size_t index);
  bool SetTensor(spirloom_argument& argument, const c10::IValue& value);
  bool SetNumber(spirloom_argument& argument, const at::Scalar& value);
  // Adds a tensor, or a contiguous copy of it.
  bool AddTensor(const at::Tensor& given, std::vector<spirloom_device_tensor>& to);
  bool AddTensors(spirloom_argument& argument, c10::ArrayRef<at::Tensor> tensors);

  const OperatorRow& row_;
  std::vector<spirloom_argument> arguments_;
  c10::ScalarType type_ = c10::ScalarType::Undefined;
  bool has_dimensions_ = false;  // a tensor of `type_` has at least one dimension
  // What the arguments refer to.
  std::deque<std::vector<spirloom_device_tensor>> tensors_;
  std::deque<std::vector<int64_t>> lists_;
  std::deque<std::string> texts_;
  std::vector<at::Tensor> kept_;
  std::string reason_;
};

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_CALL_H_
