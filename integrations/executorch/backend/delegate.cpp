#include "integrations/executorch/backend/delegate.h"

#include <algorithm>
#include <utility>

#include "integrations/executorch/blob/blob.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

Result<std::unique_ptr<Delegate>> Delegate::Load(const Session& session,
                                                 std::span<const std::byte> blob,
                                                 const NamedData& named_data,
                                                 ModelOptions options) {
  options.above_greatest = true;  // ExecuTorch's bounds are those of memory, not of each size
  SPIRLOOM_TRY_ASSIGN(const BlobParts parts, SplitBlob(blob));
  SPIRLOOM_TRY_ASSIGN(const Program program, ReadProgram(parts, named_data));
  SPIRLOOM_TRY_ASSIGN(Lowered lowered, Lower(program, session.names));
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(session.runtime, lowered.graph, options));
  lowered.graph = {};
  return std::unique_ptr<Delegate>(new Delegate(std::move(model), std::move(lowered)));
}

Delegate::Delegate(Model model, Lowered lowered)
    : model_(std::move(model)),
      lowered_(std::move(lowered)),
      in_scratch_(lowered_.inputs.size()),
      out_scratch_(lowered_.outputs.size()) {}

Status Delegate::Execute(std::span<EValue* const> values) {
  const size_t inputs = lowered_.inputs.size();
  if (values.size() != inputs + lowered_.outputs.size()) {
    return Error(StatusCode::kInvalidArgument,
                 {"Number of values (", values.size(), ") differs from the delegate's ", inputs,
                  " inputs and ", lowered_.outputs.size(),
                  " outputs. If the module changes buffers, lower it with "
                  "VulkanPartitioner({'alias_buffer_mutations': True})."});
  }
  SPIRLOOM_TRY(Resize(values.first(inputs)));
  return Run(values.first(inputs), values.subspan(inputs));
}

Status Delegate::Resize(std::span<EValue* const> inputs) {
  std::vector<Shape> all(inputs.size()), shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Border& border = lowered_.inputs[i];
    Result<Shape> shape = ShapeOf(*inputs[i], border);
    if (!shape.ok()) return std::move(shape).status().While(Concat({"taking input ", i}));
    all[i] = *std::move(shape);
    if (border.is_tensor && all[i].size() != border.bounds.size()) {
      return Error(StatusCode::kInvalidArgument,
                   {"Input ", i, " of the sizes ", ToString(all[i]), " has another rank than ",
                    ToString(border.bounds), "."});
    }
    if (border.is_tensor) shapes.push_back(all[i]);
  }
  SPIRLOOM_TRY(CheckMayVary(all));
  const SymFacts facts{all, [&](size_t input, int64_t i) { return NumberAt(*inputs[input], i); }};
  SPIRLOOM_TRY_ASSIGN(steps_, Evaluate(lowered_.steps, facts));
  for (const auto& [step, most] : lowered_.places) {
    if (steps_[step] >= 0 && steps_[step] <= most) continue;
    return Error(StatusCode::kInvalidArgument,
                 {"A place in a tensor (", steps_[step], ") is not between 0 and ", most,
                  ", which the program's greatest sizes give."});
  }
  for (const uint32_t step : lowered_.size_steps) shapes.push_back({steps_[step]});
  const auto known = model_.inputs();
  bool same = true;
  for (size_t i = 0; i < shapes.size(); ++i) same = same && shapes[i] == known[i].shape;
  return same ? Status() : model_.Resize(shapes);
}

Status Delegate::CheckMayVary(std::span<const Shape> shapes) const {
  if (lowered_.fixed_by.empty()) return Status();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Border& border = lowered_.inputs[i];
    if (!border.is_tensor || shapes[i] == border.bounds) continue;
    return Error(StatusCode::kUnsupported,
                 {"Input ", i, " of the sizes ", ToString(shapes[i]), " is not of ",
                  ToString(border.bounds), "; sizes cannot vary, as ", lowered_.fixed_by,
                  " takes its own from the program. Export that part with fixed sizes, or keep it "
                  "out of the delegate (operator_blocklist)."});
  }
  return Status();
}

Status Delegate::Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs) {
  std::vector<std::span<const std::byte>> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!lowered_.inputs[i].is_tensor) continue;
    Result<std::span<const std::byte>> bytes =
        BytesIn(*inputs[i], lowered_.inputs[i], in_scratch_[i]);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat({"taking input ", i}));
    in.push_back(*bytes);
  }
  for (const uint32_t step : lowered_.size_steps) {
    const auto size = static_cast<size_t>(steps_[step]);
    if (zeros_.size() < size) zeros_.resize(size);
  }
  for (const uint32_t step : lowered_.size_steps) {
    in.push_back(std::span<const std::byte>(zeros_).first(static_cast<size_t>(steps_[step])));
  }
  std::vector<std::span<std::byte>> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Border& border = lowered_.outputs[i];
    if (!border.is_tensor) {
      SPIRLOOM_TRY_WHILE(SetNumber(*outputs[i], steps_[border.step]), {"giving output ", i});
      continue;
    }
    Result<std::span<std::byte>> bytes =
        BytesOut(*outputs[i], border, model_.outputs()[out.size()].shape, out_scratch_[i]);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat({"giving output ", i}));
    out.push_back(*bytes);
  }
  SPIRLOOM_TRY(model_.Run(in, out));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (lowered_.outputs[i].is_tensor) Finish(*outputs[i], out_scratch_[i]);
  }
  return Status();
}

}  // namespace spirloom::delegate
