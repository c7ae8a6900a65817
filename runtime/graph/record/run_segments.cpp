#include "runtime/graph/record/run_segments.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace spirloom::graph {
namespace {

// Returns the time of a slice of a dispatch that takes `cost`.
uint64_t CostOf(const Slice& slice, const Dispatch& dispatch, uint64_t cost) {
  const double part = slice.end - slice.begin;
  const double all = dispatch.groups[SlicedDimension(dispatch)];
  return std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(cost) * part / all), 1);
}

// Returns the number of slices of a dispatch that takes `cost`.
uint32_t SliceCount(const Dispatch& dispatch, uint64_t cost, uint64_t max_ns) {
  if (!dispatch.divisible || max_ns == 0 || cost <= max_ns) return 1;
  const uint64_t groups = dispatch.groups[SlicedDimension(dispatch)];
  return static_cast<uint32_t>(std::min((cost - 1) / max_ns + 1, groups));
}

}  // namespace

uint32_t SlicedDimension(const Dispatch& dispatch) {
  if (dispatch.groups[2] > 1) return 2;
  return dispatch.groups[1] > 1 ? 1 : 0;
}

std::vector<Segment> DivideIntoSegments(std::span<const Dispatch> dispatches,
                                        std::span<const uint64_t> costs, uint64_t max_ns) {
  assert(dispatches.size() == costs.size());
  std::vector<Segment> segments(1);
  for (uint32_t i = 0; i < dispatches.size(); ++i) {
    const Dispatch& dispatch = dispatches[i];
    const uint64_t groups = std::max(dispatch.groups[SlicedDimension(dispatch)], 1U);
    const uint32_t count = SliceCount(dispatch, costs[i], max_ns);
    for (uint32_t k = 0; k < count; ++k) {
      const Slice slice{i, static_cast<uint32_t>(groups * k / count),
                        static_cast<uint32_t>(groups * (k + 1) / count)};
      const uint64_t ns = count == 1 ? costs[i] : CostOf(slice, dispatch, costs[i]);
      if (max_ns > 0 && !segments.back().slices.empty() && segments.back().ns + ns > max_ns) {
        segments.emplace_back();
      }
      segments.back().slices.push_back(slice);
      segments.back().ns += ns;
    }
  }
  return segments;
}

void CorrectCosts(std::span<const Segment> segments, std::span<const uint64_t> measured,
                  std::span<const Dispatch> dispatches, std::vector<uint64_t>& costs) {
  assert(segments.size() == measured.size());
  std::vector<double> corrected(costs.size(), 0);
  for (size_t i = 0; i < segments.size(); ++i) {
    const double scale = static_cast<double>(measured[i]) /
                         static_cast<double>(std::max<uint64_t>(segments[i].ns, 1));
    for (const Slice& slice : segments[i].slices) {
      const Dispatch& dispatch = dispatches[slice.dispatch];
      const double groups = std::max(dispatch.groups[SlicedDimension(dispatch)], 1U);
      corrected[slice.dispatch] +=
          scale * static_cast<double>(costs[slice.dispatch]) * (slice.end - slice.begin) / groups;
    }
  }
  std::ranges::transform(corrected, costs.begin(), [](double ns) {
    return std::max<uint64_t>(static_cast<uint64_t>(std::llround(ns)), 1);
  });
}

}  // namespace spirloom::graph
