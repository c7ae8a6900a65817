#include "integrations/executorch/blob/blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executorch/program_builder.h"

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

TEST(Blob, HasTwoParts) {
  const std::vector<std::byte> constants(5, std::byte{7});
  const std::vector<std::byte> blob = ProgramBuilder().Blob(constants);
  const Result<BlobParts> parts = SplitBlob(blob);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->graph.size(), ProgramBuilder().Graph().size());
  EXPECT_EQ(parts->constants.size(), 5U);
  EXPECT_EQ(parts->constants[0], std::byte{7});
}

TEST(Blob, IsTooShort) {
  const std::vector<std::byte> blob(29);
  EXPECT_THAT(SplitBlob(blob).status().message(),
              HasSubstr("A delegate of 29 bytes is too short for its header of 30."));
}

TEST(Blob, IsNone) {
  std::vector<std::byte> blob = ProgramBuilder().Blob();
  blob[4] = std::byte{'X'};
  EXPECT_THAT(SplitBlob(blob).status().message(), HasSubstr("'VH00' is missing"));
}

TEST(Blob, EndsBeforeItsParts) {
  const std::vector<std::byte> blob = ProgramBuilder().Blob(std::vector<std::byte>(8));
  for (size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(SplitBlob(std::span(blob).first(size)).ok()) << size;
  }
}

TEST(Blob, HasPartsOfAnySize) {
  for (const size_t at : {10U, 14U, 18U, 22U, 29U}) {
    std::vector<std::byte> blob = ProgramBuilder().Blob();
    blob[at] = std::byte{0xff};
    EXPECT_THAT(SplitBlob(blob).status().message(), HasSubstr("exceeds its blob")) << at;
  }
}

}  // namespace
}  // namespace spirloom::delegate
