#include "runtime/session/verification.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"

namespace spirloom::session {

Status Verification::Verify(const VariantRows& variants, bool divided) {
  const std::scoped_lock lock(mutex_);
  VariantRows added;
  for (const pack::VariantRow* row : variants) {
    if (std::ranges::find(requested_, row) == requested_.end()) added.push_back(row);
  }
  const bool adds_divided = divided && !requested_divided_;
  if (added.empty() && !adds_divided) return {};
  const VerifyRequest request{device_.uuid, path_, WithoutVerdict(added, adds_divided)};
  if (!request.kernels.empty()) {
    host_.Log(LogLevel::kInfo, "Verifying {} kernels.", request.kernels.size());
    Status status = verify_(request);
    if (!status.ok()) {
      return While(std::move(status), "verifying {} kernels ({})", request.kernels.size(),
                   Join(request.kernels, ", "));
    }
  }
  SPIRLOOM_TRY(ReadVerdicts(path_, /*required=*/false, device_, host_, quarantine_));
  for (const pack::VariantRow* row : added) requested_.push_back(row);
  requested_divided_ = requested_divided_ || divided;
  const std::vector<std::string> unverified = WithoutVerdict(added, adds_divided);
  if (!unverified.empty()) {
    host_.Log(LogLevel::kInfo, "Kernels that were not verified: {}.", Join(unverified, ", "));
  }
  return {};
}

std::vector<std::string> Verification::WithoutVerdict(const VariantRows& variants,
                                                      bool divided) const {
  const Result<MappedFile> file = MappedFile::Open(path_);
  std::string_view text;
  if (file.ok()) {
    text = {reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size()};
  }
  return quarantine_.WithoutVerdict(text, device_.driver, variants, divided);
}

}  // namespace spirloom::session
