#include "integrations/executorch/runner/tensors.h"

#include <executorch/runtime/core/exec_aten/util/dim_order_util.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <type_traits>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::runner {
namespace {

namespace et = ::executorch::runtime;
using ::executorch::aten::ScalarType;
using ::executorch::aten::Tensor;
using ::executorch::aten::TensorImpl;

// Calls `work` with a value of the C++ type of `type`. Returns false for other types.
template <typename Work>
bool WithElement(ScalarType type, const Work& work) {
  switch (type) {
    case ScalarType::Bool:
      return work(bool{}), true;
    case ScalarType::Byte:
      return work(uint8_t{}), true;
    case ScalarType::Char:
      return work(int8_t{}), true;
    case ScalarType::Short:
      return work(int16_t{}), true;
    case ScalarType::Int:
      return work(int32_t{}), true;
    case ScalarType::Long:
      return work(int64_t{}), true;
    case ScalarType::Half:
      return work(::executorch::aten::Half{}), true;
    case ScalarType::BFloat16:
      return work(::executorch::aten::BFloat16{}), true;
    case ScalarType::Float:
      return work(float{}), true;
    case ScalarType::Double:
      return work(double{}), true;
    default:
      return false;
  }
}

Status ReadFile(const std::string& path, std::vector<std::byte>& bytes) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return Error(StatusCode::kNotFound, "Cannot open {}.", Quote(path));
  const std::streamoff size = file.tellg();
  if (size < 0 || static_cast<uint64_t>(size) != bytes.size()) {
    return Error(StatusCode::kInvalidArgument, "{} has {} bytes; the input has {}.", Quote(path),
                 static_cast<int64_t>(size), bytes.size());
  }
  file.seekg(0);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file ? Status() : Error(StatusCode::kInternal, "Cannot read {}.", Quote(path));
}

Status FillWithOnes(ScalarType type, std::vector<std::byte>& bytes) {
  const bool known = WithElement(type, [&](auto element) {
    using Element = decltype(element);
    const auto one = static_cast<Element>(1);
    for (size_t i = 0; i + sizeof(one) <= bytes.size(); i += sizeof(one)) {
      std::memcpy(&bytes[i], &one, sizeof(one));
    }
  });
  if (known) return Status();
  return Error(StatusCode::kUnsupported, "The input has dtype number {}; pass a file.",
               static_cast<int>(type));
}

Result<std::unique_ptr<OwnedTensor>> MakeTensor(const et::TensorInfo& info,
                                                const std::string* file) {
  auto tensor = std::make_unique<OwnedTensor>();
  tensor->bytes.resize(info.nbytes());
  tensor->sizes.assign(info.sizes().begin(), info.sizes().end());
  tensor->dim_order.assign(info.dim_order().begin(), info.dim_order().end());
  tensor->strides.resize(tensor->sizes.size());
  const et::Error error = et::dim_order_to_stride(tensor->sizes.data(), tensor->dim_order.data(),
                                                  tensor->sizes.size(), tensor->strides.data());
  if (error != et::Error::Ok) return InvalidFile("The dim order of the input is invalid.");
  if (file != nullptr) {
    SPIRLOOM_TRY(ReadFile(*file, tensor->bytes));
  } else {
    SPIRLOOM_TRY(FillWithOnes(info.scalar_type(), tensor->bytes));
  }
  tensor->impl = std::make_unique<TensorImpl>(
      info.scalar_type(), static_cast<ssize_t>(tensor->sizes.size()), tensor->sizes.data(),
      tensor->bytes.data(), tensor->dim_order.data(), tensor->strides.data());
  return tensor;
}

std::string TextOf(const Tensor& tensor, size_t edge_items) {
  std::string text = "tensor(sizes=[";
  for (ssize_t d = 0; d < tensor.dim(); ++d) {
    text += (d > 0 ? ", " : "") + std::to_string(tensor.size(d));
  }
  text += "], [";
  const auto count = static_cast<size_t>(tensor.numel());
  const auto* data = static_cast<const std::byte*>(tensor.const_data_ptr());
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) text += ", ";
    if (i == edge_items && count > 2 * edge_items) {
      text += "..., ";
      i = count - edge_items;
    }
    const bool known = WithElement(tensor.scalar_type(), [&](auto element) {
      std::memcpy(&element, data + i * sizeof(element), sizeof(element));
      if constexpr (std::is_integral_v<decltype(element)>) {
        text += std::to_string(element);
      } else {
        char digits[32];
        const auto end = std::to_chars(digits, std::end(digits), static_cast<double>(element),
                                       std::chars_format::general, sizeof(element) < 4 ? 4 : 6);
        text.append(digits, end.ptr);
      }
    });
    if (!known) text += '?';
  }
  return text + "])";
}

}  // namespace

Result<Inputs> MakeInputs(const et::MethodMeta& method, std::span<const std::string> files) {
  Inputs inputs;
  for (size_t i = 0; i < method.num_inputs(); ++i) {
    const auto tag = method.input_tag(i);
    if (tag.ok() && *tag == et::Tag::Tensor) {
      const auto info = method.input_tensor_meta(i);
      if (!info.ok()) return InvalidFile("Input {} has no metadata.", i);
      const size_t index = inputs.tensors.size();
      if (!files.empty() && index >= files.size()) break;
      auto tensor = MakeTensor(*info, files.empty() ? nullptr : &files[index]);
      if (!tensor.ok()) return std::move(tensor).status().While(Concat("reading input ", i));
      inputs.tensors.push_back(std::move(tensor).value());
      inputs.values.emplace_back(Tensor(inputs.tensors.back()->impl.get()));
    } else if (tag.ok() && *tag == et::Tag::Int) {
      inputs.values.emplace_back(int64_t{1});
    } else if (tag.ok() && *tag == et::Tag::Double) {
      inputs.values.emplace_back(1.0);
    } else if (tag.ok() && *tag == et::Tag::Bool) {
      inputs.values.emplace_back(true);
    } else {
      inputs.values.emplace_back();
    }
  }
  if (!files.empty() &&
      (files.size() != inputs.tensors.size() || inputs.values.size() != method.num_inputs())) {
    return Error(StatusCode::kInvalidArgument,
                 "--inputs names {} files; the method has another number of input tensors.",
                 files.size());
  }
  return inputs;
}

std::string Describe(const et::EValue& value, size_t edge_items) {
  if (value.isTensor()) return TextOf(value.toTensor(), edge_items);
  if (value.isInt()) return std::to_string(value.toInt());
  if (value.isDouble()) return std::to_string(value.toDouble());
  if (value.isBool()) return value.toBool() ? "true" : "false";
  return value.isNone() ? "None" : "(a value of another kind)";
}

}  // namespace spirloom::runner
