// The patterns of spirloom-ops --op.
#include <gtest/gtest.h>

#include "tools/spirloom-ops/arguments.h"

namespace spirloom::tools {
namespace {

TEST(MatchesGlob, MatchesTheWholeText) {
  EXPECT_TRUE(MatchesGlob("*", ""));
  EXPECT_TRUE(MatchesGlob("*", "aten.add.Tensor"));
  EXPECT_TRUE(MatchesGlob("aten.*.Tensor", "aten.add.Tensor"));
  EXPECT_TRUE(MatchesGlob("*pool2d", "max_pool2d"));
  EXPECT_TRUE(MatchesGlob("*ab*ab", "ababab"));
  EXPECT_TRUE(MatchesGlob("m?", "mm"));
  EXPECT_TRUE(MatchesGlob("add", "add"));
  EXPECT_FALSE(MatchesGlob("add", "add_"));
  EXPECT_FALSE(MatchesGlob("dd", "add"));
  EXPECT_FALSE(MatchesGlob("m?", "m"));
  EXPECT_FALSE(MatchesGlob("*pool", "max_pool2d"));
  EXPECT_FALSE(MatchesGlob("", "a"));
}

}  // namespace
}  // namespace spirloom::tools
