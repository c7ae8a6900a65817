#include "llm/spirloom-llm/session.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "llm/model/attachment.h"
#include "llm/model/chat_config.h"
#include "llm/model/generate.h"
#include "llm/model/language_model.h"
#include "llm/spirloom-llm/report.h"
#include "llm/spirloom-llm/tokenize.h"
#include "llm/tokenizer/tokenizer.h"
#include "runtime/base/error.h"
#include "spirloom/library.h"
#include "spirloom/runtime.h"

namespace spirloom::llm {
namespace {

Result<Runtime> CreateRuntime(const Options& options, std::vector<ShaderLibrary>& libraries) {
  for (const std::string& path : options.libraries) {
    SPIRLOOM_TRY_ASSIGN(ShaderLibrary library, ShaderLibrary::Open(path));
    libraries.push_back(std::move(library));
  }
  RuntimeOptions runtime;
  if (options.builtin) runtime.libraries.push_back(&AllShaders());
  for (const ShaderLibrary& library : libraries) runtime.libraries.push_back(&library);
  runtime.device = options.device;
  if (!options.cache_dir.empty()) runtime.cache_dir = options.cache_dir;
  return Runtime::Create(runtime);
}

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// Completes a prompt or runs a conversation with one model.
class Session {
 public:
  Session(const Options& options, LanguageModel model, Tokenizer tokenizer, ChatConfig config,
          std::string device)
      : options_(options),
        model_(std::move(model)),
        tokenizer_(std::move(tokenizer)),
        config_(std::move(config)),
        device_(std::move(device)) {}

  // Generates a completion of the prompt.
  Status Complete(const std::string& prompt) {
    std::vector<int32_t> tokens;
    if (config_.bos) tokens.push_back(*config_.bos);
    SPIRLOOM_TRY_ASSIGN(const std::vector<int32_t> encoded, tokenizer_.Encode(prompt));
    tokens.insert(tokens.end(), encoded.begin(), encoded.end());
    return GenerateReply(tokens, /*continuation=*/true);
  }

  // Replies to the prompt, or to each line of standard input.
  Status Chat() {
    if (!config_.chat) {
      return Error(StatusCode::kUnsupported,
                   "The graph file has no chat format: the model has no chat template, or one that "
                   "cannot be represented, which the import reports. Use --prompt without --chat.");
    }
    SPIRLOOM_TRY_ASSIGN(std::string text, config_.chat->Prologue(options_.system));
    if (options_.prompt) return ReplyTo(text, *options_.prompt);
    std::string line;
    while (std::getline(std::cin, line)) {
      SPIRLOOM_TRY(ReplyTo(text, line));
      text = config_.chat->assistant.suffix;
    }
    return Status();
  }

 private:
  // `before` is the text between the previous message and this one.
  Status ReplyTo(const std::string& before, const std::string& message) {
    SPIRLOOM_TRY_ASSIGN(std::vector<int32_t> tokens,
                        tokenizer_.Encode(before + config_.chat->UserTurn(message)));
    // The last token of the previous reply is not in the KV cache yet. An EOS token is not
    // inserted: the template writes it.
    if (pending_ && !config_.IsEos(*pending_)) tokens.insert(tokens.begin(), *pending_);
    return GenerateReply(tokens, /*continuation=*/false);
  }

  Status GenerateReply(std::span<const int32_t> tokens, bool continuation) {
    TextStream stream(tokenizer_, continuation);
    std::string text;
    const auto on_token = [&](int32_t token) {
      const std::string more = config_.IsEos(token) ? std::string() : stream.Add(token);
      text += more;
      if (!options_.json) Print(more);
    };
    SPIRLOOM_TRY_ASSIGN(const Reply reply,
                        Generate(model_, config_, tokens, options_.max_tokens, on_token));
    const std::string rest = stream.End();
    text += rest;
    Print(options_.json ? ReplyJson(reply, text, model_, device_) : rest + "\n");
    if (options_.stats) std::fputs(ReplyStats(reply, model_, device_).c_str(), stderr);
    pending_ = reply.tokens.back();
    if (reply.stop != StopReason::kContext) return Status();
    return Error(StatusCode::kUnsupported,
                 "The reply is truncated: the context of {} tokens is full. Import the model with "
                 "a larger --context.",
                 model_.context());
  }

  const Options& options_;
  LanguageModel model_;
  const Tokenizer tokenizer_;
  const ChatConfig config_;
  const std::string device_;
  std::optional<int32_t> pending_;  // last token of the previous reply
};

}  // namespace

Status Run(const Options& options) {
  if (options.tokenize) return Tokenize(options);
  std::vector<ShaderLibrary> libraries;
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, CreateRuntime(options, libraries));
  SPIRLOOM_TRY_ASSIGN(LanguageModel model, LanguageModel::Load(runtime, options.model));
  SPIRLOOM_TRY(model.SetSampling(options.sampling));
  const std::span<const Attachment> attachments = model.decode().attachments();
  SPIRLOOM_TRY_ASSIGN(const std::string_view tokenizer_json,
                      FindAttachment(attachments, kTokenizerName));
  SPIRLOOM_TRY_ASSIGN(Tokenizer tokenizer, Tokenizer::Parse(tokenizer_json));
  SPIRLOOM_TRY_ASSIGN(const std::string_view config_json,
                      FindAttachment(attachments, kChatConfigName));
  SPIRLOOM_TRY_ASSIGN(ChatConfig config, ParseChatConfig(config_json));
  Session session(options, std::move(model), std::move(tokenizer), std::move(config),
                  runtime.device().name);
  return options.chat ? session.Chat() : session.Complete(*options.prompt);
}

}  // namespace spirloom::llm
