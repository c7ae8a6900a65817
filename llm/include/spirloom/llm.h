// Language models: text in, text out. A graph file of `spirloom import DIRECTORY` or of a GGUF file
// has the methods `prefill` and `decode`, and its tokenizer and chat format as attachments.
//
//   using namespace spirloom;
//   SPIRLOOM_TRY_ASSIGN(llm::LanguageModel model, llm::LanguageModel::Load(runtime, "chat.slg"));
//   const auto attachments = model.decode().attachments();
//   SPIRLOOM_TRY_ASSIGN(auto json, llm::FindAttachment(attachments, llm::kTokenizerName));
//   SPIRLOOM_TRY_ASSIGN(const llm::Tokenizer tokenizer, llm::Tokenizer::Parse(json));
//   SPIRLOOM_TRY_ASSIGN(json, llm::FindAttachment(attachments, llm::kChatConfigName));
//   SPIRLOOM_TRY_ASSIGN(const llm::ChatConfig config, llm::ParseChatConfig(json));
//   SPIRLOOM_TRY_ASSIGN(const auto prompt, tokenizer.Encode("Once upon a time"));
//   llm::TextStream stream(tokenizer, /*continuation=*/true);
//   const auto print = [&](int32_t token) { std::cout << stream.Add(token) << std::flush; };
//   SPIRLOOM_TRY_ASSIGN(const llm::Reply reply,
//                       llm::Generate(model, config, prompt, /*max_tokens=*/100, print));
//
// The CMake target is spirloom::llm. examples/llm is a complete program.
#ifndef SPIRLOOM_LLM_H_
#define SPIRLOOM_LLM_H_

#include "llm/model/attachment.h"      // IWYU pragma: export
#include "llm/model/chat_config.h"     // IWYU pragma: export
#include "llm/model/generate.h"        // IWYU pragma: export
#include "llm/model/language_model.h"  // IWYU pragma: export
#include "llm/model/sampling.h"        // IWYU pragma: export
#include "llm/tokenizer/tokenizer.h"   // IWYU pragma: export

#endif  // SPIRLOOM_LLM_H_
