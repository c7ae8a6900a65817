#include "runtime/c/model_options.h"

#include <cstddef>
#include <span>

#include "runtime/base/error.h"
#include "runtime/c/enums.h"
#include "runtime/c/error.h"
#include "runtime/c/model.h"
#include "runtime/c/sized.h"

namespace spirloom::c {

template <>
inline constexpr size_t kFirstSize<spirloom_model_options> = offsetof(spirloom_model_options,
                                                                      time_runs);

namespace {

Status ReadKernels(const spirloom_model_options& given, std::vector<std::string>& kernels) {
  SPIRLOOM_TRY(CheckArray("kernels", given.kernels, given.kernel_count));
  for (const char* kernel : std::span(given.kernels, given.kernel_count)) {
    if (kernel == nullptr) {
      return Error(StatusCode::kInvalidArgument,
                   "`kernels[{}]` of the spirloom_model_options is NULL.", kernels.size());
    }
    kernels.emplace_back(kernel);
  }
  return Status();
}

void SetOnTuned(const spirloom_model_options& given, ModelOptions& options) {
  if (given.on_tuned == nullptr) return;
  options.on_tuned = [on_tuned = given.on_tuned, data = given.on_tuned_data](
                         const TunedCall& call, size_t done, size_t total) {
    const spirloom_tuned_call info{.struct_size = sizeof(spirloom_tuned_call),
                                   .call = call.call.c_str(),
                                   .node = call.node.c_str(),
                                   .default_kernel = call.default_kernel.c_str(),
                                   .kernel = call.kernel.c_str(),
                                   .default_ns = call.default_ns,
                                   .ns = call.ns};
    on_tuned(&info, done, total, data);
  };
}

}  // namespace

Result<ModelOptions> ReadModelOptions(const spirloom_model_options* options) {
  ModelOptions read;
  if (options == nullptr) return read;
  spirloom_model_options given{};
  SPIRLOOM_TRY(Read("spirloom_model_options", options, given));
  const auto storage = FromC(given.storage);
  if (!storage) {
    return Error(
        StatusCode::kInvalidArgument,
        "The value {} of `storage` in the spirloom_model_options is not a spirloom_storage.",
        static_cast<unsigned>(given.storage));
  }
  read.storage = *storage;
  SPIRLOOM_TRY(ReadKernels(given, read.kernels));
  read.profile = given.profile;
  read.tune = reinterpret_cast<const internal::Tuner*>(given.tune);
  SetOnTuned(given, read);
  if (given.max_cached_shapes != 0) read.max_cached_shapes = given.max_cached_shapes;
  read.max_dispatches = given.max_dispatches;
  read.max_device_bytes = given.max_device_bytes;
  if (given.method != nullptr) read.method = given.method;
  read.time_runs = given.time_runs != 0;
  read.allow_exceeding_max = given.allow_exceeding_max != 0;
  read.retune = given.retune != 0;
  return read;
}

}  // namespace spirloom::c
