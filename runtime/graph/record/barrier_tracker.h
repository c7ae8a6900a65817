// Decides where a linear sequence of steps needs barriers.
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

// A set of bytes as disjoint ranges.
class RangeSet {
 public:
  bool Overlaps(uint64_t begin, uint64_t end) const;
  void Add(uint64_t begin, uint64_t end);

 private:
  std::map<uint64_t, uint64_t> ranges_;  // begin -> end
};

// Remembers the bytes that steps since the last barrier have read and written. Two steps conflict
// when they touch a common byte and one of them writes it, whichever tensors the bytes belong to:
// so reuse of memory is covered. A barrier orders everything before it against everything after.
class BarrierTracker {
 public:
  // Returns whether a barrier must come before a step with these accesses, and then counts the step
  // in. A barrier is asked for only when the step conflicts with one since the last.
  bool NextStep(std::span<const MemoryAccess> accesses);
  // A barrier was made for another reason.
  void Clear() { memories_.clear(); }

 private:
  struct Touched {
    RangeSet read;
    RangeSet written;
  };

  bool Conflicts(const MemoryAccess& access) const;

  std::unordered_map<uint32_t, Touched> memories_;
};

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_BARRIER_TRACKER_H_
