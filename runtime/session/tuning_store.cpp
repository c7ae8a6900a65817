#include "runtime/session/tuning_store.h"

#include <span>
#include <utility>
#include <vector>

#include "runtime/base/cache_file.h"

namespace spirloom::session {
namespace {

constexpr std::string_view kTuningHeading = "spirloom tuning 1";

// Removes the first line from `text`; false without a newline.
bool TakeLine(std::string_view& text, std::string_view& line) {
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return false;
  line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return true;
}

TunedKernels ReadFile(const std::string& path) {
  if (path.empty()) return {};
  const std::vector<std::byte> bytes = ReadCacheFile(path);
  return ParseTuning({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

std::string FormatTuning(const TunedKernels& kernels) {
  std::string text = std::string(kTuningHeading) + '\n';
  for (const auto& [call, kernel] : kernels) text += call + '\t' + kernel + '\n';
  return text;
}

TunedKernels ParseTuning(std::string_view text) {
  std::string_view line;
  if (!TakeLine(text, line) || line != kTuningHeading) return {};
  TunedKernels kernels;
  while (TakeLine(text, line)) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos) return {};
    kernels.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return text.empty() ? kernels : TunedKernels();
}

TuningStore::TuningStore(std::string path, Host host)
    : path_(std::move(path)),
      host_(std::move(host)),
      kernels_(std::make_shared<const TunedKernels>(ReadFile(path_))) {}

std::shared_ptr<const TunedKernels> TuningStore::kernels() const {
  const std::scoped_lock lock(mutex_);
  return kernels_;
}

void TuningStore::Add(const TunedKernels& kernels) {
  const std::scoped_lock lock(mutex_);
  TunedKernels all = kernels;
  all.insert(kernels_->begin(), kernels_->end());
  all.merge(ReadFile(path_));
  kernels_ = std::make_shared<const TunedKernels>(std::move(all));
  if (path_.empty()) return;
  const std::string text = FormatTuning(*kernels_);
  if (WriteCacheFile(path_, std::as_bytes(std::span(text)))) return;
  host_.Log(LogLevel::kWarning,
            "Tuning results cannot be written to '{}'. Later processes measure again.", path_);
}

}  // namespace spirloom::session
