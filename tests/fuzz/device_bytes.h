// Decodes a device and load options from bytes, so that a fuzzer can mutate them with a graph.
#ifndef SPIRLOOM_TESTS_FUZZ_DEVICE_BYTES_H_
#define SPIRLOOM_TESTS_FUZZ_DEVICE_BYTES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/graph/plan/compile.h"
#include "runtime/graph/plan/device_traits.h"

namespace spirloom::fuzz {

// Size of the encoded device at the start of a graph_plan input; the graph file follows.
inline constexpr size_t kDeviceBytes = 32;

struct FuzzedDevice {
  graph::DeviceTraits traits;
  graph::CompileOptions options;
  uint64_t max_block = 0;      // maximum size of a memory block in bytes
  uint64_t granularity = 1;    // bufferImageGranularity
  uint64_t symbol_choice = 0;  // selects the tested values of symbols within their bounds
};

// Any bytes decode to a valid Vulkan device: no limit is below its required minimum. Zeros decode
// to the minimal device.
FuzzedDevice DecodeDevice(std::span<const uint8_t, kDeviceBytes> bytes, const ops::OpIndex& index);

}  // namespace spirloom::fuzz

#endif  // SPIRLOOM_TESTS_FUZZ_DEVICE_BYTES_H_
