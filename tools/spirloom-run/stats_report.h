// Formats times and memory of a session as JSON and text.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_STATS_REPORT_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_STATS_REPORT_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "spirloom/model.h"
#include "spirloom/runtime.h"

namespace spirloom::run {

// Times in milliseconds.
struct Timings {
  double first_run_ms = 0;
  std::vector<double> steady_ms;  // of the timed runs; may be empty
  // GPU times of the same runs, from the start of the first dispatch to the end of the last; empty
  // without --profile and --time-runs.
  std::vector<double> gpu_ms;
  double cpu_ms = 0;  // minimum CPU time of a timed run, over all threads; 0 without timed runs

  double SteadyMin() const;     // first_run_ms without timed runs
  double SteadyMedian() const;  // likewise
  // Minimum of gpu_ms; nullopt if it is empty.
  std::optional<double> GpuMin() const;
  std::optional<double> GpuMedian() const;  // likewise
  // Minimum over the runs of steady_ms minus gpu_ms; nullopt if gpu_ms is empty.
  std::optional<double> HostMin() const;
};

// The number of distinct variants that a run dispatches.
size_t CountVariants(std::span<const DispatchProfile> dispatches);

std::string StatsJson(const std::string& model, const DeviceInfo& device, const char* storage,
                      const LoadStats& stats, size_t variants, const Timings& timings,
                      uint64_t validation_messages);

// A line with device, load and run times.
std::string Summary(const DeviceInfo& device, const LoadStats& stats, const Timings& timings);

// The table of --list-devices.
std::string DeviceTable(std::span<const DeviceInfo> devices);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_STATS_REPORT_H_
