// Execution contexts of models.
#include <utility>

#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/sized.h"

using spirloom::ContextOptions;
using spirloom::Model;
using spirloom::Status;
namespace c = spirloom::c;

spirloom_status spirloom_context_create(const spirloom_model* model,
                                        const spirloom_context_options* options,
                                        spirloom_model** context, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_context_create", {{"model", model}, {"context", context}}));
    *context = nullptr;
    ContextOptions read;
    if (options != nullptr) {
      spirloom_context_options given{};
      SPIRLOOM_TRY(c::Read("spirloom_context_options", options, given));
      if (given.method != nullptr) read.method = given.method;
      read.share_states = given.share_states != 0;
    }
    SPIRLOOM_TRY_ASSIGN(Model created, model->model.CreateContext(read));
    *context = new spirloom_model(std::move(created));
    return Status();
  });
}
