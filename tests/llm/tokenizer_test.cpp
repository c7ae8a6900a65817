// Compares tokenizers with recorded results of Hugging Face's library, and parses damaged files.
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

TEST_P(Tokenizers, EncodeAndDecodeAsHuggingFace) {
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

TEST_P(Tokenizers, AcceptsOrRejectsDamagedFiles) {
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
                         [](const auto& test) { return std::string(test.param); });

TEST(Tokenizer, ReplacesInvalidUtf8) {
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

TEST(TextStream, KeepsLeadingSpaceOfContinuation) {
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(Fixture("llama2")["tokenizer"].dump()));
  const std::vector<int32_t> tokens = ValueOf(tokenizer.Encode("the"));
  std::string start, continuation;
  TextStream first(tokenizer), second(tokenizer, /*continuation=*/true);
  for (const int32_t token : tokens) {
    start += first.Add(token);
    continuation += second.Add(token);
  }
  EXPECT_EQ(start, "the");
  EXPECT_EQ(continuation, " the");
}

struct Rejected {
  const char* pointer;  // location in the tokenizer that is set to `value`
  Json value;
  const char* message;
};

class RejectedTokenizers : public testing::TestWithParam<Rejected> {};

TEST_P(RejectedTokenizers, AreRejectedWithTheName) {
  Json tokenizer = Fixture("gpt2")["tokenizer"];
  tokenizer[Json::json_pointer(GetParam().pointer)] = GetParam().value;
  const Result<Tokenizer> parsed = Tokenizer::Parse(tokenizer.dump());
  ASSERT_FALSE(parsed.ok());
  EXPECT_THAT(parsed.status().message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    All, RejectedTokenizers,
    testing::Values(
        Rejected{"/model/type", "Unigram", "model has type 'Unigram'; only 'BPE' is supported"},
        Rejected{"/model/dropout", 0.5,
                 "The option 'dropout' of the tokenizer's model is not supported"},
        Rejected{"/model/continuing_subword_prefix", "##", "'continuing_subword_prefix'"},
        Rejected{"/normalizer",
                 {{"type", "Lowercase"}},
                 "The normalizer 'Lowercase' of the tokenizer is not supported"},
        Rejected{"/normalizer",
                 {{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", ""}},
                 "'Replace with a Regex pattern'"},
        Rejected{"/pre_tokenizer", {{"type", "Whitespace"}}, "The pre-tokenizer 'Whitespace'"},
        Rejected{"/pre_tokenizer",
                 {{"type", "Split"},
                  {"pattern", {{"Regex", "(a"}}},
                  {"behavior", "Isolated"},
                  {"invert", false}},
                 "The regular expression '(a' is not supported: missing closing parenthesis"},
        Rejected{"/pre_tokenizer",
                 {{"type", "Split"}, {"pattern", {{"Regex", "a{1,2}+"}}}, {"behavior", "Isolated"}},
                 "repeats an interval"},
        Rejected{"/pre_tokenizer",
                 {{"type", "Sequence"},
                  {"pretokenizers", {{{"type", "Sequence"}, {"pretokenizers", Json::array()}}}}},
                 "'Sequence in a Sequence'"},
        Rejected{"/decoder", {{"type", "WordPiece"}}, "The decoder 'WordPiece'"},
        Rejected{"/decoder", nullptr, "The decoder 'none'"},
        Rejected{"/model/merges", {"a zz"}, "Merge 0 joins 'a' and 'zz'"},
        Rejected{"/model/merges", {"a b c"}, "The merge 'a b c' is not a pair of tokens"},
        Rejected{"/model/vocab/a", 2147483647, "has the id 2147483647; expected less than"},
        Rejected{"/model/vocab/a", -1, "Token 'a' has no valid id"},
        Rejected{"/model/vocab", 1, "The member 'vocab' of the tokenizer's model is missing"},
        Rejected{"/model", nullptr, "The member 'model' is missing"},
        Rejected{"/added_tokens/0/single_word", true,
                 "The option 'single_word' of the added token"},
        Rejected{"/added_tokens/0/id", 1 << 30, "has the id 1073741824"},
        Rejected{"/added_tokens/0/content", "", "has no valid id or no text"}));

// Long matches, for which the stack of JIT code can be too small.
TEST(Tokenizer, EncodesLongRunsOfWhitespace) {
  const Tokenizer tokenizer = ValueOf(Tokenizer::Parse(Fixture("llama3")["tokenizer"].dump()));
  const std::string text = "a" + std::string(1 << 20, ' ') + "b";
  EXPECT_EQ(tokenizer.Decode(ValueOf(tokenizer.Encode(text))), text);
}

// Nested quantifiers: a text of n characters without a match takes 2^n steps.
TEST(Tokenizer, LimitsTheStepsOfARegex) {
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
