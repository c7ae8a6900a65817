#include "tools/spirloom-ops/selection.h"

#include <deque>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/plan/binding_counts.h"
#include "runtime/graph/plan/compile.h"
#include "runtime/graph/record/dispatch.h"
#include "runtime/pack/capability.h"
#include "runtime/pack/device_properties.h"
#include "runtime/pack/pack_format.h"
#include "tools/plan/kernel_trials.h"

namespace spirloom::tools {
namespace {

using nlohmann::ordered_json;

ordered_json ToJson(const graph::CallTrials& call, const graph::DeviceTraits& device,
                    bool explain) {
  ordered_json choice = {{"node", call.node},
                         {"op", call.op},
                         {"storage", Name(call.storage)},
                         {"kernel", call.chosen == nullptr ? "" : call.chosen->name}};
  if (explain) choice["considered"] = TrialsToJson(call, device);
  return choice;
}

Result<ordered_json> Dispatches(const graph::Plan& plan, const graph::DeviceTraits& device) {
  ordered_json dispatches = ordered_json::array();
  SPIRLOOM_TRY_ASSIGN(const graph::DispatchList list, graph::BuildDispatches(plan, device));
  for (const graph::Dispatch& dispatch : list.dispatches) {
    if (dispatch.pipeline == graph::kBufferCopy) continue;
    const graph::PlanNode& node = plan.nodes[dispatch.node];
    const vulkan::PipelineDesc& pipeline = list.pipelines[dispatch.pipeline];
    const auto counts = graph::BindingCounts::Of(*node.variant.row, pipeline.absent);
    dispatches.push_back({{"node", node.name},
                          {"op", node.op->op->name},
                          {"kernel", node.kernel->name},
                          {"variant", std::string(node.variant.name)},
                          {"needs", pack::CapabilityNames(node.variant.row->needs)},
                          {"vulkan_minor", node.variant.row->vulkan_minor},
                          {"workgroup", dispatch.workgroup},
                          {"groups", dispatch.groups},
                          {"push_bytes", dispatch.push.size()},
                          {"storage_buffers", counts.storage_buffers},
                          {"subgroup_size", pipeline.subgroup_size}});
  }
  return dispatches;
}

ordered_json Select(const graph::Graph& graph, const ops::OpIndex& index,
                    const graph::DeviceTraits& device, bool explain) {
  ordered_json selection = ordered_json::object();
  std::vector<graph::CallTrials> trials;
  graph::CompileOptions options;
  options.trials = &trials;
  const auto plan = graph::Compile(graph, index, device, options);
  selection["calls"] = ordered_json::array();
  for (const graph::CallTrials& call : trials)
    selection["calls"].push_back(ToJson(call, device, explain));
  if (!plan.ok()) {
    selection["error"] = plan.status().message();
    return selection;
  }
  auto dispatches = Dispatches(*plan, device);
  if (dispatches.ok()) {
    selection["dispatches"] = std::move(*dispatches);
  } else {
    selection["error"] = dispatches.status().message();
  }
  return selection;
}

ordered_json PropertiesOf(const graph::DeviceTraits& device) {
  ordered_json properties;
  const auto values = pack::DevicePropertyValues(device.properties);
  for (size_t i = 0; i < values.size(); ++i) properties[pack::kDevicePropertyNames[i]] = values[i];
  return properties;
}

}  // namespace

Result<std::string> SelectionToJson(const ops::OpIndex& index,
                                    const std::vector<DescribedDevice>& devices,
                                    const std::vector<std::string>& graph_files, bool explain) {
  ordered_json root = ordered_json::array();
  for (const DescribedDevice& device : devices)
    root.push_back({{"device", device.name}, {"properties", PropertiesOf(device.traits)}});
  for (const std::string& path : graph_files) {
    SPIRLOOM_TRY_ASSIGN(const graph::LoadedGraph loaded, graph::LoadGraphFile(path));
    for (size_t i = 0; i < devices.size(); ++i)
      root[i]["graphs"].push_back(Select(loaded.graph, index, devices[i].traits, explain));
  }
  return root.dump() + "\n";
}

}  // namespace spirloom::tools
