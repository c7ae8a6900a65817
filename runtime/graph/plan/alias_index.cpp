#include "runtime/graph/plan/alias_index.h"

#include <cassert>
#include <utility>

namespace spirloom::graph {

AliasIndex::AliasIndex(Plan& plan) : plan_(plan), aliases_(plan.tensors.size()) {
  for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
    const uint32_t root = plan.tensors[i].alias_of;
    if (root != kNoTensor) aliases_[root].push_back(i);
  }
}

void AliasIndex::AliasTo(uint32_t part, uint32_t root, uint64_t offset) {
  assert(plan_.tensors[part].alias_of == kNoTensor && plan_.tensors[part].is_temporary());
  assert(plan_.tensors[root].alias_of == kNoTensor);
  assert(offset + plan_.tensors[part].size <= plan_.tensors[root].size);
  plan_.tensors[part].alias_of = root;
  plan_.tensors[part].alias_offset = offset;
  for (const uint32_t alias : aliases_[part]) {
    PlanTensor& tensor = plan_.tensors[alias];
    tensor.alias_of = root;
    tensor.alias_offset += offset;
    aliases_[root].push_back(alias);
  }
  aliases_[root].push_back(part);
}

}  // namespace spirloom::graph
