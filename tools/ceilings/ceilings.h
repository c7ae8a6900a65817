// What a device can do at most, measured by kernels that do one thing each. Speeds of other kernels
// are shares of these.
#ifndef SPIRLOOM_TOOLS_CEILINGS_CEILINGS_H_
#define SPIRLOOM_TOOLS_CEILINGS_CEILINGS_H_

#include <cstdint>

#include "spirloom/library.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom {

// The operators that measure; a runtime that MeasureCeilings() is given has this library.
const ShaderLibrary& CeilingProbes();

namespace ceilings {

// Bytes, or operations, in a second. By the GPU's clock, but for `dispatch_ns`.
struct Ceilings {
  uint64_t tensor_bytes = 0;  // of each tensor that the first three move: more than caches hold
  double write = 0;           // bytes written
  double read = 0;            // bytes read
  double copy = 0;            // bytes read and written, each counted
  double cached_read = 0;     // bytes read in vec4s out of 16 KiB, which every cache holds
  double shared_read = 0;     // bytes read in vec4s out of shared memory
  double multiply_add = 0;    // f32 operations in registers, two for each multiply-add
  double dispatch_ns =
      0;  // what a dispatch of 256 invocations that waits for another one adds to a run
};

// 1 GiB, or what the device's bindings and a quarter of its memory allow; a power of two.
uint64_t ProbeTensorBytes(const DeviceInfo& device);

// Measures for a second or a few; what else the device does meanwhile disturbs it. `tensor_bytes`
// is a power of two, at least 4096. Fails with kUnsupported on a device without timestamps, and as
// Model::Load() and Run() do.
Result<Ceilings> MeasureCeilings(const Runtime& runtime, uint64_t tensor_bytes);

}  // namespace ceilings
}  // namespace spirloom

#endif  // SPIRLOOM_TOOLS_CEILINGS_CEILINGS_H_
