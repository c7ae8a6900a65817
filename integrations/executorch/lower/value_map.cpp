#include "integrations/executorch/lower/value_map.h"

#include <algorithm>
#include <utility>

#include "integrations/executorch/lower/narrow.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
Status ValueMap::AddStates() {
  for (const auto& [id, constant] : states_) {
    const TensorValue& value = *tensor(id);
    const TensorValue& source = *tensor(constant);
    if (value.type != source.type || value.shape != source.shape) {
      return InvalidFile("{} differs in dtype or shape from its initial value, {}.",
                         DescribeValue(id), DescribeValue(constant));
    }
    initial_tensors_[id] = Declare(id);
    if (!tensors_.emplace(id, initial_tensors_[id]).second) {
      return InvalidFile("The input {} is a constant.", DescribeValue(id));
    }
  }
  return Status();
}

Status ValueMap::FinishStates() {
  for (const auto& [id, constant] : states_) {
    SPIRLOOM_TRY_ASSIGN(const auto initial, DeviceBytesOf(constant, *tensor(constant)));
    graph_.AddState(initial_tensors_.at(id), tensors_.at(id), initial);
  }
  return Status();
}

// The constant in the device's dtype.
Result<std::span<const std::byte>> ValueMap::DeviceBytesOf(uint32_t id, const TensorValue& value) {
  size_t count = 1;
  for (const int64_t size : value.shape) count *= static_cast<size_t>(size);
  const std::span bytes =
      program_.constants[*value.constant].first(count * ElementSize(value.type));
  const size_t size = spirloom::ElementSize(DeviceType(value.type));
  if (ElementSize(value.type) == size) return bytes;
  SPIRLOOM_TRY_ASSIGN(const std::span narrow, graph_.Allocate(count * size));
  SPIRLOOM_TRY_WHILE(Narrow(value.type, bytes, narrow), "reading {}", DescribeValue(id));
  return std::span<const std::byte>(narrow);
}

Result<uint32_t> ValueMap::TensorOf(uint32_t id) {
  const TensorValue* source = tensor(id);
  if (source == nullptr) return InvalidFile("{} is not a tensor.", DescribeValue(id));
  if (const auto found = tensors_.find(id); found != tensors_.end()) return found->second;
  if (!source->constant.has_value()) {
    return InvalidFile("{} is read before it is defined.", DescribeValue(id));
  }
  SPIRLOOM_TRY_ASSIGN(const auto bytes, DeviceBytesOf(id, *source));
  return tensors_[id] =
             graph_.AddConstant(DescribeValue(id), DeviceType(source->type), source->shape, bytes);
}

Result<std::optional<std::span<const std::byte>>> ValueMap::ConstantOf(uint32_t id) {
  if (const auto found = tensors_.find(id); found != tensors_.end()) {
    return graph_.ConstantOf(found->second);
  }
  const TensorValue* source = tensor(id);
  if (source == nullptr || !source->constant) return std::optional<std::span<const std::byte>>();
  SPIRLOOM_TRY_ASSIGN(const auto bytes, DeviceBytesOf(id, *source));
  return std::optional(bytes);
}

Result<uint32_t> ValueMap::ScalarOf(double value, DType dtype, const Shape& shape) {
  SPIRLOOM_TRY_ASSIGN(const std::span bytes, graph_.Allocate(spirloom::ElementSize(dtype)));
  SPIRLOOM_TRY(StoreScalar(value, dtype, bytes));
  return graph_.AddConstant("", dtype, shape, bytes);
}

uint32_t ValueMap::Declare(uint32_t id) {
  const TensorValue& source = *tensor(id);
  return graph_.AddTensor(DescribeValue(id), DeviceType(source.type), source.shape);
}

Status ValueMap::Define(uint32_t id, uint32_t tensor) {
  if (program_.values[id].index() != Value(TensorValue()).index()) {
    return InvalidFile("{} is computed as a tensor, but is declared otherwise.", DescribeValue(id));
  }
  if (is_state(id)) {
    tensors_[id] = tensor;
    return Status();
  }
  if (!tensors_.emplace(id, tensor).second) {
    return InvalidFile("{} is defined twice.", DescribeValue(id));
  }
  return Status();
}

bool ValueMap::IsRead(uint32_t id) const {
  const auto has = [&](uint32_t value) {
    if (value == id) return true;
    const auto* list = std::get_if<ValueList>(&program_.values[value]);
    return list != nullptr && std::ranges::find(list->items, id) != list->items.end();
  };
  return std::ranges::any_of(program_.outputs, has) ||
         std::ranges::any_of(program_.calls, [&](const Call& call) {
           return std::any_of(call.args.begin(), call.args.end() - 1, has);
         });
}

std::vector<SizedInt> ValueMap::ShapeOf(uint32_t tensor, size_t first) const {
  std::vector<SizedInt> sizes;
  const auto entries = dims_.find(tensor);
  for (size_t d = first; d < graph_.shape(tensor).size(); ++d) {
    sizes.push_back({graph_.shape(tensor)[d], entries == dims_.end() ? 0 : entries->second[d]});
  }
  return sizes;
}

}  // namespace spirloom::delegate
