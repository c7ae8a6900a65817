#include "runtime/session/quarantine.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/base/mapped_file.h"

namespace spirloom::session {
namespace {

constexpr std::string_view kVerdictsHeading = "spirloom verdicts 1";
constexpr std::string_view kDriver = "driver ";
constexpr std::string_view kEnd = "end";
constexpr std::string_view kNoDigest = "0000000000000000";  // of kDispatchBase
constexpr std::string_view kAnyDigest;                      // less than all others
constexpr size_t kMaxBytes = 8 << 20;
constexpr size_t kMaxNames = 200;  // bytes of the names in the log message

// Removes the text before the first `separator` from `text`, and the separator.
std::string_view Take(std::string_view& text, char separator) {
  const size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

// The digest of a variant's module: 16 hexadecimal digits.
std::string DigestOf(const pack::ShaderPack& pack, const pack::VariantRow& row) {
  const uint64_t digest = pack.modules()[row.module].digest;
  return Concat(Hex(static_cast<uint32_t>(digest >> 32)), Hex(static_cast<uint32_t>(digest)));
}

bool Contains(const VariantRows& variants, const pack::VariantRow& row) {
  return std::ranges::find(variants, &row) != variants.end();
}

}  // namespace

std::string VerdictFileName(const DeviceInfo& device) {
  const size_t colon = device.uuid.find(':');
  return Format("verdicts-{}-{}.txt", std::string_view(device.uuid).substr(colon + 1),
                Hex(device.driver_version_number));
}

Result<std::string> Quarantine::AddVerdicts(std::string_view text, std::string_view driver) {
  std::string_view rest = text;
  const bool has_heading = Take(rest, '\n') == kVerdictsHeading;
  const std::string_view verified = Take(rest, '\n');
  if (!has_heading || !verified.starts_with(kDriver) || !text.ends_with("\nend\n") ||
      text.size() > kMaxBytes) {
    return InvalidFile("The text is not a complete file of verdicts of version 1.");
  }
  std::string names;
  if (verified.substr(kDriver.size()) != driver) return names;
  std::set<Verdict> bad;
  for (std::string_view line = Take(rest, '\n'); line != kEnd; line = Take(rest, '\n')) {
    const std::string_view name = Take(line, '\t');
    const std::string_view digest = Take(line, '\t');
    const std::string_view verdict = Take(line, '\t');
    if (digest.empty() || verdict.empty()) {
      return InvalidFile("The line of {} is not a verdict.", Quoted{name});
    }
    if (verdict == "ok") continue;
    if (name == kDispatchBase) divides_dispatches_ = false;
    bad.insert({name, digest});
  }
  for (const std::string_view name : Add(bad)) {
    if (names.size() >= kMaxNames) return names + " and more";
    names += Concat(names.empty() ? "" : ", ", name);
  }
  return names;
}

void Quarantine::Add(std::string_view name) { Add({{name, kAnyDigest}}); }

std::set<std::string_view> Quarantine::Add(const std::set<Verdict>& bad) {
  std::set<std::string_view> added;
  if (bad.empty()) return added;
  const std::scoped_lock lock(mutex_);
  for (const ops::LoadedLibrary& library : index_.libraries()) {
    const pack::ShaderPack& pack = library.pack;
    for (const pack::VariantRow& row : pack.variants()) {
      const std::string_view name = pack.Name(row);
      const auto first = bad.lower_bound({name, ""});
      if (first == bad.end() || first->first != name) continue;
      const bool is_bad = first->second == kAnyDigest || bad.contains({name, DigestOf(pack, row)});
      if (!is_bad || Contains(variants_, row)) continue;
      variants_.push_back(&row);
      added.insert(name);
    }
  }
  return added;
}

std::vector<std::string> Quarantine::WithoutVerdict(std::string_view text, std::string_view driver,
                                                    const VariantRows& variants,
                                                    bool divided) const {
  std::set<Verdict> verified;
  const bool is_about_driver =
      text.starts_with(Format("{}\n{}{}\n", kVerdictsHeading, kDriver, driver));
  while (is_about_driver && !text.empty()) {
    std::string_view line = Take(text, '\n');
    const std::string_view name = Take(line, '\t');
    verified.insert({name, Take(line, '\t')});
  }
  std::vector<std::string> names;
  const auto check = [&](std::string_view name, std::string_view digest) {
    if (!verified.contains({name, digest})) names.emplace_back(name);
  };
  if (divided) check(kDispatchBase, kNoDigest);
  for (const ops::LoadedLibrary& library : index_.libraries()) {
    for (const pack::VariantRow& row : library.pack.variants()) {
      if (Contains(variants, row)) check(library.pack.Name(row), DigestOf(library.pack, row));
    }
  }
  return names;
}

VariantRows Quarantine::variants() const {
  const std::scoped_lock lock(mutex_);
  return variants_;
}

Status ReadVerdicts(const std::string& path, bool required, const DeviceInfo& device,
                    const Host& host, Quarantine& quarantine) {
  const auto read = [&]() -> Result<std::string> {
    SPIRLOOM_TRY_ASSIGN(const MappedFile file, MappedFile::Open(path));
    const auto bytes = file.bytes();
    return quarantine.AddVerdicts({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                  device.driver);
  };
  const Result<std::string> names = read();
  if (names.ok() && names->empty()) return {};
  if (names.ok()) {
    host.Log(LogLevel::kWarning,
             "Kernels that failed verification on this device are not selected: {}. Update the "
             "driver and run `spirloom verify` again ('{}').",
             *names, path);
    return {};
  }
  Status status = While(Status(names.status()), "reading the verdicts in '{}'", path);
  if (required) return status;
  if (status.code() != StatusCode::kNotFound) {
    host.Log(LogLevel::kWarning, "{} Run `spirloom verify` again.", status.message());
  }
  return {};
}

}  // namespace spirloom::session
