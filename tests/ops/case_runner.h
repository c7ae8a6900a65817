// Runs test cases on the device, as an application would.
#ifndef SPIRLOOM_TESTS_OPS_CASE_RUNNER_H_
#define SPIRLOOM_TESTS_OPS_CASE_RUNNER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/ops/op_index.h"
#include "schema/cases_generated.h"
#include "spirloom/runtime.h"
#include "spirloom/status.h"

namespace spirloom::testing {

// Owns one Runtime over some libraries with validation on, unless SPIRLOOM_CASE_VALIDATION is 0.
// The first library is under test, and those that override it.
class CaseRunner {
 public:
  // Fails without a device, or without the validation layer.
  static Result<CaseRunner> Create(const std::vector<const ShaderLibrary*>& libraries);

  // Names the first thing that keeps the device or library from running the case: a feature that
  // the device lacks, or that the build left the variant out. "" when there is none, or the case is
  // for no particular variant.
  std::string ReasonToSkip(const schema::Case& test) const;

  // Runs the case. Fails with kUnsupported if the device lacks something, with kInternal if the
  // outputs differ from the expected ones, if the case's variant was not among the dispatched ones,
  // or if the validation layer said anything.
  Status Run(const schema::Case& test) const;

  // The ids of the variants under test.
  std::set<std::string_view> VariantNames() const;

 private:
  CaseRunner(Runtime runtime, const ops::OpIndex& index);

  Runtime runtime_;
  std::map<std::string, uint64_t, std::less<>> needs_;  // variant id -> VariantRow::needs
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_RUNNER_H_
