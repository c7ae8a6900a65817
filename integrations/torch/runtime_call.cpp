#include "integrations/torch/runtime_call.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "integrations/torch/allocator.h"
#include "integrations/torch/conversions.h"
#include "integrations/torch/device.h"
#include "integrations/torch/device_copy.h"

namespace spirloom::pytorch {
namespace {

struct DTypePair {
  c10::ScalarType type;
  spirloom_dtype dtype;
  const char* name;  // in specs
};

constexpr DTypePair kDTypes[] = {
    {c10::ScalarType::Float, SPIRLOOM_F32, "f32"},     {c10::ScalarType::Half, SPIRLOOM_F16, "f16"},
    {c10::ScalarType::Int, SPIRLOOM_I32, "i32"},       {c10::ScalarType::Char, SPIRLOOM_I8, "i8"},
    {c10::ScalarType::Byte, SPIRLOOM_U8, "u8"},        {c10::ScalarType::Bool, SPIRLOOM_B8, "b8"},
    {c10::ScalarType::BFloat16, SPIRLOOM_BF16, "bf16"}};

bool IsPair(c10::ScalarType type) {
  return c10::elementSize(type) == 8 || type == c10::ScalarType::BFloat16;
}

}  // namespace

std::optional<spirloom_dtype> DTypeOf(c10::ScalarType type) {
  const auto* const found = std::ranges::find(kDTypes, type, &DTypePair::type);
  if (found == std::end(kDTypes)) return std::nullopt;
  return found->dtype;
}

std::optional<c10::ScalarType> TypeOf(spirloom_dtype dtype) {
  const auto* const found = std::ranges::find(kDTypes, dtype, &DTypePair::dtype);
  if (found == std::end(kDTypes)) return std::nullopt;
  return found->type;
}

const char* DTypeName(c10::ScalarType type) {
  const auto* const found = std::ranges::find(kDTypes, type, &DTypePair::type);
  return found == std::end(kDTypes) ? nullptr : found->name;
}

std::optional<size_t> FindOperator(const std::string& name) {
  static const auto* const indices = [] {
    auto* found = new std::map<std::string, size_t>;
    const spirloom_runtime* runtime = OpenRuntime();
    for (size_t i = 0; i < spirloom_runtime_operator_count(runtime); ++i)
      found->emplace(spirloom_runtime_operator(runtime, i), i);
    return found;
  }();
  const auto found = indices->find(name);
  if (found == indices->end()) return std::nullopt;
  return found->second;
}

at::Tensor WrapResult(const spirloom_device_tensor& result, c10::ScalarType type,
                      at::IntArrayRef sizes) {
  const size_t bytes = at::detail::computeStorageNbytesContiguous(sizes, c10::elementSize(type));
  c10::Storage storage(c10::Storage::use_byte_size_t(), bytes, OwnBlock(result.address),
                       DeviceMemory(), /*resizable=*/true);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(kDispatchKey), c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

spirloom_argument& RuntimeCall::Add(spirloom_argument_kind kind) {
  spirloom_argument& argument = arguments_.emplace_back();
  argument.kind = kind;
  return argument;
}

RuntimeCall& RuntimeCall::Tensor(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    Add(SPIRLOOM_ARGUMENT_NONE);
    return *this;
  }
  const std::optional<spirloom_dtype> dtype = DTypeOf(tensor.scalar_type());
  std::optional<at::Tensor> dense = tensor;
  if (!tensor.is_contiguous()) dense = MakeContiguous(tensor);
  if (!dtype || !dense || tensor.dim() > static_cast<int64_t>(kMaxRank)) {
    is_supported_ = false;
    return *this;
  }
  return Bits(*dense, *dtype, tensor.sizes().vec());
}

RuntimeCall& RuntimeCall::Tensor(const std::optional<at::Tensor>& tensor) {
  return Tensor(tensor.value_or(at::Tensor()));
}

RuntimeCall& RuntimeCall::Bits(const at::Tensor& tensor, spirloom_dtype dtype,
                               std::vector<int64_t> sizes) {
  if (sizes.size() > kMaxRank) {
    is_supported_ = false;
    return *this;
  }
  kept_.push_back(tensor);
  spirloom_device_tensor& added = tensors_.emplace_back();
  added.address = const_cast<void*>(tensor.const_data_ptr());  // kernels only read arguments
  added.dtype = dtype;
  added.rank = sizes.size();
  std::ranges::copy(sizes, added.sizes);
  spirloom_argument& argument = Add(SPIRLOOM_ARGUMENT_TENSOR);
  argument.count = 1;
  argument.tensors = &added;
  return *this;
}

RuntimeCall& RuntimeCall::Elements(const at::Tensor& tensor) {
  const c10::ScalarType type = tensor.scalar_type();
  if (!IsPair(type)) return Tensor(tensor);
  std::optional<at::Tensor> dense = tensor;
  if (!tensor.is_contiguous()) dense = MakeContiguous(tensor);
  if (!dense) {
    is_supported_ = false;
    return *this;
  }
  const bool is_wide = c10::elementSize(type) == 8;
  return Bits(*dense, is_wide ? SPIRLOOM_I32 : SPIRLOOM_U8, PairSizes(tensor.sizes()));
}

RuntimeCall& RuntimeCall::Int(int64_t value) {
  Add(SPIRLOOM_ARGUMENT_INT).i = value;
  return *this;
}

RuntimeCall& RuntimeCall::Bool(bool value) {
  Add(SPIRLOOM_ARGUMENT_BOOL).i = value ? 1 : 0;
  return *this;
}

RuntimeCall& RuntimeCall::Float(double value) {
  Add(SPIRLOOM_ARGUMENT_FLOAT).f = value;
  return *this;
}

RuntimeCall& RuntimeCall::Ints(std::vector<int64_t> values) {
  const std::vector<int64_t>& kept = lists_.emplace_back(std::move(values));
  spirloom_argument& argument = Add(SPIRLOOM_ARGUMENT_INTS);
  argument.ints = kept.data();
  argument.count = kept.size();
  return *this;
}

RuntimeCall& RuntimeCall::String(const char* value) {
  Add(SPIRLOOM_ARGUMENT_STRING).s = value;
  return *this;
}

std::optional<std::vector<spirloom_device_tensor>> RuntimeCall::RunRaw(size_t results) {
  if (!is_supported_) return std::nullopt;
  const std::optional<size_t> op = FindOperator(name_);
  if (!op) return std::nullopt;
  std::vector<spirloom_device_tensor> tensors(results);
  spirloom_error* error = nullptr;
  const spirloom_status status =
      spirloom_stream_call(OpenStream(), *op, arguments_.data(), arguments_.size(), tensors.data(),
                           tensors.size(), &error);
  if (status == SPIRLOOM_OK) return tensors;
  if (status != SPIRLOOM_NOT_FOUND && status != SPIRLOOM_UNSUPPORTED) Raise(error);
  spirloom_error_destroy(error);
  return std::nullopt;
}

std::optional<at::Tensor> RuntimeCall::Run() {
  const auto results = RunRaw();
  if (!results) return std::nullopt;
  const spirloom_device_tensor& y = results->front();
  return WrapResult(y, *TypeOf(y.dtype), at::IntArrayRef(y.sizes, y.rank));
}

std::optional<at::Tensor> RuntimeCall::RunAs(c10::ScalarType type) {
  const auto results = RunRaw();
  if (!results) return std::nullopt;
  const spirloom_device_tensor& y = results->front();
  const size_t further = IsPair(type) ? 1 : 0;
  return WrapResult(y, type, at::IntArrayRef(y.sizes, y.rank - further));
}

}  // namespace spirloom::pytorch
