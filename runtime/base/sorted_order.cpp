#include "runtime/base/sorted_order.h"

#include <algorithm>
#include <numeric>

namespace spirloom {

std::vector<size_t> SortedOrder(std::span<const uint64_t> keys) {
  return SortedOrder(keys.size(), [&](size_t a, size_t b) { return keys[a] < keys[b]; });
}

std::vector<size_t> SortedOrder(size_t count, const std::function<bool(size_t, size_t)>& less) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return less(a, b) || (!less(b, a) && a < b); });
  return order;
}

}  // namespace spirloom
