// Completes a text, token by token: spirloom_llm_example MODEL.slg TEXT
#include <cstdio>
#include <string>
#include <vector>

#include "spirloom/llm.h"

namespace {

using namespace spirloom;

constexpr size_t kMaxTokens = 32;

Status Complete(const std::string& path, const std::string& text) {
  RuntimeOptions options;
  options.libraries = {&AllShaders()};
  SPIRLOOM_TRY_ASSIGN(const Runtime runtime, Runtime::Create(options));
  SPIRLOOM_TRY_ASSIGN(llm::LanguageModel model, llm::LanguageModel::Load(runtime, path));

  // The importer stores the tokenizer and the special tokens in the graph file.
  const auto attachments = model.decode().attachments();
  SPIRLOOM_TRY_ASSIGN(const auto tokenizer_json,
                      llm::FindAttachment(attachments, llm::kTokenizerName));
  SPIRLOOM_TRY_ASSIGN(const llm::Tokenizer tokenizer, llm::Tokenizer::Parse(tokenizer_json));
  SPIRLOOM_TRY_ASSIGN(const auto config_json,
                      llm::FindAttachment(attachments, llm::kChatConfigName));
  SPIRLOOM_TRY_ASSIGN(const llm::ChatConfig config, llm::ParseChatConfig(config_json));

  std::vector<int32_t> prompt;
  if (config.bos) prompt.push_back(*config.bos);
  SPIRLOOM_TRY_ASSIGN(const std::vector<int32_t> encoded, tokenizer.Encode(text));
  prompt.insert(prompt.end(), encoded.begin(), encoded.end());

  llm::TextStream stream(tokenizer, /*continuation=*/true);
  const auto print = [&](int32_t token) {
    if (config.IsEos(token)) return;
    std::fputs(stream.Add(token).c_str(), stdout);
    std::fflush(stdout);
  };
  SPIRLOOM_TRY_ASSIGN(const llm::Reply reply,
                      llm::Generate(model, config, prompt, kMaxTokens, print));
  std::printf("%s\n", stream.End().c_str());
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  const Status status =
      argc == 3 ? Complete(argv[1], argv[2])
                : Status(StatusCode::kInvalidArgument, "Expected two arguments: MODEL.slg TEXT.");
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
