#include "compiler/driver/time_trace.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

namespace spirloom::compiler {
namespace {

constexpr size_t kSlowestVariants = 10;

double Milliseconds(TimeTrace::Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

std::string Row(const std::string& name, double ms, double total) {
  char text[160];
  std::snprintf(text, sizeof(text), "  %-48s %10.1f ms %5.1f %%\n", name.c_str(), ms,
                total > 0 ? 100 * ms / total : 0);
  return text;
}

}  // namespace

void TimeTrace::Record(size_t thread, const char* phase, const std::string& variant,
                       Clock::time_point begin) {
  spans_[thread].push_back({phase, variant, begin, Clock::now()});
}

std::string TimeTrace::ToJson() const {
  nlohmann::json events = nlohmann::json::array();
  for (size_t thread = 0; thread < spans_.size(); ++thread) {
    for (const Span& span : spans_[thread]) {
      events.push_back({{"name", span.phase},
                        {"cat", "shader"},
                        {"ph", "X"},
                        {"pid", 1},
                        {"tid", thread},
                        {"ts", 1000 * Milliseconds(span.begin - start_)},
                        {"dur", 1000 * Milliseconds(span.end - span.begin)},
                        {"args", {{"variant", span.variant}}}});
    }
  }
  return nlohmann::json({{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}).dump() +
         "\n";
}

std::string TimeTrace::Summary() const {
  std::map<std::string, double> phases, variants;
  double total = 0;
  for (const std::vector<Span>& thread : spans_) {
    for (const Span& span : thread) {
      const double ms = Milliseconds(span.end - span.begin);
      phases[span.phase] += ms;
      variants[span.variant] += ms;
      total += ms;
    }
  }
  std::vector<std::pair<double, std::string>> slowest;
  for (const auto& [name, ms] : variants) slowest.emplace_back(-ms, name);
  std::sort(slowest.begin(), slowest.end());
  slowest.resize(std::min(slowest.size(), kSlowestVariants));
  std::string text = "Phases, summed over threads:\n";
  for (const auto& [name, ms] : phases) text += Row(name, ms, total);
  text += "Slowest variants:\n";
  for (const auto& [ms, name] : slowest) text += Row(name, -ms, total);
  return text;
}

}  // namespace spirloom::compiler
