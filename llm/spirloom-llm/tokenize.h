// Implements `spirloom-llm --tokenize`.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_TOKENIZE_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_TOKENIZE_H_

#include "llm/spirloom-llm/options.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// Prints one line of JSON for the prompt, or for each line of standard input.
Status Tokenize(const Options& options);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_TOKENIZE_H_
