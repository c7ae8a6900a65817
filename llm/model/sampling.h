// Sampling parameters.
#ifndef SPIRLOOM_LLM_MODEL_SAMPLING_H_
#define SPIRLOOM_LLM_MODEL_SAMPLING_H_

#include <cstdint>

namespace spirloom::llm {

// Values of the model's states of the same names. Applied in this order: temperature, top-k, top-p.
struct Sampling {
  float temperature = 0;  // 0 = greedy decoding
  int32_t top_k = 0;      // sample from the k most likely tokens; 0 = all
  float top_p = 1;        // nucleus sampling: cumulative probability
  int32_t seed = 0;       // seed of the random number generator
};

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_SAMPLING_H_
