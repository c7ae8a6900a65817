// Generates a reply token by token.
#ifndef SPIRLOOM_LLM_MODEL_GENERATE_H_
#define SPIRLOOM_LLM_MODEL_GENERATE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "llm/model/chat_config.h"
#include "llm/model/language_model.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// A reply ends at an EOS token, at the requested length, when the context is full, or on request.
enum class StopReason { kEos, kLength, kContext, kStopped };
const char* NameOf(StopReason reason);

struct Reply {
  std::vector<int32_t> tokens;  // including the EOS token
  StopReason stop = StopReason::kLength;
  size_t prompt_tokens = 0;
  double first_seconds = 0;  // time to first token: prefill
  double step_seconds = 0;   // time of all further tokens: decode
};

// Prefills `prompt` and generates up to `max_tokens` tokens. `on_token` receives each token as
// soon as its submission has finished. Stops after a token if `stop` is not null and true, which
// `on_token` or another thread may set. Fails with kInvalidArgument if `max_tokens` is 0.
// Afterwards the KV cache contains all tokens except the last.
Result<Reply> Generate(LanguageModel& model, const ChatConfig& config,
                       std::span<const int32_t> prompt, size_t max_tokens,
                       const std::function<void(int32_t)>& on_token,
                       const std::atomic<bool>* stop = nullptr);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_GENERATE_H_
