// The attachment language_model.json of a language model's graph file: special tokens and chat
// format.
#ifndef SPIRLOOM_LLM_MODEL_CHAT_CONFIG_H_
#define SPIRLOOM_LLM_MODEL_CHAT_CONFIG_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::llm {

// Text before and after the content of a message.
struct Affixes {
  std::string prefix;
  std::string suffix;
};

// Formats the messages of a conversation as the model's chat template does.
struct ChatFormatter {
  std::string prologue;  // text before the first message if there is no system message
  std::optional<Affixes> system;
  Affixes user;
  Affixes assistant;
  std::string generation_prompt;  // text before a reply
  bool trim = false;              // remove leading and trailing whitespace of contents

  // Returns the text before the first user message. An empty `system_message` means none. Fails
  // with kUnsupported if the template has no system role.
  Result<std::string> Prologue(std::string_view system_message) const;
  // Returns a user message followed by the generation prompt.
  std::string UserTurn(std::string_view message) const;
};

struct ChatConfig {
  std::vector<int32_t> eos;    // each of them ends a text
  std::optional<int32_t> bos;  // first token of a text, if the model uses one
  std::optional<ChatFormatter> chat;

  bool IsEos(int32_t token) const;
};

// Fails with kInvalidFile.
Result<ChatConfig> ParseChatConfig(std::string_view json);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_CHAT_CONFIG_H_
