#include "tools/spirloom-run/profile_report.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "tools/common/table.h"

namespace spirloom::run {
namespace {

using tools::Bytes;
using tools::Decimal;
using tools::Milliseconds;
using tools::Table;

std::string Extent(const uint32_t (&size)[3]) {
  return std::to_string(size[0]) + "x" + std::to_string(size[1]) + "x" + std::to_string(size[2]);
}

std::string Percent(uint64_t part, uint64_t whole) {
  return Decimal(whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole),
                 1);
}

uint64_t TotalTime(std::span<const DispatchProfile> dispatches) {
  uint64_t total = 0;
  for (const DispatchProfile& dispatch : dispatches) total += dispatch.gpu_ns;
  return total;
}

std::string ByVariant(std::span<const DispatchProfile> dispatches, uint64_t total) {
  struct Sum {
    uint64_t ns = 0;
    size_t count = 0;
  };
  std::map<std::pair<std::string, std::string>, Sum> sums;
  for (const DispatchProfile& dispatch : dispatches) {
    Sum& sum = sums[{dispatch.op, dispatch.variant}];
    sum.ns += dispatch.gpu_ns;
    ++sum.count;
  }
  std::vector<std::pair<std::pair<std::string, std::string>, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second.ns > b.second.ns; });
  Table table("<<>>>", {"op", "variant", "dispatches", "ms", "%"});
  for (const auto& [name, sum] : sorted) {
    table.AddRow({name.first, name.second, std::to_string(sum.count), Milliseconds(sum.ns),
                  Percent(sum.ns, total)});
  }
  return table.ToString();
}

std::string Counts(const LoadStats& stats) {
  return std::to_string(stats.dispatches) + " dispatches with " + std::to_string(stats.barriers) +
         " barriers and " + std::to_string(stats.pipelines) + " pipelines";
}

}  // namespace

std::string ProfileReport(std::span<const DispatchProfile> dispatches, const LoadStats& stats) {
  const uint64_t total = TotalTime(dispatches);
  std::vector<const DispatchProfile*> sorted;
  for (const DispatchProfile& dispatch : dispatches) sorted.push_back(&dispatch);
  std::stable_sort(
      sorted.begin(), sorted.end(),
      [](const DispatchProfile* a, const DispatchProfile* b) { return a->gpu_ns > b->gpu_ns; });
  Table table("<<<<>>", {"node", "op", "variant", "grid", "ms", "%"});
  for (const DispatchProfile* dispatch : sorted) {
    table.AddRow({dispatch->node, dispatch->op, dispatch->variant, Extent(dispatch->grid),
                  Milliseconds(dispatch->gpu_ns), Percent(dispatch->gpu_ns, total)});
  }
  table.AddRow({"total", "", "", "", Milliseconds(total), Percent(total, total)});
  return table.ToString() + "\n" + ByVariant(dispatches, total) + "\n" + Counts(stats) + "\n";
}

std::string PlanReport(std::span<const DispatchProfile> dispatches, const LoadStats& stats) {
  Table table("><<<<<", {"#", "node", "op", "variant", "grid", "workgroup"});
  for (size_t i = 0; i < dispatches.size(); ++i) {
    const DispatchProfile& dispatch = dispatches[i];
    table.AddRow({std::to_string(i), dispatch.node, dispatch.op, dispatch.variant,
                  Extent(dispatch.grid), Extent(dispatch.workgroup)});
  }
  const double saved = stats.naive_bytes == 0
                           ? 0
                           : 100.0 * (1 - static_cast<double>(stats.planned_bytes) /
                                              static_cast<double>(stats.naive_bytes));
  return table.ToString() + "\n" + Counts(stats) + "; " + std::to_string(stats.layout_copies) +
         " layout copies; " + std::to_string(stats.aliased_views) +
         " aliased views.\nActivation memory: " + Bytes(stats.planned_bytes) + " instead of " +
         Bytes(stats.naive_bytes) + " (" + Decimal(saved, 0) +
         " % saved); peak live size: " + Bytes(stats.live_bytes) +
         "; constants: " + Bytes(stats.constant_bytes) + ".\n";
}

std::string TraceJson(std::span<const DispatchProfile> dispatches, const std::string& device) {
  nlohmann::json events = nlohmann::json::array();
  events.push_back(
      {{"ph", "M"}, {"pid", 1}, {"tid", 1}, {"name", "thread_name"}, {"args", {{"name", device}}}});
  for (const DispatchProfile& dispatch : dispatches) {
    events.push_back({{"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"name", dispatch.op},
                      {"cat", "dispatch"},
                      {"ts", static_cast<double>(dispatch.start_ns) * 1e-3},
                      {"dur", static_cast<double>(dispatch.gpu_ns) * 1e-3},
                      {"args",
                       {{"node", dispatch.node},
                        {"variant", dispatch.variant},
                        {"grid", Extent(dispatch.grid)},
                        {"workgroup", Extent(dispatch.workgroup)}}}});
  }
  const nlohmann::json trace{{"traceEvents", events}, {"displayTimeUnit", "ms"}};
  return trace.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace spirloom::run
