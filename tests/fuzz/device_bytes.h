// A device and the options of a load as bytes, so that a fuzzer changes them together with a graph.
#ifndef SPIRLOOM_TESTS_FUZZ_DEVICE_BYTES_H_
#define SPIRLOOM_TESTS_FUZZ_DEVICE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/graph/plan/device_traits.h"
#include "runtime/graph/plan/lowering.h"

namespace spirloom::fuzz {

// What an input of the target graph_plan begins with; the graph file follows.
inline constexpr size_t kDeviceBytes = 32;

struct FuzzedDevice {
  graph::DeviceTraits traits;
  graph::LoweringOptions options;
  uint64_t max_block = 0;      // of memory, in bytes
  uint64_t granularity = 1;    // between buffers and images
  uint64_t symbol_choice = 0;  // where between their bounds symbols are tried
};

// Any bytes make a device that Vulkan allows: no limit is below the least that it asks for. Zeros
// make the least one.
FuzzedDevice DeviceOf(std::span<const uint8_t, kDeviceBytes> bytes, const ops::OpIndex& index);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_DEVICE_BYTES_H_
