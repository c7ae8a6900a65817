// Statistics of a reply, as JSON and as text.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_REPORT_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_REPORT_H_

#include <string>

#include "llm/model/generate.h"
#include "llm/model/language_model.h"

namespace spirloom::llm {

std::string ReplyJson(const Reply& reply, const std::string& text, const LanguageModel& model,
                      const std::string& device);
// Several lines for standard error.
std::string ReplyStats(const Reply& reply, const LanguageModel& model, const std::string& device);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_REPORT_H_
