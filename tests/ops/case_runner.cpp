#include "tests/ops/case_runner.h"

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/pack/capability.h"
#include "spirloom/model.h"
#include "tests/ops/case_data.h"

namespace spirloom::testing {
namespace {

using CaseTensors = flatbuffers::Vector<flatbuffers::Offset<schema::CaseTensor>>;

// Compares the inputs or outputs of the model with those of the case.
Status CheckSignature(std::span<const TensorInfo> declared, const CaseTensors& tensors,
                      const std::string& kind) {
  if (declared.size() != tensors.size()) {
    return CaseFailure("The model has " + std::to_string(declared.size()) + " " + kind +
                       "s; the case has " + std::to_string(tensors.size()) + ".");
  }
  for (size_t i = 0; i < declared.size(); ++i) {
    const schema::CaseTensor& tensor = *tensors.Get(static_cast<flatbuffers::uoffset_t>(i));
    const auto dtype = static_cast<DType>(tensor.dtype());
    const size_t size = DataOf(tensor).size();
    if (declared[i].dtype != dtype || declared[i].shape != ShapeOf(tensor) ||
        declared[i].size != size) {
      return CaseFailure("The model's " + kind + " " + declared[i].name + " is " +
                         ShortName(declared[i].dtype) + ToString(declared[i].shape) + " of " +
                         std::to_string(declared[i].size) + " bytes; the case's is " +
                         ShortName(dtype) + ToString(ShapeOf(tensor)) + " of " +
                         std::to_string(size) + ".");
    }
  }
  return Status();
}

bool HasElements(const CaseTensors& tensors) {
  return std::ranges::any_of(
      tensors, [](const schema::CaseTensor* tensor) { return !DataOf(*tensor).empty(); });
}

// Fails if the variant of the case was not dispatched. Cases without a variant, aliased views,
// empty outputs, and graphs without inputs (computed at load) are not checked.
Status CheckDispatched(const Model& model, const schema::Case& test) {
  if (test.variant() == nullptr) return Status();
  if (!HasElements(*test.expected()) || model.stats().aliased_views > 0) return Status();
  if (model.inputs().empty()) return Status();
  SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, model.Profile());
  const std::string wanted = test.variant()->str();
  std::string others;
  // An in-place update with an empty source is only a copy.
  const auto is_copy = [](const DispatchProfile& dispatch) { return dispatch.op == "copy"; };
  if (!dispatches.empty() && std::ranges::all_of(dispatches, is_copy)) return Status();
  for (const DispatchProfile& dispatch : dispatches) {
    if (dispatch.variant == wanted) return Status();
    others += " " + dispatch.variant;
  }
  return CaseFailure("Variant " + wanted + " was not dispatched. Dispatched variants:" + others +
                     ".");
}

Status RunModel(const Runtime& runtime, const schema::Case& test) {
  const ModelOptions options = OptionsOf(test);
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(runtime, GraphOf(test), options));
  SPIRLOOM_TRY(CheckSignature(model.inputs(), *test.inputs(), "input"));
  SPIRLOOM_TRY(CheckSignature(model.outputs(), *test.expected(), "output"));
  CaseOutputs results(test);
  SPIRLOOM_TRY(model.Run(InputsOf(test), results.spans()));
  SPIRLOOM_TRY(results.Compare());
  return CheckDispatched(model, test);
}

}  // namespace

CaseRunner::CaseRunner(Runtime runtime, const ops::OpIndex& index) : runtime_(std::move(runtime)) {
  for (const ops::LoadedLibrary& loaded : index.libraries()) {
    if (&loaded != &index.libraries().front() && !loaded.overrides()) continue;
    for (const pack::VariantRow& row : loaded.pack.variants()) {
      requirements_.emplace(std::string(loaded.pack.Name(row)),
                            Requirements{row.needs, uint64_t{row.workgroup[0]} * row.workgroup[1] *
                                                        row.workgroup[2]});
    }
  }
}

Result<CaseRunner> CaseRunner::Create(const std::vector<const ShaderLibrary*>& libraries) {
  RuntimeOptions options;
  options.libraries = libraries;
  const char* validation = std::getenv("SPIRLOOM_CASE_VALIDATION");
  options.validation = validation == nullptr || std::string_view(validation) != "0";
  SPIRLOOM_TRY_ASSIGN(Runtime runtime, Runtime::Create(options));
  SPIRLOOM_TRY_ASSIGN(const ops::OpIndex index, ops::OpIndex::Create(libraries));
  return CaseRunner(std::move(runtime), index);
}

std::string CaseRunner::ReasonToSkip(const schema::Case& test) const {
  if (test.variant() == nullptr) return "";
  const auto found = requirements_.find(test.variant()->string_view());
  if (found == requirements_.end()) {
    return "Variant " + test.variant()->str() + " is not in this build.";
  }
  const Requirements& variant = found->second;
  const DeviceInfo& device = runtime_.device();
  uint64_t capabilities = 0;
  for (uint32_t i = 0; i < pack::kCapabilityCount; ++i) {
    if (std::ranges::find(device.features, pack::kCapabilityNames[i]) != device.features.end())
      capabilities |= uint64_t{1} << i;
  }
  const std::vector<std::string> lacking =
      pack::CapabilityNames(pack::LackingCapabilities(variant.needs, capabilities));
  if (!lacking.empty()) return device.name + " lacks " + lacking.front() + ".";
  const auto limit = std::ranges::find(device.properties, "max_workgroup",
                                       &std::pair<std::string, int64_t>::first);
  if (limit != device.properties.end() &&
      variant.invocations > static_cast<uint64_t>(limit->second)) {
    return device.name + " has workgroups of at most " + std::to_string(limit->second) +
           " invocations.";
  }
  return "";
}

Status CaseRunner::Run(const schema::Case& test) const {
  const uint64_t messages_before = runtime_.validation_message_count();
  SPIRLOOM_TRY(RunModel(runtime_, test));
  const uint64_t messages = runtime_.validation_message_count() - messages_before;
  if (messages == 0) return Status();
  return CaseFailure("The validation layers reported " + std::to_string(messages) +
                     " messages; see stderr.");
}

std::set<std::string_view> CaseRunner::VariantNames() const {
  std::set<std::string_view> names;
  for (const auto& [name, requirements] : requirements_) names.insert(name);
  return names;
}

}  // namespace spirloom::testing
