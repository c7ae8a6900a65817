#include "llm/model/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/value_of.h"

namespace spirloom::llm {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kChat = R"({"eos": [2, 5], "bos": 1, "add_bos": true, "chat": {
  "beginning": "<s>", "system": {"before": "<s>[", "after": "]"},
  "user": {"before": "U:", "after": "."}, "assistant": {"before": "A:", "after": ";"},
  "generate": "A:", "trim": true}})";

TEST(Facts, SayHowTextsBeginAndEnd) {
  const Facts facts = ValueOf(ParseFacts(kChat));
  EXPECT_THAT(facts.eos, ElementsAre(2, 5));
  EXPECT_EQ(facts.bos, 1);
  EXPECT_TRUE(facts.Ends(5));
  EXPECT_FALSE(facts.Ends(1));
  EXPECT_EQ(ValueOf(ParseFacts(R"({"eos": [], "bos": 1, "add_bos": false})")).bos, std::nullopt);
}

TEST(Facts, WriteMessagesAsTheChatDoes) {
  Chat chat = *ValueOf(ParseFacts(kChat)).chat;
  EXPECT_EQ(ValueOf(chat.Begin("")), "<s>");
  EXPECT_EQ(ValueOf(chat.Begin(" be brief\n")), "<s>[be brief]");
  EXPECT_EQ(chat.Ask(" hi  "), "U:hi.A:");
  chat.trim = false;
  EXPECT_EQ(chat.Ask(" hi  "), "U: hi  .A:");
  chat.system.reset();
  EXPECT_THAT(chat.Begin("x").status().message(), HasSubstr("takes no system message"));
}

TEST(Facts, RefuseWhatIsNone) {
  for (const auto& [text, message] : {
           std::pair("[", "holds no JSON object"),
           std::pair("[]", "holds no JSON object"),
           std::pair("{}", "The list 'eos' is missing"),
           std::pair(R"({"eos": [1.5]})", "'eos' holds something else"),
           std::pair(R"({"eos": [-1]})", "'eos' holds something else"),
           std::pair(R"({"eos": [], "add_bos": 1})", "'add_bos' is neither true nor false"),
           std::pair(R"({"eos": [], "add_bos": true})", "'bos' is no number"),
           std::pair(R"({"eos": [], "chat": 1})", "The text 'beginning' is missing"),
           std::pair(R"({"eos": [], "chat": {"beginning": "", "generate": ""}})",
                     "The chat lacks 'user'"),
       }) {
    const Result<Facts> facts = ParseFacts(text);
    ASSERT_FALSE(facts.ok()) << text;
    EXPECT_THAT(facts.status().message(), HasSubstr(message));
    EXPECT_EQ(facts.status().code(), StatusCode::kInvalidFile);
  }
}

}  // namespace
}  // namespace spirloom::llm
