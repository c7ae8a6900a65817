// Modules of variants that differ in their workgroup size: stored once.
#include "compiler/pack/workgroup_size.h"

#include <gmock/gmock.h>

#include <cstring>
#include <spirv/unified1/spirv.hpp>

#include "compiler/checks/reflect.h"
#include "compiler/spirv/spirv_walker.h"
#include "runtime/pack/shader_pack.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::ElementsAre;

class WorkgroupSizeTest : public CompilerTest {
 protected:
  // Adds a variant with 160 bytes of shared memory per invocation.
  void AddShared(const std::string& id, int size, bool needs_memory) {
    GlslParts parts;
    parts.local_size =
        "layout(local_size_x = " + std::to_string(size) +
        ", local_size_y = 1, local_size_z = 1) in;\n"
        "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";
    parts.functions =
        "const int LANES = int(gl_WorkGroupSize.x);\nshared float values[40 * LANES];\n";
    parts.body =
        "int lane = int(gl_LocalInvocationID.x);\n"
        "values[lane] = x_data[i] * SCALE + float(sizes[0]);\n"
        "y_data[i] = values[lane];";
    nlohmann::json& variant = AddVariant(id, parts.Text());
    variant["workgroup"] = {size, 1, 1};
    if (needs_memory) variant["needs"] = {"shared_memory_48k"};
  }
};

TEST_F(WorkgroupSizeTest, OneModuleForAllSizes) {
  AddShared("of_64", 64, /*needs_memory=*/false);
  AddShared("of_256", 256, /*needs_memory=*/true);
  ValueOf(Compile());
  const std::string bytes = PackBytes();
  std::vector<uint64_t> aligned((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  const pack::ShaderPack pack = ValueOf(pack::ShaderPack::Open(
      std::as_bytes(std::span(aligned)).first(bytes.size()), pack::PackCheck::kContent));
  EXPECT_EQ(pack.modules().size(), 1u);
  ASSERT_EQ(pack.variants().size(), 2u);
  EXPECT_THAT(pack.variants()[0].workgroup, ElementsAre(64, 1, 1));
  EXPECT_THAT(pack.variants()[1].workgroup, ElementsAre(256, 1, 1));
  const Reflection stored = ValueOf(Reflect(ValueOf(pack.ReadSpirv(pack.variants()[1]))));
  EXPECT_THAT(stored.workgroup, ElementsAre(1, 1, 1));
}

TEST_F(WorkgroupSizeTest, SharedMemoryIsThatOfTheOwnSize) {
  AddShared("of_256", 256, /*needs_memory=*/false);
  EXPECT_THAT(CompileError(), testing::HasSubstr("shared_memory_48k"));
}

TEST_F(WorkgroupSizeTest, FixedSizesAreKept) {
  std::vector<uint32_t> module = {pack::spirv::kMagic, 0x10300, 0, 2, 0};
  AppendInstruction(module, spv::OpExecutionMode, {1, spv::ExecutionModeLocalSize, 64, 1, 1});
  const std::vector<uint32_t> before = module;
  ClearWorkgroupSize(module);
  EXPECT_EQ(module, before);
}

}  // namespace
}  // namespace spirloom::compiler
