#include "runtime/graph/plan/kernel_choice.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/graph/plan/binding_counts.h"
#include "runtime/ops/call_formulas.h"
#include "runtime/pack/capability.h"

namespace spirloom::graph {
namespace {

// Returns the tensors that an operand binds: one, or the elements of a list.
std::vector<const ops::TensorDesc*> TensorsOf(const ops::OperandInfo& operand,
                                              const ops::Call& call) {
  const bool output = operand.source == ops::OperandSource::kOutput;
  assert(operand.index < (output ? call.outputs.size() : call.args.size()));
  if (output) return {call.outputs[operand.index]};
  const ops::Value& value = call.args[operand.index];
  if (operand.list) return {value.tensors.begin(), value.tensors.end()};
  return {value.tensor};
}

bool TensorsFit(const ops::KernelInfo& kernel, const ops::Call& call, Storage storage,
                const DeviceTraits& device) {
  for (const ops::OperandInfo& operand : kernel.operands) {
    if (operand.pack_op != nullptr) continue;  // the packed tensor is checked with its own node
    for (const ops::TensorDesc* tensor : TensorsOf(operand, call)) {
      const Storage bound = OperandStorage(operand, *tensor, storage);
      if (tensor->present && IsTexture(bound) && !FitsTexture(*tensor, bound, device)) {
        return false;
      }
    }
  }
  return true;
}

Status CheckAgreement(const ops::KernelInfo& kernel, const ops::Variant& variant) {
  const pack::VariantRow& row = *variant.row;
  if (!kernel.operands.empty() && row.binding_count == kernel.operands.size() &&
      row.push_bytes == kernel.push_bytes && row.constant_count == kernel.constants.size()) {
    return Status();
  }
  return Error(StatusCode::kInternal,
               "Variant {} and the registry disagree on bindings, push constants or specialization "
               "constants.",
               variant.name);
}

// Kernels can depend on their workgroup size (shared memory, subgroup reductions), so no other size
// is tried.
bool WorkgroupFits(const pack::VariantRow& row, const DeviceTraits& device) {
  uint64_t invocations = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (row.workgroup[i] > device.max_workgroup[i]) return false;
    invocations *= row.workgroup[i];
  }
  return invocations <= device.max_workgroup_invocations;
}

// Returns the storage buffers of the variant for operands that the call lacks.
pack::BindingSet AbsentOperands(const ops::KernelInfo& kernel, const ops::Call& call) {
  pack::BindingSet absent = 0;
  size_t element = 0;  // of a list: operand k binds the elements of the list in order
  for (size_t k = 0; k < kernel.operands.size(); ++k) {
    const ops::OperandInfo& operand = kernel.operands[k];
    if (operand.source != ops::OperandSource::kArg) continue;
    const std::vector<const ops::TensorDesc*> tensors = TensorsOf(operand, call);
    const size_t own = operand.list ? element++ : 0;
    if (own >= tensors.size() || !tensors[own]->present) absent |= pack::BindingSet{1} << k;
  }
  return absent;
}

// Returns the requirements of the variant that the device does not meet, e.g. "Vulkan 1.2,
// shader_float16"; empty if there are none. A quarantined variant requires another driver.
// `absent` operands need no descriptor.
std::string MissingCapabilities(const pack::VariantRow& row, const DeviceTraits& device,
                                pack::BindingSet absent = 0) {
  std::vector<std::string> names =
      pack::CapabilityNames(pack::LackingCapabilities(row.needs, device.capabilities));
  if (row.vulkan_minor > device.vulkan_minor) {
    names.insert(names.begin(), Concat("Vulkan 1.", row.vulkan_minor));
  }
  if (!WorkgroupFits(row, device)) {
    names.push_back(
        Format("workgroups of {}x{}x{}, above this device's limits ({}x{}x{}, {} invocations)",
               row.workgroup[0], row.workgroup[1], row.workgroup[2], device.max_workgroup[0],
               device.max_workgroup[1], device.max_workgroup[2], device.max_workgroup_invocations));
  }
  BindingCounts::Of(row, absent).AppendExcess(device.bindings, names);
  if (std::ranges::find(device.quarantined, &row) != device.quarantined.end()) {
    names.push_back("a driver on which it passes `spirloom verify`");
  }
  return spirloom::Join(names, ", ");
}

std::string MissingForPacking(const ops::OpIndex& index, const ops::KernelInfo& kernel,
                              const DeviceTraits& device);

// Returns the requirements of the kernel that the device does not meet in any of its variants;
// empty if it supports one.
std::string MissingForKernel(const ops::OpIndex& index, const ops::OpEntry& entry,
                             const ops::KernelInfo& kernel, const DeviceTraits& device) {
  std::string missing;
  for (const pack::VariantRow& row : index.VariantsOf(entry, kernel)) {
    missing = MissingCapabilities(row, device);
    if (missing.empty()) return MissingForPacking(index, kernel, device);
  }
  return missing;
}

// Returns the requirements of the ops that pack the kernel's operands that the device does not meet
// in any of their kernels; empty if it supports all of them. Libraries without these ops are
// reported later. OpIndex rejects cycles.
std::string MissingForPacking(const ops::OpIndex& index, const ops::KernelInfo& kernel,
                              const DeviceTraits& device) {
  for (const ops::OperandInfo& operand : kernel.operands) {
    const ops::OpEntry* entry =
        operand.pack_op == nullptr ? nullptr : index.FindOp(operand.pack_op);
    if (entry == nullptr) continue;
    std::string missing;
    for (const ops::KernelInfo& packing : entry->op->kernels) {
      missing = MissingForKernel(index, *entry, packing, device);
      if (missing.empty()) break;
    }
    if (!missing.empty()) return Format("{} ({})", missing, operand.pack_op);
  }
  return {};
}

KernelSearch Failure(ChoiceFailure failure) {
  KernelSearch search;
  search.failure = failure;
  return search;
}

// Checks whether the kernel supports the call.
Result<KernelSearch> TryKernel(const ops::OpIndex& index, const ops::KernelInfo& kernel,
                               OpCall& call, Storage storage, const DeviceTraits& device) {
  ops::CallFormulas& formulas = call.formulas();
  if ((kernel.storages >> static_cast<uint32_t>(storage) & 1) == 0) {
    return Failure(ChoiceFailure::kStorage);
  }
  const bool holds = formulas.When(kernel);
  SPIRLOOM_TRY(formulas.status());
  if (!holds) return Failure(ChoiceFailure::kWhen);
  if (!TensorsFit(kernel, call.call(), storage, device)) return Failure(ChoiceFailure::kStorage);
  const uint64_t key = formulas.VariantKey(kernel, storage);
  SPIRLOOM_TRY(formulas.status());
  const std::optional<ops::Variant> variant = index.FindVariant(call.entry(), key);
  KernelSearch search;
  if (!variant) {
    search.failure = ChoiceFailure::kLibrary;
    search.missing = &kernel;
    search.missing_key = key;
    return search;
  }
  SPIRLOOM_TRY(CheckAgreement(kernel, *variant));
  const bool fits = BindingCounts::Of(*variant->row).Fit(device.bindings);
  std::string missing_capabilities =
      MissingCapabilities(*variant->row, device, fits ? 0 : AbsentOperands(kernel, call.call()));
  if (missing_capabilities.empty()) missing_capabilities = MissingForPacking(index, kernel, device);
  if (!missing_capabilities.empty()) {
    search.failure = ChoiceFailure::kDevice;
    search.missing_capabilities = Concat(variant->name, " requires ", missing_capabilities);
    return search;
  }
  if (device.properties.max_loop_iterations != ops::DeviceProperties::kUnlimited) {
    search.loop_iterations = formulas.LoopIterations(kernel, storage);
    SPIRLOOM_TRY(formulas.status());
    if (search.loop_iterations > device.properties.max_loop_iterations) {
      search.failure = ChoiceFailure::kLoops;
      return search;
    }
  }
  search.choice = {&kernel, *variant};
  return search;
}

// Whether `found` is reported rather than `reported`. The last kernel is the most general one, so
// of equal failures the last is reported.
bool IsReported(const KernelSearch& found, const KernelSearch& reported) {
  if (found.failure != reported.failure) return found.failure > reported.failure;
  return found.failure != ChoiceFailure::kLoops || found.loop_iterations < reported.loop_iterations;
}

enum class Rank : uint8_t { kNone, kPossible, kPreferred, kTuned, kNamed };

Result<Rank> RankOf(const ops::KernelInfo& kernel, ops::CallFormulas& formulas,
                    const KernelPreferences& preferences) {
  if (std::ranges::find(preferences.named, kernel.name) != preferences.named.end())
    return Rank::kNamed;
  if (kernel.name == preferences.tuned) return Rank::kTuned;
  const bool preferred = formulas.Prefer(kernel);
  SPIRLOOM_TRY(formulas.status());
  return preferred ? Rank::kPreferred : Rank::kPossible;
}

}  // namespace

