#include "runtime/graph/memory/lifetime_index.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace spirloom::graph {

LifetimeIndex::LifetimeIndex(std::span<const MemoryRequest> requests)
    : requests_(requests),
      by_first_(requests.size()),
      rank_(requests.size()),
      leaves_(std::bit_ceil(requests.size())) {
  std::iota(by_first_.begin(), by_first_.end(), size_t{0});
  std::stable_sort(by_first_.begin(), by_first_.end(),
                   [&](size_t a, size_t b) { return requests[a].first < requests[b].first; });
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
  // Depth first, from left to right; a subtree is left out when all in it end before `first`.
  size_t node = 1;
  while (node != 0) {
    if (ends_[node] > first) {
      if (node < leaves_) {
        node *= 2;
        continue;
      }
      const size_t request = by_first_[node - leaves_];
      if (requests_[request].first > last) return;  // and so do all to its right
      visit(request);
    }
    while (node % 2 == 1) node /= 2;  // up from right children; 1 becomes 0, the end
    if (node != 0) ++node;
  }
}

}  // namespace spirloom::graph
