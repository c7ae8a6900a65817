#include "runtime/graph/kernel_choice.h"

#include <algorithm>
#include <vector>

#include "runtime/ops/capability.h"

namespace spirloom::graph {
namespace {

// The tensors that an operand binds in turn.
std::vector<const ops::TensorDesc*> TensorsOf(const ops::OperandInfo& operand,
                                              const ops::Call& call) {
  if (operand.source == ops::OperandSource::kOutput) return {call.outputs[operand.index]};
  const ops::Value& value = call.args[operand.index];
  if (operand.list) return {value.tensors.begin(), value.tensors.end()};
  return {value.tensor};
}

bool TensorsFit(const ops::KernelInfo& kernel, const ops::Call& call, Storage storage,
                const DeviceTraits& device) {
  for (const ops::OperandInfo& operand : kernel.operands) {
    if (operand.pack_op != nullptr) continue;  // bound is the packed form; its own node is checked
    for (const ops::TensorDesc* tensor : TensorsOf(operand, call)) {
      if (tensor->present && OperandStorage(operand, *tensor, storage) == Storage::kTexture3D &&
          !FitsTexture(*tensor, device)) {
        return false;
      }
    }
  }
  return true;
}

Status CheckAgreement(const ops::KernelInfo& kernel, const ops::Variant& variant) {
  const ops::VariantRow& row = *variant.row;
  if (row.binding_count == kernel.operands.size() && row.push_bytes == kernel.push_bytes &&
      row.constant_count == kernel.constant_count) {
    return Status();
  }
  return Status(StatusCode::kInternal, "Variant " + std::string(variant.name) +
                                           " and the registry disagree on bindings, push constants "
                                           "or specialisation constants.");
}

std::string Join(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// What the device lacks for the variant, e.g. "Vulkan 1.2, shader_float16"; empty: nothing.
std::string Lacking(const ops::VariantRow& row, const DeviceTraits& device) {
  std::vector<std::string> names = ops::CapabilityNames(row.needs & ~device.capabilities);
  if (row.vulkan_minor > device.vulkan_minor) {
    names.insert(names.begin(), "Vulkan 1." + std::to_string(row.vulkan_minor));
  }
  return Join(names);
}

Status FormulaError(const ops::Eval& eval) {
  return Status(StatusCode::kInvalidFile, eval.error());
}

}  // namespace

Storage OperandStorage(const ops::OperandInfo& operand, const ops::TensorDesc& tensor,
                       Storage storage) {
  if (operand.own_storage) return tensor.storage;
  return operand.storage == Storage::kAuto ? storage : operand.storage;
}

Result<KernelSearch> ChooseKernel(const ops::OpIndex& index, const ops::OpEntry& op,
                                  const ops::Call& call, Storage storage,
                                  const DeviceTraits& device) {
  KernelSearch search;
  search.failure = ChoiceFailure::kStorage;
  const auto fail = [&](ChoiceFailure failure, const std::string& detail) {
    if (failure <= search.failure) return;
    search.failure = failure;
    search.detail = detail;
  };
  for (const ops::KernelInfo& kernel : op.op->kernels) {
    if ((kernel.storages >> static_cast<uint32_t>(storage) & 1) == 0) continue;
    ops::Eval eval;
    const bool holds = kernel.when == nullptr || kernel.when(eval, call);
    if (!eval.ok()) return FormulaError(eval);
    if (!holds) {
      fail(ChoiceFailure::kWhen, "");
      continue;
    }
    if (!TensorsFit(kernel, call, storage, device)) continue;
    const uint64_t key = kernel.variant_key(eval, call, storage);
    if (!eval.ok()) return FormulaError(eval);
    const std::optional<ops::Variant> variant = index.FindVariant(op, key);
    if (!variant) {
      fail(ChoiceFailure::kLibrary, ops::DescribeKey(kernel, key));
      continue;
    }
    SPIRLOOM_TRY(CheckAgreement(kernel, *variant));
    const std::string lacking = Lacking(*variant->row, device);
    if (!lacking.empty()) {
      fail(ChoiceFailure::kDevice, std::string(variant->name) + " needs " + lacking);
      continue;
    }
    search.choice = {&kernel, *variant};
    search.failure = ChoiceFailure::kNone;
    search.detail.clear();
    return search;
  }
  return search;
}

}  // namespace spirloom::graph
