// Implements Tokenizer::Parse().
#include <algorithm>
#include <utility>

#include "llm/tokenizer/json_fields.h"
#include "llm/tokenizer/step_reader.h"
#include "llm/tokenizer/tokenizer.h"
#include "runtime/base/error.h"
#include "runtime/base/guarded.h"

namespace spirloom::llm {
namespace {

// Maximum number of unused token ids. Each occupies memory.
constexpr size_t kMaxIdGaps = 65536;

// Rejects an option that is not null, "" or 0. Json::empty() is false for every string.
Status RejectOption(const Json& model, const char* key) {
  const Json* member = Member(model, key);
  const bool off = member == nullptr || *member == "" || *member == 0;
  if (off) return Status();
  return Error(StatusCode::kUnsupported, "The option {} of the tokenizer's model is not supported.",
               Quote(key));
}

Status SetTokenText(const std::string& text, int32_t token, size_t max_ids,
                    std::vector<std::string>& texts) {
  const auto id = static_cast<size_t>(token);
  if (id >= max_ids) {
    return InvalidFile(
        "Token {} has the id {}; expected less than {} for a tokenizer of {} tokens.", Quote(text),
        token, max_ids, max_ids - kMaxIdGaps);
  }
  if (id >= texts.size()) texts.resize(id + 1);
  texts[id] = text;
  return Status();
}

Result<Vocabulary> ReadVocabulary(const Json& model) {
  const Json* source = Member(model, "vocab");
  if (source == nullptr || !source->is_object()) {
    return InvalidFile("The member 'vocab' of the tokenizer's model is missing.");
  }
  Vocabulary vocabulary;
  vocabulary.reserve(source->size());
  for (const auto& [text, id] : source->items()) {
    const auto token = TokenIdOf(id);
    if (!token) return InvalidFile("Token {} has no valid id.", Quote(text));
    vocabulary.emplace(text, *token);
  }
  return vocabulary;
}

// A merge is "left right" or ["left", "right"].
Status ReadMerge(const Json& merge, Bpe& bpe) {
  if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
    return bpe.AddMerge(*merge[0].get_ptr<const std::string*>(),
                        *merge[1].get_ptr<const std::string*>());
  }
  if (!merge.is_string()) return InvalidFile("A merge is not a pair of tokens.");
  const std::string_view text = *merge.get_ptr<const std::string*>();
  const size_t space = text.find(' ');
  if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
    return InvalidFile("The merge {} is not a pair of tokens.", Quote(text));
  }
  return bpe.AddMerge(text.substr(0, space), text.substr(space + 1));
}

Result<Bpe> ReadBpe(const Json& model) {
  for (const char* key : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"}) {
    SPIRLOOM_TRY(RejectOption(model, key));
  }
  SPIRLOOM_TRY_ASSIGN(Vocabulary vocabulary, ReadVocabulary(model));
  Bpe bpe(std::move(vocabulary));
  SPIRLOOM_TRY_ASSIGN(const Json* merges, ArrayMember(model, "merges"));
  for (const Json& merge : *merges) SPIRLOOM_TRY(ReadMerge(merge, bpe));
  SPIRLOOM_TRY_ASSIGN(const bool fused, BoolMember(model, "fuse_unk", false));
  SPIRLOOM_TRY_ASSIGN(const bool bytes, BoolMember(model, "byte_fallback", false));
  SPIRLOOM_TRY_ASSIGN(const bool whole, BoolMember(model, "ignore_merges", false));
  if (Member(model, "unk_token") != nullptr) {
    SPIRLOOM_TRY_ASSIGN(const std::string unknown, StringMember(model, "unk_token"));
    SPIRLOOM_TRY(bpe.SetUnknown(unknown, fused));
  }
  if (bytes) bpe.EnableByteFallback();
  if (whole) bpe.IgnoreMerges();
  return bpe;
}

