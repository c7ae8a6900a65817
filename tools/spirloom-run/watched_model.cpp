#include "tools/spirloom-run/watched_model.h"

#include <utility>
#include <vector>

#include "runtime/graph/file/graph_loader.h"

namespace spirloom::run {

using Context = std::shared_ptr<internal::ExecutionContext>;

Result<Context> LoadWatched(const Options& options, const Runtime& runtime, const Model& model,
                            const ModelOptions& model_options, graph::TensorWatch& watch) {
  SPIRLOOM_TRY_ASSIGN(const graph::GraphSource source, graph::MapGraphFile(options.model));
  SPIRLOOM_TRY_ASSIGN(auto graph, source.Parse(options.method));
  internal::DeviceConfig config = internal::DeviceConfig::Of(*runtime.state());
  config.watch = &watch;
  SPIRLOOM_TRY_ASSIGN(
      Context context,
      internal::LoadContext(runtime.state(), source, std::move(graph), model_options, config));
  if (model.symbols().empty()) return context;
  std::vector<Shape> shapes;
  for (const TensorInfo& input : model.inputs()) shapes.push_back(input.shape);
  SPIRLOOM_TRY(internal::ResizeContext(*context, shapes, model.IntValues()));
  return context;
}

}  // namespace spirloom::run
