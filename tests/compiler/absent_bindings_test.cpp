// Storage buffers of absent operands get the binding of another one.
#include "runtime/pack/absent_bindings.h"

#include <gmock/gmock.h>

#include "compiler/checks/reflect.h"
#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using pack::BindingType;
using testing::ElementsAre;

constexpr BindingType kBuffer = BindingType::kStorageBuffer;
constexpr BindingType kAbsent = BindingType::kAbsent;

class AbsentBindings : public testing::Test {
 protected:
  // y = x + bias, if a size says so.
  AbsentBindings() {
    GlslParts parts;
    parts.bindings =
        "layout(set = 0, binding = 0, std430) readonly buffer bias_block { float bias_data[]; };\n"
        "layout(set = 0, binding = 1, std430) readonly buffer x_block { float x_data[]; };\n"
        "layout(set = 0, binding = 2, std430) writeonly buffer y_block { float y_data[]; };\n";
    parts.body =
        "float sum = x_data[i] * SCALE; if (sizes[0] > 1) sum += bias_data[i]; y_data[i] = sum;";
    const GlslResult compiled = GlslToSpirv(parts.Text(), "test.glsl", Target::kVulkan11);
    for (const GlslError& error : compiled.errors) ADD_FAILURE() << error.where << error.message;
    module_ = ValueOf(Optimize(compiled.words, Target::kVulkan11));
  }

  std::vector<BindingType> Remove(pack::BindingSet absent) {
    return pack::RemoveAbsentBindings(module_, std::vector<BindingType>(3, kBuffer), absent);
  }

  // The bindings that the module declares.
  std::vector<uint32_t> Declared() {
    const Status valid = Validate(module_, Target::kVulkan11);
    EXPECT_TRUE(valid.ok()) << valid.message();
    std::vector<uint32_t> declared;
    for (const ReflectedBinding& binding : ValueOf(Reflect(module_)).bindings) {
      declared.push_back(binding.binding);
    }
    return declared;
  }

  std::vector<uint32_t> module_;
};

TEST_F(AbsentBindings, ABindingIsShared) {
  EXPECT_THAT(Declared(), ElementsAre(0, 1, 2));
  EXPECT_THAT(Remove(0b001), ElementsAre(kAbsent, kBuffer, kBuffer));
  EXPECT_THAT(Declared(), ElementsAre(1, 1, 2));
}

TEST_F(AbsentBindings, SeveralAreShared) {
  EXPECT_THAT(Remove(0b011), ElementsAre(kAbsent, kAbsent, kBuffer));
  EXPECT_THAT(Declared(), ElementsAre(2, 2, 2));
}

TEST_F(AbsentBindings, WithoutAnotherBufferNothingChanges) {
  const std::vector<uint32_t> before = module_;
  EXPECT_THAT(Remove(0b111), ElementsAre(kBuffer, kBuffer, kBuffer));
  EXPECT_THAT(Remove(0), ElementsAre(kBuffer, kBuffer, kBuffer));
  EXPECT_THAT(Remove(~0U << 3), ElementsAre(kBuffer, kBuffer, kBuffer));
  EXPECT_EQ(module_, before);
}

TEST_F(AbsentBindings, ImagesKeepTheirBinding) {
  const std::vector<BindingType> types = {BindingType::kSampledImage3D, kBuffer, kBuffer};
  EXPECT_EQ(pack::RemoveAbsentBindings(module_, types, 0b001), types);
  EXPECT_THAT(Declared(), ElementsAre(0, 1, 2));
}

TEST_F(AbsentBindings, TruncatedModulesAreSafe) {
  const std::vector<uint32_t> whole = module_;
  for (size_t size = 0; size < whole.size(); ++size) {
    module_.assign(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_THAT(Remove(0b001), ElementsAre(kAbsent, kBuffer, kBuffer));
  }
}

}  // namespace
}  // namespace spirloom::compiler
