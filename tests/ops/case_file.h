// A memory-mapped file of case packs (schema/cases.fbs).
#ifndef SPIRLOOM_TESTS_OPS_CASE_FILE_H_
#define SPIRLOOM_TESTS_OPS_CASE_FILE_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/mapped_file.h"
#include "schema/cases_generated.h"
#include "spirloom/status.h"

namespace spirloom::testing {

// Owns the mapping that the cases refer to.
class CaseFile {
 public:
  // Maps and verifies the packs. Fails with kInvalidFile if a pack is truncated or has another
  // version.
  static Result<CaseFile> Open(const std::string& path);

  // The cases of all packs, in file order.
  const std::vector<const schema::Case*>& cases() const { return cases_; }

 private:
  explicit CaseFile(MappedFile file) : file_(std::move(file)) {}

  // Adds the cases of the pack at the start of `bytes`, and returns the bytes after the pack.
  Result<std::span<const std::byte>> ReadPack(std::span<const std::byte> bytes);

  MappedFile file_;
  std::vector<const schema::Case*> cases_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_FILE_H_
