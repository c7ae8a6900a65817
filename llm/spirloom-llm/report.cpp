#include "llm/spirloom-llm/report.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace spirloom::llm {
namespace {

// Returns 0 if the clock measured 0 seconds.
double PerSecond(size_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

size_t StepsOf(const Reply& reply) { return reply.tokens.empty() ? 0 : reply.tokens.size() - 1; }

}  // namespace

std::string ReplyJson(const Reply& reply, const std::string& text, const LanguageModel& model,
                      const std::string& device) {
  const LoadStats& stats = model.decode().stats();
  const LoadStats& prefill = model.prefill().stats();
  const nlohmann::ordered_json report = {
      {"text", text},
      {"tokens", reply.tokens},
      {"stop", NameOf(reply.stop)},
      {"prompt_tokens", reply.prompt_tokens},
      {"position", model.position()},
      {"context", model.context()},
      {"device", device},
      {"first_token_ms", reply.first_seconds * 1e3},
      {"prompt_tokens_per_second", PerSecond(reply.prompt_tokens, reply.first_seconds)},
      {"tokens_per_second", PerSecond(StepsOf(reply), reply.step_seconds)},
      {"dispatches_per_token", stats.dispatches},
      {"load_ms", static_cast<double>(prefill.load_ns + stats.load_ns) * 1e-6},
      {"weight_bytes", prefill.constant_bytes + stats.constant_bytes},
      {"state_bytes", prefill.state_bytes + stats.state_bytes},
      {"activation_bytes", std::max(prefill.planned_bytes, stats.planned_bytes)},
  };
  return report.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace) +
         "\n";
}

std::string ReplyStats(const Reply& reply, const LanguageModel& model, const std::string& device) {
  const LoadStats& stats = model.decode().stats();
  const LoadStats& prefill = model.prefill().stats();
  constexpr double kMega = 1e-6;
  std::array<char, 512> text = {};
  std::snprintf(text.data(), text.size(),
                "prefill  %zu tokens, %.1f tokens/s, time to first token %.1f ms\n"
                "decode   %zu tokens, %.1f tokens/s, %zu dispatches per token\n"
                "memory   weights %.1f MB, states %.1f MB, context %zu of %zu tokens\n"
                "device   ",
                reply.prompt_tokens, PerSecond(reply.prompt_tokens, reply.first_seconds),
                reply.first_seconds * 1e3, reply.tokens.size(),
                PerSecond(StepsOf(reply), reply.step_seconds), stats.dispatches,
                static_cast<double>(prefill.constant_bytes + stats.constant_bytes) * kMega,
                static_cast<double>(prefill.state_bytes + stats.state_bytes) * kMega,
                model.position(), model.context());
  return text.data() + device + "\n";
}

}  // namespace spirloom::llm
