// Calls of the runtime's operators by their names, with tensors of PyTorch.
#ifndef SPIRLOOM_INTEGRATIONS_TORCH_RUNTIME_CALL_H_
#define SPIRLOOM_INTEGRATIONS_TORCH_RUNTIME_CALL_H_

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "spirloom/spirloom.h"

namespace spirloom::pytorch {

// The maximum number of dimensions of a tensor in a call.
inline constexpr size_t kMaxRank = 8;

// The runtime's dtype, and PyTorch's; none for dtypes that the other side lacks.
std::optional<spirloom_dtype> DTypeOf(c10::ScalarType type);
std::optional<c10::ScalarType> TypeOf(spirloom_dtype dtype);
// The name of a dtype in specs, "f32"; null for dtypes that the runtime lacks.
const char* DTypeName(c10::ScalarType type);

// The index of an operator of the runtime by its name, or none. Opens the device.
std::optional<size_t> FindOperator(const std::string& name);

// A tensor over the block of a result, which it owns. `type` has the size of the result's dtype, or
// a multiple of it.
at::Tensor WrapResult(const spirloom_device_tensor& result, c10::ScalarType type,
                      at::IntArrayRef sizes);

// A call of an operator with its arguments in the order of the spec:
//
//   const auto y = RuntimeCall("aten.index_select").Tensor(x).Int(0).Tensor(index).Run();
class RuntimeCall {
 public:
  explicit RuntimeCall(const char* name) : name_(name) {}

  // A device tensor of one of the runtime's dtypes, copied if it is not contiguous. An undefined
  // one is absent.
  RuntimeCall& Tensor(const at::Tensor& tensor);
  RuntimeCall& Tensor(const std::optional<at::Tensor>& tensor);
  // A contiguous tensor as elements of `dtype` and of these sizes.
  RuntimeCall& Bits(const at::Tensor& tensor, spirloom_dtype dtype, std::vector<int64_t> sizes);
  // A device tensor that the operator moves, of any dtype with elements of 1, 2, 4 or 8 bytes.
  // int64, float64 and bfloat16 are pairs of words or bytes in a further dimension.
  RuntimeCall& Elements(const at::Tensor& tensor);
  RuntimeCall& Int(int64_t value);
  RuntimeCall& Bool(bool value);
  RuntimeCall& Float(double value);
  RuntimeCall& Ints(std::vector<int64_t> values);
  RuntimeCall& String(const char* value);

  // The results, or none if no kernel supports the call.
  std::optional<std::vector<spirloom_device_tensor>> RunRaw(size_t results = 1);
  // The result, with the dtype that PyTorch has for the runtime's.
  std::optional<at::Tensor> Run();
  // The result with elements of `type`, that of Elements().
  std::optional<at::Tensor> RunAs(c10::ScalarType type);

 private:
  spirloom_argument& Add(spirloom_argument_kind kind);

  const char* const name_;
  bool is_supported_ = true;
  std::vector<spirloom_argument> arguments_;
  // What the arguments refer to.
  std::deque<spirloom_device_tensor> tensors_;
  std::deque<std::vector<int64_t>> lists_;
  std::vector<at::Tensor> kept_;
};

}  // namespace spirloom::pytorch

#endif  // SPIRLOOM_INTEGRATIONS_TORCH_RUNTIME_CALL_H_
