#include "integrations/executorch/backend/delegate.h"

#include <algorithm>
#include <utility>

#include "integrations/executorch/blob/blob.h"
#include "integrations/executorch/lower/intermediates.h"
#include "runtime/base/error.h"

namespace spirloom::delegate {

namespace {

// What a model reads its graph from.
struct Source {
  std::shared_ptr<const void> program;
  GraphParts graph;
};

}  // namespace

Result<std::unique_ptr<Delegate>> Delegate::Load(const Session& session,
                                                 std::shared_ptr<const void> owner,
                                                 std::span<const std::byte> blob,
                                                 const NamedData& named_data, ModelOptions options,
                                                 bool logs_intermediates) {
  options.allow_exceeding_max = true;  // ExecuTorch bounds the memory of a tensor, not each size
  SPIRLOOM_TRY_ASSIGN(const BlobParts parts, SplitBlob(blob));
  SPIRLOOM_TRY_ASSIGN(const Program program, ReadProgram(parts, named_data));
  SPIRLOOM_TRY_ASSIGN(Lowered lowered, Lower(program, session.names));
  std::vector<ObservedNode> nodes;
  if (logs_intermediates) {
    SPIRLOOM_TRY_ASSIGN(ObservedGraph observed, WithIntermediates(lowered.graph.file));
    lowered.graph.file = std::move(observed.file);
    nodes = std::move(observed.nodes);
  }
  auto source = std::make_shared<const Source>(Source{std::move(owner), std::move(lowered.graph)});
  const GraphParts& graph = source->graph;
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(session.runtime, std::move(source),
                                                         graph.file, graph.constants, options));
  return std::unique_ptr<Delegate>(
      new Delegate(std::move(model), std::move(lowered), std::move(nodes)));
}

Delegate::Delegate(Model model, Lowered lowered, std::vector<ObservedNode> nodes)
    : model_(std::move(model)),
      lowered_(std::move(lowered)),
      intermediates_(std::move(nodes)),
      in_scratch_(lowered_.inputs.size()),
      out_scratch_(lowered_.outputs.size()) {}

Status Delegate::Execute(std::span<EValue* const> values) {
  const size_t inputs = lowered_.inputs.size();
  if (values.size() != inputs + lowered_.outputs.size()) {
    return Error(
        StatusCode::kInvalidArgument,
        "The call passes {} values; the delegate has {} inputs and {} outputs. If the module "
        "mutates buffers, lower it with VulkanPartitioner({'alias_buffer_mutations': True}).",
        values.size(), inputs, lowered_.outputs.size());
  }
  SPIRLOOM_TRY(Resize(values.first(inputs)));
  SPIRLOOM_TRY(Run(values.first(inputs), values.subspan(inputs)));
  if (std::exchange(is_first_run_, false) && !HasDynamicShapes(values)) model_.FixShapes();
  return Status();
}

bool Delegate::HasDynamicShapes(std::span<EValue* const> values) const {
  return std::ranges::any_of(lowered_.int_inputs, &IntInput::is_size) ||
         std::ranges::any_of(values, [](const EValue* value) { return CanResize(*value); });
}

Status Delegate::Resize(std::span<EValue* const> inputs) {
  std::vector<Shape> all(inputs.size()), shapes;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const IoSpec& spec = lowered_.inputs[i];
    Result<Shape> shape = ShapeOf(*inputs[i], spec);
    if (!shape.ok()) return std::move(shape).status().While(Concat("reading input ", i));
    all[i] = *std::move(shape);
    if (spec.is_tensor && all[i].size() != spec.bounds.size()) {
      return Error(StatusCode::kInvalidArgument,
                   "Input {} has shape {}; expected rank {}, as of {}.", i, ToString(all[i]),
                   spec.bounds.size(), ToString(spec.bounds));
    }
    if (spec.is_tensor) shapes.push_back(all[i]);
  }
  SPIRLOOM_TRY(CheckFixedSizes(all));
  const SymBindings bindings{all,
                             [&](size_t input, int64_t i) { return IntAt(*inputs[input], i); }};
  SPIRLOOM_TRY_ASSIGN(steps_, Evaluate(lowered_.steps, bindings));
  for (const auto& [step, max] : lowered_.index_steps) {
    if (steps_[step] >= 0 && steps_[step] <= max) continue;
    return Error(StatusCode::kInvalidArgument,
                 "Index ({}) is not between 0 and {}, the range for the program's maximum sizes.",
                 steps_[step], max);
  }
  std::vector<int64_t> sizes;
  for (const auto& [step, is_size] : lowered_.int_inputs) {
    if (is_size) {
      sizes.push_back(steps_[step]);
    } else {
      shapes.push_back({1});
    }
  }
  const auto known = model_.inputs();
  bool same = sizes == model_.IntValues();
  for (size_t i = 0; i < shapes.size(); ++i) same = same && shapes[i] == known[i].shape;
  return same ? Status() : model_.Resize(shapes, sizes);
}

Status Delegate::CheckFixedSizes(std::span<const Shape> shapes) const {
  if (lowered_.fixed_by.empty()) return Status();
  for (size_t i = 0; i < shapes.size(); ++i) {
    const IoSpec& spec = lowered_.inputs[i];
    if (!spec.is_tensor || shapes[i] == spec.bounds) continue;
    return Error(StatusCode::kUnsupported,
                 "Input {} has shape {}; expected {}, because {} has constant sizes. Export that "
                 "operator with fixed sizes, or exclude it from the delegate (operator_blocklist).",
                 i, ToString(shapes[i]), ToString(spec.bounds), lowered_.fixed_by);
  }
  return Status();
}

void Delegate::AddIntInputs(std::vector<std::span<const std::byte>>& in) {
  ints_.clear();
  for (const auto& [step, is_size] : lowered_.int_inputs) {
    if (!is_size) ints_.push_back(static_cast<int32_t>(steps_[step]));
  }
  for (const int32_t& value : ints_) in.push_back(std::as_bytes(std::span(&value, 1)));
}

Status Delegate::Run(std::span<EValue* const> inputs, std::span<EValue* const> outputs) {
  std::vector<std::span<const std::byte>> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!lowered_.inputs[i].is_tensor) continue;
    Result<std::span<const std::byte>> bytes =
        InputBytes(*inputs[i], lowered_.inputs[i], in_scratch_[i]);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat("reading input ", i));
    in.push_back(*bytes);
  }
  AddIntInputs(in);
  std::vector<std::span<std::byte>> out;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const IoSpec& spec = lowered_.outputs[i];
    if (!spec.is_tensor) {
      SPIRLOOM_TRY_WHILE(SetInt(*outputs[i], steps_[spec.step]), "writing output {}", i);
      continue;
    }
    Result<std::span<std::byte>> bytes =
        OutputBytes(*outputs[i], spec, model_.outputs()[out.size()].shape, out_scratch_[i]);
    if (!bytes.ok()) return std::move(bytes).status().While(Concat("writing output ", i));
    out.push_back(*bytes);
  }
  intermediates_.AppendTo(out, model_.outputs());
  SPIRLOOM_TRY(model_.Run(in, out));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (lowered_.outputs[i].is_tensor) FinishOutput(*outputs[i], out_scratch_[i]);
  }
  return Status();
}

}  // namespace spirloom::delegate
