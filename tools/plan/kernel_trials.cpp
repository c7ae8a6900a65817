#include "tools/plan/kernel_trials.h"

#include <string>

#include "runtime/base/error.h"
#include "runtime/ops/op_index.h"

namespace spirloom::tools {
namespace {

const char* ResultOf(const graph::KernelTrial& trial, const graph::CallTrials& call) {
  switch (trial.search.failure) {
    case graph::ChoiceFailure::kNone:
      return trial.kernel == call.chosen ? "taken" : "possible";
    case graph::ChoiceFailure::kStorage:
      return "storage";
    case graph::ChoiceFailure::kWhen:
      return "when";
    case graph::ChoiceFailure::kLibrary:
      return "library";
    case graph::ChoiceFailure::kDevice:
      return "device";
    case graph::ChoiceFailure::kLoops:
      return "loops";
  }
  return "";
}

// Why the kernel was not possible; empty for `when` and kernels that are possible.
std::string ReasonOf(const graph::KernelTrial& trial, const graph::CallTrials& call,
                     const graph::DeviceTraits& device) {
  switch (trial.search.failure) {
    case graph::ChoiceFailure::kStorage:
      return (trial.kernel->storages >> static_cast<uint32_t>(call.storage) & 1) == 0
                 ? Concat("it does not support storage ", Name(call.storage))
                 : Format("a tensor does not fit a {} of this device", Name(call.storage));
    case graph::ChoiceFailure::kLibrary:
      return "no library has " + ops::DescribeKey(*trial.kernel, trial.search.missing_key);
    case graph::ChoiceFailure::kDevice:
      return trial.search.missing_capabilities;
    case graph::ChoiceFailure::kLoops:
      return Format("its loops need {} iterations; the device ends them after {}",
                    trial.search.loop_iterations, device.properties.max_loop_iterations);
    case graph::ChoiceFailure::kNone:
    case graph::ChoiceFailure::kWhen:
      break;
  }
  return {};
}

}  // namespace

nlohmann::ordered_json TrialsToJson(const graph::CallTrials& call,
                                    const graph::DeviceTraits& device) {
  nlohmann::ordered_json considered = nlohmann::ordered_json::array();
  for (const graph::KernelTrial& trial : call.trials) {
    considered.push_back({{"kernel", trial.kernel->name},
                          {"result", ResultOf(trial, call)},
                          {"reason", ReasonOf(trial, call, device)},
                          {"preferred", trial.preferred}});
  }
  return considered;
}

}  // namespace spirloom::tools
