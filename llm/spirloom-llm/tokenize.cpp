#include "llm/spirloom-llm/tokenize.h"

#include <cstdio>
#include <iostream>
#include <string>

#include "llm/model/attachment.h"
#include "llm/tokenizer/json_fields.h"
#include "llm/tokenizer/tokenizer.h"
#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"
#include "spirloom/model.h"

namespace spirloom::llm {
namespace {

Result<Tokenizer> ReadTokenizer(const std::string& path) {
  if (path.ends_with(".json")) {
    SPIRLOOM_TRY_ASSIGN(const MappedFile file, MappedFile::Open(path));
    const auto bytes = file.bytes();
    return Tokenizer::Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  SPIRLOOM_TRY_ASSIGN(const std::vector<Attachment> attachments, Model::ReadAttachments(path));
  SPIRLOOM_TRY_ASSIGN(const std::string_view text, FindAttachment(attachments, kTokenizerName));
  return Tokenizer::Parse(text);
}

Status Print(const Tokenizer& tokenizer, std::string_view text) {
  SPIRLOOM_TRY_ASSIGN(const std::vector<int32_t> tokens, tokenizer.Encode(text));
  const nlohmann::ordered_json line = {{"tokens", tokens}, {"text", tokenizer.Decode(tokens)}};
  std::printf("%s\n", line.dump(-1, ' ', /*ensure_ascii=*/true).c_str());
  return Status();
}

}  // namespace

Status Tokenize(const Options& options) {
  SPIRLOOM_TRY_ASSIGN(const Tokenizer tokenizer, ReadTokenizer(options.model));
  if (options.prompt) return Print(tokenizer, *options.prompt);
  std::string line;
  for (size_t index = 1; std::getline(std::cin, line); ++index) {
    const Json text = Json::parse(line, /*cb=*/nullptr, /*allow_exceptions=*/false);
    if (!text.is_string()) {
      return Error(StatusCode::kInvalidArgument, "Line {} of standard input is not a JSON string.",
                   index);
    }
    SPIRLOOM_TRY(Print(tokenizer, *text.get_ptr<const std::string*>()));
  }
  return Status();
}

}  // namespace spirloom::llm
