// What spirloom-llm does.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_SESSION_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_SESSION_H_

#include "llm/spirloom-llm/options.h"
#include "spirloom/status.h"

namespace spirloom::llm {

// Generates, chats or tokenizes; prints what comes of it.
Status Do(const Options& options);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_SESSION_H_
