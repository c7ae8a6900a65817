#include "tests/ops/case_file.h"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace spirloom::testing {
namespace {

constexpr uint32_t kVersion = 2;
constexpr size_t kAlignment = 64;

Status Invalid(std::string message) { return Status(StatusCode::kInvalidFile, std::move(message)); }

}  // namespace

Result<CaseFile> CaseFile::Open(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(MappedFile mapped, MappedFile::Open(path));
  CaseFile file(std::move(mapped));
  std::span<const std::byte> rest = file.file_.bytes();
  do {
    Result<std::span<const std::byte>> next = file.ReadPack(rest);
    if (!next.ok()) return Invalid(path + ": " + next.status().message());
    rest = *next;
  } while (!rest.empty());
  return file;
}

Result<std::span<const std::byte>> CaseFile::ReadPack(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  const auto offset = static_cast<size_t>(bytes.data() - file_.bytes().data());
  const std::string name = "The case pack at byte " + std::to_string(offset);
  size_t size = sizeof(flatbuffers::uoffset_t);
  if (bytes.size() >= size) size += flatbuffers::ReadScalar<flatbuffers::uoffset_t>(data);
  if (size > bytes.size()) return Invalid(name + " is truncated.");
  flatbuffers::Verifier verifier(data, size, /*max_depth=*/16, /*max_tables=*/100'000'000);
  if (!schema::VerifySizePrefixedCasePackBuffer(verifier)) {
    return Invalid(name + " is invalid.");
  }
  const schema::CasePack& pack = *schema::GetSizePrefixedCasePack(data);
  if (pack.version() != kVersion) {
    return Invalid(name + " has version " + std::to_string(pack.version()) + "; expected " +
                   std::to_string(kVersion) + ".");
  }
  for (const schema::Case* test : *pack.cases()) {
    if (test->tolerances()->size() != test->expected()->size()) {
      return Invalid("Case " + test->id()->str() + " has " +
                     std::to_string(test->tolerances()->size()) + " tolerances for " +
                     std::to_string(test->expected()->size()) + " outputs.");
    }
    cases_.push_back(test);
  }
  const size_t padded = (size + kAlignment - 1) / kAlignment * kAlignment;
  return bytes.subspan(std::min(padded, bytes.size()));
}

}  // namespace spirloom::testing
