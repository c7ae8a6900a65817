#include "integrations/executorch/backend/graph_delegate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "integrations/executorch/lower/intermediates.h"
#include "runtime/base/data_types.h"
#include "runtime/base/elements.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

// The element type with the memory layout of `type`. ExecuTorch's type may have twice the width.
ElementType TypeOf(DType type) {
  switch (type) {
    case DType::kF32:
      return ElementType::kF32;
    case DType::kF16:
      return ElementType::kF16;
    case DType::kBF16:
      return ElementType::kBF16;
    case DType::kI32:
      return ElementType::kI32;
    case DType::kI8:
      return ElementType::kI8;
    case DType::kU8:
    case DType::kF8E4M3:  // by its bytes
    case DType::kF8E5M2:
      return ElementType::kU8;
    case DType::kB8:
      break;
  }
  return ElementType::kBool;
}

std::vector<IoSpec> IoSpecsOf(std::span<const TensorInfo> tensors) {
  std::vector<IoSpec> specs;
  for (const TensorInfo& tensor : tensors) {
    specs.push_back({.is_tensor = true, .type = TypeOf(tensor.dtype), .bounds = tensor.shape});
  }
  return specs;
}

// The graph's results are undefined for input values out of its bounds.
Status CheckBounds(std::span<const std::byte> bytes, const TensorInfo& input) {
  const DTypeInfo& type = InfoOf(input.dtype);
  const auto min = static_cast<double>(input.min);
  const auto max = static_cast<double>(input.max);
  if (type.kind != DTypeKind::kInt || (min <= type.min && max >= type.max)) return Status();
  for (size_t i = 0; i < bytes.size() / type.size; ++i) {
    const double value = LoadElement(input.dtype, bytes.subspan(i * type.size, type.size));
    if (value >= min && value <= max) continue;
    return Error(StatusCode::kInvalidArgument,
                 "Element {} ({}) of input {} is not between {} and {}, the bounds that it was "
                 "exported with (compile option 'ranges').",
                 i, static_cast<int64_t>(value), Quote(input.name), input.min, input.max);
  }
  return Status();
}

}  // namespace

Result<std::unique_ptr<GraphDelegate>> GraphDelegate::Load(const Session& session,
                                                           std::shared_ptr<const void> owner,
                                                           std::span<const std::byte> file,
                                                           const ModelOptions& options,
                                                           bool logs_intermediates) {
  std::vector<ObservedNode> nodes;
  size_t further = 0;  // outputs
  if (logs_intermediates) {
    SPIRLOOM_TRY_ASSIGN(ObservedGraph observed, WithIntermediates(file));
    const auto copy = std::make_shared<const std::vector<std::byte>>(std::move(observed.file));
    file = *copy;
    owner = copy;
    nodes = std::move(observed.nodes);
    further = observed.further_outputs;
  }
  SPIRLOOM_TRY_ASSIGN(Model model,
                      Model::LoadFromMemory(session.runtime, std::move(owner), file, options));
  const size_t outputs = model.outputs().size() - further;
  return std::unique_ptr<GraphDelegate>(
      new GraphDelegate(std::move(model), outputs, std::move(nodes)));
}

GraphDelegate::GraphDelegate(Model model, size_t outputs, std::vector<ObservedNode> nodes)
    : model_(std::move(model)),
      inputs_(IoSpecsOf(model_.inputs())),
      outputs_(IoSpecsOf(model_.outputs().first(outputs))),
      intermediates_(std::move(nodes)),
      in_scratch_(inputs_.size()),
      out_scratch_(outputs_.size()) {}

Status GraphDelegate::Execute(std::span<EValue* const> values) {
  const size_t input_count = values.size() - std::min(values.size(), outputs_.size());
  std::vector<EValue*> inputs;
  for (EValue* value : values.first(input_count)) {
    if (value->isTensor()) inputs.push_back(value);
  }
  if (values.size() < outputs_.size() || inputs.size() != inputs_.size()) {
    return Error(StatusCode::kInvalidArgument,
                 "The call passes {} values with {} input tensors; the delegate has {} inputs and "
                 "{} outputs.",
                 values.size(), inputs.size(), inputs_.size(), outputs_.size());
  }
  SPIRLOOM_TRY(Resize(inputs));
  return Run(inputs, values.subspan(input_count));
}

Status GraphDelegate::Resize(std::span<EValue* const> inputs) {
  std::vector<Shape> shapes(inputs.size());
  const auto known = model_.inputs();
  bool same = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Shape> shape = ShapeOf(*inputs[i], inputs_[i]);
    if (!shape.ok()) return std::move(shape).status().While(Concat("reading input ", i));
    shapes[i] = *std::move(shape);
    same = same && shapes[i] == known[i].shape;
  }
  return same ? Status() : model_.Resize(shapes);
}

Status GraphDelegate::Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs) {
  std::vector<std::span<const std::byte>> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<std::span<const std::byte>> bytes = CheckedInputBytes(*inputs[i], i);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat("reading input ", i));
    in.push_back(*bytes);
  }
  std::vector<std::span<std::byte>> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Shape& shape = model_.outputs()[i].shape;
    Result<std::span<std::byte>> bytes =
        OutputBytes(*outputs[i], outputs_[i], shape, out_scratch_[i]);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat("writing output ", i));
    out.push_back(*bytes);
  }
  intermediates_.AppendTo(out, model_.outputs());
  SPIRLOOM_TRY(model_.Run(in, out));
  for (size_t i = 0; i < outputs.size(); ++i) {
    FinishOutput(*outputs[i], out_scratch_[i]);
  }
  return Status();
}

Result<std::span<const std::byte>> GraphDelegate::CheckedInputBytes(const EValue& value, size_t i) {
  SPIRLOOM_TRY_ASSIGN(const auto bytes, InputBytes(value, inputs_[i], in_scratch_[i]));
  SPIRLOOM_TRY(CheckBounds(bytes, model_.inputs()[i]));
  return bytes;
}

}  // namespace spirloom::delegate
