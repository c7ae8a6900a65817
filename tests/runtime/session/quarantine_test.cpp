// Verdicts about kernels: their file, and the kernels that models get.
#include "runtime/session/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "runtime/session/runtime_state.h"
#include "spirloom/model.h"
#include "tests/support/model_fixture.h"
#include "tests/support/verdict_lines.h"
#include "tests/value_of.h"

namespace spirloom::session {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

constexpr std::string_view kRelu = "relu_f32_buffer";
const std::string kHead = "spirloom verdicts 1\ndriver of tests\n";

class VerdictTextTest : public ::testing::Test {
 protected:
  Result<std::string> Add(const std::string& text) {
    return quarantine_.AddVerdicts(text, "of tests");
  }

  const std::vector<const ShaderLibrary*> libraries_{&AllShaders()};
  const ops::OpIndex index_ = ValueOf(ops::OpIndex::Create(libraries_));
  Quarantine quarantine_{index_};
};

TEST_F(VerdictTextTest, BadVerdictsAreAdded) {
  const std::string text = kHead + VerdictLine(index_, kRelu, "wrong") +
                           VerdictLine(index_, "relu_f16_buffer", "ok") +
                           VerdictLine(index_, "exp_f32_buffer", "hangs") + "end\n";
  EXPECT_THAT(quarantine_.variants(), IsEmpty());
  EXPECT_EQ(ValueOf(Add(text)), "exp_f32_buffer, relu_f32_buffer");
  EXPECT_EQ(quarantine_.variants().size(), 2U);
  quarantine_.Add("relu_f16_buffer");
  EXPECT_EQ(quarantine_.variants().size(), 3U);
}

TEST_F(VerdictTextTest, AVerdictAboutDispatchBases) {
  const std::string line = "vkCmdDispatchBase\t0000000000000000\t";
  EXPECT_THAT(ValueOf(Add(kHead + line + "ok\nend\n")), IsEmpty());
  EXPECT_TRUE(quarantine_.divides_dispatches());
  EXPECT_THAT(ValueOf(Add(kHead + line + "wrong\nend\n")), IsEmpty());
  EXPECT_FALSE(quarantine_.divides_dispatches());
  EXPECT_THAT(quarantine_.variants(), IsEmpty());
}

TEST_F(VerdictTextTest, VerdictsAboutOtherModulesAndDriversAreIgnored) {
  EXPECT_THAT(ValueOf(Add(kHead + "relu_f32_buffer\t0123456789abcdef\twrong\nend\n")), IsEmpty());
  EXPECT_THAT(ValueOf(Add(kHead + "of_another_library\t0\twrong\nend\n")), IsEmpty());
  const std::string text = kHead + VerdictLine(index_, kRelu, "wrong") + "end\n";
  EXPECT_THAT(ValueOf(quarantine_.AddVerdicts(text, "of tests 2")), IsEmpty());
  EXPECT_THAT(quarantine_.variants(), IsEmpty());
}

TEST_F(VerdictTextTest, OtherTextsAreErrors) {
  const std::string text = kHead + VerdictLine(index_, kRelu, "wrong") + "end\n";
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_EQ(Add(text.substr(0, size)).status().code(), StatusCode::kInvalidFile) << size;
  }
  EXPECT_THAT(Add("spirloom verdicts 2\ndriver x\nend\n").status().message(),
              HasSubstr("not a complete file of verdicts of version 1"));
  for (const char* line : {"relu_f32_buffer", "relu_f32_buffer\t12", "\t\t", "", "a\t\twrong"}) {
    EXPECT_THAT(Add(kHead + line + "\nend\n").status().message(), HasSubstr("is not a verdict"))
        << line;
  }
  EXPECT_THAT(quarantine_.variants(), IsEmpty());
}

TEST(VerdictFileName, NamesTheDeviceAndDriver) {
  DeviceInfo device;
  device.uuid = "uuid:0123";
  device.driver_version_number = 0x16003006;
  EXPECT_EQ(VerdictFileName(device), "verdicts-0123-16003006.txt");
}

