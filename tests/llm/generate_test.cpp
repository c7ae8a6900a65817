// Replies of the example model.
#include "llm/model/generate.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace spirloom::llm {
namespace {

class GenerateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    RuntimeOptions options;
    options.libraries = {&AllShaders()};
    options.cache_dir = "none";
    runtime_.emplace(Runtime::Create(options));
    if (runtime_->status().code() == StatusCode::kUnavailable) {
      GTEST_SKIP() << runtime_->status().message();
    }
    ASSERT_TRUE(runtime_->ok()) << runtime_->status().message();
    model_.emplace(LanguageModel::Load(**runtime_, SPIRLOOM_STORY));
    ASSERT_TRUE(model_->ok()) << model_->status().message();
  }

  Result<Reply> Generate(size_t max_tokens) {
    tokens_.clear();
    return llm::Generate(**model_, ChatConfig(), kPrompt, max_tokens,
                         [&](int32_t token) { tokens_.push_back(token); });
  }

  static constexpr std::array<int32_t, 3> kPrompt{1, 2, 3};
  std::optional<Result<Runtime>> runtime_;
  std::optional<Result<LanguageModel>> model_;
  std::vector<int32_t> tokens_;  // that `on_token` has received
};

TEST_F(GenerateTest, StopsAtTheMaximumNumberOfTokens) {
  for (const size_t count : {size_t{1}, size_t{20}}) {
    const Result<Reply> reply = Generate(count);
    ASSERT_TRUE(reply.ok()) << reply.status().message();
    EXPECT_EQ(reply->tokens.size(), count);
    EXPECT_EQ(reply->tokens, tokens_);
    EXPECT_EQ(reply->stop, StopReason::kLength);
  }
}

TEST_F(GenerateTest, RejectsAMaximumOfZeroTokens) {
  const Status status = Generate(0).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "The maximum number of tokens is 0; expected at least 1.");
  EXPECT_TRUE(tokens_.empty());
  EXPECT_EQ((*model_)->position(), 0u);
}

}  // namespace
}  // namespace spirloom::llm
