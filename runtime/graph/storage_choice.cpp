#include "runtime/graph/storage_choice.h"

#include <algorithm>

namespace spirloom::graph {
namespace {

void AddOnce(std::vector<StorageChoice>& choices, StorageChoice choice) {
  if (std::find(choices.begin(), choices.end(), choice) == choices.end()) {
    choices.push_back(choice);
  }
}

bool HasOutputWithOwnStorage(const ops::OpInfo& op) {
  for (const ops::KernelInfo& kernel : op.kernels) {
    for (const ops::OperandInfo& operand : kernel.operands) {
      if (operand.source == ops::OperandSource::kOutput && operand.own_storage) return true;
    }
  }
  return false;
}

}  // namespace

Storage OtherStorage(Storage storage) {
  return storage == Storage::kBuffer ? Storage::kTexture3D : Storage::kBuffer;
}

std::vector<StorageChoice> StorageChoices(const ops::OpInfo& op, Storage source,
                                          Storage requested) {
  const Storage other = OtherStorage(requested);
  if (!HasOutputWithOwnStorage(op)) return {{requested, requested}, {other, other}};
  std::vector<StorageChoice> choices;
  for (Storage output : {requested, other}) {
    for (Storage storage : {source, Storage::kBuffer, Storage::kTexture3D}) {
      AddOnce(choices, {storage, output});
    }
  }
  return choices;
}
}  // namespace spirloom::graph
