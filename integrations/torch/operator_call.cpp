#include "integrations/torch/operator_call.h"

#include <ATen/ATen.h>
#include <ATen/native/TypeProperties.h>

#include <algorithm>
#include <utility>

#include "integrations/torch/conversions.h"
#include "integrations/torch/copy.h"
#include "integrations/torch/device.h"
#include "integrations/torch/device_copy.h"
#include "integrations/torch/numbers.h"
#include "integrations/torch/runtime_call.h"

namespace spirloom::pytorch {
namespace {

constexpr const char* kNoKernels = "kernels of its dtype do not exist";

// A tensor of one element on the CPU is a number, as in PyTorch's own calls of devices.
bool IsNumber(const at::Tensor& tensor) { return tensor.is_cpu() && tensor.dim() == 0; }

bool IsTensor(SpecType type) { return type == SpecType::kTensor || type == SpecType::kTensorList; }

// Whether a value stands for the default.
bool IsAbsent(const c10::IValue& value, const SpecArgument& spec) {
  if (value.isNone() || (value.isTensor() && !value.toTensor().defined())) return true;
  return spec.default_of >= 0 && value.isIntList() && value.toIntVector().empty();
}

bool IsEmptyVector(const at::Tensor& tensor) { return tensor.dim() == 1 && tensor.size(0) == 0; }

std::vector<at::Tensor> TensorsOf(const c10::IValue& value) {
  if (value.isTensorList()) return value.toTensorVector();
  if (value.isTensor() && value.toTensor().defined()) return {value.toTensor()};
  return {};
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
  const c10::ScalarType type = tensor.scalar_type();
  if (!DTypeOf(type) && type != c10::ScalarType::Long) return Fail(kNoKernels);
  if (static_cast<size_t>(tensor.dim()) > kMaxRank) {
    return Fail("a tensor has more than 8 dimensions");
  }
  return true;
}

bool OperatorCall::FindType(const Binding& binding, c10::ArrayRef<c10::IValue> values) {
  at::native::ResultTypeState state;
  bool has_tensor = false;
  bool are_equal = true;
  for (size_t i = 0; i < binding.arguments.size(); ++i) {
    const int index = binding.arguments[i];
    if (index == Binding::kUnbound || !IsTensor(row_.arguments[static_cast<size_t>(index)].type)) {
      continue;
    }
    if (values[i].isScalar()) {
      state = at::native::update_result_type_state(values[i].toScalar(), state);
      continue;
    }
    for (const at::Tensor& tensor : TensorsOf(values[i])) {
      state = at::native::update_result_type_state(tensor, state);
      if (IsNumber(tensor)) continue;
      if (!CheckTensor(tensor)) return false;
      if (!has_tensor) rank_ = tensor.dim();
      are_equal = are_equal && (!has_tensor || tensor.scalar_type() == type_);
      has_tensor = true;
      type_ = tensor.scalar_type();
    }
  }
  if (!has_tensor) return Fail(kNoKernels);
  if (row_.Has(kPromotes) || row_.Has(kTakesInt64)) {
    type_ = at::native::result_type(state);
  } else if (!are_equal) {
    return Fail("its tensors have different dtypes");
  }
  return CheckType();
}

bool OperatorCall::CheckType() {
  if (row_.Has(kConverted) && c10::isIntegralType(type_, /*includeBool=*/true)) {
    type_ = c10::typeMetaToScalarType(c10::get_default_dtype());
  }
  // Kernels load and store bfloat16, but few compute with it.
  narrow_ = type_ == c10::ScalarType::BFloat16;
  if (narrow_) type_ = c10::ScalarType::Float;
  bool computes = false;
  switch (type_) {
    case c10::ScalarType::Float:
    case c10::ScalarType::Half:
      computes = !row_.Has(kTakesInt64);
      break;
    case c10::ScalarType::Bool:
      computes = row_.Has(kBools);
      break;
    case c10::ScalarType::Int:
      computes = row_.Has(kInts);
      break;
    case c10::ScalarType::Byte:
    case c10::ScalarType::Char:
      computes = row_.Has(kPairs);
      break;
    case c10::ScalarType::Long:
      computes = row_.Has(kPairs) || row_.Has(kTakesInt64);
      pairs_ = computes;
      break;
    default:
      break;
  }
  return computes || Fail(kNoKernels);
}

bool OperatorCall::Add(const at::Tensor& tensor, spirloom_dtype dtype,
                       std::vector<spirloom_device_tensor>& to) {
  kept_.push_back(tensor);
  spirloom_device_tensor& added = to.emplace_back();
  added.address = const_cast<void*>(tensor.const_data_ptr());  // kernels only read arguments
  added.dtype = dtype;
  added.rank = static_cast<size_t>(tensor.dim());
  std::ranges::copy(tensor.sizes(), added.sizes);
  if (!pairs_) return true;
  if (added.rank == kMaxRank) return Fail("a tensor of int64 has more than 7 dimensions");
  added.sizes[added.rank++] = tensor.scalar_type() == c10::ScalarType::Long ? 2 : 1;
  return true;
}

bool OperatorCall::AddTensor(const at::Tensor& given, std::vector<spirloom_device_tensor>& to) {
  at::Tensor tensor = given;
  if (!given.is_contiguous() || given.is_conj() || given.is_neg()) {
    std::optional<at::Tensor> dense = MakeContiguous(given);
    if (!dense) return Fail("a tensor is not contiguous, and no kernel copies it");
    tensor = *std::move(dense);
  }
  if (tensor.scalar_type() != type_ && tensor.numel() > 0) {
    std::optional<at::Tensor> converted = CastTo(tensor, type_);
    if (!converted) return Fail("no kernel converts its tensors to their common dtype");
    tensor = *std::move(converted);
  }
  return Add(tensor, pairs_ ? SPIRLOOM_I32 : *DTypeOf(type_), to);
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
  const at::Tensor number = NumberOnDevice(value, type_);
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  return AddTensors(argument, number);
}

bool OperatorCall::SetTensor(spirloom_argument& argument, const c10::IValue& value) {
  if (value.isScalar()) return SetNumber(argument, value.toScalar());
  const at::Tensor& tensor = value.toTensor();
  if (IsNumber(tensor)) return SetNumber(argument, tensor.item());
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  return AddTensors(argument, tensor);
}

bool OperatorCall::SetIndices(spirloom_argument& argument, const at::Tensor& tensor) {
  if (!CheckTensor(tensor)) return false;
  std::optional<at::Tensor> indices = IndicesOf(tensor);
  if (!indices) return Fail("its indices have neither the dtype int64 nor int32");
  const bool is_repeated = pairs_ && row_.Has(kIndexed);
  if (is_repeated) {
    indices = MakeContiguous(indices->unsqueeze(-1).expand(PairSizes(indices->sizes())));
    if (!indices) return Fail(kNoKernels);
  }
  std::vector<spirloom_device_tensor>& list = tensors_.emplace_back();
  spirloom_device_tensor& added = list.emplace_back();
  kept_.push_back(*indices);
  added.address = const_cast<void*>(indices->const_data_ptr());
  added.dtype = SPIRLOOM_I32;
  if (static_cast<size_t>(indices->dim()) > kMaxRank) return Fail(kNoKernels);
  added.rank = static_cast<size_t>(indices->dim());
  std::ranges::copy(indices->sizes(), added.sizes);
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  argument.count = 1;
  argument.tensors = list.data();
  return true;
}

bool OperatorCall::SetMask(spirloom_argument& argument, const at::Tensor& tensor) {
  if (!IsNumber(tensor) && !CheckTensor(tensor)) return false;
  if (tensor.scalar_type() != c10::ScalarType::Bool) return Fail("its mask has another dtype");
  at::Tensor mask = tensor;
  if (IsNumber(tensor)) {
    mask = at::empty({}, tensor.options().device(kDeviceType));
    FromHost(mask, tensor);
  } else if (!tensor.is_contiguous()) {
    std::optional<at::Tensor> dense = MakeContiguous(tensor);
    if (!dense) return Fail(kNoKernels);
    mask = *std::move(dense);
  }
  std::vector<spirloom_device_tensor>& list = tensors_.emplace_back();
  if (!Add(mask, SPIRLOOM_B8, list)) return false;
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  argument.count = 1;
  argument.tensors = list.data();
  return true;
}

int64_t OperatorCall::Dimension(const std::string& name, int64_t value) const {
  const bool is_dimension = name == "dim" || name == "dims";
  return pairs_ && is_dimension && value < 0 ? value + rank_ : value;
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
  const SpecArgument& spec = row_.arguments[index];
  spirloom_argument& argument = arguments_[index];
  argument = {};
  switch (spec.type) {
    case SpecType::kTensor:
      return SetTensor(argument, value);
    case SpecType::kTensorList: {
      argument.kind = SPIRLOOM_ARGUMENT_TENSOR_LIST;
      std::vector<at::Tensor> list = value.toTensorVector();
      // PyTorch concatenates a vector without elements with any tensor.
      if (list.size() > 1) std::erase_if(list, IsEmptyVector);
      return AddTensors(argument, list);
    }
    case SpecType::kInt:
      argument.kind = SPIRLOOM_ARGUMENT_INT;
      argument.i = Dimension(spec.name, value.toInt());
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
      // Without dimensions, an operator treats all elements as one list, words as well.
      if (pairs_ && list.empty() && spec.name == "dims") return Fail(kNoKernels);
      for (int64_t& each : list) each = Dimension(spec.name, each);
      if (pairs_ && spec.name == "repeats") list.push_back(1);
      argument.kind = SPIRLOOM_ARGUMENT_INTS;
      argument.ints = list.data();
      argument.count = list.size();
      return true;
    }
    case SpecType::kString:
      argument.kind = SPIRLOOM_ARGUMENT_STRING;
      argument.s = texts_.emplace_back(value.toStringRef()).c_str();
      return true;
    case SpecType::kIndex:
      return SetIndices(argument, value.toTensor());
    case SpecType::kMask:
      return SetMask(argument, value.toTensor());
  }
  return false;
}

bool OperatorCall::SetArguments(const c10::FunctionSchema& schema, const Binding& binding,
                                c10::ArrayRef<c10::IValue> values) {
  if (!FindType(binding, values)) return false;
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
    const bool is_own_dtype = argument.name() == "dtype" && values[i].isInt() && !narrow_ &&
                              c10::isFloatingType(type_) && values[i].toScalarType() == type_;
    if (!values[i].isNone() && !is_default && !is_own_dtype &&
        !ChangesNothing(argument.name(), values[i])) {
      return Fail("its kernels have no argument '" + argument.name() + "'");
    }
  }
  for (size_t i = 0; i < is_set.size(); ++i) {
    if (!is_set[i] && !SetDefault(i)) return false;
  }
  return true;
}

