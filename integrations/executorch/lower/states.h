// Finds the mutable buffers of a program.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STATES_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STATES_H_

#include <cstdint>
#include <map>
#include <string_view>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/names/name_table.h"

namespace spirloom::delegate {

inline constexpr std::string_view kPrepack = "et_vk.prepack";

// Maps each mutable buffer to its initial constant. A buffer is a value with a constant, or the
// `et_vk.prepack` of one, that is also the result of a call (the partitioner's option
// alias_buffer_mutations makes the mutated buffer the call's result) or an argument that, by the
// specs, the call updates in place.
std::map<uint32_t, uint32_t> FindStates(const Program& program, const NameTable& names);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STATES_H_
