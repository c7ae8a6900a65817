// What a language model's graph file says beside the graph: language_model.json.
#ifndef SPIRLOOM_LLM_MODEL_FACTS_H_
#define SPIRLOOM_LLM_MODEL_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spirloom/status.h"

namespace spirloom::llm {

// What stands before and after the content of a message.
struct Around {
  std::string before;
  std::string after;
};

// How a conversation is written: its messages one after the other.
struct Chat {
  std::string beginning;  // of one without a system message
  std::optional<Around> system;
  Around user;
  Around assistant;
  std::string generate;  // what a reply begins with
  bool trim = false;     // blanks around contents are dropped

  // The beginning, with a system message unless `system_message` is empty. Fails with kUnsupported
  // if the model takes none.
  Result<std::string> Begin(std::string_view system_message) const;
  // A user's message, up to where the reply goes on.
  std::string Ask(std::string_view message) const;
};

struct Facts {
  std::vector<int32_t> eos;    // any of them ends a text
  std::optional<int32_t> bos;  // a text begins with it
  std::optional<Chat> chat;

  bool Ends(int32_t token) const;
};

// Fails with kInvalidFile.
Result<Facts> ParseFacts(std::string_view json);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_FACTS_H_
