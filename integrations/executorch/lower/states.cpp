#include "integrations/executorch/lower/states.h"

#include <vector>

namespace spirloom::delegate {

namespace {

// The call's results and the arguments that it updates in place.
std::vector<uint32_t> WrittenBy(const Call& call, const Program& program, const NameTable& names) {
  const uint32_t result = call.args.back();
  const auto* list = std::get_if<ValueList>(&program.values[result]);
  std::vector<uint32_t> written = list == nullptr ? std::vector{result} : list->items;
  for (const OpMapping& mapping : names.Find(call.name)) {
    const auto arg = MutatedArg(mapping);
    if (arg && *arg + 1 < call.args.size()) written.push_back(call.args[*arg]);
  }
  return written;
}

}  // namespace

std::map<uint32_t, uint32_t> FindStates(const Program& program, const NameTable& names) {
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
    for (const uint32_t id : WrittenBy(call, program, names)) {
      if (has_constant(id)) states[id] = id;
      if (const auto found = prepacked.find(id); found != prepacked.end()) states.insert(*found);
    }
  }
  return states;
}

}  // namespace spirloom::delegate
