// ValueOf: the value of a Result in tests.
#ifndef SPIRLOOM_TESTS_VALUE_OF_H_
#define SPIRLOOM_TESTS_VALUE_OF_H_

#include <stdexcept>
#include <string>
#include <utility>

#include "spirloom/status.h"

namespace spirloom {

// Returns the value of `result`. An error fails the test, also from functions with a return value:
// it is thrown to GoogleTest, which reports it with the caller's file and line.
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
