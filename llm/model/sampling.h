// How tokens are chosen.
#ifndef SPIRLOOM_LLM_MODEL_SAMPLING_H_
#define SPIRLOOM_LLM_MODEL_SAMPLING_H_

#include <cstdint>

namespace spirloom::llm {

// What the model's states of these names are set to. Temperature comes first, then top_k, then
// top_p.
struct Sampling {
  float temperature = 0;  // 0: the greatest score, always
  int32_t top_k = 0;      // of the so many greatest; 0: of all
  float top_p = 1;        // of the fewest that have this probability together
  int32_t seed = 0;       // equal seeds draw equal tokens
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_SAMPLING_H_
