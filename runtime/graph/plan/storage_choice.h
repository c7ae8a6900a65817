// Which storages a node may be computed in.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_STORAGE_CHOICE_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_STORAGE_CHOICE_H_

#include <vector>

#include "runtime/ops/registry.h"

namespace spirloom::graph {

// The node's storage, and the storage of outputs that have one of their own.
struct StorageChoice {
  Storage node;
  Storage output;

  friend bool operator==(const StorageChoice&, const StorageChoice&) = default;
};

// Whether some kernel puts an output of `op` into whichever storage it is asked for in.
bool HasOutputWithOwnStorage(const ops::OpInfo& op);

// What to try, in order of preference, for a call of `op` whose output is asked for in `requested`
// and whose first tensor is in `source`.
std::vector<StorageChoice> StorageChoices(const ops::OpInfo& op, Storage source, Storage requested);

// Every storage, `first` first.
std::vector<Storage> StoragesFrom(Storage first);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_STORAGE_CHOICE_H_
