// Owners for objects of the C API, for tests in C++.
#ifndef SPIRLOOM_TESTS_C_API_OBJECTS_H_
#define SPIRLOOM_TESTS_C_API_OBJECTS_H_

#include <memory>
#include <string>

#include "spirloom/spirloom.h"

namespace spirloom::c {

// Destroys an object by its function.
template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};

template <typename T, auto kDestroy>
using Owned = std::unique_ptr<T, Destroy<kDestroy>>;

using Error = Owned<spirloom_error, spirloom_error_destroy>;
using Library = Owned<spirloom_library, spirloom_library_destroy>;
using Devices = Owned<spirloom_devices, spirloom_devices_destroy>;
using OwnedRuntime = Owned<spirloom_runtime, spirloom_runtime_destroy>;
using OwnedModel = Owned<spirloom_model, spirloom_model_destroy>;
using OwnedRun = Owned<spirloom_pending_run, spirloom_pending_run_destroy>;
using Profile = Owned<spirloom_profile, spirloom_profile_destroy>;

// The result of a call: its status and the message of its error.
struct Outcome {
  spirloom_status status;
  std::string message;
};

// Calls `function` with these arguments and an error. Checks that there is an error exactly if the
// call fails.
template <typename Function, typename... Arguments>
Outcome Call(Function function, Arguments... arguments) {
  char sentinel = 0;
  auto* error = reinterpret_cast<spirloom_error*>(&sentinel);
  const spirloom_status status = function(arguments..., &error);
  const Error owned(error);
  if ((status == SPIRLOOM_OK) != (error == nullptr) || spirloom_error_status(error) != status) {
    return {SPIRLOOM_INTERNAL, "status and error differ"};
  }
  return {status, spirloom_error_message(error)};
}

}  // namespace spirloom::c

#endif  // SPIRLOOM_TESTS_C_API_OBJECTS_H_
