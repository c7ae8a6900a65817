// spirloom_embed_pack(): the embedded bytes equal the file.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

extern "C" {
extern const unsigned char assembled[];
extern const uint64_t assembled_size;
extern const unsigned char arrayed[];
extern const uint64_t arrayed_size;
}

namespace spirloom {
namespace {

std::string_view View(const unsigned char* bytes, uint64_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

TEST(EmbedTest, BothMethodsEmbedTheFile) {
  std::ifstream file(EMBEDDED_FILE, std::ios::binary);
  const std::string expected(std::istreambuf_iterator<char>(file), {});
  ASSERT_FALSE(expected.empty());
  EXPECT_EQ(View(assembled, assembled_size), expected);
  EXPECT_EQ(View(arrayed, arrayed_size), expected);
}

TEST(EmbedTest, IsAligned) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(assembled) % 64, 0u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(arrayed) % 64, 0u);
}

}  // namespace
}  // namespace spirloom
