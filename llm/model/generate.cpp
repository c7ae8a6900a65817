#include "llm/model/generate.h"

#include <algorithm>
#include <chrono>

namespace spirloom::llm {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Steps that go to the device together: between submissions it waits until the host has seen the
// last one end and made the next. More than 20 ms of them would make a reply come in visible
// bursts.
constexpr size_t kMostTogether = 16;
constexpr double kBurstSeconds = 0.02;

size_t StepsTogether(const Reply& reply) {
  if (reply.tokens.size() < 2) return 1;
  const double step = reply.step_seconds / static_cast<double>(reply.tokens.size() - 1);
  if (step * kMostTogether <= kBurstSeconds) return kMostTogether;
  return std::max<size_t>(static_cast<size_t>(kBurstSeconds / step), 1);
}

}  // namespace

const char* NameOf(Stop stop) {
  switch (stop) {
    case Stop::kEnd:
      return "end";
    case Stop::kLength:
      return "length";
    case Stop::kContext:
      return "context";
  }
  return "unknown";
}

Result<Reply> Generate(LanguageModel& model, const Facts& facts, std::span<const int32_t> prompt,
                       size_t most, const std::function<void(int32_t)>& hear) {
  Reply reply;
  reply.prompt = prompt.size();
  Clock::time_point start = Clock::now();
  SPIRLOOM_TRY(model.Read(prompt));
  const size_t begin = model.position();
  for (;;) {
    SPIRLOOM_TRY_ASSIGN(const std::vector<int32_t> chosen, model.chosen());
    if (reply.tokens.empty()) {
      reply.first_seconds = SecondsSince(start);
      start = Clock::now();
    }
    reply.stop = Stop::kContext;
    for (auto token = chosen.begin(); token != chosen.end() && reply.stop == Stop::kContext;
         ++token) {
      reply.tokens.push_back(*token);
      hear(*token);
      reply.stop = facts.Ends(*token)            ? Stop::kEnd
                   : reply.tokens.size() == most ? Stop::kLength
                                                 : Stop::kContext;
    }
    reply.step_seconds = SecondsSince(start);
    if (reply.stop != Stop::kContext || model.position() == model.context()) break;
    SPIRLOOM_TRY(model.Step(std::min(
        {StepsTogether(reply), most - reply.tokens.size(), model.context() - model.position()})));
  }
  // Steps behind the token that ended the reply are undone.
  const size_t end = begin + reply.tokens.size() - 1;
  if (end < model.position()) SPIRLOOM_TRY(model.Rewind(end, reply.tokens.back()));
  return reply;
}

}  // namespace spirloom::llm
