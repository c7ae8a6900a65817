#include "runtime/c/callbacks.h"

#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/c/device.h"
#include "runtime/c/enums.h"

namespace spirloom::c {
namespace {

// The work of one parallel_for(), and its first exception.
class Work {
 public:
  explicit Work(const std::function<void(size_t)>& work) : work_(work) {}

  // The spirloom_work callback; `self` is a Work.
  static void Run(size_t i, void* self) noexcept { static_cast<Work*>(self)->Run(i); }

  void RethrowException() const {
    if (exception_ != nullptr) std::rethrow_exception(exception_);
  }

 private:
  void Run(size_t i) noexcept {
    try {
      work_(i);
    } catch (...) {
      const std::scoped_lock lock(mutex_);
      if (exception_ == nullptr) exception_ = std::current_exception();
    }
  }

  const std::function<void(size_t)>& work_;
  std::mutex mutex_;
  std::exception_ptr exception_;
};

}  // namespace

std::function<bool(const DeviceInfo&)> Accept(const spirloom_runtime_options& options) {
  if (options.accept == nullptr) return {};
  return [accept = options.accept, data = options.accept_data](const DeviceInfo& device) {
    const DeviceView view(device);
    const spirloom_device_info info = view.Info();
    return accept(&info, data);
  };
}

LogCallback Log(const spirloom_runtime_options& options) {
  if (options.log == nullptr) return {};
  return [log = options.log, data = options.log_data](LogLevel level, std::string_view message) {
    try {
      log(ToC(level), std::string(message).c_str(), data);
    } catch (const std::bad_alloc&) {
    }
  };
}

ParallelForCallback ParallelFor(const spirloom_runtime_options& options) {
  if (options.parallel_for == nullptr) return {};
  return [run = options.parallel_for, data = options.parallel_for_data](
             size_t count, const std::function<void(size_t)>& work) {
    Work given(work);
    run(count, Work::Run, &given, data);
    given.RethrowException();
  };
}

VerifyCallback Verify(const spirloom_runtime_options& options) {
  if (options.verify == nullptr) return {};
  return [verify = options.verify, data = options.verify_data](const VerifyRequest& request) {
    std::vector<const char*> kernels;
    for (const std::string& kernel : request.kernels) kernels.push_back(kernel.c_str());
    const spirloom_verify_request given{.struct_size = sizeof(spirloom_verify_request),
                                        .device = request.device.c_str(),
                                        .verdicts = request.verdicts.c_str(),
                                        .kernels = kernels.data(),
                                        .kernel_count = kernels.size()};
    const spirloom_status status = verify(&given, data);
    if (status == SPIRLOOM_OK) return Status();
    return Error(FromC(status).value_or(StatusCode::kInternal),
                 "The callback `verify` returned {}.", static_cast<int>(status));
  };
}

}  // namespace spirloom::c
