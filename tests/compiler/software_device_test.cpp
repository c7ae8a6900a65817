// The positions at which optimized modules load push constants.
#include "compiler/spirv/software_device.h"

#include <gtest/gtest.h>

#include <set>
#include <spirv/unified1/spirv.hpp>

#include "compiler/glsl/glsl_to_spirv.h"
#include "compiler/spirv/optimize.h"
#include "compiler/spirv/spirv_walker.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

struct Reads {
  size_t first_block = 0;
  size_t later = 0;  // within branches and loops
};

class PushConstants : public testing::Test {
 protected:
  // Counts the push-constant loads in the optimized module of a shader with these statements.
  Reads ReadsOf(const std::string& body) {
    GlslParts parts;
    parts.body = body;
    const GlslResult compiled = GlslToSpirv(parts.Text(), "test.glsl", Target::kVulkan11);
    for (const GlslError& error : compiled.errors) ADD_FAILURE() << error.where << error.message;
    module_ = ValueOf(Optimize(compiled.words, Target::kVulkan11));
    const Status valid = Validate(module_, Target::kVulkan11);
    EXPECT_TRUE(valid.ok()) << valid.message();
    return Count();
  }

  std::vector<uint32_t> module_;

 private:
  Reads Count() const {
    Reads reads;
    std::set<uint32_t> pointers;
    size_t blocks = 0;
    WalkSpirv(module_, [&](const Instruction& instruction) {
      if (instruction.opcode == spv::OpVariable &&
          instruction.Word(3) == spv::StorageClassPushConstant) {
        pointers.insert(instruction.Word(2));
      }
      if (instruction.opcode == spv::OpLabel) ++blocks;
      if (instruction.opcode == spv::OpAccessChain && pointers.contains(instruction.Word(3))) {
        pointers.insert(instruction.Word(2));
      }
      if (instruction.opcode == spv::OpLoad && pointers.contains(instruction.Word(3))) {
        ++(blocks == 1 ? reads.first_block : reads.later);
      }
      return true;
    });
    return reads;
  }
};

TEST_F(PushConstants, AreLoadedOnceInUniformControlFlow) {
  const Reads reads = ReadsOf(
      "for (int k = 0; k < sizes[1]; k++) y_data[i + k * sizes[2]] = x_data[i] * float(sizes[2]);"
      "if (i < sizes[0]) y_data[i] = SCALE + float(sizes[0]);");
  EXPECT_EQ(reads.first_block, 4u);  // n and three sizes
  EXPECT_EQ(reads.later, 0u);
}

TEST_F(PushConstants, LoadsWithDynamicIndicesAreKept) {
  const Reads reads = ReadsOf("y_data[i] = x_data[i] * SCALE + float(sizes[i % 4] + sizes[0]);");
  EXPECT_EQ(reads.first_block, 2u);
  EXPECT_EQ(reads.later, 1u);
}

TEST_F(PushConstants, KeepsModulesWithoutPushConstants) {
  const std::vector<uint32_t> nothing{pack::spirv::kMagic, 0x10300, 0, 1, 0};
  EXPECT_EQ(HoistPushConstants(nothing), nothing);
  const std::vector<uint32_t> broken{pack::spirv::kMagic, 0x10300, 0, 1, 0, 0};
  EXPECT_EQ(HoistPushConstants(broken), broken);
}

}  // namespace
}  // namespace spirloom::compiler
