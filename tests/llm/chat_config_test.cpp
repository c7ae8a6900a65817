#include "llm/model/chat_config.h"

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

TEST(ChatConfig, ReadsBosAndEos) {
  const ChatConfig config = ValueOf(ParseChatConfig(kChat));
  EXPECT_THAT(config.eos, ElementsAre(2, 5));
  EXPECT_EQ(config.bos, 1);
  EXPECT_TRUE(config.IsEos(5));
  EXPECT_FALSE(config.IsEos(1));
  EXPECT_EQ(ValueOf(ParseChatConfig(R"({"eos": [], "bos": 1, "add_bos": false})")).bos,
            std::nullopt);
}

TEST(ChatConfig, FormatsMessages) {
  ChatFormatter chat = *ValueOf(ParseChatConfig(kChat)).chat;
  EXPECT_EQ(ValueOf(chat.Prologue("")), "<s>");
  EXPECT_EQ(ValueOf(chat.Prologue(" be brief\n")), "<s>[be brief]");
  EXPECT_EQ(chat.UserTurn(" hi  "), "U:hi.A:");
  chat.trim = false;
  EXPECT_EQ(chat.UserTurn(" hi  "), "U: hi  .A:");
  chat.system.reset();
  EXPECT_THAT(chat.Prologue("x").status().message(), HasSubstr("not support a system message"));
}

TEST(ChatConfig, RejectsInvalidFiles) {
  for (const auto& [text, message] : {
           std::pair("[", "does not contain a JSON object"),
           std::pair("[]", "does not contain a JSON object"),
           std::pair("{}", "The member 'eos' is missing or not an array"),
           std::pair(R"({"eos": [1.5]})", "'eos' contains a value that is not a token id"),
           std::pair(R"({"eos": [-1]})", "'eos' contains a value that is not a token id"),
           std::pair(R"({"eos": [], "add_bos": 1})", "The member 'add_bos' is not true or false"),
           std::pair(R"({"eos": [], "add_bos": true})", "'bos' is not a token id"),
           std::pair(R"({"eos": [], "chat": 1})",
                     "The member 'beginning' is missing or not a string"),
           std::pair(R"({"eos": [], "chat": {"beginning": "", "generate": ""}})",
                     "The member 'user' of 'chat' is missing"),
       }) {
    const Result<ChatConfig> config = ParseChatConfig(text);
    ASSERT_FALSE(config.ok()) << text;
    EXPECT_THAT(config.status().message(), HasSubstr(message));
    EXPECT_EQ(config.status().code(), StatusCode::kInvalidFile);
  }
}

}  // namespace
}  // namespace spirloom::llm
