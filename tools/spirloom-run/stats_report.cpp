#include "tools/spirloom-run/stats_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/common/process.h"
#include "tools/common/table.h"

namespace spirloom::run {
namespace {

using tools::Decimal;
using tools::Table;

double InMilliseconds(uint64_t ns) { return static_cast<double>(ns) * 1e-6; }

// `values` must not be empty.
double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

template <typename T>
nlohmann::ordered_json OrNull(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

double Timings::SteadyMin() const {
  return steady_ms.empty() ? first_run_ms : *std::min_element(steady_ms.begin(), steady_ms.end());
}

double Timings::SteadyMedian() const {
  return steady_ms.empty() ? first_run_ms : Median(steady_ms);
}

std::optional<double> Timings::GpuMin() const {
  if (gpu_ms.empty()) return std::nullopt;
  return *std::min_element(gpu_ms.begin(), gpu_ms.end());
}

std::optional<double> Timings::GpuMedian() const {
  if (gpu_ms.empty()) return std::nullopt;
  return Median(gpu_ms);
}

std::optional<double> Timings::HostMin() const {
  std::optional<double> min;
  for (size_t i = 0; i < std::min(steady_ms.size(), gpu_ms.size()); ++i) {
    const double host = steady_ms[i] - gpu_ms[i];
    if (!min || host < *min) min = host;
  }
  return min;
}

size_t CountVariants(std::span<const DispatchProfile> dispatches) {
  std::set<std::string> variants;
  for (const DispatchProfile& dispatch : dispatches) variants.insert(dispatch.variant);
  return variants.size();
}

std::string StatsJson(const std::string& model, const DeviceInfo& device, const char* storage,
                      const LoadStats& stats, size_t variants, const Timings& timings,
                      uint64_t validation_messages) {
  nlohmann::ordered_json json{{"model", model},
                              {"device", device.name},
                              {"driver", device.driver},
                              {"storage", storage},
                              {"load_ms", InMilliseconds(stats.load_ns)},
                              {"pipeline_ms", InMilliseconds(stats.pipeline_ns)},
                              {"first_run_ms", timings.first_run_ms},
                              {"steady_min_ms", timings.SteadyMin()},
                              {"steady_median_ms", timings.SteadyMedian()},
                              {"runs", timings.steady_ms.size()},
                              {"cpu_ms", timings.cpu_ms},
                              {"gpu_min_ms", OrNull(timings.GpuMin())},
                              {"gpu_median_ms", OrNull(timings.GpuMedian())},
                              {"host_min_ms", OrNull(timings.HostMin())},
                              {"planned_bytes", stats.planned_bytes},
                              {"naive_bytes", stats.naive_bytes},
                              {"live_bytes", stats.live_bytes},
                              {"constant_bytes", stats.constant_bytes},
                              {"memory_bytes", OrNull(tools::ResidentBytes())},
                              {"peak_memory_bytes", OrNull(tools::PeakResidentBytes())},
                              {"pipelines", stats.pipelines},
                              {"variants", variants},
                              {"dispatches", stats.dispatches},
                              {"barriers", stats.barriers},
                              {"submissions", stats.submissions},
                              {"layout_copies", stats.layout_copies},
                              {"aliased_views", stats.aliased_views},
                              {"validation_messages", validation_messages}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string Summary(const DeviceInfo& device, const LoadStats& stats, const Timings& timings) {
  std::string text = device.name + ": load " + Decimal(InMilliseconds(stats.load_ns), 1) +
                     " ms (pipelines " + Decimal(InMilliseconds(stats.pipeline_ns), 1) +
                     " ms), first run " + Decimal(timings.first_run_ms, 2) + " ms";
  if (!timings.steady_ms.empty()) {
    text += ", then min " + Decimal(timings.SteadyMin(), 2) + " ms, median " +
            Decimal(timings.SteadyMedian(), 2) + " ms of " +
            std::to_string(timings.steady_ms.size()) + " runs";
  }
  if (!timings.gpu_ms.empty()) {
    text += ", GPU time min " + Decimal(*timings.GpuMin(), 3) + " ms, median " +
            Decimal(*timings.GpuMedian(), 3) + " ms";
  }
  return text + "\n";
}

std::string DeviceTable(std::span<const DeviceInfo> devices) {
  Table table("><<<<<<", {"#", "device", "type", "id", "Vulkan", "driver", "features"});
  for (size_t i = 0; i < devices.size(); ++i) {
    const DeviceInfo& device = devices[i];
    std::string features;
    for (const std::string& feature : device.features) {
      features += (features.empty() ? "" : " ") + feature;
    }
    table.AddRow(
        {std::to_string(i), device.name, device.type, device.pci.empty() ? device.uuid : device.pci,
         device.api_version + (device.usable ? "" : " (not usable)"), device.driver, features});
  }
  return table.ToString();
}

}  // namespace spirloom::run
