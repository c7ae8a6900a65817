#ifndef SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_
#define SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace spirloom {

// The indices of `keys` from the least key to the greatest; those of equal keys in their order.
std::vector<size_t> SortedOrder(std::span<const uint64_t> keys);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_
