// Storage candidates of a node.
#ifndef SPIRLOOM_RUNTIME_GRAPH_PLAN_STORAGE_CHOICE_H_
#define SPIRLOOM_RUNTIME_GRAPH_PLAN_STORAGE_CHOICE_H_

#include <vector>

#include "runtime/ops/registry.h"

namespace spirloom::graph {

// Storage of the node, and of outputs with their own storage.
struct StorageChoice {
  Storage node;
  Storage output;

  friend bool operator==(const StorageChoice&, const StorageChoice&) = default;
};

// Returns true if a kernel of `op` supports an output storage other than the node's.
bool HasOutputWithOwnStorage(const ops::OpInfo& op);

// Returns the candidates in order of preference for a call of `op` with the requested output
// storage `requested` and the first argument in `source`.
std::vector<StorageChoice> StorageChoices(const ops::OpInfo& op, Storage source, Storage requested);

// Returns all storages, starting with `first`.
std::vector<Storage> StoragesFrom(Storage first);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_PLAN_STORAGE_CHOICE_H_
