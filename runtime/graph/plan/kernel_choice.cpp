#include "runtime/graph/plan/kernel_choice.h"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/ops/call_formulas.h"
#include "runtime/pack/capability.h"

namespace spirloom::graph {
namespace {

// The tensors that an operand binds in turn.
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
    if (operand.pack_op != nullptr) continue;  // bound is the packed form; its own node is checked
    for (const ops::TensorDesc* tensor : TensorsOf(operand, call)) {
      const Storage place = OperandStorage(operand, *tensor, storage);
      if (tensor->present && IsTexture(place) && !FitsTexture(*tensor, place, device)) {
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
  return Error(StatusCode::kInternal, {"Variant ", variant.name,
                                       " and the registry disagree on bindings, push constants "
                                       "or specialisation constants."});
}

// A kernel may count on its workgroup's size (lanes that share a sum, an array for each), so that
// no other one is tried.
bool WorkgroupFits(const pack::VariantRow& row, const DeviceTraits& device) {
  uint64_t invocations = 1;
  for (size_t i = 0; i < 3; ++i) {
    if (row.workgroup[i] > device.max_workgroup[i]) return false;
    invocations *= row.workgroup[i];
  }
  return invocations <= device.max_workgroup_invocations;
}

// What the device lacks for the variant, e.g. "Vulkan 1.2, shader_float16"; empty: nothing.
std::string Lacking(const pack::VariantRow& row, const DeviceTraits& device) {
  std::vector<std::string> names = pack::CapabilityNames(row.needs & ~device.capabilities);
  if (row.vulkan_minor > device.vulkan_minor) {
    names.insert(names.begin(), Concat({"Vulkan 1.", row.vulkan_minor}));
  }
  if (!WorkgroupFits(row, device)) {
    names.push_back(Concat(
        {"workgroups of ", row.workgroup[0], "x", row.workgroup[1], "x", row.workgroup[2],
         ", beyond this device's limits (", device.max_workgroup[0], "x", device.max_workgroup[1],
         "x", device.max_workgroup[2], ", ", device.max_workgroup_invocations, " in all)"}));
  }
  return spirloom::Join(names, ", ");
}

KernelSearch Failure(ChoiceFailure failure) {
  KernelSearch search;
  search.failure = failure;
  return search;
}

// Whether the kernel can be used for the call.
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
  const std::string lacking = Lacking(*variant->row, device);
  if (!lacking.empty()) {
    search.failure = ChoiceFailure::kDevice;
    search.lacking = Concat({variant->name, " needs ", lacking});
    return search;
  }
  search.choice = {&kernel, *variant};
  return search;
}

enum class Rank : uint8_t { kNone, kPossible, kPreferred, kTuned, kNamed };

Result<Rank> RankOf(const ops::KernelInfo& kernel, ops::CallFormulas& formulas,
                    const KernelWishes& wishes) {
  if (std::ranges::find(wishes.named, kernel.name) != wishes.named.end()) return Rank::kNamed;
  if (kernel.name == wishes.tuned) return Rank::kTuned;
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
                                  const DeviceTraits& device, const KernelWishes& wishes) {
  KernelSearch search;
  search.failure = ChoiceFailure::kStorage;
  Rank best = Rank::kNone;
  const Rank enough = !wishes.named.empty()   ? Rank::kNamed
                      : !wishes.tuned.empty() ? Rank::kTuned
                                              : Rank::kPreferred;
  for (const ops::KernelInfo& kernel : call.op().kernels) {
    SPIRLOOM_TRY_ASSIGN(KernelSearch found, TryKernel(index, kernel, call, storage, device));
    if (found.choice.kernel == nullptr) {
      // The last of equal failures is that of the kernel for every device.
      if (best == Rank::kNone && found.failure >= search.failure) search = std::move(found);
      continue;
    }
    SPIRLOOM_TRY_ASSIGN(const Rank rank, RankOf(kernel, call.formulas(), wishes));
    if (rank <= best) continue;
    best = rank;
    search = std::move(found);
    if (rank >= enough) break;
  }
  return search;
}

}  // namespace spirloom::graph
