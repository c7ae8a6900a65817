// Which kernels measurements found fastest, kept for later processes.
#ifndef SPIRLOOM_RUNTIME_SESSION_TUNING_STORE_H_
#define SPIRLOOM_RUNTIME_SESSION_TUNING_STORE_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "runtime/base/host.h"

namespace spirloom::session {

// The kernel of each call, which is named by graph::CallText().
using TunedKernels = std::map<std::string, std::string>;

// A line for each call, behind one that names the format.
std::string FormatTuning(const TunedKernels& kernels);
// Returns what FormatTuning() was given; nothing for any other text.
TunedKernels ParseTuning(std::string_view text);

// The kernels of one device and set of libraries, in memory and in a file. A file that is missing
// or damaged counts as empty; one that cannot be written is no error, but said to the log.
// Thread-safe.
class TuningStore {
 public:
  // Reads the file at `path`; "" keeps them in memory only.
  explicit TuningStore(std::string path, Host host = {});

  const std::string& path() const { return path_; }
  // As they are now; never null.
  std::shared_ptr<const TunedKernels> kernels() const;
  // Replaces those of the same calls, here and in the file, which keeps what other processes added.
  void Add(const TunedKernels& kernels);

 private:
  const std::string path_;
  const Host host_;
  mutable std::mutex mutex_;
  std::shared_ptr<const TunedKernels> kernels_;
};

}  // namespace spirloom::session

#endif  // SPIRLOOM_RUNTIME_SESSION_TUNING_STORE_H_
