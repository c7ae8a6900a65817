#include "integrations/torch/device_copy.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "integrations/torch/allocator.h"
#include "integrations/torch/device.h"

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

// How elements are copied without a change of their bits: as `count` elements of a dtype.
struct Bits {
  spirloom_dtype dtype;
  int64_t count;
};

std::optional<Bits> BitsOf(c10::ScalarType type) {
  const auto size = static_cast<int64_t>(c10::elementSize(type));
  if (size == 1) return Bits{SPIRLOOM_U8, 1};
  if (size % 4 == 0) return Bits{SPIRLOOM_I32, size / 4};
  if (type == c10::ScalarType::Half) return Bits{SPIRLOOM_F16, 1};
  if (type == c10::ScalarType::BFloat16) return Bits{SPIRLOOM_BF16, 1};
  return std::nullopt;
}

spirloom_argument TensorArgument(const spirloom_device_tensor& tensor) {
  spirloom_argument argument{};
  argument.kind = SPIRLOOM_ARGUMENT_TENSOR;
  argument.count = 1;
  argument.tensors = &tensor;
  return argument;
}

spirloom_argument IntsArgument(const std::vector<int64_t>& ints) {
  spirloom_argument argument{};
  argument.kind = SPIRLOOM_ARGUMENT_INTS;
  argument.count = ints.size();
  argument.ints = ints.data();
  return argument;
}

// The result of a call with one result; none if no kernel supports it.
std::optional<spirloom_device_tensor> CallByName(const char* name,
                                                 const std::vector<spirloom_argument>& arguments) {
  const std::optional<size_t> op = FindOperator(name);
  if (!op) return std::nullopt;
  spirloom_device_tensor result{};
  spirloom_error* error = nullptr;
  const spirloom_status status =
      spirloom_stream_call(OpenStream(), *op, arguments.data(), arguments.size(), &result,
                           /*result_count=*/1, &error);
  if (status == SPIRLOOM_OK) return result;
  if (status != SPIRLOOM_NOT_FOUND && status != SPIRLOOM_UNSUPPORTED) Raise(error);
  spirloom_error_destroy(error);
  return std::nullopt;
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

std::optional<at::Tensor> MakeContiguous(const at::Tensor& tensor) {
  const std::optional<Bits> bits = BitsOf(tensor.scalar_type());
  if (!bits || tensor.is_conj() || tensor.is_neg() || tensor.numel() == 0) return std::nullopt;
  std::vector<int64_t> sizes = tensor.sizes().vec();
  std::vector<int64_t> strides = tensor.strides().vec();
  int64_t last = 0;
  for (size_t i = 0; i < sizes.size(); ++i) last += (sizes[i] - 1) * strides[i];
  if (bits->count > 1) {
    for (int64_t& stride : strides) stride *= bits->count;
    sizes.push_back(bits->count);
    strides.push_back(1);
  }
  if (sizes.size() > kMaxRank) return std::nullopt;
  spirloom_device_tensor source{};
  source.address = const_cast<void*>(tensor.const_data_ptr());
  source.dtype = bits->dtype;
  source.rank = 1;
  source.sizes[0] = (last + 1) * bits->count;
  spirloom_argument offset{};
  offset.kind = SPIRLOOM_ARGUMENT_INT;
  const auto result = CallByName("aten.as_strided", {TensorArgument(source), IntsArgument(sizes),
                                                     IntsArgument(strides), offset});
  if (!result) return std::nullopt;
  return WrapResult(*result, tensor.scalar_type(), tensor.sizes());
}

std::optional<at::Tensor> CastTo(const at::Tensor& tensor, c10::ScalarType type) {
  // PyTorch's devices differ in how other conversions round or wrap.
  if (!at::isFloatingType(type)) return std::nullopt;
  const auto* const from = std::ranges::find(kDTypes, tensor.scalar_type(), &DTypePair::type);
  const auto* const to = std::ranges::find(kDTypes, type, &DTypePair::type);
  if (from == std::end(kDTypes) || to == std::end(kDTypes) || tensor.numel() == 0) {
    return std::nullopt;
  }
  spirloom_device_tensor source{};
  source.address = const_cast<void*>(tensor.const_data_ptr());
  source.dtype = from->dtype;
  source.rank = 1;
  source.sizes[0] = tensor.numel();
  spirloom_argument dtype{};
  dtype.kind = SPIRLOOM_ARGUMENT_STRING;
  dtype.s = to->name;
  const auto result = CallByName("aten._to_copy", {TensorArgument(source), dtype});
  if (!result) return std::nullopt;
  return WrapResult(*result, type, tensor.sizes());
}

}  // namespace spirloom::pytorch