Status ReadAddedToken(const Json& source, size_t max_ids, TokenizerParts& parts) {
  SPIRLOOM_TRY_ASSIGN(std::string text, StringMember(source, "content"));
  const Json* id = Member(source, "id");
  const auto token = id == nullptr ? std::nullopt : TokenIdOf(*id);
  if (!token || text.empty()) {
    return InvalidFile("The added token {} has no valid id or no text.", Quote(text));
  }
  SPIRLOOM_TRY_ASSIGN(const bool single, BoolMember(source, "single_word", false));
  if (single) {
    return Error(StatusCode::kUnsupported,
                 "The option 'single_word' of the added token {} is not supported.", Quote(text));
  }
  AddedToken added{*token};
  SPIRLOOM_TRY_ASSIGN(added.lstrip, BoolMember(source, "lstrip", false));
  SPIRLOOM_TRY_ASSIGN(added.rstrip, BoolMember(source, "rstrip", false));
  SPIRLOOM_TRY_ASSIGN(const bool special, BoolMember(source, "special", false));
  SPIRLOOM_TRY_ASSIGN(const bool normalized, BoolMember(source, "normalized", !special));
  SPIRLOOM_TRY(SetTokenText(text, *token, max_ids, parts.texts));
  parts.special.resize(std::max(parts.special.size(), parts.texts.size()));
  parts.special[static_cast<size_t>(*token)] = special;
  if (!normalized) {
    parts.raw.Add(std::move(text), added);
    return Status();
  }
  for (const Normalizer& normalizer : parts.normalizers) {
    SPIRLOOM_TRY_ASSIGN(text, normalizer(std::move(text)));
  }
  if (!text.empty()) parts.normalized.Add(std::move(text), added);
  return Status();
}

Result<TokenizerParts> ReadParts(const Json& root) {
  const Json* model = Member(root, "model");
  if (model == nullptr) return InvalidFile("The member 'model' is missing.");
  if (Member(*model, "type") != nullptr || Member(*model, "merges") == nullptr) {
    SPIRLOOM_TRY_ASSIGN(const std::string type, StringMember(*model, "type"));
    if (type != "BPE") {
      return Error(StatusCode::kUnsupported,
                   "The tokenizer's model has type {}; only 'BPE' is supported.", Quote(type));
    }
  }
  SPIRLOOM_TRY_ASSIGN(Bpe bpe, ReadBpe(*model));
  TokenizerParts parts{.normalizers = {},
                       .pre_tokenizers = {},
                       .bpe = std::move(bpe),
                       .raw = {},
                       .normalized = {},
                       .texts = {},
                       .special = {},
                       .decoder = {}};
  SPIRLOOM_TRY(ReadNormalizer(Member(root, "normalizer"), parts.normalizers));
  SPIRLOOM_TRY(ReadPreTokenizer(Member(root, "pre_tokenizer"), parts.pre_tokenizers));
  SPIRLOOM_TRY(ReadDecoder(Member(root, "decoder"), parts.decoder));
  const Json* added = Member(root, "added_tokens");
  const size_t added_count = added != nullptr && added->is_array() ? added->size() : 0;
  const size_t max_ids = parts.bpe.vocabulary().size() + added_count + kMaxIdGaps;
  for (const auto& [text, token] : parts.bpe.vocabulary()) {
    SPIRLOOM_TRY(SetTokenText(text, token, max_ids, parts.texts));
  }
  parts.special.resize(parts.texts.size());
  for (size_t i = 0; i < added_count; ++i) {
    SPIRLOOM_TRY_WHILE(ReadAddedToken((*added)[i], max_ids, parts), "reading added token {}", i);
  }
  parts.special.resize(parts.texts.size());
  return parts;
}

}  // namespace

Result<Tokenizer> Tokenizer::Parse(std::string_view json) {
  return Guarded([&]() -> Result<Tokenizer> {
    SPIRLOOM_TRY_ASSIGN(const Json root, ParseObject(json, "tokenizer.json"));
    Result<TokenizerParts> parts = ReadParts(root);
    if (!parts.ok()) return std::move(parts).status().While("reading tokenizer.json");
    return Tokenizer(std::move(parts).value());
  });
}

}  // namespace spirloom::llm
