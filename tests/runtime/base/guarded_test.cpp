#include "runtime/base/guarded.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace spirloom {
namespace {

template <typename Exception>
Status StatusOf(const Exception& exception) {
  return Guarded([&]() -> Status { throw exception; });
}

TEST(Guarded, ConvertsExceptions) {
  EXPECT_EQ(StatusOf(std::bad_alloc()).code(), StatusCode::kOutOfMemory);
  EXPECT_EQ(StatusOf(std::length_error("")).code(), StatusCode::kOutOfMemory);
  const Status known = StatusOf(std::runtime_error("no thread"));
  EXPECT_EQ(known.code(), StatusCode::kInternal);
  EXPECT_EQ(known.message(), "An exception was thrown: no thread.");
  const Status unknown = StatusOf(42);  // e.g. by a callback of the application
  EXPECT_EQ(unknown.code(), StatusCode::kInternal);
  EXPECT_EQ(unknown.message(), "An exception was thrown: unknown type.");
}

}  // namespace
}  // namespace spirloom
