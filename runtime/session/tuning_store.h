// Tuning results: the fastest kernels, stored for later processes.
#ifndef SPIRLOOM_RUNTIME_SESSION_TUNING_STORE_H_
#define SPIRLOOM_RUNTIME_SESSION_TUNING_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/host.h"

namespace spirloom::session {

// Maps a call, as text of graph::CallText(), to its fastest kernel.
using TunedKernels = std::map<std::string, std::string>;

// A heading with the format version, then one line per call.
std::string FormatTuning(const TunedKernels& kernels);
// Parses the result of FormatTuning(); empty for other texts.
TunedKernels ParseTuning(std::string_view text);

// The tuning results of one device and set of libraries, in memory and in a file. A missing or
// damaged file is treated as empty; a failure to write it is only logged. Thread-safe.
class TuningStore {
 public:
  // Reads the file at `path`; "": results are in memory only.
  explicit TuningStore(std::string path, Host host = {});

  const std::string& path() const { return path_; }
  // The current results; never null.
  std::shared_ptr<const TunedKernels> kernels() const;
  // Adds results, which replace those of the same calls, and merges with those that other processes
  // added to the file.
  void Add(const TunedKernels& kernels);

 private:
  const std::string path_;
  const Host host_;
  mutable std::mutex mutex_;
  std::shared_ptr<const TunedKernels> kernels_;
};

}  // namespace spirloom::session

#endif  // SPIRLOOM_RUNTIME_SESSION_TUNING_STORE_H_
