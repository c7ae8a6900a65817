// The buffers of a program that its calls write.
#ifndef SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STATES_H_
#define SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STATES_H_

#include <cstdint>
#include <map>
#include <string_view>

#include "integrations/executorch/blob/program.h"
#include "integrations/executorch/names/name_table.h"

namespace spirloom::delegate {

inline constexpr std::string_view kPrepack = "et_vk.prepack";

// Value → the constant that it begins with, for each value that a call computes though it has one,
// or is what `et_vk.prepack` makes of one: the partitioner's option alias_buffer_mutations lets the
// result of the call that changes a buffer be the buffer. Also for each such value that calls of
// this name change, as specs say.
std::map<uint32_t, uint32_t> FindStates(const Program& program, const NameTable& names);

}  // namespace spirloom::delegate

#endif  // SPIRLOOM_INTEGRATIONS_EXECUTORCH_LOWER_STATES_H_
