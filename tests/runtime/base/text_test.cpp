#include "runtime/base/text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace spirloom {
namespace {

TEST(Format, ReplacesEachPlaceholderByAValue) {
  const std::string name = "x";
  EXPECT_EQ(Format("No values."), "No values.");
  EXPECT_EQ(Format("{} of {}: {}{}", "Size", name, size_t{3}, std::string_view("ab").substr(1)),
            "Size of x: 3b");
  EXPECT_EQ(Format("{}", std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(Format("{}.", std::numeric_limits<uint64_t>::max()), "18446744073709551615.");
}

TEST(Format, ReplacesManyValuesOfAllTypes) {
  const std::string name = "name";
  const std::string_view part = std::string_view(name).substr(0, 2);
  const char* const text = "text";
  EXPECT_EQ(Format("{} {} {} {} {} {} {} {} {} {}", part, -1, name, true, text, int8_t{-128},
                   uint16_t{65535}, std::string("temporary"), part, "literal"),
            "na -1 name 1 text -128 65535 temporary na literal");
}

TEST(Format, DoesNotReplaceInValues) {
  EXPECT_EQ(Format("{}, {} and {", "{}", "{ }"), "{}, { } and {");
}

TEST(Format, QuotesNames) {
  const std::string name = "a\nb" + std::string(100, 'c');
  EXPECT_EQ(Format("{}, {} and {}.", Quoted{name}, 1, Quoted{"d"}), Quote(name) + ", 1 and 'd'.");
}

TEST(Error, HasTheFormattedMessage) {
  const Status status = Error(StatusCode::kUnsupported, "Size ({}) exceeds {}.", 64, 32u);
  EXPECT_EQ(status.code(), StatusCode::kUnsupported);
  EXPECT_EQ(status.message(), "Size (64) exceeds 32.");
  EXPECT_EQ(InvalidFile("The file is empty.").code(), StatusCode::kInvalidFile);
}

TEST(While, AddsALineToErrorsOnly) {
  EXPECT_TRUE(While(Status(), "reading {}", 1).ok());
  const Status status = While(InvalidFile("It is truncated."), "reading {} of {}", 1, "a");
  EXPECT_EQ(status.code(), StatusCode::kInvalidFile);
  EXPECT_EQ(status.message(), "It is truncated.\n - While reading 1 of a.");
}

TEST(TryWhile, AddsALineOfContext) {
  const auto read = [](int i) -> Status {
    SPIRLOOM_TRY_WHILE(i < 3 ? Status() : InvalidFile("It is truncated."), "reading node {}", i);
    return Status();
  };
  EXPECT_TRUE(read(2).ok());
  EXPECT_EQ(read(3).message(), "It is truncated.\n - While reading node 3.");
}

}  // namespace
}  // namespace spirloom
