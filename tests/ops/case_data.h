// What a case of a pack holds, as the runtime wants it.
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

// The error of a case that fails.
Status Wrong(std::string message);

// Elements, dense; none for an empty tensor.
std::span<const std::byte> DataOf(const schema::CaseTensor& tensor);
Shape ShapeOf(const schema::CaseTensor& tensor);

// The graph file, and what its inputs are to hold.
std::span<const std::byte> GraphOf(const schema::Case& test);
std::vector<std::span<const std::byte>> InputsOf(const schema::Case& test);

// The storage and the kernel that it is to run with.
ModelOptions OptionsOf(const schema::Case& test);

// Room for what a case's graph computes; NaN until it has run. Refers to the case.
class CaseOutputs {
 public:
  explicit CaseOutputs(const schema::Case& test);

  std::vector<std::span<std::byte>> spans();
  const std::vector<std::vector<std::byte>>& bytes() const { return bytes_; }
  // Fails with what differs from the reference by more than its output's tolerance.
  Status Compare() const;

 private:
  const schema::Case& case_;
  std::vector<std::vector<std::byte>> bytes_;
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_DATA_H_
