#include "llm/tokenizer/tokenizer.h"

#include <utility>

#include "llm/tokenizer/utf8.h"
#include "runtime/base/error.h"
#include "runtime/base/guarded.h"

namespace spirloom::llm {

Result<std::string> Tokenizer::Normalize(std::string text) const {
  for (const Normalizer& normalizer : parts_.normalizers) {
    SPIRLOOM_TRY_ASSIGN(text, normalizer(std::move(text)));
  }
  return text;
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view bytes) const {
  return Guarded([&]() -> Result<std::vector<int32_t>> {
    const std::string text = ValidUtf8(bytes);
    std::vector<int32_t> tokens;
    bool first = true;
    for (const TextPart& part : parts_.raw.Split(text)) {
      if (part.token >= 0) {
        tokens.push_back(part.token);
      } else {
        SPIRLOOM_TRY_ASSIGN(const std::string normal, Normalize(std::string(part.text)));
        bool starts = first;
        for (const TextPart& inner : parts_.normalized.Split(normal)) {
          if (inner.token >= 0) {
            tokens.push_back(inner.token);
          } else {
            SPIRLOOM_TRY(EncodePart(inner.text, starts, tokens));
          }
          starts = false;
        }
      }
      first = false;
    }
    return tokens;
  });
}

Status Tokenizer::EncodePart(std::string_view text, bool first,
                             std::vector<int32_t>& tokens) const {
  std::vector<Piece> pieces;
  pieces.push_back({std::string(text), first});
  for (const PreTokenizer& pre_tokenizer : parts_.pre_tokenizers) {
    SPIRLOOM_TRY(pre_tokenizer(pieces));
  }
  for (const Piece& piece : pieces) parts_.bpe.Encode(piece.text, tokens);
  return Status();
}

std::string Tokenizer::Decode(std::span<const int32_t> tokens) const {
  TextStream stream(*this);
  std::string text;
  for (const int32_t token : tokens) text += stream.Add(token);
  return text + stream.End();
}

TextStream::TextStream(const Tokenizer& tokenizer, bool continuation)
    : tokenizer_(tokenizer),
      remaining_strips_(continuation ? 0 : tokenizer.parts_.decoder.max_stripped),
      first_(!continuation) {}

std::string TextStream::Add(int32_t token) {
  held_ += BytesOfToken(token);
  const size_t complete = CompletePrefix(held_);
  const std::string text = ValidUtf8(std::string_view(held_).substr(0, complete));
  held_.erase(0, complete);
  return text;
}

std::string TextStream::End() { return ValidUtf8(std::exchange(held_, {})); }

std::string TextStream::BytesOfToken(int32_t token) {
  const TokenizerParts& parts = tokenizer_.parts_;
  const auto id = static_cast<size_t>(token);
  if (token < 0 || id >= parts.texts.size() || parts.special[id]) return {};
  const Decoder& decoder = parts.decoder;
  std::string text = parts.texts[id];
  if (decoder.byte_level) return ByteLevelDecode(text);
  for (const auto& [from, to] : decoder.replace) {
    const bool drops = first_ && from == decoder.drop_from_first;
    text = ReplaceAll(text, from, drops ? std::string() : to);
  }
  first_ = false;
  if (decoder.byte_fallback) {
    if (const auto byte = parts.bpe.ByteOf(text)) text = static_cast<char>(*byte);
  }
  while (remaining_strips_ > 0 && text.starts_with(decoder.strip)) {
    text.erase(0, decoder.strip.size());
    --remaining_strips_;
  }
  if (!text.empty()) remaining_strips_ = 0;
  return text;
}

}  // namespace spirloom::llm
