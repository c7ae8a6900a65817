#include "tools/spirloom-run/races.h"

#include <memory>
#include <string>

#include "tools/races/race_check.h"
#include "tools/spirloom-run/text_output.h"
#include "tools/spirloom-run/watched_model.h"

namespace spirloom::run {

Status PrintRaces(const Options& options, const Runtime& runtime, const Model& model,
                  const ModelOptions& model_options, tools::InputBytes inputs) {
  const auto load =
      [&](graph::TensorWatch* watch) -> Result<std::shared_ptr<internal::ExecutionContext>> {
    if (watch == nullptr) return model.context();
    return LoadWatched(options, runtime, model, model_options, *watch);
  };
  SPIRLOOM_TRY_ASSIGN(const tools::RaceReport report,
                      tools::CheckRaces(load, inputs, static_cast<size_t>(options.race_orders)));
  Print(tools::Describe(report));
  if (report.faults.empty()) return Status();
  return Status(StatusCode::kInternal,
                "Results of '" + options.model + "' depend on timing or on memory contents.");
}

}  // namespace spirloom::run
