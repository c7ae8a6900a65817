// The shader pack: the operator registry, all compiled modules and the table of variants. Written
// by the compiler (compiler/), read by the runtime, embedded in a program or mapped from a .slpack
// file. Little-endian; every table is aligned to 64 bytes.
//
//   PackHeader | VariantRow[variant_count], sorted by key | ModuleRow[module_count] | string table
//   | registry (registry_reader.h) | modules
//
// Equal modules are stored once. The bytes depend only on the inputs.
#ifndef SPIRLOOM_RUNTIME_PACK_PACK_FORMAT_H_
#define SPIRLOOM_RUNTIME_PACK_PACK_FORMAT_H_

#include <cstdint>

namespace spirloom::pack {

inline constexpr uint32_t kPackMagic = 0x4b504c53;  // "SLPK"
inline constexpr uint32_t kPackVersion = 10;
inline constexpr uint32_t kPackAlignment = 64;
inline constexpr uint32_t kMaxBindings = 16;
inline constexpr uint32_t kMaxConstants = 12;
inline constexpr uint32_t kMaxPushBytes = 128;  // guaranteed by Vulkan
inline constexpr uint32_t kMinVulkanMinor = 1;  // minimum of the runtime
inline constexpr uint32_t kMaxVulkanMinor = 3;

struct PackHeader {
  uint32_t magic;
  uint32_t version;
  uint64_t size;            // of the whole pack
  uint64_t content_digest;  // XXH64 (seed 0) of every byte after the header
  uint32_t variant_count;
  uint32_t module_count;
  uint32_t variants_offset;
  uint32_t modules_offset;
  uint32_t strings_offset;
  uint32_t strings_size;
  uint32_t registry_offset;
  uint32_t registry_size;
  uint32_t reserved[2];
};
static_assert(sizeof(PackHeader) == 64);

// The type of a binding. kStorageBuffer includes read-only buffers. Read-only images are sampled
// images. The row determines the dimensions of an image, not the module: modules that differ only
// in them are stored once (runtime/pack/image_types.h).
enum class BindingType : uint8_t {
  kStorageBuffer = 0,
  kSampledImage3D = 1,
  kStorageImage3D = 2,
  kSampledImage2DArray = 3,
  kStorageImage2DArray = 4,
  // Not in packs: storage buffers that a device reads as texels (runtime/pack/texel_reads.h).
  kTexelsF32 = 5,
  kTexelsF32Vec4 = 6,
  kTexelsI32 = 7,
  kTexelsI32Vec4 = 8,
  // Not in packs: an absent operand without a descriptor (runtime/pack/absent_bindings.h).
  kAbsent = 9,
};
inline constexpr uint8_t kBindingTypeCount = 5;  // types in packs

// Requirements of a module in addition to Vulkan 1.1; bits of VariantRow::needs.
enum class Capability : uint8_t {
#define SPIRLOOM_CAPABILITY(id, ...) k##id,
#include "spec_model/capabilities.inc"
};

// kCooperativeMatrix: 16 x 16 x 16 matrix multiply-accumulate of f16 operands with f32
// accumulators, full subgroups of kMatrixSubgroupSize, and kSharedMemory32k. kBFloat16Matrix: the
// same with bfloat16 operands; requires kCooperativeMatrix.
inline constexpr uint32_t kMatrixSide = 16;
inline constexpr uint32_t kMatrixSubgroupSize = 32;

// Shared memory of a workgroup in bytes: guaranteed by Vulkan, and by kSharedMemory32k and 48k.
inline constexpr uint32_t kMinSharedBytes = 16384;
inline constexpr uint32_t kSharedBytes32k = 32768;
inline constexpr uint32_t kSharedBytes48k = 49152;

// The encoding of a stored module.
enum class Codec : uint32_t {
  kRaw = 0,
  kZstd = 1,  // one independent frame
};
// Maximum decompressed size of a module, so that small files cannot request much memory.
inline constexpr uint32_t kMaxCompressedBytes = 16 << 20;

struct VariantRow {
  uint64_t key;                // (kernel index << 32) | axis codes, 4 bits each, first axis lowest
  uint64_t needs;              // bit i: Capability i
  uint32_t name;               // byte offset of the NUL-terminated variant id in the string table
  uint32_t module;             // index into the module table
  uint16_t workgroup[3];       // local size (specialization constants 0, 1, 2)
  uint16_t push_bytes;         // size of the push-constant block; 0: none
  uint8_t binding_count;       // bindings 0 .. binding_count - 1 of set 0
  uint8_t constant_count;      // specialization constants 3 .. 3 + constant_count - 1, 4 bytes each
  uint8_t bindings[16];        // BindingType of each binding
  uint8_t vulkan_minor;        // minimum Vulkan version 1.x: 1, 2 or 3
  uint8_t any_workgroup_size;  // 1: correct for any workgroup[0], as the module does not read it
  uint8_t reserved[12];
};
static_assert(sizeof(VariantRow) == 64);

struct ModuleRow {
  uint64_t offset;    // from the start of the pack, a multiple of 4
  uint32_t size;      // stored bytes
  uint32_t raw_size;  // bytes of SPIR-V; equals size if stored raw
  uint32_t codec;     // Codec
  uint32_t reserved;
  uint64_t digest;  // XXH64 (seed 0) of the SPIR-V
};
static_assert(sizeof(ModuleRow) == 32);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_PACK_FORMAT_H_
