// Verification of kernels before their first use, by the application (RuntimeOptions::verify).
#ifndef SPIRLOOM_RUNTIME_SESSION_VERIFICATION_H_
#define SPIRLOOM_RUNTIME_SESSION_VERIFICATION_H_

#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/host.h"
#include "runtime/session/quarantine.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::session {

// Requests the verdicts that are missing in a file, each at most once. Thread-safe: one request at
// a time.
class Verification {
 public:
  // `path` is the file of verdicts; bad ones are added to `quarantine`. All references must outlive
  // the object.
  Verification(const VerifyCallback& verify, const std::string& path, const DeviceInfo& device,
               const Host& host, Quarantine& quarantine)
      : verify_(verify), path_(path), device_(device), host_(host), quarantine_(quarantine) {}

  // Requests the verdicts about these variants and, if dispatches are `divided`, about
  // vkCmdDispatchBase(). Fails with the error of the callback.
  Status Verify(const VariantRows& variants, bool divided);

 private:
  std::vector<std::string> WithoutVerdict(const VariantRows& variants, bool divided) const;

  const VerifyCallback verify_;
  const std::string path_;
  const DeviceInfo& device_;
  const Host& host_;
  Quarantine& quarantine_;
  std::mutex mutex_;
  VariantRows requested_;
  bool requested_divided_ = false;
};

}  // namespace spirloom::session

#endif  // SPIRLOOM_RUNTIME_SESSION_VERIFICATION_H_
