#include "llm/spirloom-llm/session.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "llm/model/facts.h"
#include "llm/model/generate.h"
#include "llm/model/language_model.h"
#include "llm/spirloom-llm/attachment.h"
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
  RuntimeOptions given;
  if (options.builtin) given.libraries.push_back(&AllShaders());
  for (const ShaderLibrary& library : libraries) given.libraries.push_back(&library);
  given.device = options.device;
  if (!options.cache_dir.empty()) given.cache_dir = options.cache_dir;
  return Runtime::Create(given);
}

void Print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

// A model, what it needs to speak, and what has been said.
class Speaker {
 public:
  Speaker(const Options& options, LanguageModel model, Tokenizer tokenizer, Facts facts,
          std::string device)
      : options_(options),
        model_(std::move(model)),
        tokenizer_(std::move(tokenizer)),
        facts_(std::move(facts)),
        device_(std::move(device)) {}

  // Goes on from the prompt.
  Status Complete(const std::string& prompt) {
    std::vector<int32_t> tokens;
    if (facts_.bos) tokens.push_back(*facts_.bos);
    SPIRLOOM_TRY_ASSIGN(const std::vector<int32_t> read, tokenizer_.Encode(prompt));
    tokens.insert(tokens.end(), read.begin(), read.end());
    return Say(tokens, /*goes_on=*/true);
  }

  // One message and the reply, or those of standard input's lines.
  Status Converse() {
    if (!facts_.chat) {
      return Error(StatusCode::kUnsupported,
                   {"The graph file does not say how the model chats, as the model has no chat "
                    "template, or none of messages one after the other. Use --prompt alone."});
    }
    SPIRLOOM_TRY_ASSIGN(std::string text, facts_.chat->Begin(options_.system));
    if (options_.prompt) return Answer(text, *options_.prompt);
    std::string line;
    while (std::getline(std::cin, line)) {
      SPIRLOOM_TRY(Answer(text, line));
      text = facts_.chat->assistant.after;
    }
    return Status();
  }

 private:
  // `before`: what has to be written before the message.
  Status Answer(const std::string& before, const std::string& message) {
    SPIRLOOM_TRY_ASSIGN(std::vector<int32_t> tokens,
                        tokenizer_.Encode(before + facts_.chat->Ask(message)));
    // The last token of a reply has been chosen, and not been read; one that ended it is written
    // by the template as well.
    if (unread_ && !facts_.Ends(*unread_)) tokens.insert(tokens.begin(), *unread_);
    return Say(tokens, /*goes_on=*/false);
  }

  Status Say(std::span<const int32_t> tokens, bool goes_on) {
    TextStream stream(tokenizer_, goes_on);
    std::string text;
    const auto hear = [&](int32_t token) {
      const std::string more = facts_.Ends(token) ? std::string() : stream.Add(token);
      text += more;
      if (!options_.json) Print(more);
    };
    SPIRLOOM_TRY_ASSIGN(const Reply reply, Generate(model_, facts_, tokens, options_.tokens, hear));
    const std::string rest = stream.End();
    text += rest;
    Print(options_.json ? ReplyJson(reply, text, model_, device_) : rest + "\n");
    if (options_.stats) std::fputs(ReplyStats(reply, model_, device_).c_str(), stderr);
    unread_ = reply.tokens.back();
    if (reply.stop != Stop::kContext) return Status();
    return Error(StatusCode::kUnsupported, {"The context of ", model_.context(),
                                            " tokens is full, and the reply is cut off. "
                                            "Import the model with a greater --context."});
  }

  const Options& options_;
  LanguageModel model_;
  const Tokenizer tokenizer_;
  const Facts facts_;
  const std::string device_;
  std::optional<int32_t> unread_;
};

}  // namespace

Status Do(const Options& options) {
  if (options.tokenize) return Tokenize(options);
  std::vector<ShaderLibrary> libraries;
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, CreateRuntime(options, libraries));
  SPIRLOOM_TRY_ASSIGN(LanguageModel model, LanguageModel::Load(runtime, options.model));
  SPIRLOOM_TRY(model.SetSampling(options.sampling));
  const std::span<const Attachment> attachments = model.decode().attachments();
  SPIRLOOM_TRY_ASSIGN(const std::string_view json, FindAttachment(attachments, kTokenizerName));
  SPIRLOOM_TRY_ASSIGN(Tokenizer tokenizer, Tokenizer::Parse(json));
  SPIRLOOM_TRY_ASSIGN(const std::string_view said, FindAttachment(attachments, kFactsName));
  SPIRLOOM_TRY_ASSIGN(Facts facts, ParseFacts(said));
  Speaker speaker(options, std::move(model), std::move(tokenizer), std::move(facts),
                  runtime.device().name);
  return options.chat ? speaker.Converse() : speaker.Complete(*options.prompt);
}

}  // namespace spirloom::llm
