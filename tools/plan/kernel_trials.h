// The kernels that a call considered, as JSON.
#ifndef SPIRLOOM_TOOLS_PLAN_KERNEL_TRIALS_H_
#define SPIRLOOM_TOOLS_PLAN_KERNEL_TRIALS_H_

#include <nlohmann/json.hpp>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/kernel_choice.h"

namespace spirloom::tools {

// A list with an object per kernel, in the order of consideration:
//   kernel     its name
//   result     "taken", "possible", or the first obstacle: "storage", "when", "library", "device"
//   or
//              "loops"
//   reason     text on the obstacle; empty for "taken", "possible" and "when"
//   preferred  whether the kernel is possible and preferred to later ones
nlohmann::ordered_json TrialsToJson(const graph::CallTrials& call,
                                    const graph::DeviceTraits& device);

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_PLAN_KERNEL_TRIALS_H_
