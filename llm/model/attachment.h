// Attachments of a language model's graph file.
#ifndef SPIRLOOM_LLM_MODEL_ATTACHMENT_H_
#define SPIRLOOM_LLM_MODEL_ATTACHMENT_H_

#include <span>
#include <string_view>

#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::llm {

inline constexpr std::string_view kTokenizerName = "tokenizer.json";
inline constexpr std::string_view kChatConfigName = "language_model.json";

// Returns a view of the attachment's text. Fails with kInvalidFile if it is missing.
Result<std::string_view> FindAttachment(std::span<const Attachment> attachments,
                                        std::string_view name);

}  // namespace spirloom::llm

#endif  // SPIRLOOM_LLM_MODEL_ATTACHMENT_H_
