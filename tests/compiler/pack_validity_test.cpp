// Every module of the embedded library is valid SPIR-V for its target, unchanged, with buffers
// read as texels or stored in words, and with rounded fp16, and has no barrier in divergent control
// flow.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <spirv/unified1/spirv.hpp>
#include <string>
#include <vector>

#include "compiler/checks/uniformity.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_index.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/f16_rounding.h"
#include "runtime/pack/image_types.h"
#include "runtime/pack/shader_pack.h"
#include "runtime/pack/texel_reads.h"
#include "runtime/pack/word_storage.h"
#include "spirloom/library.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

Target TargetOf(const pack::VariantRow& row) {
  constexpr std::array kTargets = {Target::kVulkan11, Target::kVulkan12, Target::kVulkan13};
  return kTargets.at(row.vulkan_minor - 1u);
}

// The distribution's SPIRV-Tools cannot validate KHR matrices; the compiler validates before
// conversion.
bool HasMatrices(const pack::VariantRow& row) {
  return (row.needs & pack::CapabilityBit(pack::Capability::kCooperativeMatrix)) != 0;
}

TEST(PackValidity, EveryModuleIsValid) {
  const auto pack = pack::ShaderPack::Open(AllShaders().pack, pack::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_GT(pack->variants().size(), 0u);
  for (const pack::VariantRow& row : pack->variants()) {
    if (HasMatrices(row)) continue;
    const std::vector<uint32_t> module = ValueOf(pack->ReadSpirv(row));
    const Status status = Validate(module, TargetOf(row));
    EXPECT_TRUE(status.ok()) << pack->Name(row) << ": " << status.message();
    EXPECT_TRUE(FindDivergentBarriers(module).empty())
        << pack->Name(row) << " has a barrier in divergent control flow.";
  }
}

TEST(PackValidity, EveryModuleIsValidWithTexels) {
  const auto pack = pack::ShaderPack::Open(AllShaders().pack, pack::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  size_t rewritten = 0;
  for (const pack::VariantRow& row : pack->variants()) {
    if (HasMatrices(row)) continue;
    std::vector<uint32_t> module = ValueOf(pack->ReadSpirv(row));
    const auto bindings = pack::ReadAsTexels(module, pack::BindingTypesOf(row));
    if (std::ranges::equal(bindings, pack::BindingTypesOf(row))) continue;
    ++rewritten;
    const Status status = Validate(module, TargetOf(row));
    EXPECT_TRUE(status.ok()) << pack->Name(row) << ": " << status.message();
  }
  EXPECT_GT(rewritten, pack->variants().size() / 5) << "Most have 32-bit inputs in buffers.";
}

// Devices may lack either.
TEST(PackValidity, EveryModuleIsValidWithoutSmallStorage) {
  const auto pack = pack::ShaderPack::Open(AllShaders().pack, pack::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  size_t rewritten = 0;
  for (const pack::VariantRow& row : pack->variants()) {
    if (pack::LackingCapabilities(row.needs, ~pack::kStorageCapabilities) != 0) continue;
    const std::vector<uint32_t> module = ValueOf(pack->ReadSpirv(row));
    for (const pack::Capability capability :
         {pack::Capability::kStorageBuffer8Bit, pack::Capability::kStorageBuffer16Bit}) {
      std::vector<uint32_t> words = module;
      for (const uint64_t lacking : {pack::CapabilityBit(capability), pack::kStorageCapabilities}) {
        const Status status = pack::StoreInWords(words, lacking);
        EXPECT_TRUE(status.ok()) << pack->Name(row) << ": " << status.message();
      }
      const std::vector<uint32_t> capabilities = SpirvIndex::Create(words)->capabilities();
      EXPECT_EQ(std::ranges::find(capabilities, spv::CapabilityStorageBuffer8BitAccess),
                capabilities.end())
          << pack->Name(row);
      EXPECT_EQ(std::ranges::find(capabilities, spv::CapabilityStorageBuffer16BitAccess),
                capabilities.end())
          << pack->Name(row);
      if (words == module) continue;
      ++rewritten;
      const Status status = Validate(words, TargetOf(row));
      EXPECT_TRUE(status.ok()) << pack->Name(row) << ": " << status.message();
    }
  }
  EXPECT_GT(rewritten, pack->variants().size() / 4);
}

TEST(PackValidity, EveryModuleIsValidWithRoundedF16) {
  using pack::F16Rounding;
  const auto pack = pack::ShaderPack::Open(AllShaders().pack, pack::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  size_t rewritten = 0;
  for (const pack::VariantRow& row : pack->variants()) {
    if (HasMatrices(row)) continue;
    const std::vector<uint32_t> module = ValueOf(pack->ReadSpirv(row));
    for (const F16Rounding rounding :
         {F16Rounding::kArithmetic, F16Rounding::kRequested, F16Rounding::kRequestedWithFp32}) {
      std::vector<uint32_t> words = module;
      pack::RoundToNearestF16(words, rounding);
      if (words == module) continue;
      ++rewritten;
      const Status status = Validate(words, TargetOf(row));
      EXPECT_TRUE(status.ok()) << pack->Name(row) << ": " << status.message();
    }
  }
  EXPECT_GT(rewritten, pack->variants().size() / 4) << "Most have fp16 outputs.";
}

}  // namespace
}  // namespace spirloom::compiler
