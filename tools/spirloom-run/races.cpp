#include "tools/spirloom-run/races.h"

#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/file/graph_loader.h"
#include "runtime/graph/model/execution_context.h"
#include "tools/races/race_check.h"
#include "tools/spirloom-run/text_output.h"

namespace spirloom::run {

Status PrintRaces(const Options& options, const Runtime& runtime, const Model& model,
                  const ModelOptions& model_options, tools::InputBytes inputs) {
  using Context = std::shared_ptr<internal::ExecutionContext>;
  SPIRLOOM_TRY_ASSIGN(const graph::GraphSource source, graph::MapGraphFile(options.model));
  std::vector<Shape> shapes;
  for (const TensorInfo& input : model.inputs()) shapes.push_back(input.shape);
  const auto load = [&](graph::TensorWatch* watch) -> Result<Context> {
    if (watch == nullptr) return model.context();
    SPIRLOOM_TRY_ASSIGN(auto graph, source.Parse(options.method));
    internal::DeviceConfig config = internal::DeviceConfig::Of(*runtime.state());
    config.watch = watch;
    SPIRLOOM_TRY_ASSIGN(
        Context context,
        internal::LoadContext(runtime.state(), source, std::move(graph), model_options, config));
    if (!model.symbols().empty()) SPIRLOOM_TRY(internal::ResizeContext(*context, shapes));
    return context;
  };
  SPIRLOOM_TRY_ASSIGN(const tools::RaceReport report,
                      tools::CheckRaces(load, inputs, static_cast<size_t>(options.race_orders)));
  Print(tools::Describe(report));
  if (report.faults.empty()) return Status();
  return Status(StatusCode::kInternal,
                "Results of '" + options.model + "' depend on timing or on memory contents.");
}

}  // namespace spirloom::run
