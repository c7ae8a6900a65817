// What a language model's graph file carries beside the graph.
#ifndef SPIRLOOM_LLM_SPIRLOOM_LLM_ATTACHMENT_H_
#define SPIRLOOM_LLM_SPIRLOOM_LLM_ATTACHMENT_H_

#include <span>
#include <string_view>

#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::llm {

inline constexpr std::string_view kTokenizerName = "tokenizer.json";
inline constexpr std::string_view kFactsName = "language_model.json";

// The text of the attachment, which must be there: kInvalidFile. Refers to it.
Result<std::string_view> FindAttachment(std::span<const Attachment> attachments,
                                        std::string_view name);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_SPIRLOOM_LLM_ATTACHMENT_H_
