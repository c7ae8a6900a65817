// The main function of spirloom-llm.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_SESSION_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_SESSION_H_

#include "llm/spirloom-llm/options.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// Completes the prompt, runs a conversation, or tokenizes; prints the result.
Status Run(const Options& options);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_SESSION_H_
