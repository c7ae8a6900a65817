#include "integrations/executorch/lower/states.h"

namespace spirloom::delegate {

std::map<uint32_t, uint32_t> FindStates(const Program& program) {
  const auto tensor = [&](uint32_t id) { return std::get_if<TensorValue>(&program.values[id]); };
  const auto has_constant = [&](uint32_t id) {
    return tensor(id) != nullptr && tensor(id)->constant.has_value();
  };
  std::map<uint32_t, uint32_t> prepacked;
  std::map<uint32_t, uint32_t> states;
  for (const Call& call : program.calls) {
    const uint32_t result = call.args.back();
    if (call.name == kPrepack && has_constant(call.args[0]) && tensor(result) != nullptr) {
      prepacked[result] = call.args[0];
      continue;
    }
    const auto* list = std::get_if<ValueList>(&program.values[result]);
    for (const uint32_t id : list == nullptr ? std::vector{result} : list->items) {
      if (has_constant(id)) states[id] = id;
      if (const auto found = prepacked.find(id); found != prepacked.end()) states.insert(*found);
    }
  }
  return states;
}

}  // namespace spirloom::delegate
