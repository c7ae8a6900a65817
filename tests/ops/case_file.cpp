#include "tests/ops/case_file.h"

#include <cstdint>
#include <utility>

namespace spirloom::testing {
namespace {

constexpr uint32_t kVersion = 1;

const uint8_t* Bytes(const MappedFile& file) {
  return reinterpret_cast<const uint8_t*>(file.bytes().data());
}

}  // namespace

Result<CaseFile> CaseFile::Open(const std::string& path) {
  SPIRLOOM_TRY_ASSIGN(MappedFile mapped, MappedFile::Open(path));
  flatbuffers::Verifier verifier(Bytes(mapped), mapped.bytes().size(), /*max_depth=*/16,
                                 /*max_tables=*/100'000'000);
  if (!schema::VerifySizePrefixedCasePackBuffer(verifier)) {
    return Status(StatusCode::kInvalidFile, path + " is not a case pack.");
  }
  CaseFile file(std::move(mapped));
  if (file.pack().version() != kVersion) {
    return Status(StatusCode::kInvalidFile, path + " has version " +
                                                std::to_string(file.pack().version()) + ", not " +
                                                std::to_string(kVersion) + ".");
  }
  return file;
}

const schema::CasePack& CaseFile::pack() const {
  return *schema::GetSizePrefixedCasePack(Bytes(file_));
}

}  // namespace spirloom::testing
