#ifndef SPIRLOOM_TESTS_SUPPORT_PLAN_DIFFERENCE_H_
#define SPIRLOOM_TESTS_SUPPORT_PLAN_DIFFERENCE_H_

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/graph/plan/plan.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/graph/record/pipeline_key.h"

namespace spirloom::testing {

inline bool AreEqual(const graph::Arg& a, const graph::Arg& b) {
  return a.kind == b.kind && a.tensors == b.tensors && a.ints == b.ints && a.s == b.s &&
         std::bit_cast<uint64_t>(a.f) == std::bit_cast<uint64_t>(b.f);
}

inline bool AreEqual(const graph::DispatchValues& a, const graph::DispatchValues& b) {
  return a.invocations == b.invocations && a.push == b.push && a.concat_offset == b.concat_offset;
}

inline std::string_view DifferenceOf(const graph::PlanTensor& a, const graph::PlanTensor& b) {
  if (a.name != b.name) return "name";
  if (a.desc.dtype != b.desc.dtype) return "dtype";
  if (!(a.desc.shape == b.desc.shape)) return "shape";
  if (a.storage() != b.storage()) return "storage";
  if (a.size != b.size) return "size";
  if (a.is_constant != b.is_constant || a.constant != b.constant) return "constant";
  if (a.input != b.input || a.output != b.output || a.state != b.state) return "role";
  return a.alias_of == b.alias_of && a.alias_offset == b.alias_offset ? "" : "alias";
}

inline std::string_view DifferenceOf(const graph::PlanNode& a, const graph::PlanNode& b) {
  if (a.name != b.name || a.op != b.op || a.kernel != b.kernel) return "kernel";
  if (a.variant.row != b.variant.row || a.storage != b.storage) return "variant";
  if (!std::ranges::equal(a.args, b.args, [](auto& x, auto& y) { return AreEqual(x, y); })) {
    return "args";
  }
  if (a.outputs != b.outputs || a.operands != b.operands) return "operands";
  if (a.constants != b.constants) return "constants";
  if (a.loop_iterations != b.loop_iterations) return "loop_iterations";
  const auto are_equal = [](auto& x, auto& y) { return AreEqual(x, y); };
  if (!std::ranges::equal(a.dispatches, b.dispatches, are_equal)) return "dispatches";
  return a.in_place == b.in_place && a.is_constant == b.is_constant ? "" : "in_place";
}

// Returns the first difference of the plans, e.g. "tensor 3: shape"; empty if they are equal.
inline std::string DifferenceOf(const graph::Plan& a, const graph::Plan& b) {
  if (a.tensors.size() != b.tensors.size() || a.nodes.size() != b.nodes.size()) return "counts";
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    const std::string_view found = DifferenceOf(a.tensors[i], b.tensors[i]);
    if (!found.empty()) return "tensor " + std::to_string(i) + ": " + std::string(found);
  }
  for (size_t i = 0; i < a.nodes.size(); ++i) {
    const std::string_view found = DifferenceOf(a.nodes[i], b.nodes[i]);
    if (!found.empty()) return "node " + std::to_string(i) + ": " + std::string(found);
  }
  return a.inputs == b.inputs && a.outputs == b.outputs && a.states == b.states &&
                 a.layout_copies == b.layout_copies && a.aliased_views == b.aliased_views
             ? ""
             : "interface";
}

// As above, of the dispatches of equal plans.
inline std::string DifferenceOf(const std::vector<graph::Dispatch>& a,
                                const std::vector<vulkan::PipelineDesc>& pipelines_a,
                                const graph::DispatchList& list) {
  const std::vector<graph::Dispatch>& b = list.dispatches;
  const auto are_equal = [&](const graph::Dispatch& x, const graph::Dispatch& y) {
    const bool is_copy = x.pipeline == graph::kBufferCopy || y.pipeline == graph::kBufferCopy;
    const bool have_equal_pipelines =
        is_copy ? x.pipeline == y.pipeline
                : graph::KeyOf(pipelines_a[x.pipeline]) == graph::KeyOf(list.pipelines[y.pipeline]);
    return x.node == y.node && x.index == y.index && have_equal_pipelines &&
           x.tensors == y.tensors && std::ranges::equal(x.push, y.push) &&
           x.invocations == y.invocations && x.workgroup == y.workgroup && x.groups == y.groups &&
           x.estimated_ns == y.estimated_ns && x.divisible == y.divisible;
  };
  if (a.size() != b.size()) return "counts";
  for (size_t i = 0; i < a.size(); ++i) {
    if (!are_equal(a[i], b[i])) return "dispatch " + std::to_string(i);
  }
  return "";
}

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_SUPPORT_PLAN_DIFFERENCE_H_
