// What the library embeds, whatever build or cache it came from: every module is valid SPIR-V for
// its target, and has no barrier that an invocation may miss.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "compiler/optimize.h"
#include "compiler/uniformity.h"
#include "runtime/ops/image_types.h"
#include "runtime/ops/shader_pack.h"
#include "spirloom/library.h"

namespace spirloom::compiler {
namespace {

Target TargetOf(const ops::VariantRow& row) {
  constexpr std::array kTargets = {Target::kVulkan11, Target::kVulkan12, Target::kVulkan13};
  return kTargets.at(row.vulkan_minor - 1u);
}

// The variant's module as the runtime hands it to the driver.
std::vector<uint32_t> ModuleOf(const ops::ShaderPack& pack, const ops::VariantRow& row) {
  const std::span<const uint32_t> stored = pack.Spirv(row);
  std::vector<uint32_t> words(stored.begin(), stored.end());
  // The row's bytes are BindingType values.
  const auto* types = reinterpret_cast<const ops::BindingType*>(row.bindings);
  ops::SetImageTypes(words, {types, row.binding_count});
  return words;
}

TEST(PackValidity, EveryModuleIsValid) {
  const auto pack = ops::ShaderPack::Open(AllShaders().pack, ops::PackCheck::kContent);
  ASSERT_TRUE(pack.ok()) << pack.status().message();
  EXPECT_GT(pack->variants().size(), 0u);
  for (const ops::VariantRow& row : pack->variants()) {
    const std::vector<uint32_t> module = ModuleOf(*pack, row);
    const Status status = Validate(module, TargetOf(row));
    EXPECT_TRUE(status.ok()) << pack->Name(row) << ": " << status.message();
    EXPECT_TRUE(FindDivergentBarriers(module).empty())
        << pack->Name(row) << " has a barrier in divergent control flow.";
  }
}

}  // namespace
}  // namespace spirloom::compiler
