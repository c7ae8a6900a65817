#include "runtime/graph/plan/call_key.h"

namespace spirloom::graph {

std::string CallKey(const std::string& op, const std::vector<Arg>& args, Storage storage) {
  std::string key = op;
  const auto append = [&](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  append(storage);
  for (const Arg& arg : args) {
    append(arg.kind);
    append(arg.tensors.size());
    for (uint32_t tensor : arg.tensors) append(tensor);
    append(arg.ints.size());
    for (int64_t value : arg.ints) append(value);
    append(arg.f);
    append(arg.s.size());
    key += arg.s;
  }
  return key;
}
}  // namespace spirloom::graph
