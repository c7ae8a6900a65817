// Compilation of a manifest to a pack, and the other output files.
#include "compiler/driver/compiler.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "compiler/base/file_io.h"
#include "compiler/spirv/optimize.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/shader_pack.h"
#include "tests/compiler/fixture.h"
#include "tests/value_of.h"

namespace spirloom::compiler {
namespace {

using testing::HasSubstr;

class CompilerPackTest : public CompilerTest {
 protected:
  // Adds `count` variants; every third has the code of the previous one.
  void AddVariants(int count) {
    for (int i = 0; i < count; ++i) {
      GlslParts parts;
      parts.body = "y_data[i] = x_data[i] * SCALE + float(" + std::to_string(i - i % 3 / 2) + ");";
      AddVariant("v" + std::to_string(i), parts.Text());
    }
  }

  // Opens the written pack. Valid until the next call.
  pack::ShaderPack OpenPack() {
    const std::string bytes = PackBytes();
    aligned_.resize((bytes.size() + 7) / 8);
    std::memcpy(aligned_.data(), bytes.data(), bytes.size());
    const auto view = std::as_bytes(std::span(aligned_)).first(bytes.size());
    return ValueOf(pack::ShaderPack::Open(view, pack::PackCheck::kContent));
  }

 private:
  std::vector<uint64_t> aligned_;
};

TEST_F(CompilerPackTest, BytesDoNotDependOnThreads) {
  AddVariants(20);
  ASSERT_TRUE(Compile().ok());
  const std::string one = PackBytes();
  ASSERT_FALSE(one.empty());
  for (const size_t jobs : {2u, 7u, 40u}) {
    std::filesystem::remove(options_.output);
    options_.jobs = jobs;
    ASSERT_TRUE(Compile().ok());
    EXPECT_EQ(PackBytes(), one);
  }
}

TEST_F(CompilerPackTest, RecordsWhichKernelsDependOnTheWorkgroup) {
  const std::vector<std::string> bodies = {
      "y_data[i] = x_data[i];",
      "y_data[i] = x_data[i] * float(gl_NumWorkGroups.x * gl_WorkGroupSize.x);",
      "y_data[i] = x_data[i] + float(gl_LocalInvocationID.x);",
      "y_data[i] = x_data[i] + float(gl_WorkGroupID.x);",
      "tile[i % 2] = x_data[i]; y_data[i] = tile[0];",
      "y_data[i] = subgroupAdd(x_data[i]);"};
  for (size_t i = 0; i < bodies.size(); ++i) {
    GlslParts parts;
    parts.extensions = "#extension GL_KHR_shader_subgroup_arithmetic : enable\n";
    parts.functions = "shared float tile[2];\n";
    parts.body = bodies[i];
    AddVariant("v" + std::to_string(i), parts.Text())["needs"] = {"subgroup_arithmetic"};
    if (i + 1 < bodies.size()) manifest_["variants"][i]["needs"] = nlohmann::json::array();
  }
  const Result<CompileReport> report = Compile();
  ASSERT_TRUE(report.ok()) << report.status().message();
  const pack::ShaderPack pack = OpenPack();
  std::vector<int> any_workgroup_size;
  for (const pack::VariantRow& row : pack.variants())
    any_workgroup_size.push_back(row.any_workgroup_size);
  EXPECT_THAT(any_workgroup_size, testing::ElementsAre(1, 1, 0, 0, 0, 0));
}

TEST_F(CompilerPackTest, NeedsImpliedByDtypesAreThoseOfTheModule) {
  const nlohmann::json may_need = {"storage_buffer_8bit", "storage_buffer_16bit"};
  AddVariant("v0", GlslParts{}.Text())["may_need"] = may_need;
  AddVariant("v1", ScaledF16().Text())["may_need"] = may_need;
  const Result<CompileReport> report = Compile();
  ASSERT_TRUE(report.ok()) << report.status().message();
  const pack::ShaderPack pack = OpenPack();
  std::vector<uint64_t> needs;
  for (const pack::VariantRow& row : pack.variants()) needs.push_back(row.needs);
  EXPECT_THAT(needs,
              testing::ElementsAre(0, pack::CapabilityBit(pack::Capability::kStorageBuffer16Bit)));
}

TEST_F(CompilerPackTest, RuntimeReadsThePack) {
  AddVariants(7);
  manifest_["variants"][2]["key"] = uint64_t{5} << 32;
  manifest_["variants"][3]["target"] = "vulkan1.3";
  for (size_t i = 3; i < 7; ++i) manifest_["variants"][i]["key"] = (uint64_t{5} << 32) + i;
  const Result<CompileReport> report = Compile();
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(report->variants, 7u);
  EXPECT_EQ(report->modules, 5u);

  const pack::ShaderPack pack = OpenPack();
  const auto ops = std::as_bytes(std::span(std::string_view("ops")));
  EXPECT_TRUE(std::ranges::equal(pack.registry(), ops));
  ASSERT_EQ(pack.variants().size(), 7u);
  const pack::VariantRow* row = pack.Find(uint64_t{5} << 32);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(pack.Name(*row), "v2");
  EXPECT_EQ(row->binding_count, 2);
  EXPECT_EQ(row->push_bytes, 20);
  EXPECT_EQ(row->constant_count, 1);
  EXPECT_EQ(row->workgroup[0], 64);
  EXPECT_EQ(row->vulkan_minor, 1);
  EXPECT_EQ(pack.variants()[3].vulkan_minor, 3);
  // v2 has the code of v1.
  EXPECT_EQ(row->module, pack.variants()[1].module);
  EXPECT_NE(row->module, pack.variants()[0].module);
  EXPECT_TRUE(Validate(ValueOf(pack.ReadSpirv(*row)), Target::kVulkan11).ok());
}

TEST_F(CompilerPackTest, NoVariantsMakeAnEmptyPack) {
  ASSERT_TRUE(Compile().ok());
  EXPECT_TRUE(OpenPack().variants().empty());
}

TEST_F(CompilerPackTest, ExtractedModulesAreValid) {
  AddVariants(3);
  options_.extract_dir = directory_ / "spv";
  ASSERT_TRUE(Compile().ok());
  for (const char* id : {"v0", "v1", "v2"}) {
    const Result<std::string> file = ReadFile(options_.extract_dir / (std::string(id) + ".spv"));
    ASSERT_TRUE(file.ok()) << file.status().message();
    ASSERT_EQ(file->size() % 4, 0u);
    std::vector<uint32_t> words(file->size() / 4);
    std::memcpy(words.data(), file->data(), file->size());
    EXPECT_TRUE(Validate(words, Target::kVulkan11).ok());
  }
}

TEST_F(CompilerPackTest, TimeTraceNamesEveryPhaseOfEveryVariant) {
  AddVariants(2);
  options_.jobs = 2;
  options_.time_trace = directory_ / "trace.json";
  const Result<CompileReport> report = Compile();
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->time_summary, HasSubstr("optimize"));
  const nlohmann::json trace = nlohmann::json::parse(*ReadFile(options_.time_trace));
  std::set<std::pair<std::string, std::string>> events;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    EXPECT_EQ(event["ph"], "X");
    EXPECT_GE(event["dur"].get<double>(), 0);
    events.emplace(event["args"]["variant"], event["name"]);
  }
  for (const char* id : {"v0", "v1"}) {
    for (const char* phase : {"look up", "parse", "optimize", "validate", "check", "store"})
      EXPECT_TRUE(events.count({id, phase})) << id << " " << phase;
  }
}

