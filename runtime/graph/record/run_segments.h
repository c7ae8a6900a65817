// Divides the dispatches of a run into segments that are submitted one by one, so that no
// submission takes longer than a watchdog of the driver or the operating system allows.
#ifndef SPIRLOOM_RUNTIME_GRAPH_RECORD_RUN_SEGMENTS_H_
#define SPIRLOOM_RUNTIME_GRAPH_RECORD_RUN_SEGMENTS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/graph/record/dispatch.h"

namespace spirloom::graph {

// Workgroups [begin, end) of a dispatch in its outermost dimension with several workgroups. All
// slices of a dispatch together compute the same bits as the dispatch: workgroups are independent,
// their indices include the base of the slice, and the counts of workgroups in inner dimensions,
// which kernels use to compute flat indices, are those of the dispatch.
struct Slice {
  uint32_t dispatch;  // index into the dispatches of the run
  uint32_t begin;
  uint32_t end;
};

struct Segment {
  std::vector<Slice> slices;  // in order of execution
  uint64_t ns = 0;            // expected time
};

// Returns the dimension whose workgroups slices divide.
uint32_t SlicedDimension(const Dispatch& dispatch);

// Divides the dispatches, whose expected times are `costs` in nanoseconds, into segments of at most
// `max_ns` (0: unlimited), as far as the dispatches can be divided. Returns at least one segment.
std::vector<Segment> DivideIntoSegments(std::span<const Dispatch> dispatches,
                                        std::span<const uint64_t> costs, uint64_t max_ns);

// Replaces the expected times `costs` by those measured: `measured[i]` is the time of segments[i],
// which is distributed to its dispatches in proportion to their costs.
void CorrectCosts(std::span<const Segment> segments, std::span<const uint64_t> measured,
                  std::span<const Dispatch> dispatches, std::vector<uint64_t>& costs);

}  // namespace spirloom::graph

#endif  // SPIRLOOM_RUNTIME_GRAPH_RECORD_RUN_SEGMENTS_H_
