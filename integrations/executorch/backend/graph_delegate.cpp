#include "integrations/executorch/backend/graph_delegate.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/base/error.h"

namespace spirloom::delegate {
namespace {

// A type that lies in memory as the model's does; ExecuTorch's may be twice as wide.
ElementType TypeOf(DType type) {
  switch (type) {
    case DType::kF32:
      return ElementType::kF32;
    case DType::kF16:
      return ElementType::kF16;
    case DType::kI32:
      return ElementType::kI32;
    case DType::kI8:
      return ElementType::kI8;
    case DType::kU8:
      return ElementType::kU8;
    case DType::kB8:
      break;
  }
  return ElementType::kBool;
}

std::vector<Border> BordersOf(std::span<const TensorInfo> tensors) {
  std::vector<Border> borders;
  for (const TensorInfo& tensor : tensors) {
    borders.push_back({.is_tensor = true, .type = TypeOf(tensor.dtype), .bounds = tensor.shape});
  }
  return borders;
}

template <typename Int>
Status CheckNumbers(std::span<const std::byte> bytes, const TensorInfo& input) {
  for (size_t i = 0; i < bytes.size() / sizeof(Int); ++i) {
    Int number;
    std::memcpy(&number, bytes.data() + i * sizeof(Int), sizeof(Int));
    if (number >= input.least && number <= input.greatest) continue;
    return Error(StatusCode::kInvalidArgument,
                 {"Element ", i, " (", static_cast<int64_t>(number), ") of input ",
                  Quote(input.name), " is not between ", input.least, " and ", input.greatest,
                  ", for which it was exported (compile option 'ranges')."});
  }
  return Status();
}

// The graph computes right for such numbers alone.
Status CheckBounds(std::span<const std::byte> bytes, const TensorInfo& input) {
  switch (input.dtype) {
    case DType::kI32:
      if (input.least <= INT32_MIN && input.greatest >= INT32_MAX) return Status();
      return CheckNumbers<int32_t>(bytes, input);
    case DType::kI8:
      if (input.least <= INT8_MIN && input.greatest >= INT8_MAX) return Status();
      return CheckNumbers<int8_t>(bytes, input);
    case DType::kU8:
      if (input.least <= 0 && input.greatest >= UINT8_MAX) return Status();
      return CheckNumbers<uint8_t>(bytes, input);
    default:
      return Status();
  }
}

}  // namespace

Result<std::unique_ptr<GraphDelegate>> GraphDelegate::Load(const Session& session,
                                                           std::span<const std::byte> file,
                                                           const ModelOptions& options) {
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(session.runtime, file, options));
  return std::unique_ptr<GraphDelegate>(new GraphDelegate(std::move(model)));
}

GraphDelegate::GraphDelegate(Model model)
    : model_(std::move(model)),
      inputs_(BordersOf(model_.inputs())),
      outputs_(BordersOf(model_.outputs())),
      in_scratch_(inputs_.size()),
      out_scratch_(outputs_.size()) {}

Status GraphDelegate::Execute(std::span<EValue* const> values) {
  const size_t given = values.size() - std::min(values.size(), outputs_.size());
  std::vector<EValue*> inputs;
  for (EValue* value : values.first(given)) {
    if (value->isTensor()) inputs.push_back(value);
  }
  if (values.size() < outputs_.size() || inputs.size() != inputs_.size()) {
    return Error(StatusCode::kInvalidArgument,
                 {"The ", values.size(), " values, of which ", inputs.size(),
                  " are tensors to take, are not the delegate's ", inputs_.size(), " inputs and ",
                  outputs_.size(), " outputs."});
  }
  SPIRLOOM_TRY(Resize(inputs));
  return Run(inputs, values.subspan(given));
}

Status GraphDelegate::Resize(std::span<EValue* const> inputs) {
  std::vector<Shape> shapes(inputs.size());
  const auto known = model_.inputs();
  bool same = true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<Shape> shape = ShapeOf(*inputs[i], inputs_[i]);
    if (!shape.ok()) return std::move(shape).status().While(Concat({"taking input ", i}));
    shapes[i] = *std::move(shape);
    same = same && shapes[i] == known[i].shape;
  }
  return same ? Status() : model_.Resize(shapes);
}

Status GraphDelegate::Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs) {
  std::vector<std::span<const std::byte>> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    Result<std::span<const std::byte>> bytes = Take(*inputs[i], i);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat({"taking input ", i}));
    in.push_back(*bytes);
  }
  std::vector<std::span<std::byte>> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    Result<std::span<std::byte>> bytes =
        BytesOut(*outputs[i], outputs_[i], model_.outputs()[i].shape, out_scratch_[i]);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat({"giving output ", i}));
    out.push_back(*bytes);
  }
  SPIRLOOM_TRY(model_.Run(in, out));
  for (size_t i = 0; i < outputs.size(); ++i) Finish(*outputs[i], out_scratch_[i]);
  return Status();
}

Result<std::span<const std::byte>> GraphDelegate::Take(const EValue& value, size_t i) {
  SPIRLOOM_TRY_ASSIGN(const auto bytes, BytesIn(value, inputs_[i], in_scratch_[i]));
  SPIRLOOM_TRY(CheckBounds(bytes, model_.inputs()[i]));
  return bytes;
}

}  // namespace spirloom::delegate
