// Determines where a sequence of steps needs pipeline barriers.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_BARRIER_TRACKER_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_BARRIER_TRACKER_H_

#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>

namespace spirloom::graph {

// Bytes [begin, end) of one memory allocation, read or written by a step.
struct MemoryAccess {
  uint32_t memory;
  uint64_t begin;
  uint64_t end;
  bool write;
};

// A set of bytes, stored as disjoint ranges.
class RangeSet {
 public:
  bool Overlaps(uint64_t begin, uint64_t end) const;
  void Add(uint64_t begin, uint64_t end);

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin -> end
};

// Tracks the bytes read and written since the last barrier. Two steps conflict if they access a
// common byte and one of them writes it. Hazards are tracked by memory range, not by tensor, so
// aliased memory is covered. A barrier orders all earlier steps before all later steps.
class BarrierTracker {
 public:
  // Adds a step. Returns true if it conflicts with a step since the last barrier, so that a barrier
  // is required before it.
  bool NextStep(std::span<const MemoryAccess> accesses);
  // Resets after a barrier recorded for another reason.
  void Clear() { memories_.clear(); }

 private:
  struct AccessedRanges {
    RangeSet read;
    RangeSet written;
  };

  bool Conflicts(const MemoryAccess& access) const;

  std::unordered_map<uint32_t, AccessedRanges> memories_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_BARRIER_TRACKER_H_
