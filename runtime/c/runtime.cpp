#include "runtime/c/runtime.h"

#include <utility>

#include "runtime/base/error.h"
#include "runtime/c/error.h"
#include "runtime/c/library.h"
#include "runtime/c/sized.h"

using spirloom::Runtime;
using spirloom::RuntimeOptions;
using spirloom::Status;
namespace c = spirloom::c;

namespace {

std::string Text(const char* text) { return text == nullptr ? "" : text; }

Status ReadOptions(const spirloom_runtime_options* from, RuntimeOptions& to) {
  if (from == nullptr) return Status();
  spirloom_runtime_options given{};
  SPIRLOOM_TRY(c::Read("spirloom_runtime_options", from, given));
  SPIRLOOM_TRY(c::CheckArray("libraries", given.libraries, given.library_count));
  for (size_t i = 0; i < given.library_count; ++i) {
    if (given.libraries[i] == nullptr) {
      return spirloom::Error(spirloom::StatusCode::kInvalidArgument,
                             {"Library ", i, " of the spirloom_runtime_options is NULL."});
    }
    to.libraries.push_back(&given.libraries[i]->library);
  }
  to.device = Text(given.device);
  to.cache_dir = Text(given.cache_dir);
  to.validation = given.validation;
  return Status();
}

}  // namespace

spirloom_status spirloom_runtime_create(const spirloom_runtime_options* options,
                                        spirloom_runtime** runtime, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_runtime_create", {{"runtime", runtime}}));
    *runtime = nullptr;
    RuntimeOptions given;
    SPIRLOOM_TRY(ReadOptions(options, given));
    SPIRLOOM_TRY_ASSIGN(Runtime made, Runtime::Create(given));
    *runtime = new spirloom_runtime(std::move(made));
    return Status();
  });
}

void spirloom_runtime_destroy(spirloom_runtime* runtime) { delete runtime; }

spirloom_status spirloom_runtime_device(const spirloom_runtime* runtime, spirloom_device_info* info,
                                        spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_runtime_device", {{"runtime", runtime}, {"info", info}}));
    return c::Write("spirloom_device_info", runtime->device.Info(), info);
  });
}

uint64_t spirloom_runtime_validation_message_count(const spirloom_runtime* runtime) {
  return runtime == nullptr ? 0 : runtime->runtime.validation_message_count();
}
