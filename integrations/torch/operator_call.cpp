#include "integrations/torch/operator_call.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <utility>

#include "integrations/torch/copy.h"
#include "integrations/torch/device.h"
#include "integrations/torch/device_copy.h"

namespace spirloom::pytorch {
namespace {

// The dtypes of calls.
bool IsCallType(c10::ScalarType type) {
  return type == c10::ScalarType::Float || type == c10::ScalarType::Half ||
         type == c10::ScalarType::BFloat16 || type == c10::ScalarType::Bool;
}

// A tensor of one element on the CPU is a number, as in PyTorch's own calls of devices.
bool IsNumber(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

// Whether a value stands for the default.
bool IsAbsent(const c10::IValue& value, const SpecArgument& spec) {
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return true;
  return spec.default_of >= 0 && value.isIntList() && value.toIntVector().empty();
}

}  // namespace

void CheckOnDevice(const at::Tensor& tensor) {
  TORCH_CHECK(tensor.device().type() == kDeviceType,
              "Expected all tensors to be on the same device, but found at least two devices, "
              "vulkan:0 and ",
              tensor.device(), ".");
}

bool OperatorCall::Fail(std::string reason) {
  reason_ = std::move(reason);
  return false;
}

bool OperatorCall::CheckTensor(const at::Tensor& tensor) {
  CheckOnDevice(tensor);
  if (!IsCallType(tensor.scalar_type())) return Fail("kernels of its dtype do not exist");
  if (static_cast<size_t>(tensor.dim()) > kMaxRank) {
    return Fail("a tensor has more than 8 dimensions");
  }
  return true;
}

bool OperatorCall::FindType(c10::ArrayRef<c10::IValue> values) {
  const auto find = [&](const at::Tensor& tensor) {
    if (!tensor.defined() || IsNumber(tensor)) return true;
    if (!CheckTensor(tensor)) return false;
    const c10::ScalarType type = tensor.scalar_type();
    if (type == c10::ScalarType::Bool) return true;
    if (type_ != c10::ScalarType::Undefined && type_ != type) {
      return Fail("its tensors have different dtypes");
    }
    type_ = type;
    has_dimensions_ = has_dimensions_ || tensor.dim() > 0;
    return true;
  };
  for (const c10::IValue& value : values) {
    if (value.isTensor() && !find(value.toTensor())) return false;
    if (!value.isTensorList()) continue;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      if (!find(tensor)) return false;
    }
  }
  if (type_ == c10::ScalarType::Undefined) return Fail("kernels of its dtype do not exist");
  return true;
}

bool OperatorCall::AddTensor(const at::Tensor& given, std::vector<spirloom_device_tensor>& to) {
  at::Tensor tensor = given;
  if (!given.is_contiguous()) {
    std::optional<at::Tensor> dense = MakeContiguous(given);
    if (!dense) return Fail("a tensor is not contiguous, and no kernel copies it");
    tensor = *std::move(dense);
  }
  kept_.push_back(tensor);
  spirloom_device_tensor& added = to.emplace_back();
  added.address = const_cast<void*>(tensor.const_data_ptr());  // kernels only read arguments
  added.dtype = *DTypeOf(tensor.scalar_type());
  added.rank = static_cast<size_t>(tensor.dim());
  std::ranges::copy(tensor.sizes(), added.sizes);
  return true;
}

bool OperatorCall::AddTensors(spirloom_argument& argument, c10::ArrayRef<at::Tensor> tensors) {
  std::vector<spirloom_device_tensor>& list = tensors_.emplace_back();
  for (const at::Tensor& tensor : tensors) {
    if (!tensor.defined() || IsNumber(tensor)) return Fail("a list has an element without memory");
    if (!AddTensor(tensor, list)) return false;
  }
  argument.count = list.size();
  argument.tensors = list.data();
  return true;
}

bool OperatorCall::SetNumber(spirloom_argument& argument, const at::Scalar& value) {
  if (value.isComplex()) return Fail("kernels of complex numbers do not exist");
  const auto options = at::TensorOptions().dtype(type_).device(kDeviceType);
  const at::Tensor number = at::empty({}, options);
  FromHost(number, at::scalar_tensor(value, at::TensorOptions().dtype(type_).device(at::kCPU)));
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  return AddTensors(argument, number);
}

bool OperatorCall::SetTensor(spirloom_argument& argument, const c10::IValue& value) {
  if (value.isScalar()) return SetNumber(argument, value.toScalar());
  const at::Tensor& tensor = value.toTensor();
  if (IsNumber(tensor)) {
    const bool is_wrapped = tensor.unsafeGetTensorImpl()->is_wrapped_number();
    // Otherwise its dtype may decide about that of the result.
    if (!is_wrapped && !has_dimensions_ && tensor.scalar_type() != type_) {
      return Fail("its tensors have different dtypes");
    }
    return SetNumber(argument, tensor.item());
  }
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  return AddTensors(argument, tensor);
}

bool OperatorCall::SetDefault(size_t index) {
  const SpecArgument& spec = row_.arguments[index];
  spirloom_argument& argument = arguments_[index];
  argument = {};
  if (spec.optional) {
    argument.kind = SPIRLOOM_ARGUMENT_NONE;
    return true;
  }
  if (spec.default_of >= 0) {
    argument = arguments_[static_cast<size_t>(spec.default_of)];
    return true;
  }
  if (!spec.has_default) return Fail("its kernels require the argument '" + spec.name + "'");
  if (spec.type == SpecType::kFloat) {
    argument.kind = SPIRLOOM_ARGUMENT_FLOAT;
    argument.f = spec.f;
  } else if (spec.type == SpecType::kString) {
    argument.kind = SPIRLOOM_ARGUMENT_STRING;
    argument.s = spec.s.c_str();
  } else if (spec.type == SpecType::kInts) {
    argument.kind = SPIRLOOM_ARGUMENT_INTS;
    argument.ints = spec.ints.data();
    argument.count = spec.ints.size();
  } else {
    argument.kind = spec.type == SpecType::kInt ? SPIRLOOM_ARGUMENT_INT : SPIRLOOM_ARGUMENT_BOOL;
    argument.i = spec.ints[0];
  }
  return true;
}

bool OperatorCall::Set(size_t index, const c10::IValue& value) {
  spirloom_argument& argument = arguments_[index];
  argument = {};
  switch (row_.arguments[index].type) {
    case SpecType::kTensor:
      return SetTensor(argument, value);
    case SpecType::kTensorList: {
      argument.kind = SPIRLOOM_ARGUMENT_TENSOR_LIST;
      const std::vector<at::Tensor> list = value.toTensorVector();
      return AddTensors(argument, list);
    }
    case SpecType::kInt:
      argument.kind = SPIRLOOM_ARGUMENT_INT;
      argument.i = value.toInt();
      return true;
    case SpecType::kFloat: {
      const at::Scalar number = value.toScalar();
      if (number.isComplex()) return Fail("kernels of complex numbers do not exist");
      argument.kind = SPIRLOOM_ARGUMENT_FLOAT;
      argument.f = number.toDouble();
      return true;
    }
    case SpecType::kBool:
      argument.kind = SPIRLOOM_ARGUMENT_BOOL;
      argument.i = value.toBool() ? 1 : 0;
      return true;
    case SpecType::kInts: {
      std::vector<int64_t>& list = lists_.emplace_back();
      list = value.isInt() ? std::vector<int64_t>{value.toInt()} : value.toIntVector();
      argument.kind = SPIRLOOM_ARGUMENT_INTS;
      argument.ints = list.data();
      argument.count = list.size();
      return true;
    }
    case SpecType::kString:
      argument.kind = SPIRLOOM_ARGUMENT_STRING;
      argument.s = texts_.emplace_back(value.toStringRef()).c_str();
      return true;
  }
  return false;
}

bool OperatorCall::SetArguments(const c10::FunctionSchema& schema, const Binding& binding,
                                c10::ArrayRef<c10::IValue> values) {
  if (!FindType(values.slice(0, binding.arguments.size()))) return false;
  std::vector<bool> is_set(row_.arguments.size(), false);
  for (size_t i = 0; i < binding.arguments.size(); ++i) {
    if (binding.arguments[i] != Binding::kUnbound) {
      const auto index = static_cast<size_t>(binding.arguments[i]);
      if (IsAbsent(values[i], row_.arguments[index])) continue;
      if (!Set(index, values[i])) return false;
      is_set[index] = true;
      continue;
    }
    const c10::Argument& argument = schema.arguments()[i];
    const bool is_default = argument.default_value() && *argument.default_value() == values[i];
    if (!values[i].isNone() && !is_default && !ChangesNothing(argument.name(), values[i])) {
      return Fail("its kernels have no argument '" + argument.name() + "'");
    }
  }
  for (size_t i = 0; i < is_set.size(); ++i) {
    if (!is_set[i] && !SetDefault(i)) return false;
  }
  return true;
}

std::optional<at::Tensor> OperatorCall::Run(size_t op) {
  spirloom_device_tensor result{};
  spirloom_error* error = nullptr;
  const spirloom_status status =
      spirloom_stream_call(OpenStream(), op, arguments_.data(), arguments_.size(), &result,
                           /*result_count=*/1, &error);
  if (status == SPIRLOOM_NOT_FOUND || status == SPIRLOOM_UNSUPPORTED ||
      status == SPIRLOOM_INVALID_ARGUMENT) {
    // PyTorch's own check of the arguments gives the better message.
    Fail(spirloom_error_message(error));
    spirloom_error_destroy(error);
    return std::nullopt;
  }
  if (status != SPIRLOOM_OK) Raise(error);
  const std::optional<c10::ScalarType> type = TypeOf(result.dtype);
  if (!type || !IsCallType(*type)) {
    // Integers are int64 in PyTorch.
    Call(spirloom_stream_free, OpenStream(), result.address);
    Fail("kernels of the dtype of its result do not exist");
    return std::nullopt;
  }
  return WrapResult(result, *type, at::IntArrayRef(result.sizes, result.rank));
}

}  // namespace spirloom::pytorch
