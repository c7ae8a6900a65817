// Divides a prompt into prefill runs of few different lengths: each new length is planned and
// recorded, which can take longer than the run.
#ifndef SPIRLOOM_LLM_MODEL_PREFILL_CHUNKS_H_
#define SPIRLOOM_LLM_MODEL_PREFILL_CHUNKS_H_

#include <algorithm>
#include <bit>
#include <cstddef>

namespace spirloom::llm {

// Minimum length of a padded run. Shorter runs are not faster: they read all weights too.
constexpr size_t kMinPrefill = 8;

struct PrefillLimits {
  size_t max_prefill = 1;  // maximum tokens per run
  size_t context = 1;      // rows of the KV cache
  // Whether all states have a row per token, so that the rows of padding can be overwritten.
  bool can_pad = false;
};

// The next run for a prompt: `tokens` of its tokens, padded to `length`. Length 0: the token is
// read by `decode`, of which only one shape exists.
struct PrefillChunk {
  size_t tokens = 0;
  size_t length = 0;
};

// The next run for a prompt of which `remaining` tokens are missing in a KV cache of `position`
// tokens. Runs are full, or have a power of two as length. The logits of a padded run are those of
// padding, so the last token of the prompt is never in a padded run.
constexpr PrefillChunk NextChunk(size_t remaining, size_t position, const PrefillLimits& limits) {
  const auto bucket = [&](size_t tokens) {
    return std::min(std::max(std::bit_ceil(tokens), kMinPrefill), limits.max_prefill);
  };
  if (remaining == 1) return {1, 0};
  if (remaining >= limits.max_prefill) return {limits.max_prefill, limits.max_prefill};
  if (remaining == bucket(remaining)) return {remaining, remaining};
  const size_t padded = bucket(remaining - 1);
  if (limits.can_pad && padded <= limits.context - position) return {remaining - 1, padded};
  return {std::bit_floor(remaining), std::bit_floor(remaining)};
}

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_PREFILL_CHUNKS_H_
