#include "integrations/executorch/blob/blob.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/executorch/program_builder.h"

namespace spirloom::delegate {
namespace {

using testing::HasSubstr;

TEST(Blob, HasTwoSections) {
  const std::vector<std::byte> constants(5, std::byte{7});
  const std::vector<std::byte> blob = ProgramBuilder().Blob(constants);
  const Result<BlobParts> parts = SplitBlob(blob);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->graph.size(), ProgramBuilder().Graph().size());
  EXPECT_EQ(parts->constants.size(), 5U);
  EXPECT_EQ(parts->constants[0], std::byte{7});
}

TEST(Blob, RejectsATruncatedHeader) {
  const std::vector<std::byte> blob(29);
  EXPECT_THAT(SplitBlob(blob).status().message(),
              HasSubstr("A delegate of 29 bytes is too short for its header of 30."));
}

TEST(Blob, RejectsAnotherMagic) {
  std::vector<std::byte> blob = ProgramBuilder().Blob();
  blob[4] = std::byte{'X'};
  EXPECT_THAT(SplitBlob(blob).status().message(), HasSubstr("'VH00' is missing"));
}

TEST(Blob, RejectsTruncatedSections) {
  const std::vector<std::byte> blob = ProgramBuilder().Blob(std::vector<std::byte>(8));
  for (size_t size = 0; size < blob.size(); ++size) {
    EXPECT_FALSE(SplitBlob(std::span(blob).first(size)).ok()) << size;
  }
}

TEST(Blob, RejectsSectionsBeyondTheBlob) {
  for (const size_t offset : {10U, 14U, 18U, 22U, 29U}) {
    std::vector<std::byte> blob = ProgramBuilder().Blob();
    blob[offset] = std::byte{0xff};
    EXPECT_THAT(SplitBlob(blob).status().message(), HasSubstr("exceeds its blob")) << offset;
  }
}

}  // namespace
}  // namespace spirloom::delegate
