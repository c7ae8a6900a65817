// A prompt that fails between its chunks leaves the conversation as it was.
#include "llm/model/language_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "tests/faults/fault_fixture.h"
#include "tests/value_of.h"

namespace spirloom::faults {
namespace {

using Tokens = std::vector<int32_t>;

Tokens Prompt(size_t count, size_t seed, size_t vocabulary) {
  Tokens tokens(count);
  for (size_t i = 0; i < count; ++i) {
    tokens[i] = static_cast<int32_t>((i * 37 + seed) % vocabulary);
  }
  return tokens;
}

// A reply of a few tokens to a prompt.
Result<Tokens> Reply(llm::LanguageModel& model, const Tokens& prompt) {
  SPIRLOOM_TRY(model.Prefill(prompt));
  SPIRLOOM_TRY_ASSIGN(Tokens reply, model.sampled());
  for (int step = 0; step < 3; ++step) {
    SPIRLOOM_TRY(model.Step(1));
    SPIRLOOM_TRY_ASSIGN(const Tokens next, model.sampled());
    reply.insert(reply.end(), next.begin(), next.end());
  }
  return reply;
}

TEST(LanguageModelFaults, AFailedPromptLeavesTheConversation) {
  if (!IsAvailable()) GTEST_SKIP() << "No Vulkan device is available.";
  const Runtime runtime = ValueOf(MakeRuntime());
  llm::LanguageModel expected = ValueOf(llm::LanguageModel::Load(runtime, SPIRLOOM_STORY));
  const Tokens first = Prompt(9, 5, expected.vocabulary());
  const Tokens second = Prompt(41, 11, expected.vocabulary());
  const Tokens first_reply = ValueOf(Reply(expected, first));
  const Tokens second_reply = ValueOf(Reply(expected, second));

  size_t failures = 0, partial = 0;
  for (const char* function : {"vkCreateCommandPool", "vkQueueSubmit"}) {
    for (uint64_t call = 1; call < 30; ++call) {
      llm::LanguageModel model = ValueOf(llm::LanguageModel::Load(runtime, SPIRLOOM_STORY));
      ASSERT_EQ(ValueOf(Reply(model, first)), first_reply);
      const size_t position = model.position();
      Faults().set({.first = call, .only = function});
      const Status status = model.Prefill(second);
      if (Faults().clear() == nullptr) break;
      if (status.ok()) continue;  // it tried again
      ++failures;
      if (model.position() != position) ++partial;
      const Result<Tokens> reply = Reply(model, second);
      ASSERT_TRUE(reply.ok()) << reply.status().message();
      EXPECT_EQ(*reply, second_reply) << function << " call " << call;
    }
  }
  EXPECT_GT(failures, 3u);
  EXPECT_EQ(partial, 0u);
}

}  // namespace
}  // namespace spirloom::faults
