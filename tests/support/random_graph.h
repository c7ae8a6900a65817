// Random graphs over the fake library, whose shapes depend on a symbol.
#ifndef SPIRLOOM_TESTS_SUPPORT_RANDOM_GRAPH_H_
#define SPIRLOOM_TESTS_SUPPORT_RANDOM_GRAPH_H_

#include <cstdint>

#include "tests/support/graph_file_builder.h"

namespace spirloom::testing {

inline constexpr int64_t kMaxSymbol = 16;

// A graph with the symbol n in [0, kMaxSymbol]: elementwise operators, concatenations, views,
// slices, in-place updates, packed operands and states, whose tensors have one dimension of a n + c
// elements. Most offsets are multiples of 8 elements if n is one.
graph::FileGraph RandomGraph(uint32_t seed);

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_SUPPORT_RANDOM_GRAPH_H_
