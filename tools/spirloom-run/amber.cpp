#include "tools/spirloom-run/amber.h"

#include <memory>
#include <string>

#include "tools/amber/amber_script.h"
#include "tools/races/poisoned_memory.h"
#include "tools/spirloom-run/cases.h"
#include "tools/spirloom-run/text_output.h"
#include "tools/spirloom-run/watched_model.h"

namespace spirloom::run {

Status WriteAmberScript(const Options& options, const Runtime& runtime, const Model& model,
                        const ModelOptions& model_options, tools::InputBytes inputs,
                        const ExpectedOutputs& expected) {
  std::vector<std::optional<tools::AmberExpectation>> expectations(expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!expected[i]) continue;
    const Tolerance tolerance =
        WithDefaults({options.rtol, options.atol}, model.outputs()[i].dtype);
    expectations[i] = {*expected[i], *tolerance.rtol, *tolerance.atol};
  }
  tools::Scratch scratch(*runtime.state()->device);
  tools::PoisonedMemory zeros(scratch, std::byte{0});
  SPIRLOOM_TRY_ASSIGN(const auto context,
                      LoadWatched(options, runtime, model, model_options, zeros));
  SPIRLOOM_TRY_ASSIGN(const std::string script, tools::AmberScript(*context, inputs, expectations));
  return WriteText(options.amber, script);
}

}  // namespace spirloom::run
