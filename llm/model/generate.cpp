#include "llm/model/generate.h"

#include <algorithm>
#include <chrono>

#include "runtime/base/error.h"

namespace spirloom::llm {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Decode steps per submission. The device is idle between submissions, so several steps are
// submitted together. A submission is limited to 20 ms so that the text still appears to stream.
constexpr size_t kMaxBatchedSteps = 16;
constexpr double kBurstSeconds = 0.02;

size_t BatchedSteps(const Reply& reply) {
  if (reply.tokens.size() < 2) return 1;
  const double step = reply.step_seconds / static_cast<double>(reply.tokens.size() - 1);
  if (step * kMaxBatchedSteps <= kBurstSeconds) return kMaxBatchedSteps;
  return std::max<size_t>(static_cast<size_t>(kBurstSeconds / step), 1);
}

}  // namespace

const char* NameOf(StopReason reason) {
  switch (reason) {
    case StopReason::kEos:
      return "end";
    case StopReason::kLength:
      return "length";
    case StopReason::kContext:
      return "context";
    case StopReason::kStopped:
      return "stopped";
  }
  return "unknown";
}

Result<Reply> Generate(LanguageModel& model, const ChatConfig& config,
                       std::span<const int32_t> prompt, size_t max_tokens,
                       const std::function<void(int32_t)>& on_token,
                       const std::atomic<bool>* stop) {
  if (max_tokens == 0) {
    return Error(StatusCode::kInvalidArgument,
                 "The maximum number of tokens is 0; expected at least 1.");
  }
  Reply reply;
  reply.prompt_tokens = prompt.size();
  Clock::time_point start = Clock::now();
  SPIRLOOM_TRY(model.Prefill(prompt));
  const size_t begin = model.position();
  for (;;) {
    SPIRLOOM_TRY_ASSIGN(const std::vector<int32_t> sampled, model.sampled());
    if (reply.tokens.empty()) {
      reply.first_seconds = SecondsSince(start);
      start = Clock::now();
    }
    reply.stop = StopReason::kContext;
    for (auto token = sampled.begin(); token != sampled.end() && reply.stop == StopReason::kContext;
         ++token) {
      reply.tokens.push_back(*token);
      on_token(*token);
      reply.stop = config.IsEos(*token)                ? StopReason::kEos
                   : reply.tokens.size() == max_tokens ? StopReason::kLength
                   : stop != nullptr && stop->load()   ? StopReason::kStopped
                                                       : StopReason::kContext;
    }
    reply.step_seconds = SecondsSince(start);
    if (reply.stop != StopReason::kContext || model.position() == model.context()) break;
    SPIRLOOM_TRY(model.Step(std::min({BatchedSteps(reply), max_tokens - reply.tokens.size(),
                                      model.context() - model.position()})));
  }
  // Discard the steps after the last token of the reply.
  const size_t end = begin + reply.tokens.size() - 1;
  if (end < model.position()) SPIRLOOM_TRY(model.Rewind(end, reply.tokens.back()));
  return reply;
}

}  // namespace spirloom::llm
