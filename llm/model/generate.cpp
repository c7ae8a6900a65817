#include "llm/model/generate.h"

#include <chrono>

namespace spirloom::llm {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
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
  for (;;) {
    SPIRLOOM_TRY_ASSIGN(const int32_t token, model.chosen());
    if (reply.tokens.empty()) {
      reply.first_seconds = SecondsSince(start);
      start = Clock::now();
    }
    reply.tokens.push_back(token);
    hear(token);
    reply.stop = facts.Ends(token)             ? Stop::kEnd
                 : reply.tokens.size() == most ? Stop::kLength
                                               : Stop::kContext;
    if (reply.stop != Stop::kContext || model.position() == model.context()) break;
    SPIRLOOM_TRY(model.Step());
  }
  reply.step_seconds = SecondsSince(start);
  return reply;
}

}  // namespace spirloom::llm