// Models on runtimes with verdicts in a directory.
class QuarantineTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
    directory_ = ::testing::TempDir() + "spirloom_quarantine_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    ASSERT_TRUE(Restart().ok());
    selected_ = Variants();
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Status Restart(const std::string& verdicts = "") {
    log_.clear();
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = directory_;
    options.verdicts = verdicts;
    options.log = [this](LogLevel level, std::string_view message) {
      if (level == LogLevel::kWarning) log_.emplace_back(message);
    };
    SPIRLOOM_TRY_ASSIGN(Runtime runtime, Runtime::Create(options));
    runtime_ = std::make_unique<Runtime>(std::move(runtime));
    return Status();
  }

  // Writes verdicts of these variants to the default file, or to `name`.
  std::string Write(const std::vector<std::string>& variants, const std::string& name = "") {
    const DeviceInfo& device = runtime_->device();
    std::string text = "spirloom verdicts 1\ndriver " + device.driver + "\n";
    for (const std::string& variant : variants) {
      text += VerdictLine(runtime_->state()->index, variant, "wrong");
    }
    const std::string path = directory_ + "/" + (name.empty() ? VerdictFileName(device) : name);
    std::ofstream(path) << text << "end\n";
    return path;
  }

  Result<Model> Load() {
    graph::FileGraph file;
    const uint32_t x = AddInput(file, "x", {7, 64});
    const uint32_t w = file.AddConstant<float>("w", {64, 64}, 0, Floats(64 * 64, 0.25F));
    const uint32_t y = AddNode(file, "aten.linear", LinearArgs(x, w, graph::NoneArg()), {7, 64});
    file.outputs = {y};
    return Model::LoadFromMemory(*runtime_, file.Write(), {});
  }

  // The dispatched variants. Checks the results.
  std::set<std::string> Variants() {
    Model model = ValueOf(Load());
    const std::vector<Floats> y = ValueOf(RunModel(model, {Floats(7 * 64, 0.5F)}));
    EXPECT_EQ(y[0], Floats(7 * 64, 8.0F));
    std::set<std::string> variants;
    for (const DispatchProfile& dispatch : ValueOf(model.Profile())) {
      variants.insert(dispatch.variant);
    }
    return variants;
  }

  std::string directory_;
  std::vector<std::string> log_;
  std::unique_ptr<Runtime> runtime_;
  std::set<std::string> selected_;  // without verdicts
};

TEST_F(QuarantineTest, AQuarantinedKernelIsReplaced) {
  const std::string quarantined = *selected_.begin();
  const std::string path = Write({quarantined});
  ASSERT_TRUE(Restart().ok());
  EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr(quarantined), HasSubstr("`spirloom verify`"),
                                      HasSubstr(path))));
  EXPECT_THAT(Variants(), AllOf(Not(IsEmpty()), Not(Contains(quarantined))));
  ASSERT_TRUE(Restart("none").ok());
  EXPECT_EQ(Variants(), selected_);
  const std::string other = Write({}, "other.txt");
  ASSERT_TRUE(Restart(other).ok());
  EXPECT_EQ(Variants(), selected_);
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(QuarantineTest, WithoutAnyOtherKernelLoadingFails) {
  const ops::OpIndex& index = runtime_->state()->index;
  const ops::OpEntry* linear = index.FindOp("aten.linear");
  std::vector<std::string> variants;
  for (const ops::KernelInfo& kernel : linear->op->kernels) {
    for (const pack::VariantRow& row : index.VariantsOf(*linear, kernel)) {
      variants.emplace_back(index.libraries()[linear->library].pack.Name(row));
    }
  }
  Write(variants);
  ASSERT_TRUE(Restart().ok());
  EXPECT_THAT(log_, ElementsAre(HasSubstr(" and more. Update the driver")));
  const Status status = Load().status();
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_THAT(status.message(), HasSubstr("requires a driver on which it passes"));
}

TEST_F(QuarantineTest, AMalformedFileIsIgnoredUnlessItIsGiven) {
  const std::string path = Write({});
  std::ofstream(path) << "not verdicts";
  ASSERT_TRUE(Restart().ok());
  EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr("not a complete file"), HasSubstr(path))));
  EXPECT_EQ(Variants(), selected_);
  EXPECT_EQ(Restart(path).code(), StatusCode::kInvalidFile);
  const Status missing = Restart(path + "x");
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_THAT(missing.message(), HasSubstr(path + "x"));
}

}  // namespace
}  // namespace spirloom::session
