#include "runtime/pack/absent_bindings.h"

#include "runtime/pack/spirv_words.h"

namespace spirloom::pack {

std::vector<BindingType> RemoveAbsentBindings(std::span<uint32_t> module,
                                              std::span<const BindingType> bindings,
                                              BindingSet absent) {
  std::vector<BindingType> types(bindings.begin(), bindings.end());
  const auto is_absent = [&](uint32_t binding) {
    return binding < types.size() && (absent >> binding & 1) != 0 &&
           bindings[binding] == BindingType::kStorageBuffer;
  };
  uint32_t target = 0;
  while (target < types.size() &&
         (is_absent(target) || bindings[target] != BindingType::kStorageBuffer)) {
    ++target;
  }
  if (absent == 0 || target == types.size()) return types;
  for (uint32_t i = 0; i < types.size(); ++i) {
    if (is_absent(i)) types[i] = BindingType::kAbsent;
  }
  spirv::ForEachInstruction(module, [&](uint32_t opcode, std::span<uint32_t> in) {
    if (opcode == spirv::kOpDecorate && in.size() == 4 && in[2] == spirv::kDecorationBinding &&
        is_absent(in[3])) {
      in[3] = target;
    }
    return opcode != spirv::kOpFunction;
  });
  return types;
}

}  // namespace spirloom::pack
