#ifndef SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_
#define SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spirloom {

// The indices that sort `keys` in ascending order (stable argsort).
std::vector<size_t> SortedOrder(std::span<const uint64_t> keys);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_
