// The peaks of a device for a roofline: memory bandwidth, arithmetic throughput and dispatch
// latency, each measured by a kernel that exercises one resource.
#ifndef SPIRLOOM_TOOLS_PEAKS_PEAKS_H_
#define SPIRLOOM_TOOLS_PEAKS_PEAKS_H_

#include <cstdint>

#include "spirloom/library.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom {

// The library of the probe operators. The runtime passed to MeasurePeaks() must have been created
// with it.
const ShaderLibrary& PeakProbes();

namespace peaks {

// Bytes or operations per second, by GPU timestamps. `dispatch_ns` is by the host's clock.
struct DevicePeaks {
  uint64_t tensor_bytes = 0;  // size of the tensors of write, read and copy: larger than any cache
  double write = 0;           // bytes written
  double read = 0;            // bytes read
  double copy = 0;            // bytes read plus bytes written
  double cached_read = 0;     // bytes read as vec4 from 16 KiB, which fit into every cache
  double shared_read = 0;     // bytes read as vec4 from shared memory
  double multiply_add = 0;    // fp32 operations in registers, two per multiply-add
  double dispatch_ns = 0;     // latency of a dispatch of 256 invocations that depends on another
};

// The largest power of two that is at most 1 GiB, the device's maximum binding, and a quarter of
// its memory.
uint64_t ProbeTensorBytes(const DeviceInfo& device);

// Takes one to a few seconds; other work on the device falsifies the figures. `tensor_bytes` must
// be a power of two, at least 4096. Fails with kUnsupported on a device without timestamps, and
// with the errors of Model::Load() and Run().
Result<DevicePeaks> MeasurePeaks(const Runtime& runtime, uint64_t tensor_bytes);

}  // namespace peaks
}  // namespace spirloom

#endif  // SPIRLOOM_TOOLS_PEAKS_PEAKS_H_
