#include "runtime/base/guarded.h"

#include <exception>
#include <new>
#include <stdexcept>

namespace spirloom {
namespace {

Status Internal(const char* what) noexcept {
  try {
    return {StatusCode::kInternal, std::string("An exception was thrown: ") + what + "."};
  } catch (...) {
    return Status::OutOfMemory();
  }
}

}  // namespace

Status StatusOfException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (const std::length_error&) {
    return Status::OutOfMemory();
  } catch (const std::exception& error) {
    return Internal(error.what());
  } catch (...) {  // of the application's callback, without further information
    return Internal("unknown type");
  }
}

}  // namespace spirloom
