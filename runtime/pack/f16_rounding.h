// Conversions of fp32 to fp16 (OpFConvert, packHalf2x16) that round to nearest even, with infinity
// beyond the range of fp16. Vulkan leaves both to the driver, so the runtime rewrites modules when
// it creates pipelines: stored modules require no capability that a device may lack.
#ifndef SPIRLOOM_RUNTIME_PACK_F16_ROUNDING_H_
#define SPIRLOOM_RUNTIME_PACK_F16_ROUNDING_H_

#include <cstdint>
#include <vector>

namespace spirloom::pack {

enum class F16Rounding : uint8_t {
  kArithmetic,  // rounds in integer arithmetic; requires nothing
  kRequested,   // declares the execution mode RoundingModeRTE for fp16 (SPV_KHR_float_controls)
  kRequestedWithFp32  // and for fp32: the modes of the device are not independent
};

// Rewrites the conversions of `module`, or declares the mode. Modules without such conversions, and
// malformed ones, are unchanged.
void RoundToNearestF16(std::vector<uint32_t>& module, F16Rounding rounding);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_F16_ROUNDING_H_