TEST_F(CompilerPackTest, DepfileNamesTheInputs) {
  AddVariants(1);
  options_.depfile = directory_ / "a b.d";
  ASSERT_TRUE(Compile().ok());
  EXPECT_EQ(*ReadFile(options_.depfile), options_.output.string() + ": " +
                                             options_.manifest.string() + " " +
                                             (directory_ / "registry.bin").string() + " \\\n  " +
                                             (directory_ / "glsl/v0.glsl").string() + "\n");
}

TEST_F(CompilerPackTest, OutputThatCannotBeWrittenIsAnError) {
  AddVariants(1);
  options_.output = directory_ / "glsl" / "v0.glsl" / "shaders.slpack";
  EXPECT_THAT(CompileError(), HasSubstr("' cannot be written: "));
}

TEST_F(CompilerPackTest, ErrorsOfAllVariantsAreReported) {
  AddVariants(3);
  manifest_["variants"][0]["workgroup"] = {1, 1, 1};
  manifest_["variants"][2]["needs"] = {"shader_int8"};
  const std::string error = CompileError();
  EXPECT_THAT(error, HasSubstr("op_specs/v0.yaml:1:3: error: The workgroup size"));
  EXPECT_THAT(error, HasSubstr("op_specs/v2.yaml:1:3: error: The spec needs shader_int8"));
  EXPECT_FALSE(std::filesystem::exists(options_.output));
}

}  // namespace
}  // namespace spirloom::compiler