at::Tensor OperatorCall::Wrap(const spirloom_device_tensor& result, size_t index) const {
  const bool is_int = result.dtype == SPIRLOOM_I32;
  const bool is_wide = is_int && (type_ != c10::ScalarType::Int || (row_.wide >> index & 1) != 0);
  const size_t words = is_int && pairs_ ? 1 : 0;
  const at::IntArrayRef sizes(result.sizes, result.rank - words);
  if (words == 1) return WrapResult(result, c10::ScalarType::Long, sizes);
  const at::Tensor tensor = WrapResult(result, *TypeOf(result.dtype), sizes);
  c10::ScalarType type = tensor.scalar_type();
  if (is_wide) type = c10::ScalarType::Long;
  if (narrow_ && type == c10::ScalarType::Float) type = c10::ScalarType::BFloat16;
  return tensor.to(type);
}

std::vector<at::Tensor> OperatorCall::Run(size_t op) {
  std::vector<spirloom_device_tensor> results(row_.results);
  spirloom_error* error = nullptr;
  const spirloom_status status =
      spirloom_stream_call(OpenStream(), op, arguments_.data(), arguments_.size(), results.data(),
                           results.size(), &error);
  if (status == SPIRLOOM_NOT_FOUND || status == SPIRLOOM_UNSUPPORTED ||
      status == SPIRLOOM_INVALID_ARGUMENT) {
    // PyTorch's own check of the arguments gives the better message.
    Fail(spirloom_error_message(error));
    spirloom_error_destroy(error);
    return {};
  }
  if (status != SPIRLOOM_OK) Raise(error);
  std::vector<at::Tensor> tensors;
  for (size_t i = 0; i < results.size(); ++i) tensors.push_back(Wrap(results[i], i));
  return tensors;
}

}  // namespace spirloom::pytorch
