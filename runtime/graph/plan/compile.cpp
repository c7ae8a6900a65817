#include "runtime/graph/plan/compile.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runtime/base/text.h"
#include "runtime/graph/plan/concat_elision.h"
#include "runtime/graph/plan/dead_nodes.h"
#include "runtime/graph/plan/in_place_updates.h"
#include "runtime/graph/plan/lowering.h"

#ifndef NDEBUG
#include <cstdio>
#include <cstdlib>

#include "runtime/graph/plan/verify_plan.h"
#endif

namespace spirloom::graph {
namespace {

constexpr std::string_view kInfer = "infer";
constexpr std::string_view kSelectKernels = "select-kernels";
constexpr std::string_view kRemoveDeadNodes = "remove-dead-nodes";
constexpr std::string_view kElideConcats = "elide-concats";
constexpr std::string_view kUpdateInPlace = "update-in-place";

constexpr auto kAfterInfer = std::to_array({kInfer});
constexpr auto kAfterSelectKernels = std::to_array({kSelectKernels});
// A concatenation whose parts have other users is only elided once dead users are removed.
constexpr auto kAfterRemoveDeadNodes = std::to_array({kSelectKernels, kRemoveDeadNodes});
// Aliases of parts of concatenations are uses of their output, which in-place updates must see.
constexpr auto kAfterElideConcats =
    std::to_array({kSelectKernels, kRemoveDeadNodes, kElideConcats});

constexpr auto kPasses = std::to_array<PassInfo>({
    // Resolves operators, checks arguments, and infers the shapes and dtypes of all tensors.
    {kInfer, {}},
    // Selects the storage and the kernel of each call, and inserts the layout copies and packing
    // nodes that the kernel requires. Views become aliases.
    {kSelectKernels, kAfterInfer},
    // Removes nodes that no output or state depends on.
    {kRemoveDeadNodes, kAfterSelectKernels},
    // Aliases the parts of concatenations to their outputs.
    {kElideConcats, kAfterRemoveDeadNodes},
    // Aliases the results of in-place operators and state updates.
    {kUpdateInPlace, kAfterElideConcats},
});

// Whether each pass is behind the passes that must precede it.
constexpr bool AreInOrder(std::span<const PassInfo> passes) {
  for (size_t i = 0; i < passes.size(); ++i) {
    for (const std::string_view required : passes[i].after) {
      const auto before = passes.first(i);
      if (std::ranges::find(before, required, &PassInfo::name) == before.end()) return false;
    }
  }
  return true;
}
static_assert(AreInOrder(kPasses));

Status RunPass(std::string_view name, Lowering& lowering, const DeviceTraits& device) {
  Plan& plan = lowering.plan();
  if (name == kInfer) return lowering.Infer();
  if (name == kSelectKernels) return lowering.SelectKernels();
  if (name == kRemoveDeadNodes) {
    RemoveDeadNodes(plan);
  } else if (name == kElideConcats) {
    ElideConcats(plan, device);
  } else if (name == kUpdateInPlace) {
    UpdateInPlace(plan);
  }
  return Status();
}

// Whether the passes that alias buffers may alias any.
bool MayAlias(const PlanNode& node) {
  return node.op == nullptr || (!node.is_constant && !node.kernel->concat_offset.empty());
}

// Completes the trace. Images are not traced: their sizes are limited, and they are not aliased
// like buffers.
void FinishTrace(const Plan& plan, const CompileOptions& options) {
  LoweringTrace& trace = *options.trace;
  for (const PlanTensor& tensor : plan.tensors) {
    if (!tensor.is_constant && IsTexture(tensor.storage())) trace.is_complete = false;
  }
}

#ifndef NDEBUG
void RequireValid(std::string_view pass, const Plan& plan, const DeviceTraits& device) {
  const Status status = VerifyPlan(plan, device);
  if (status.ok()) return;
  std::fputs(Format("After the pass {}: {}\n", pass, status.message()).c_str(), stderr);
  std::abort();
}
#endif

}  // namespace

std::span<const PassInfo> Passes() { return kPasses; }

Result<Plan> Compile(const Graph& graph, const ops::OpIndex& index, const DeviceTraits& device,
                     const CompileOptions& options) {
  Lowering lowering(graph, index, device, options);
  for (const PassInfo& pass : kPasses) {
    SPIRLOOM_TRY(RunPass(pass.name, lowering, device));
#ifndef NDEBUG
    RequireValid(pass.name, lowering.plan(), device);
#endif
    if (options.trace != nullptr && pass.name == kRemoveDeadNodes &&
        std::ranges::any_of(lowering.plan().nodes, MayAlias)) {
      options.trace->before_aliasing = lowering.plan();
    }
    if (options.after_pass) options.after_pass(pass.name, lowering.plan());
  }
  if (options.trace != nullptr) FinishTrace(lowering.plan(), options);
  return std::move(lowering.plan());
}

}  // namespace spirloom::graph
