// The traits of an opened device, for planning.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_TRAITS_OF_DEVICE_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_TRAITS_OF_DEVICE_H_

#include "runtime/graph/plan/device_traits.h"
#include "runtime/vulkan/device.h"

namespace spirloom::graph {

// Returns the enabled capabilities, the properties and the limits of `device`.
DeviceTraits TraitsOf(const vulkan::Device& device);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_TRAITS_OF_DEVICE_H_
