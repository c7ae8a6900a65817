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
  // Runs the call with operator `op` of the runtime, and returns its results in memory of their
  // own. Empty, with a reason, if no kernel supports it.
  std::vector<at::Tensor> Run(size_t op);

  // Why the last function failed, for CountOnCpu().
  const std::string& reason() const { return reason_; }
  // Whether the arguments have the dtype int64, for which there may be another row.
  bool is_int64() const { return type_ == c10::ScalarType::Long; }

 private:
  bool Fail(std::string reason);
  // The dtype in which the call computes: that of its tensors, or their common dtype. `values` are
  // those of the binding.
  bool FindType(const Binding& binding, c10::ArrayRef<c10::IValue> values);
  bool CheckTensor(const at::Tensor& tensor);
  // Whether the row computes with type_.
  bool CheckType();
  bool Set(size_t index, const c10::IValue& value);
  bool SetDefault(size_t index);
  bool SetTensor(spirloom_argument& argument, const c10::IValue& value);
  bool SetNumber(spirloom_argument& argument, const at::Scalar& value);
  bool SetIndices(spirloom_argument& argument, const at::Tensor& tensor);
  bool SetMask(spirloom_argument& argument, const at::Tensor& tensor);
  // A dimension, which counts from the front if the call has a further one.
  int64_t Dimension(const std::string& name, int64_t value) const;
  // Adds a contiguous tensor as elements of `dtype`.
  bool Add(const at::Tensor& tensor, spirloom_dtype dtype, std::vector<spirloom_device_tensor>& to);
  // Adds a tensor, or a contiguous copy of it in the dtype of the call.
  bool AddTensor(const at::Tensor& given, std::vector<spirloom_device_tensor>& to);
  bool AddTensors(spirloom_argument& argument, c10::ArrayRef<at::Tensor> tensors);
  // The result at `index`; int32 becomes int64 where PyTorch has that.
  at::Tensor Wrap(const spirloom_device_tensor& result, size_t index) const;

  const OperatorRow& row_;
  std::vector<spirloom_argument> arguments_;
  c10::ScalarType type_ = c10::ScalarType::Undefined;
  int64_t rank_ = 0;     // of the first tensor
  bool pairs_ = false;   // tensors are int64: pairs of int32
  bool narrow_ = false;  // tensors are bfloat16, and the call computes in float32
  // What the arguments refer to.
  std::deque<std::vector<spirloom_device_tensor>> tensors_;
  std::deque<std::vector<int64_t>> lists_;
  std::deque<std::string> texts_;
  std::vector<at::Tensor> kept_;
  std::string reason_;
};

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_OPERATOR_CALL_H_
