#include "runtime/base/sorted_order.h"

#include <algorithm>
#include <numeric>

namespace spirloom {

std::vector<size_t> SortedOrder(std::span<const uint64_t> keys) {
  std::vector<size_t> order(keys.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return keys[a] != keys[b] ? keys[a] < keys[b] : a < b; });
  return order;
}

}  // namespace spirloom
