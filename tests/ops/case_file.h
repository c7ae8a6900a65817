// A file of case packs (schema/cases.fbs) mapped into memory.
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

// Owns the mapping; cases refer into it.
class CaseFile {
 public:
  // Maps and verifies the packs. Fails with kInvalidFile for anything but whole packs of this
  // version.
  static Result<CaseFile> Open(const std::string& path);

  // Those of all packs, in order.
  const std::vector<const schema::Case*>& cases() const { return cases_; }

 private:
  explicit CaseFile(MappedFile file) : file_(std::move(file)) {}

  // Adds the cases of the pack that the bytes begin with, and returns the bytes after it.
  Result<std::span<const std::byte>> ReadPack(std::span<const std::byte> bytes);

  MappedFile file_;
  std::vector<const schema::Case*> cases_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_FILE_H_
