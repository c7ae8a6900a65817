// Modules for devices without 8-bit or 16-bit storage (VK_KHR_8bit_storage, VK_KHR_16bit_storage),
// which Vulkan does not require: buffers of f16, bf16, i8, u8 and bool elements become buffers of
// 32-bit words. The runtime rewrites modules when it creates pipelines, so one stored module
// serves both kinds of devices.
//
// - A load reads the word and extracts the element. A vec4 is one or two words.
// - A store of a vec4 writes words. A store of a scalar replaces its bits by atomic compare and
//   exchange: other invocations may write the other elements of the word at the same time.
// - Conversions to fp16 round to nearest even in integer arithmetic, also instead of packHalf2x16,
//   whose rounding and infinities Vulkan leaves to devices without these features.
//
// Buffers must be bound with whole words (PlanTensor::buffer_size).
#ifndef SPIRLOOM_RUNTIME_PACK_WORD_STORAGE_H_
#define SPIRLOOM_RUNTIME_PACK_WORD_STORAGE_H_

#include <cstdint>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::pack {

// Rewrites `module` for a device without these capabilities (bits of kStorageBuffer16Bit and
// kStorageBuffer8Bit; others are ignored). Malformed modules are unchanged. Fails with kUnsupported
// if the module uses 8-bit or 16-bit values other than in loads, stores and conversions to and from
// 32 bits, or values of 64 bits; `module` is then unchanged.
Status StoreInWords(std::vector<uint32_t>& module, uint64_t lacking);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_WORD_STORAGE_H_
