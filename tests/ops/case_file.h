// A case pack (schema/cases.fbs) mapped into memory.
#ifndef SPIRLOOM_TESTS_OPS_CASE_FILE_H_
#define SPIRLOOM_TESTS_OPS_CASE_FILE_H_

#include <string>

#include "runtime/base/mapped_file.h"
#include "schema/cases_generated.h"
#include "spirloom/status.h"

namespace spirloom::testing {

// Owns the mapping; cases refer into it.
class CaseFile {
 public:
  // Maps and verifies the pack. Fails with kInvalidFile for anything but a whole pack of this
  // version.
  static Result<CaseFile> Open(const std::string& path);

  const schema::CasePack& pack() const;

 private:
  explicit CaseFile(MappedFile file) : file_(std::move(file)) {}

  MappedFile file_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_FILE_H_
