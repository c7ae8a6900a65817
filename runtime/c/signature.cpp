#include "runtime/base/error.h"
#include "runtime/c/error.h"
#include "runtime/c/runtime.h"
#include "runtime/c/sized.h"

using spirloom::OperatorArgument;
using spirloom::OperatorSignature;
using spirloom::Result;
using spirloom::Status;
using spirloom::StatusCode;
using spirloom::StreamArgument;
namespace c = spirloom::c;

namespace {

spirloom_argument_kind ToC(StreamArgument::Kind kind) {
  return static_cast<spirloom_argument_kind>(kind);
}
static_assert(static_cast<int>(StreamArgument::Kind::kNone) == SPIRLOOM_ARGUMENT_NONE);
static_assert(static_cast<int>(StreamArgument::Kind::kString) == SPIRLOOM_ARGUMENT_STRING);

Result<const OperatorSignature*> Find(const spirloom_runtime& runtime, size_t op) {
  if (op < runtime.signatures.size()) return &runtime.signatures[op];
  return spirloom::Error(StatusCode::kInvalidArgument,
                         "The index of the operator ({}) is out of range; the runtime has {}.", op,
                         runtime.signatures.size());
}

// Refers to `value`.
spirloom_argument ToC(const StreamArgument& value) {
  spirloom_argument argument{};
  argument.kind = ToC(value.kind);
  argument.count = value.ints.size();
  argument.ints = value.ints.empty() ? nullptr : value.ints.data();
  argument.i = value.i;
  argument.f = value.f;
  argument.s = value.kind == StreamArgument::Kind::kString ? value.s.c_str() : nullptr;
  return argument;
}

}  // namespace

spirloom_status spirloom_runtime_signature(const spirloom_runtime* runtime, size_t op,
                                           spirloom_signature* signature, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_runtime_signature",
                                  {{"runtime", runtime}, {"signature", signature}}));
    SPIRLOOM_TRY_ASSIGN(const OperatorSignature* found, Find(*runtime, op));
    return c::Write<spirloom_signature>("spirloom_signature",
                                        {.struct_size = sizeof(spirloom_signature),
                                         .name = found->name.c_str(),
                                         .short_name = found->short_name.c_str(),
                                         .argument_count = found->arguments.size(),
                                         .result_count = found->result_count},
                                        signature);
  });
}

spirloom_status spirloom_runtime_signature_argument(const spirloom_runtime* runtime, size_t op,
                                                    size_t i, spirloom_signature_argument* argument,
                                                    spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_runtime_signature_argument",
                                  {{"runtime", runtime}, {"argument", argument}}));
    SPIRLOOM_TRY_ASSIGN(const OperatorSignature* signature, Find(*runtime, op));
    if (i >= signature->arguments.size()) {
      return spirloom::Error(StatusCode::kInvalidArgument,
                             "The index of the argument ({}) is out of range; '{}' has {}.", i,
                             signature->name, signature->arguments.size());
    }
    const OperatorArgument& found = signature->arguments[i];
    return c::Write<spirloom_signature_argument>(
        "spirloom_signature_argument",
        {.struct_size = sizeof(spirloom_signature_argument),
         .name = found.name.c_str(),
         .kind = ToC(found.kind),
         .is_optional = found.is_optional,
         .default_of = found.default_of,
         .default_value = ToC(found.default_value)},
        argument);
  });
}
