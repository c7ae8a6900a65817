// Tokens of specs are on lines whose numbers are their columns.
#include "compiler/glsl/spec_columns.h"

#include <gtest/gtest.h>

namespace spirloom::compiler {
namespace {

TEST(SpecColumnsTest, TokensAreOnTheLinesOfTheirColumns) {
  EXPECT_EQ(WithSpecColumns("#line 3 \"a.j2\"\nf(\n#line 7 \"b.yaml\"\n  a<=b.x\n"
                            "#line 3 \"a.j2\"\n);\n"),
            "#line 3 \"a.j2\"\nf(\n#line 7 \"b.yaml\"\n"
            "#line 1 \"b.yaml:7\"\n\n\na\n<=\n\nb\n.\nx\n"
            "#line 3 \"a.j2\"\n);\n");
}

TEST(SpecColumnsTest, FurtherLinesHaveTheNextNumbers) {
  EXPECT_EQ(WithSpecColumns("#line 7 \"b.yaml\"\na\n\n b\n"),
            "#line 7 \"b.yaml\"\n#line 1 \"b.yaml:7\"\na\n#line 1 \"b.yaml:9\"\n\nb\n");
}

TEST(SpecColumnsTest, UnknownColumnsAreThatOfTheFirstCharacter) {
  EXPECT_EQ(WithSpecColumns("#line 7 \"b.yaml\"\n  /**/a + b\n"),
            "#line 7 \"b.yaml\"\n#line 7 \"b.yaml:7\"\n  /**/a + b\n");
}

TEST(SpecColumnsTest, DirectivesAndLongCommentsRemain) {
  EXPECT_EQ(
      WithSpecColumns("#line 7 \"b.yaml\"\n#define A \\\n  b\n/* c\nd */\ne /* f */ // g h\n"),
      "#line 7 \"b.yaml\"\n#line 7 \"b.yaml\"\n#define A \\\n  b\n#line 9 \"b.yaml\"\n/* c\n"
      "d */\n#line 1 \"b.yaml:11\"\ne\n\n/* f */\n\n\n\n\n\n\n\n// g h\n");
}

TEST(SpecColumnsTest, IsEmptyWithoutSpecs) {
  EXPECT_EQ(WithSpecColumns("#line 3 \"a.j2\"\nfloat x = 1.0;\n"), "");
}

}  // namespace
}  // namespace spirloom::compiler
