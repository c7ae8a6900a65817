// The contents of a test case of a case pack, as types of the runtime API.
#ifndef SPIRLOOM_TESTS_OPS_CASE_DATA_H_
#define SPIRLOOM_TESTS_OPS_CASE_DATA_H_

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "schema/cases_generated.h"
#include "spirloom/model.h"
#include "spirloom/status.h"
#include "spirloom/types.h"

namespace spirloom::testing {

// The error of a failed case.
Status CaseFailure(std::string message);

// The dense elements; empty for an empty tensor.
std::span<const std::byte> DataOf(const schema::CaseTensor& tensor);
Shape ShapeOf(const schema::CaseTensor& tensor);

// The graph file, and the values of its inputs.
std::span<const std::byte> GraphOf(const schema::Case& test);
std::vector<std::span<const std::byte>> InputsOf(const schema::Case& test);

// The storage and the kernel of the case.
ModelOptions OptionsOf(const schema::Case& test);

// Memory for the outputs of a case, initialized to NaN. Refers to the case.
class CaseOutputs {
 public:
  explicit CaseOutputs(const schema::Case& test);

  std::vector<std::span<std::byte>> spans();
  const std::vector<std::vector<std::byte>>& bytes() const { return bytes_; }
  // Fails if an output differs from the reference by more than its tolerance.
  Status Compare() const;

 private:
  const schema::Case& case_;
  std::vector<std::vector<std::byte>> bytes_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_DATA_H_
