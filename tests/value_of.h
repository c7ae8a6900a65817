// Results in tests.
#ifndef SPIRLOOM_TESTS_VALUE_OF_H_
#define SPIRLOOM_TESTS_VALUE_OF_H_

#include <stdexcept>
#include <string>
#include <utility>

#include "spirloom/status.h"

namespace spirloom {

// The value of `result`. An error ends the test that calls this, from functions that return
// something too: thrown to GoogleTest, which reports it with the caller's place as a failure and
// goes on to the next test.
template <typename T>
T ValueOf(Result<T> result, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  if (!result.ok()) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " +
                             result.status().message());
  }
  return std::move(result).value();
}

}  // namespace spirloom

#endif  // SPIRLOOM_TESTS_VALUE_OF_H_
