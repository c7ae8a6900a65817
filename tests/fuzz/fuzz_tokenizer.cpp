// Parses tokenizer.json and encodes texts with each accepted tokenizer.
#include <string>
#include <string_view>

#include "llm/model/chat_config.h"
#include "llm/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzzing.h"

namespace {

constexpr std::string_view kTexts[] = {"", " ", "The thing's  12345\r\n\t<s>x<mask> ",
                                       "\xC3\xBC\x61\xCC\x88\xE2\x96\x81\xF0\x9F\x99\x82",
                                       "a\xff\xed\xa0\x80\x00z"};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static spirloom::fuzz::Tally tally("accepted tokenizers");
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  static_cast<void>(spirloom::llm::ParseChatConfig(json));
  const auto tokenizer = spirloom::llm::Tokenizer::Parse(json);
  tally.Count(tokenizer.ok());
  if (!tokenizer.ok()) return 0;
  for (const std::string_view text : kTexts) {
    const auto tokens = tokenizer->Encode(text);
    if (!tokens.ok()) continue;
    for (const int32_t token : *tokens) {
      spirloom::fuzz::Require(token >= 0 && static_cast<size_t>(token) < tokenizer->size(),
                              "token ids are less than Tokenizer::size()");
    }
    const std::string decoded = tokenizer->Decode(*tokens);
    spirloom::fuzz::Touch(std::as_bytes(std::span(decoded)));
  }
  return 0;
}
