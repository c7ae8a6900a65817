#include "runtime/graph/plan/storage_choice.h"

namespace spirloom::graph {

bool HasOutputWithOwnStorage(const ops::OpInfo& op) {
  for (const ops::KernelInfo& kernel : op.kernels) {
    for (const ops::OperandInfo& operand : kernel.operands) {
      if (operand.source == ops::OperandSource::kOutput && operand.own_storage) return true;
    }
  }
  return false;
}

std::vector<Storage> StoragesFrom(Storage first) {
  std::vector<Storage> storages{first};
  for (Storage storage : {Storage::kBuffer, Storage::kTexture3D, Storage::kTexture2D}) {
    if (storage != first) storages.push_back(storage);
  }
  return storages;
}

std::vector<StorageChoice> StorageChoices(const ops::OpInfo& op, Storage source,
                                          Storage requested) {
  const bool own_storage = HasOutputWithOwnStorage(op);
  std::vector<StorageChoice> choices;
  for (Storage output : StoragesFrom(requested)) {
    if (!own_storage) {
      choices.push_back({output, output});
      continue;
    }
    for (Storage storage : StoragesFrom(source)) choices.push_back({storage, output});
  }
  return choices;
}
}  // namespace spirloom::graph
