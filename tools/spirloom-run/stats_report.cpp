#include "tools/spirloom-run/stats_report.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/spirloom-run/table.h"

namespace spirloom::run {
namespace {

double Milliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

}  // namespace

double Timings::SteadyMin() const {
  return steady_ms.empty() ? first_run_ms : *std::min_element(steady_ms.begin(), steady_ms.end());
}

double Timings::SteadyMedian() const {
  if (steady_ms.empty()) return first_run_ms;
  std::vector<double> sorted = steady_ms;
  std::sort(sorted.begin(), sorted.end());
  const size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<uint64_t> PeakResidentBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    uint64_t kibibytes = 0;
    if (word == "VmHWM:" && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

std::string StatsJson(const std::string& model, const DeviceInfo& device, const char* storage,
                      const LoadStats& stats, const Timings& timings,
                      uint64_t validation_messages) {
  nlohmann::ordered_json json{{"model", model},
                              {"device", device.name},
                              {"driver", device.driver},
                              {"storage", storage},
                              {"load_ms", Milliseconds(stats.load_ns)},
                              {"pipeline_ms", Milliseconds(stats.pipeline_ns)},
                              {"first_run_ms", timings.first_run_ms},
                              {"steady_min_ms", timings.SteadyMin()},
                              {"steady_median_ms", timings.SteadyMedian()},
                              {"runs", timings.steady_ms.size()},
                              {"planned_bytes", stats.planned_bytes},
                              {"naive_bytes", stats.naive_bytes},
                              {"constant_bytes", stats.constant_bytes},
                              {"peak_memory_bytes", nullptr},
                              {"pipelines", stats.pipelines},
                              {"dispatches", stats.dispatches},
                              {"barriers", stats.barriers},
                              {"layout_copies", stats.layout_copies},
                              {"aliased_views", stats.aliased_views},
                              {"validation_messages", validation_messages}};
  if (const std::optional<uint64_t> peak = PeakResidentBytes()) json["peak_memory_bytes"] = *peak;
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string Summary(const DeviceInfo& device, const LoadStats& stats, const Timings& timings) {
  std::string text = device.name + ": load " + Decimal(Milliseconds(stats.load_ns), 1) +
                     " ms (pipelines " + Decimal(Milliseconds(stats.pipeline_ns), 1) +
                     " ms), first run " + Decimal(timings.first_run_ms, 2) + " ms";
  if (!timings.steady_ms.empty()) {
    text += ", then min " + Decimal(timings.SteadyMin(), 2) + " ms, median " +
            Decimal(timings.SteadyMedian(), 2) + " ms of " +
            std::to_string(timings.steady_ms.size()) + " runs";
  }
  return text + "\n";
}

std::string DeviceTable(std::span<const DeviceInfo> devices) {
  Table table("><<<<<", {"#", "device", "type", "Vulkan", "driver", "features"});
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i];
    std::string features;
    for (const std::string& feature : device.features) {
      features += (features.empty() ? "" : " ") + feature;
    }
    table.AddRow({std::to_string(i), device.name, device.type,
                  device.api_version + (device.usable ? "" : " (not usable)"), device.driver,
                  features});
  }
  return table.ToString();
}

}  // namespace spirloom::run
