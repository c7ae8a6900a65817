// Tokenizers against what Hugging Face's library makes of the same texts, and damaged ones.
#include "llm/tokenizer/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "tests/value_of.h"

namespace spirloom::llm {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

Json Fixture(const std::string& name) {
  std::ifstream file(std::string(SPIRLOOM_TOKENIZERS) + "/" + name + ".json");
  return Json::parse(file);
}

class Tokenizers : public testing::TestWithParam<const char*> {};

TEST_P(Tokenizers, EncodeAndDecodeAsTheOriginal) {
  const Json fixture = Fixture(GetParam());
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(fixture["tokenizer"].dump()));
  ASSERT_GT(fixture["cases"].size(), 40u);
  for (const Json& row : fixture["cases"]) {
    const auto text = row["text"].get<std::string>();
    const std::vector<int32_t> tokens = ValueOf(tokenizer.Encode(text));
    EXPECT_EQ(tokens, row["tokens"].get<std::vector<int32_t>>()) << row["text"];
    EXPECT_EQ(tokenizer.Decode(tokens), row["decoded"].get<std::string>()) << row["text"];
  }
}

TEST_P(Tokenizers, DamageDoesNoHarm) {
  const std::string text = Fixture(GetParam())["tokenizer"].dump();
  std::mt19937 random(1);
  for (int i = 0; i < 60; ++i) {
    std::string damaged = text;
    for (int k = 0; k < 3; ++k) {
      damaged[random() % damaged.size()] = "{}[]\",:0a\\"[random() % 10];
    }
    if (i % 4 == 0) damaged.resize(random() % damaged.size());
    const Result<Tokenizer> parsed = Tokenizer::Parse(damaged);
    if (!parsed.ok()) continue;
    EXPECT_TRUE(parsed->Encode("The thing <s> 12 ▁\xff").ok());
  }
}

INSTANTIATE_TEST_SUITE_P(All, Tokenizers,
                         testing::Values("gpt2", "llama3", "qwen", "digits", "llama2", "metaspace"),
                         [](const auto& given) { return std::string(given.param); });

TEST(Tokenizer, TakesBytesThatAreNoText) {
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(Fixture("gpt2")["tokenizer"].dump()));
  const auto tokens = ValueOf(tokenizer.Encode("a\xff\xc3(\xed\xa0\x80"));
  EXPECT_EQ(tokenizer.Decode(tokens), "a\uFFFD\uFFFD(\uFFFD\uFFFD\uFFFD");
}

TEST(TextStream, HoldsBackIncompleteCharacters) {
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(Fixture("llama2")["tokenizer"].dump()));
  const std::vector<int32_t> tokens = ValueOf(tokenizer.Encode("\U0001F642"));
  ASSERT_GE(tokens.size(), 4u);
  TextStream stream(tokenizer);
  std::string text;
  for (const int32_t token : tokens) {
    const std::string more = stream.Add(token);
    EXPECT_TRUE(more.empty() || more == "\U0001F642") << more;
    text += more;
  }
  EXPECT_EQ(text, "\U0001F642");
  EXPECT_EQ(stream.End(), "");
  stream.Add(tokens[tokens.size() - 4]);
  EXPECT_EQ(stream.End(), "\uFFFD");
}

TEST(TextStream, GoesOnFromOtherText) {
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(Fixture("llama2")["tokenizer"].dump()));
  const std::vector<int32_t> tokens = ValueOf(tokenizer.Encode("the"));
  std::string begun, going_on;
  TextStream first(tokenizer), second(tokenizer, /*goes_on=*/true);
  for (const int32_t token : tokens) {
    begun += first.Add(token);
    going_on += second.Add(token);
  }
  EXPECT_EQ(begun, "the");
  EXPECT_EQ(going_on, " the");
}

struct Refused {
  const char* pointer;  // of the part of the tokenizer that becomes `value`
  Json value;
  const char* message;
};

class RefusedTokenizers : public testing::TestWithParam<Refused> {};

TEST_P(RefusedTokenizers, AreRefusedByName) {
  Json tokenizer = Fixture("gpt2")["tokenizer"];
  tokenizer[Json::json_pointer(GetParam().pointer)] = GetParam().value;
  const Result<Tokenizer> parsed = Tokenizer::Parse(tokenizer.dump());
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, RefusedTokenizers,
    testing::Values(
        Refused{"/model/type", "Unigram", "model is 'Unigram'; only BPE is supported"},
        Refused{"/model/dropout", 0.5, "'dropout', which is not supported"},
        Refused{"/model/continuing_subword_prefix", "##", "'continuing_subword_prefix'"},
        Refused{"/normalizer", {{"type", "Lowercase"}}, "the normalizer 'Lowercase'"},
        Refused{"/normalizer",
                {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", ""}},
                "'Replace of an expression'"},
        Refused{"/pre_tokenizer", {{"type", "Whitespace"}}, "the pre-tokenizer 'Whitespace'"},
        Refused{"/pre_tokenizer",
                {{"type", "Split"},
                 {"pattern", {{"Regex", "(a"}}},
                 {"behavior", "Isolated"},
                 {"invert", false}},
                "The expression '(a' is not supported: missing closing parenthesis"},
        Refused{"/pre_tokenizer",
                {{"type", "Split"}, {"pattern", {{"Regex", "a{1,2}+"}}}, {"behavior", "Isolated"}},
                "repeats an interval"},
        Refused{"/pre_tokenizer",
                {{"type", "Sequence"},
                 {"pretokenizers", {{{"type", "Sequence"}, {"pretokenizers", Json::array()}}}}},
                "'Sequence in a Sequence'"},
        Refused{"/decoder", {{"type", "WordPiece"}}, "the decoder 'WordPiece'"},
        Refused{"/decoder", nullptr, "the decoder 'none'"},
        Refused{"/model/merges", {"a zz"}, "Merge 0 is of 'a' and 'zz'"},
        Refused{"/model/merges", {"a b c"}, "The merge 'a b c' is no pair"},
        Refused{"/model/vocab/a", 2147483647, "has the number 2147483647, and there are only"},
        Refused{"/model/vocab/a", -1, "Token 'a' has no number"},
        Refused{"/model/vocab", 1, "has no 'vocab'"}, Refused{"/model", nullptr, "no 'model'"},
        Refused{"/added_tokens/0/single_word", true, "is for single words"},
        Refused{"/added_tokens/0/id", 1 << 30, "has the number 1073741824"},
        Refused{"/added_tokens/0/content", "", "has no number or no text"}));

// Nested repeats, of which a text that does not match takes 2^n steps.
TEST(Tokenizer, AnExpressionThatTakesTooLongIsRefused) {
  Json json = Fixture("gpt2")["tokenizer"];
  json["pre_tokenizer"] = {
      {"type", "Split"}, {"pattern", {{"Regex", "^(a+)+(b|c)$"}}}, {"behavior", "Isolated"}};
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(json.dump()));
  const Result<std::vector<int32_t>> tokens = tokenizer.Encode(std::string(64, 'a') + "!b");
  ASSERT_FALSE(tokens.ok());
  EXPECT_THAT(tokens.status().message(), HasSubstr("match limit exceeded"));
}

}  // namespace
}  // namespace spirloom::llm
