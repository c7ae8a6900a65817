#include "runtime/graph/memory/lifetime_index.h"

#include <algorithm>
#include <bit>

#include "runtime/base/sorted_order.h"

namespace spirloom::graph {

LifetimeIndex::LifetimeIndex(std::span<const MemoryRequest> requests)
    : requests_(requests), rank_(requests.size()), leaves_(std::bit_ceil(requests.size())) {
  std::vector<uint64_t> firsts;
  for (const MemoryRequest& request : requests) firsts.push_back(request.first);
  by_first_ = SortedOrder(firsts);
  for (size_t i = 0; i < by_first_.size(); ++i) rank_[by_first_[i]] = i;
  ends_.assign(2 * leaves_, 0);
}

void LifetimeIndex::Add(size_t request) {
  const uint64_t end = uint64_t{requests_[request].last} + 1;
  for (size_t node = leaves_ + rank_[request]; node > 0; node /= 2) {
    ends_[node] = std::max(ends_[node], end);
  }
}

void LifetimeIndex::ForEachOverlapping(uint32_t first, uint32_t last,
                                       const std::function<void(size_t)>& visit) const {
  // Depth-first traversal from left to right. Skips subtrees whose lifetimes all end before
  // `first`.
  size_t node = 1;
  while (node != 0) {
    if (ends_[node] > first) {
      if (node < leaves_) {
        node *= 2;
        continue;
      }
      const size_t request = by_first_[node - leaves_];
      if (requests_[request].first > last) return;  // later leaves start later
      visit(request);
    }
    while (node % 2 == 1) node /= 2;  // ascend from right children; the root becomes 0
    if (node != 0) ++node;
  }
}

}  // namespace spirloom::graph
