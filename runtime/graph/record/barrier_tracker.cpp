#include "runtime/graph/record/barrier_tracker.h"

#include <algorithm>
#include <iterator>

namespace spirloom::graph {

bool RangeSet::Overlaps(uint64_t begin, uint64_t end) const {
  if (begin >= end) return false;
  auto next = ranges_.lower_bound(end);  // the first range that begins at or after `end`
  return next != ranges_.begin() && std::prev(next)->second > begin;
}

void RangeSet::Add(uint64_t begin, uint64_t end) {
  if (begin >= end) return;
  auto it = ranges_.upper_bound(begin);
  if (it != ranges_.begin() && std::prev(it)->second >= begin) --it;
  while (it != ranges_.end() && it->first <= end) {
    begin = std::min(begin, it->first);
    end = std::max(end, it->second);
    it = ranges_.erase(it);
  }
  ranges_.emplace(begin, end);
}

bool BarrierTracker::Conflicts(const MemoryAccess& access) const {
  auto accessed = memories_.find(access.memory);
  if (accessed == memories_.end()) return false;
  return accessed->second.written.Overlaps(access.begin, access.end) ||
         (access.write && accessed->second.read.Overlaps(access.begin, access.end));
}

bool BarrierTracker::NextStep(std::span<const MemoryAccess> accesses) {
  const bool barrier = std::any_of(accesses.begin(), accesses.end(),
                                   [&](const MemoryAccess& access) { return Conflicts(access); });
  if (barrier) Clear();
  for (const MemoryAccess& access : accesses) {
    AccessedRanges& accessed = memories_[access.memory];
    (access.write ? accessed.written : accessed.read).Add(access.begin, access.end);
  }
  return barrier;
}

}  // namespace spirloom::graph
