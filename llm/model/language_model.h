// A language model on a device: a graph file with the methods `prefill` and `decode`.
#ifndef SPIRLOOM_LLM_MODEL_LANGUAGE_MODEL_H_
#define SPIRLOOM_LLM_MODEL_LANGUAGE_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "llm/model/prefill_chunks.h"
#include "llm/model/sampling.h"
#include "spirloom/model.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// Not thread-safe.
class LanguageModel {
 public:
  // Loads both methods; they share weights and states. Fails as Model::Load() does, and with
  // kInvalidFile if the file is not a language model.
  static Result<LanguageModel> Load(const Runtime& runtime, const std::string& path);

  size_t context() const { return context_; }        // capacity of the KV cache, in tokens
  size_t position() const { return position_; }      // tokens in the KV cache
  size_t vocabulary() const { return vocabulary_; }  // number of token ids

  // Appends tokens to the KV cache and samples the next token. Runs `prefill` on full chunks and on
  // padded chunks of few lengths, and `decode` on a single last token. Fails with kInvalidArgument
  // if the context is too small or a token is outside the vocabulary. After any error but
  // kDeviceLost, the conversation is as before the call.
  Status Prefill(std::span<const int32_t> tokens);
  // Appends the sampled token and samples the next one, `steps` times in one submission. Fails with
  // kInvalidArgument before any change if the context is too small.
  Status Step(size_t steps = 1);
  // Truncates the KV cache to `position` tokens and sets the next token.
  Status Rewind(size_t position, int32_t next);

  // Empties the KV cache, and sets all states to their initial values and sampling to its default.
  Status Reset();

  // Applies to all later runs. Default: greedy decoding.
  Status SetSampling(const Sampling& sampling);
  // Returns the tokens sampled by the last Prefill() (one) or Step() (one per step).
  Result<std::vector<int32_t>> sampled() const;

  const Model& prefill() const { return prefill_; }
  const Model& decode() const { return decode_; }

 private:
  LanguageModel(Model prefill, Model decode)
      : prefill_(std::move(prefill)), decode_(std::move(decode)) {}
  Status ReadSignature();
  // Whether every state of the KV cache has a row per token.
  bool HasRowPerToken() const;
  Status PrefillChunks(std::span<const int32_t> tokens);
  // Runs `prefill` on the tokens, padded to `length`.
  Status RunPrefill(std::span<const int32_t> tokens, size_t length);
  // Runs `decode` on a token of the prompt.
  Status RunDecode(int32_t token);
  Status CheckContext(size_t count) const;

  Model prefill_;
  Model decode_;
  size_t context_ = 0;
  size_t vocabulary_ = 0;
  PrefillLimits prefill_limits_;
  size_t position_ = 0;
  size_t steps_ = 1;  // steps of the last run
  size_t token_state_ = 0;
  size_t tokens_state_ = 0;
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_LANGUAGE_MODEL_H_
