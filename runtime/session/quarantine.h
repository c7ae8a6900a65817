// Kernels that must not be selected on a device: `spirloom verify` found them to be wrong, or the
// driver failed to compile them.
#ifndef SPIRLOOM_RUNTIME_SESSION_QUARANTINE_H_
#define SPIRLOOM_RUNTIME_SESSION_QUARANTINE_H_

#include <atomic>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/host.h"
#include "runtime/ops/op_index.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::session {

using VariantRows = std::vector<const pack::VariantRow*>;

// The name of the verdict about divided dispatches. It has no module: its digest is 0.
inline constexpr std::string_view kDispatchBase = "vkCmdDispatchBase";

// Returns the name of the file of verdicts of a device in the cache directory: the device's UUID
// and the driver's version.
std::string VerdictFileName(const DeviceInfo& device);

// The quarantined variants of the libraries of `index`, which must outlive it. Thread-safe.
class Quarantine {
 public:
  explicit Quarantine(const ops::OpIndex& index) : index_(index) {}

  // Adds the variants with a bad verdict in the text of a file (docs/reference/file-formats.md), if
  // they have the module that was verified. A text about another driver than `driver` adds none.
  // Returns the names of added variants as text, "a, b and more"; empty if there are none. Fails
  // with kInvalidFile for any other text.
  Result<std::string> AddVerdicts(std::string_view text, std::string_view driver);

  // Adds the variants with this name.
  void Add(std::string_view name);

  // Returns the names of the given variants about whose modules the text of a file has no verdict,
  // and kDispatchBase if `divided` and there is none about it. A text about another driver than
  // `driver` has no verdicts.
  std::vector<std::string> WithoutVerdict(std::string_view text, std::string_view driver,
                                          const VariantRows& variants, bool divided) const;

  // The current variants.
  VariantRows variants() const;

  // False if a verdict is that the driver's vkCmdDispatchBase() is wrong: dispatches must not be
  // divided.
  bool divides_dispatches() const { return divides_dispatches_; }

 private:
  using Verdict = std::pair<std::string_view, std::string_view>;  // a name, a module's digest

  // Adds the variants with these names and modules; with any module if the digest is empty. Returns
  // the names of those that were not in the quarantine yet.
  std::set<std::string_view> Add(const std::set<Verdict>& bad);

  const ops::OpIndex& index_;
  mutable std::mutex mutex_;
  VariantRows variants_;
  std::atomic<bool> divides_dispatches_ = true;
};

// Adds the verdicts of the file at `path` and logs one line if variants were added. `required`:
// fails with kNotFound if the file does not exist and kInvalidFile if it is malformed; otherwise
// such a file is ignored, the malformed one with a log message.
Status ReadVerdicts(const std::string& path, bool required, const DeviceInfo& device,
                    const Host& host, Quarantine& quarantine);

}  // namespace spirloom::session

#endif  // SPIRLOOM_RUNTIME_SESSION_QUARANTINE_H_
