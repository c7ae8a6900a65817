#include "integrations/torch/device.h"

#include <c10/util/Exception.h>

#include <atomic>
#include <memory>
#include <mutex>

#ifndef _WIN32
#include <pthread.h>
#endif

namespace spirloom::pytorch {
namespace {

struct Opened {
  spirloom_runtime* runtime = nullptr;
  spirloom_stream* stream = nullptr;
};

// Deletes an object of the C API when a step of opening fails.
template <auto kDestroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    kDestroy(object);
  }
};
using OwnedLibrary = std::unique_ptr<spirloom_library, Destroy<spirloom_library_destroy>>;
using OwnedRuntime = std::unique_ptr<spirloom_runtime, Destroy<spirloom_runtime_destroy>>;

std::mutex open_mutex;
std::atomic<const Opened*> opened = nullptr;
std::atomic<bool> forked = false;

std::string& ShaderPath() {
  static std::string* const path = new std::string;
  return *path;
}

void RegisterFork() {
#ifndef _WIN32
  static const bool registered = [] {
    pthread_atfork(/*prepare=*/nullptr, /*parent=*/nullptr, [] { forked = true; });
    return true;
  }();
  (void)registered;
#endif
}

const Opened* Open() {
  OwnedLibrary library;
  if (!ShaderPath().empty()) {
    spirloom_library* read = nullptr;
    Call(spirloom_library_open, ShaderPath().c_str(), &read);
    library.reset(read);
  }
  const spirloom_library* const libraries[] = {library.get()};
  spirloom_runtime_options options = SPIRLOOM_INIT(spirloom_runtime_options);
  options.libraries = libraries;
  options.library_count = library == nullptr ? 0 : 1;
  spirloom_runtime* created = nullptr;
  Call(spirloom_runtime_create, &options, &created);
  OwnedRuntime runtime(created);
  auto result = std::make_unique<Opened>();
  const spirloom_stream_options* const defaults = nullptr;
  Call(spirloom_stream_create, created, defaults, &result->stream);
  result->runtime = runtime.release();
  RegisterFork();
  return result.release();
}

const Opened& Get() {
  TORCH_CHECK(!forked,
              "This process was forked from one that had used the device 'vulkan'; Vulkan drivers "
              "do not support that. Start processes by torch.multiprocessing with the start method "
              "'spawn', or use the device only in the child processes.");
  if (const Opened* found = opened.load(std::memory_order_acquire); found != nullptr) return *found;
  const std::scoped_lock lock(open_mutex);
  if (opened == nullptr) opened = Open();
  return *opened;
}

}  // namespace

void Raise(spirloom_error* error) {
  const spirloom_status status = spirloom_error_status(error);
  const std::string message = spirloom_error_message(error);
  spirloom_error_destroy(error);
  TORCH_CHECK_WITH(OutOfMemoryError, status != SPIRLOOM_OUT_OF_MEMORY, message);
  TORCH_CHECK(false, message);
}

void SetShaders(const std::string& path) {
  const std::scoped_lock lock(open_mutex);
  ShaderPath() = path;
}

bool IsAvailable() noexcept {
  static const bool available = spirloom_is_available();
  return available;
}

bool IsOpen() noexcept { return opened.load(std::memory_order_acquire) != nullptr; }
bool IsForked() noexcept { return forked; }

spirloom_runtime* OpenRuntime() { return Get().runtime; }
spirloom_stream* OpenStream() { return Get().stream; }

}  // namespace spirloom::pytorch