Storage OperandStorage(const ops::OperandInfo& operand, const ops::TensorDesc& tensor,
                       Storage storage) {
  if (operand.own_storage) return tensor.storage;
  return operand.storage == Storage::kAuto ? storage : operand.storage;
}

Result<KernelSearch> ChooseKernel(const ops::OpIndex& index, OpCall& call, Storage storage,
                                  const DeviceTraits& device, const KernelPreferences& preferences,
                                  std::vector<KernelTrial>* trials) {
  KernelSearch search;
  search.failure = ChoiceFailure::kStorage;
  Rank best = Rank::kNone;
  const Rank enough = !preferences.named.empty()   ? Rank::kNamed
                      : !preferences.tuned.empty() ? Rank::kTuned
                                                   : Rank::kPreferred;
  for (const ops::KernelInfo& kernel : call.op().kernels) {
    SPIRLOOM_TRY_ASSIGN(KernelSearch found, TryKernel(index, kernel, call, storage, device));
    if (found.choice.kernel == nullptr) {
      if (trials != nullptr) trials->push_back({&kernel, found, false});
      if (best == Rank::kNone && IsReported(found, search)) search = std::move(found);
      continue;
    }
    SPIRLOOM_TRY_ASSIGN(const Rank rank, RankOf(kernel, call.formulas(), preferences));
    if (trials != nullptr) trials->push_back({&kernel, found, rank >= Rank::kPreferred});
    if (rank <= best) continue;
    best = rank;
    search = std::move(found);
    if (rank >= enough) break;
  }
  return search;
}

}  // namespace spirloom::graph
