#include "llm/model/prefill_chunks.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

namespace spirloom::llm {
namespace {

// Runs of prompts of all lengths at all positions: they fit, and have few lengths.
void CheckAllPrompts(const PrefillLimits& limits, size_t max_lengths) {
  std::set<size_t> lengths;
  for (size_t position = 0; position < limits.context; ++position) {
    for (size_t prompt = 1; prompt <= limits.context - position; ++prompt) {
      for (size_t done = 0; done < prompt;) {
        const PrefillChunk chunk = NextChunk(prompt - done, position + done, limits);
        ASSERT_GE(chunk.tokens, 1u);
        ASSERT_LE(chunk.tokens, prompt - done);
        if (chunk.length == 0) {
          ASSERT_EQ(chunk.tokens, 1u);
        } else {
          ASSERT_LE(chunk.tokens, chunk.length);
          ASSERT_LE(chunk.length, limits.max_prefill);
          ASSERT_LE(position + done + chunk.length, limits.context);
          lengths.insert(chunk.length);
        }
        const bool padded = chunk.length > chunk.tokens;
        ASSERT_TRUE(!padded || limits.can_pad);
        done += chunk.tokens;
        ASSERT_TRUE(!padded || done < prompt) << "the last token is in a padded run";
      }
    }
  }
  EXPECT_LE(lengths.size(), max_lengths);
}

TEST(PrefillChunks, HaveLogarithmicallyManyLengths) {
  for (const size_t max_prefill : {1u, 2u, 7u, 8u, 64u, 100u}) {
    for (const bool can_pad : {false, true}) {
      SCOPED_TRACE(max_prefill);
      CheckAllPrompts({max_prefill, /*context=*/130, can_pad}, std::bit_width(max_prefill) + 1u);
    }
  }
}

TEST(PrefillChunks, PadAllButTheLastToken) {
  constexpr PrefillLimits kLimits{.max_prefill = 512, .context = 1024, .can_pad = true};
  const auto next = [&](size_t remaining, size_t position) {
    const PrefillChunk chunk = NextChunk(remaining, position, kLimits);
    return std::pair(chunk.tokens, chunk.length);
  };
  EXPECT_EQ(next(700, 0), std::pair(size_t{512}, size_t{512}));
  EXPECT_EQ(next(188, 512), std::pair(size_t{187}, size_t{256}));
  EXPECT_EQ(next(1, 699), std::pair(size_t{1}, size_t{0}));
  EXPECT_EQ(next(64, 0), std::pair(size_t{64}, size_t{64}));
  EXPECT_EQ(next(3, 0), std::pair(size_t{2}, size_t{8}));
  EXPECT_EQ(next(20, 1000), std::pair(size_t{16}, size_t{16})) << "padding exceeds the context";
}

}  // namespace
}  // namespace spirloom::llm
