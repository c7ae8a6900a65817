// A model's reply to tokens, token by token.
#ifndef SPIRLOOM_LLM_MODEL_GENERATE_H_
#define SPIRLOOM_LLM_MODEL_GENERATE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "llm/model/facts.h"
#include "llm/model/language_model.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// Why a reply ended: by a token that ends texts, because it is as long as was asked for, or because
// the context is full.
enum class Stop { kEnd, kLength, kContext };
const char* NameOf(Stop stop);

// Times in seconds.
struct Reply {
  std::vector<int32_t> tokens;  // the one that ended it included
  Stop stop = Stop::kLength;
  size_t prompt = 0;         // tokens that were read first
  double first_seconds = 0;  // until the first token was chosen
  double step_seconds = 0;   // of all further ones
};

// Reads `prompt` and goes on for at most `most` tokens, at least one. `hear` gets each in turn, as
// soon as the steps that were submitted together have ended; the model has read all but the last.
Result<Reply> Generate(LanguageModel& model, const Facts& facts, std::span<const int32_t> prompt,
                       size_t most, const std::function<void(int32_t)>& hear);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_GENERATE_H_
