#ifndef SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_
#define SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace spirloom {

// The indices that sort `keys` in ascending order (stable argsort).
std::vector<size_t> SortedOrder(std::span<const uint64_t> keys);
// The indices below `count` in the order of `less`; equal ones in ascending order.
std::vector<size_t> SortedOrder(size_t count, const std::function<bool(size_t, size_t)>& less);

}  // namespace spirloom

#endif  // SPIRLOOM_RUNTIME_BASE_SORTED_ORDER_H_
