#include "runtime/base/guarded.h"

#include <exception>
#include <new>
#include <stdexcept>

namespace spirloom {

Status StatusOfException() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Status::OutOfMemory();
  } catch (const std::length_error&) {
    return Status::OutOfMemory();
  } catch (const std::exception& error) {
    try {
      return {StatusCode::kInternal, std::string("An exception was thrown: ") + error.what() + "."};
    } catch (...) {
      return Status::OutOfMemory();
    }
  } catch (...) {  // of the application's callback, without further information
    return Status::OutOfMemory();
  }
}

}  // namespace spirloom
