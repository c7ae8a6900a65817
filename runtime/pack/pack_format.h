// The shader pack: a library's ops, every compiled module and the table of variants that use them.
// Written by the compiler (compiler/), read by the runtime, embedded as bytes or mapped from a
// .slpack file. Little-endian; every table starts at a multiple of 64 bytes.
//
//   PackHeader | VariantRow[variant_count], sorted by key | ModuleRow[module_count] | string table
//   | registry (registry_reader.h) | modules
//
// Equal modules are stored once. The bytes depend on the inputs alone.
#ifndef SPIRLOOM_RUNTIME_PACK_PACK_FORMAT_H_
#define SPIRLOOM_RUNTIME_PACK_PACK_FORMAT_H_

#include <cstdint>

namespace spirloom::pack {

inline constexpr uint32_t kPackMagic = 0x4b504c53;  // "SLPK"
inline constexpr uint32_t kPackVersion = 7;
inline constexpr uint32_t kPackAlignment = 64;
inline constexpr uint32_t kMaxBindings = 16;
inline constexpr uint32_t kMaxConstants = 12;
inline constexpr uint32_t kMaxPushBytes = 128;  // what every Vulkan device offers
inline constexpr uint32_t kMinVulkanMinor = 1;  // what the runtime needs at least
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

// What a binding is. Storage buffers are described by kStorageBuffer whatever their access. Images
// that are only read are sampled ones. What a row says of an image's dimensions counts, not what
// its module says: modules that differ in nothing else are stored once
// (runtime/pack/image_types.h).
enum class BindingType : uint8_t {
  kStorageBuffer = 0,
  kSampledImage3D = 1,
  kStorageImage3D = 2,
  kSampledImage2DArray = 3,
  kStorageImage2DArray = 4,
  // In no pack: storage buffers that a device reads as texels (runtime/pack/texel_reads.h).
  kTexelsF32 = 5,
  kTexelsF32Vec4 = 6,
  kTexelsI32 = 7,
  kTexelsI32Vec4 = 8,
};
inline constexpr uint8_t kBindingTypeCount = 5;  // of packs

// What a module needs of a device beyond Vulkan 1.1; bits of VariantRow::needs. Names in op specs
// (`needs`) are these in snake case without the k: storage_buffer_16bit …
enum class Capability : uint8_t {
  kStorageBuffer16Bit = 0,
  kStorageBuffer8Bit = 1,
  kShaderFloat16 = 2,
  kShaderInt8 = 3,
  kShaderInt16 = 4,
  kShaderInt64 = 5,
  kSubgroupBasic = 6,
  kSubgroupVote = 7,
  kSubgroupArithmetic = 8,
  kSubgroupBallot = 9,
  kSubgroupShuffle = 10,
  kIntegerDotProduct = 11,
  kCooperativeMatrix = 12,
  kSharedMemory32k = 13,
  kSharedMemory48k = 14,
  kBFloat16Matrix = 15,
};

// What kCooperativeMatrix stands for: products of matrices of 16 x 16 f16, added up in f32, by a
// subgroup of as many lanes as here, which all of a workgroup's are full of; and kSharedMemory32k.
// kBFloat16Matrix: the same products of bfloat16; only beside kCooperativeMatrix.
inline constexpr uint32_t kMatrixSide = 16;
inline constexpr uint32_t kMatrixSubgroupSize = 32;

// Memory of a workgroup, in bytes: what Vulkan promises, and what kSharedMemory32k and 48k do.
inline constexpr uint32_t kPromisedSharedBytes = 16384;
inline constexpr uint32_t kSharedBytes32k = 32768;
inline constexpr uint32_t kSharedBytes48k = 49152;

// How a module is stored.
enum class Codec : uint32_t {
  kRaw = 0,
  kZstd = 1,  // one frame, by itself
};
// What a compressed module may have raw, so that a small file cannot ask for much memory.
inline constexpr uint32_t kMaxCompressedBytes = 16 << 20;

struct VariantRow {
  uint64_t key;            // (kernel index << 32) | axis codes, 4 bits each, first axis lowest
  uint64_t needs;          // bit i: Capability i
  uint32_t name;           // byte offset of the NUL-terminated variant id in the string table
  uint32_t module;         // index into the module table
  uint16_t workgroup[3];   // local size (specialisation constants 0, 1, 2)
  uint16_t push_bytes;     // size of the push-constant block; 0: none
  uint8_t binding_count;   // bindings 0 .. binding_count - 1 of set 0
  uint8_t constant_count;  // specialisation constants 3 .. 3 + constant_count - 1, 4 bytes each
  uint8_t bindings[16];    // BindingType of each binding
  uint8_t vulkan_minor;    // the module is for Vulkan 1.x and newer: 1, 2 or 3
  uint8_t any_lanes;  // 1: the module does not look at its workgroup, so workgroup[0] may be any
  uint8_t reserved[12];
};
static_assert(sizeof(VariantRow) == 64);

struct ModuleRow {
  uint64_t offset;    // from the start of the pack, a multiple of 4
  uint32_t size;      // stored bytes
  uint32_t raw_size;  // bytes of SPIR-V; equals size when stored raw
  uint32_t codec;     // Codec
  uint32_t reserved;
  uint64_t digest;  // XXH64 (seed 0) of the SPIR-V
};
static_assert(sizeof(ModuleRow) == 32);

}  // namespace spirloom::pack

#endif  // SPIRLOOM_RUNTIME_PACK_PACK_FORMAT_H_
