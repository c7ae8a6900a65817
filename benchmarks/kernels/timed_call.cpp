#include "benchmarks/kernels/timed_call.h"

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <random>
#include <span>
#include <vector>

#include "tests/ops/case_data.h"
#include "tools/common/random.h"

namespace spirloom::bench {
namespace {

// Larger inputs repeat these values: random numbers for all would take longer than the call.
constexpr size_t kRandomBytes = size_t{1} << 20;

}  // namespace

Result<TimedCall> TimedCall::Create(const Runtime& runtime, const schema::Case& test) {
  ModelOptions options = testing::OptionsOf(test);
  options.profile = true;
  SPIRLOOM_TRY_ASSIGN(Model model, Model::LoadFromMemory(runtime, testing::GraphOf(test), options));
  TimedCall call(std::move(model));
  const std::vector<std::span<const std::byte>> inputs = testing::InputsOf(test);
  if (inputs.empty()) call.FillInputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(inputs[i], call.model_.InputBytes(i).begin());
  }
  SPIRLOOM_TRY(call.Run().status());
  SPIRLOOM_TRY(call.RecordDispatched());
  if (test.variant() != nullptr) SPIRLOOM_TRY(call.CheckDispatched(test.variant()->str()));
  return call;
}

Result<Cost> TimedCall::Run() {
  const std::clock_t start = std::clock();
  SPIRLOOM_TRY(model_.Run());
  const std::clock_t cpu = std::clock() - start;
  SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, model_.Profile());
  if (dispatches.empty()) return testing::CaseFailure("The run dispatched no kernel.");
  const DispatchProfile& last = dispatches.back();
  const uint64_t gpu_ns = last.start_ns + last.gpu_ns - dispatches.front().start_ns;
  return Cost{static_cast<double>(gpu_ns) * 1e-9,
              static_cast<double>(cpu) / static_cast<double>(CLOCKS_PER_SEC)};
}

void TimedCall::FillInputs() {
  std::mt19937_64 generator;
  for (size_t i = 0; i < model_.inputs().size(); ++i) {
    const std::span<std::byte> bytes = model_.InputBytes(i);
    const std::span<std::byte> period = bytes.first(std::min(bytes.size(), kRandomBytes));
    tools::FillRandom(model_.inputs()[i], generator, period);
    for (size_t at = period.size(); at < bytes.size(); at += period.size()) {
      std::ranges::copy(period.first(std::min(period.size(), bytes.size() - at)),
                        bytes.subspan(at).begin());
    }
  }
}

Status TimedCall::RecordDispatched() {
  SPIRLOOM_TRY_ASSIGN(const std::vector<DispatchProfile> dispatches, model_.Profile());
  for (const DispatchProfile& dispatch : dispatches) {
    kernels_ += (kernels_.empty() ? "" : " ") + dispatch.variant;
  }
  return Status();
}

Status TimedCall::CheckDispatched(const std::string& variant) const {
  if ((" " + kernels_ + " ").find(" " + variant + " ") != std::string::npos) return Status();
  return testing::CaseFailure("Expected a dispatch of " + variant +
                              "; the run dispatched: " + kernels_ + ".");
}

}  // namespace spirloom::bench
