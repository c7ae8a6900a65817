// Runs test cases on the device through the public API.
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

// Owns one Runtime over several libraries, with validation unless SPIRLOOM_CASE_VALIDATION is 0.
// The first library, and the libraries that override it, are under test.
class CaseRunner {
 public:
  // Fails without a device, or without the validation layer.
  static Result<CaseRunner> Create(const std::vector<const ShaderLibrary*>& libraries);

  // The first reason why the case cannot run: a variant that this build does not contain, or that
  // exceeds a feature or limit of the device. "" if there is none, or if the case names no variant.
  std::string ReasonToSkip(const schema::Case& test) const;

  // Runs the case. Fails with kUnsupported if the device lacks a feature, with kInternal if the
  // outputs differ from the expected ones, if the case's variant was not dispatched, or if the
  // validation layers reported a message.
  Status Run(const schema::Case& test) const;

  // The ids of the variants under test.
  std::set<std::string_view> VariantNames() const;

 private:
  // What a variant requires of a device.
  struct Requirements {
    uint64_t needs;        // VariantRow::needs
    uint64_t invocations;  // of a workgroup
  };

  CaseRunner(Runtime runtime, const ops::OpIndex& index);

  Runtime runtime_;
  std::map<std::string, Requirements, std::less<>> requirements_;  // by variant id
};

}  // namespace spirloom::testing

#endif  // SPIRLOOM_TESTS_OPS_CASE_RUNNER_H_
