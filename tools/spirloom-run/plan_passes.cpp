#include "tools/spirloom-run/plan_passes.h"

#include <cstddef>
#include <cstdint>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/file/specialize.h"
#include "runtime/graph/file/tensor_size.h"
#include "runtime/graph/model/loaded_model.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/session/runtime_state.h"
#include "tools/common/table.h"

namespace spirloom::run {
namespace {

using graph::kNoTensor;
using graph::Plan;
using graph::PlanNode;
using graph::PlanTensor;

std::string IdOf(uint32_t tensor) {
  return tensor == kNoTensor ? "none" : "%" + std::to_string(tensor);
}

std::string IdsOf(std::span<const uint32_t> tensors) {
  std::string text;
  for (const uint32_t tensor : tensors) text += (text.empty() ? "" : " ") + IdOf(tensor);
  return text;
}

std::string OperandsOf(const PlanNode& node) {
  std::string text;
  for (const std::vector<uint32_t>& operand : node.operands) {
    if (!text.empty()) text += ", ";
    text += operand.size() == 1 ? IdOf(operand[0]) : "[" + IdsOf(operand) + "]";
  }
  return text;
}

size_t DispatchesOf(const PlanNode& node) {
  if (node.op == nullptr) return 1;
  size_t count = 0;
  for (size_t i = 0; i < node.dispatches.size(); ++i) {
    const bool in_place = i < node.in_place.size() && node.in_place[i];
    if (!in_place && !node.dispatches[i].is_empty()) ++count;
  }
  return count;
}

std::string RoleOf(const PlanTensor& tensor) {
  if (tensor.input >= 0) return "input";
  if (tensor.output >= 0) return "output";
  if (tensor.state >= 0) return "state";
  return tensor.is_constant ? "constant" : "";
}

std::string AliasOf(const PlanTensor& tensor) {
  if (tensor.alias_of == kNoTensor) return "";
  const std::string root = IdOf(tensor.alias_of);
  return tensor.alias_offset == 0 ? root : root + " + " + std::to_string(tensor.alias_offset);
}

}  // namespace

std::vector<std::string> PassNames() {
  std::vector<std::string> names;
  for (const graph::PassInfo& pass : graph::Passes()) names.emplace_back(pass.name);
  return names;
}

std::string PlanText(const Plan& plan) {
  tools::Table nodes("><<<<<>", {"#", "node", "kernel", "storage", "operands", "", "dispatches"});
  for (size_t i = 0; i < plan.nodes.size(); ++i) {
    const PlanNode& node = plan.nodes[i];
    nodes.AddRow({std::to_string(i), node.name,
                  node.op == nullptr ? "buffer copy" : std::string(node.variant.name),
                  Name(node.storage), OperandsOf(node), node.is_constant ? "constant" : "",
                  std::to_string(DispatchesOf(node))});
  }
  tools::Table tensors("<<<<<<", {"tensor", "name", "type", "storage", "", "alias of"});
  for (uint32_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& tensor = plan.tensors[i];
    tensors.AddRow({IdOf(i), tensor.name, graph::Describe(tensor.desc), Name(tensor.storage()),
                    RoleOf(tensor), AliasOf(tensor)});
  }
  return nodes.ToString() + "\n" + tensors.ToString();
}

Result<std::string> PlanAfterPass(const Runtime& runtime, const Options& options,
                                  std::span<const Shape> shapes, std::span<const int64_t> ints) {
  const internal::RuntimeState& state = *runtime.state();
  SPIRLOOM_TRY_ASSIGN(graph::LoadedGraph file, graph::LoadGraphFile(options.model, options.method));
  if (!file.graph.symbols.empty()) {
    SPIRLOOM_TRY_ASSIGN(const std::vector<int64_t> sizes,
                        graph::SolveSymbols(file.graph, shapes, ints));
    SPIRLOOM_TRY_ASSIGN(file.graph, graph::Specialize(file.graph, sizes));
  }
  std::string text;
  graph::CompileOptions compile;
  compile.storage = options.storage;
  compile.kernels = options.kernels;
  compile.tuned = state.tuning->kernels();
  compile.after_pass = [&](std::string_view pass, const Plan& plan) {
    if (pass == options.plan_pass) text = PlanText(plan);
  };
  const internal::DeviceConfig device = internal::DeviceConfig::Of(state);
  SPIRLOOM_TRY(graph::Compile(file.graph, state.index, device.traits, compile).status());
  return text;
}

}  // namespace spirloom::run
