// Verification of kernels before their first use.
#include "runtime/session/verification.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <set>

#include "spirloom/model.h"
#include "tests/support/model_fixture.h"
#include "tests/support/verdict_lines.h"
#include "tests/value_of.h"

namespace spirloom::session {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// Runtimes with a file of verdicts, to which a callback adds those of requested kernels.
class VerificationTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!IsAvailable()) GTEST_SKIP() << "There is no Vulkan device.";
    path_ = ::testing::TempDir() + "spirloom_verdicts_" +
            ::testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
    std::filesystem::remove(path_);
    ASSERT_TRUE(Restart().ok());
  }
  void TearDown() override { std::filesystem::remove(path_); }

  Status Restart(uint64_t max_submission_ns = 0) {
    requests_.clear();
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = "none";
    options.verdicts = path_;
    options.max_submission_ns = max_submission_ns;
    options.verify = [this](const VerifyRequest& request) { return Verify(request); };
    options.log = [this](LogLevel, std::string_view message) { log_.emplace_back(message); };
    SPIRLOOM_TRY_ASSIGN(Runtime runtime, Runtime::Create(options));
    runtime_ = std::make_unique<Runtime>(std::move(runtime));
    return Status();
  }

  Status Verify(const VerifyRequest& request) {
    EXPECT_EQ(request.device, runtime_->device().uuid);
    EXPECT_EQ(request.verdicts, path_);
    requests_.push_back(request.kernels);
    if (!answer_.ok()) return answer_;
    for (const std::string& kernel : request.kernels) {
      const bool is_bad = bad_.contains(kernel);
      lines_ += is_known_ ? VerdictLine(runtime_->state()->index, kernel, is_bad ? "wrong" : "ok")
                          : std::string();
    }
    const std::string head = "spirloom verdicts 1\ndriver " + runtime_->device().driver + "\n";
    std::ofstream(path_) << head << lines_ << "end\n";
    return Status();
  }

  // y = x @ w^T for `rows` rows.
  Result<Model> Load(uint64_t rows = 7) {
    graph::FileGraph file;
    const uint32_t x = AddInput(file, "x", {rows, 64});
    const uint32_t w = file.AddConstant<float>("w", {64, 64}, 0, Floats(64 * 64, 0.25F));
    file.outputs = {AddNode(file, "aten.linear", LinearArgs(x, w, graph::NoneArg()), {rows, 64})};
    return Model::LoadFromMemory(*runtime_, file.Write(), {});
  }

  // The dispatched variants. Checks the results.
  std::set<std::string> Variants() {
    Model model = ValueOf(Load());
    EXPECT_EQ(ValueOf(RunModel(model, {Floats(7 * 64, 0.5F)}))[0], Floats(7 * 64, 8.0F));
    std::set<std::string> variants;
    for (const DispatchProfile& dispatch : ValueOf(model.Profile())) {
      variants.insert(dispatch.variant);
    }
    return variants;
  }

  std::string path_;
  std::string lines_;
  std::set<std::string> bad_;  // kernels that the callback finds to be wrong
  bool is_known_ = true;       // the callback adds verdicts
  Status answer_;
  std::vector<std::vector<std::string>> requests_;
  std::vector<std::string> log_;
  std::unique_ptr<Runtime> runtime_;
};

TEST_F(VerificationTest, KernelsAreRequestedOnce) {
  const std::set<std::string> variants = Variants();
  ASSERT_THAT(requests_, SizeIs(1));
  for (const std::string& variant : variants) EXPECT_THAT(requests_[0], Contains(variant));
  EXPECT_EQ(Variants(), variants);
  EXPECT_THAT(requests_, SizeIs(1));
  ASSERT_TRUE(Restart().ok());
  EXPECT_EQ(Variants(), variants);
  EXPECT_THAT(requests_, IsEmpty()) << "the file has their verdicts";
}

TEST_F(VerificationTest, ABadKernelIsReplacedByAVerifiedOne) {
  const std::string bad = *Variants().begin();
  std::filesystem::remove(path_);
  lines_.clear();
  bad_ = {bad};
  ASSERT_TRUE(Restart().ok());
  const std::set<std::string> variants = Variants();
  EXPECT_THAT(variants, AllOf(Not(IsEmpty()), Not(Contains(bad))));
  ASSERT_THAT(requests_, SizeIs(2));
  EXPECT_THAT(requests_[0], Contains(bad));
  for (const std::string& variant : variants) {
    const bool requested = std::ranges::any_of(requests_, [&](const auto& kernels) {
      return std::ranges::find(kernels, variant) != kernels.end();
    });
    EXPECT_TRUE(requested) << variant;
  }
  EXPECT_THAT(log_, Contains(AllOf(HasSubstr("are not selected"), HasSubstr(bad))));
}

TEST_F(VerificationTest, AnErrorFailsLoadingAndIsNotFinal) {
  answer_ = Status(StatusCode::kUnavailable, "There is no program for it.");
  const Status status = Load().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_THAT(status.message(),
              AllOf(HasSubstr("There is no program for it."), HasSubstr("verifying ")));
  answer_ = Status();
  EXPECT_THAT(Variants(), Not(IsEmpty()));
  EXPECT_THAT(requests_, SizeIs(2));
}

TEST_F(VerificationTest, KernelsWithoutAVerdictAreUsed) {
  is_known_ = false;
  const std::set<std::string> variants = Variants();
  EXPECT_THAT(variants, Not(IsEmpty()));
  EXPECT_THAT(log_, Contains(AllOf(HasSubstr("Kernels that were not verified"),
                                   HasSubstr(*variants.begin()))));
  Variants();
  EXPECT_THAT(requests_, SizeIs(1));
}

TEST_F(VerificationTest, DividedDispatchesAreRequested) {
  ASSERT_TRUE(Restart(/*max_submission_ns=*/1).ok());
  ASSERT_TRUE(Load(/*rows=*/4096).ok());
  EXPECT_THAT(requests_, ElementsAre(Contains("vkCmdDispatchBase")));
}

TEST_F(VerificationTest, WithoutAFileOfVerdictsItIsAnError) {
  RuntimeOptions options;
  options.cache_dir = "none";
  options.verify = [](const VerifyRequest&) { return Status(); };
  for (const char* verdicts : {"", "none"}) {
    options.verdicts = verdicts;
    const Status status = Runtime::Create(options).status();
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("verify requires a file of verdicts"));
  }
}

}  // namespace
}  // namespace spirloom::session
