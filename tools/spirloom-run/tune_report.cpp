#include "tools/spirloom-run/tune_report.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "tools/common/table.h"

namespace spirloom::run {
namespace {

using tools::Milliseconds;
using tools::Table;

// Moves to the start of the line and clears it.
constexpr std::string_view kNewLine = "\r\x1b[K";

uint64_t Gain(const TunedCall& call) { return call.default_ns - call.ns; }

}  // namespace

std::string TuneProgress(const TunedCall& call, size_t done, size_t total) {
  std::string line(kNewLine);
  if (done == total) return line;
  line += "tuning " + std::to_string(done) + "/" + std::to_string(total) + " ";
  // Names come from files, and must not move the cursor.
  for (const char c : call.node.substr(0, 50)) line += c >= 0x20 && c < 0x7f ? c : '?';
  return line;
}

std::string TuneReport(std::span<const TunedCall> calls) {
  std::vector<TunedCall> sorted(calls.begin(), calls.end());
  std::ranges::stable_sort(sorted, std::ranges::greater(), Gain);
  Table table("<<><>", {"call", "default kernel", "ms", "best kernel", "ms"});
  size_t others = 0;
  uint64_t gain = 0;
  for (const TunedCall& call : sorted) {
    table.AddRow({call.call, call.default_kernel, Milliseconds(call.default_ns), call.kernel,
                  Milliseconds(call.ns)});
    others += call.kernel != call.default_kernel ? 1 : 0;
    gain += Gain(call);
  }
  return table.ToString() + std::to_string(calls.size()) + " calls measured, " +
         std::to_string(others) + " with another kernel: " + Milliseconds(gain) +
         " ms saved per run.\n";
}

}  // namespace spirloom::run
