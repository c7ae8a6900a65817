#include "runtime/c/runtime.h"

#include <utility>

#include "runtime/base/error.h"
#include "runtime/c/adopted.h"
#include "runtime/c/callbacks.h"
#include "runtime/c/enums.h"
#include "runtime/c/error.h"
#include "runtime/c/library.h"
#include "runtime/c/sized.h"

using spirloom::Result;
using spirloom::Runtime;
using spirloom::RuntimeOptions;
using spirloom::Status;
namespace c = spirloom::c;

namespace {

std::string Text(const char* text) { return text == nullptr ? "" : text; }

// Converts all options except `adopt`.
Status ReadOptions(const spirloom_runtime_options& given, RuntimeOptions& to) {
  SPIRLOOM_TRY_ASSIGN(to.libraries, c::ReadLibraries(given.libraries, given.library_count));
  to.device = Text(given.device);
  to.accept = c::Accept(given);
  to.cache_dir = Text(given.cache_dir);
  to.verdicts = Text(given.verdicts);
  to.verify = c::Verify(given);
  to.validation = given.validation;
  to.log = c::Log(given);
  to.threads = given.threads;
  to.parallel_for = c::ParallelFor(given);
  to.allocator = given.allocator;
  to.memory_limit = given.memory_limit;
  if (given.max_submission_ns > 0) to.max_submission_ns = given.max_submission_ns;
  const std::optional<spirloom::Priority> priority = c::FromC(given.priority);
  if (!priority) {
    return spirloom::Error(
        spirloom::StatusCode::kInvalidArgument,
        "The value {} of `priority` in the spirloom_runtime_options is not a spirloom_priority.",
        static_cast<int>(given.priority));
  }
  to.priority = *priority;
  to.import_host_memory = given.import_host_memory;
  return Status();
}

// The options may be null.
Result<Runtime> Create(const spirloom_runtime_options* options) {
  RuntimeOptions read;
  if (options == nullptr) return Runtime::Create(read);
  spirloom_runtime_options given{};
  SPIRLOOM_TRY(c::Read("spirloom_runtime_options", options, given));
  SPIRLOOM_TRY(ReadOptions(given, read));
  if (given.adopt == nullptr) return Runtime::Create(read);
  SPIRLOOM_TRY_ASSIGN(const spirloom::AdoptedDevice adopted, c::ReadAdopted(given.adopt));
  read.adopt = &adopted;
  return Runtime::Create(read);
}

}  // namespace

spirloom_status spirloom_runtime_create(const spirloom_runtime_options* options,
                                        spirloom_runtime** runtime, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(c::CheckPointers("spirloom_runtime_create", {{"runtime", runtime}}));
    *runtime = nullptr;
    SPIRLOOM_TRY_ASSIGN(Runtime created, Create(options));
    *runtime = new spirloom_runtime(std::move(created));
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

size_t spirloom_runtime_operator_count(const spirloom_runtime* runtime) {
  return runtime == nullptr ? 0 : runtime->signatures.size();
}

const char* spirloom_runtime_operator(const spirloom_runtime* runtime, size_t i) {
  return i < spirloom_runtime_operator_count(runtime) ? runtime->signatures[i].name.c_str()
                                                      : nullptr;
}

uint64_t spirloom_runtime_validation_message_count(const spirloom_runtime* runtime) {
  return runtime == nullptr ? 0 : runtime->runtime.validation_message_count();
}

spirloom_status spirloom_runtime_memory(const spirloom_runtime* runtime,
                                        spirloom_memory_stats* stats, spirloom_error** error) {
  return c::Guarded(error, [&]() -> Status {
    SPIRLOOM_TRY(
        c::CheckPointers("spirloom_runtime_memory", {{"runtime", runtime}, {"stats", stats}}));
    const spirloom::MemoryStats memory = runtime->runtime.memory();
    return c::Write<spirloom_memory_stats>("spirloom_memory_stats",
                                           {.struct_size = sizeof(spirloom_memory_stats),
                                            .in_use = memory.in_use,
                                            .peak = memory.peak,
                                            .limit = memory.limit,
                                            .free = memory.free},
                                           stats);
  });
}
