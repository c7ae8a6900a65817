// Times and memory of a session, as JSON and in words.
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
  std::vector<double> steady_ms;  // of the timed runs; empty when there were none
  // The same on the GPU, from the first dispatch's start to the last one's end; empty without
  // --profile and --time-runs.
  std::vector<double> gpu_ms;
  double cpu_ms = 0;  // the least CPU time of a timed run, of all threads; 0 when there were none

  double SteadyMin() const;     // the first run's without timed runs
  double SteadyMedian() const;  // likewise
  // The least time from a timed run's first dispatch to its last one's end. Absent without gpu_ms.
  std::optional<double> GpuMin() const;
  std::optional<double> GpuMedian() const;  // likewise
  // What a timed run takes beside the GPU's work: the least of all runs. Absent without gpu_ms.
  std::optional<double> HostMin() const;
};

// Memory that this process has resident, in bytes: the most there ever was, and what is now. Absent
// where the system does not tell.
std::optional<uint64_t> PeakResidentBytes();
std::optional<uint64_t> ResidentBytes();

// How many different kernels a run dispatches.
size_t CountVariants(std::span<const DispatchProfile> dispatches);

std::string StatsJson(const std::string& model, const DeviceInfo& device, const char* storage,
                      const LoadStats& stats, size_t variants, const Timings& timings,
                      uint64_t validation_messages);

// One line: device, load and run times.
std::string Summary(const DeviceInfo& device, const LoadStats& stats, const Timings& timings);

// The table of --list-devices.
std::string DeviceTable(std::span<const DeviceInfo> devices);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_STATS_REPORT_H_
